//! Memory for the rows of statements.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{
    FairSpillPool, GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use crate::SqlError;

/// Default memory for statements: as much as for an archive.
const MEMORY_SIZE_BYTES: u64 = 1 << 30;

/// How memory is shared among operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// First come, first served: a join may use all memory for one of its sides.
    Free,
    /// One half is for operators that can spill to temporary files, the other for those that
    /// cannot. Neither waits for the other, so a statement that only sorts completes in little
    /// memory.
    Halves,
}

/// Makes a runtime with this much memory in bytes (1 GiB if absent), and temporary files.
pub(crate) fn runtime(memory_size_bytes: Option<u64>, sharing: Sharing) -> Result<Arc<RuntimeEnv>, SqlError> {
    let memory = memory_size_bytes.unwrap_or(MEMORY_SIZE_BYTES);
    let memory = usize::try_from(memory).unwrap_or(usize::MAX);
    let pool: Arc<dyn MemoryPool> = match sharing {
        Sharing::Free => Arc::new(FairSpillPool::new(memory)),
        Sharing::Halves => Arc::new(Halves {
            spilling: FairSpillPool::new(memory / 2),
            staying: GreedyMemoryPool::new(memory / 2),
        }),
    };
    Ok(RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .with_disk_manager_builder(DiskManagerBuilder::default())
        .build_arc()?)
}

/// Two pools: one for consumers that can spill to temporary files, one for all others.
#[derive(Debug)]
struct Halves {
    spilling: FairSpillPool,
    staying: GreedyMemoryPool,
}

impl Halves {
    fn of(&self, consumer: &MemoryConsumer) -> &dyn MemoryPool {
        if consumer.can_spill() {
            &self.spilling
        } else {
            &self.staying
        }
    }
}

impl fmt::Display for Halves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "halves of {} and {}", self.spilling, self.staying)
    }
}

impl MemoryPool for Halves {
    fn name(&self) -> &str {
        "halves"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.of(consumer).register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.of(consumer).unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.of(reservation.consumer()).grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.of(reservation.consumer()).shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.of(reservation.consumer()).try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.spilling.reserved() + self.staying.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        match (self.spilling.memory_limit(), self.staying.memory_limit()) {
            (MemoryLimit::Finite(spilling), MemoryLimit::Finite(staying)) => {
                MemoryLimit::Finite(spilling + staying)
            }
            (other, _) => other,
        }
    }
}
