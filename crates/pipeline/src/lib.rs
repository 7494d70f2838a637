//! Staged pipelines: threads joined by bounded queues.
//!
//! A pipeline is written from its source to its sink and then started:
//!
//! ```
//! use pipeline::{Flow, StageSettings};
//!
//! let (feeder, pipeline) = Flow::<u64, u64>::new()
//!     .ordered(StageSettings::new("square").threads(2), |_| |n, out| out.send(n * n))
//!     .stage(StageSettings::new("print"), |_| |n: u64, _| {
//!         assert!(n < 100);
//!         Ok(())
//!     })
//!     .start()
//!     .unwrap();
//! for n in 0..10 {
//!     feeder.send(n).unwrap();
//! }
//! drop(feeder);
//! pipeline.join().unwrap();
//! ```
//!
//! Invariants:
//!  - A queue holds at most `queue_items` items and, unless it holds a single item, at most
//!    `queue_bytes`. A full queue blocks its senders (back-pressure), so the settings bound memory.
//!  - Every item sent is handled exactly once, or the pipeline ends with an error.
//!  - After [`Flow::ordered`] results leave in the order in which their items arrived.
//!  - After [`Flow::by_key`] items with the same key are handled sequentially, in order of arrival.
//!  - A handler that fails or panics ends the whole pipeline, and [`Pipeline::join`] names the
//!    stage.
//!
//! A pipeline uses no async runtime, has no priorities and does not restart stages.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod control;
mod error;
mod flow;
mod ordered;
mod outlet;
mod pipeline;
mod queue;
mod stage;
mod stats;

pub use error::{FlowError, StageError, StageResult, Stopped};
pub use flow::{Flow, Keyed, StageSettings};
pub use outlet::Out;
pub use pipeline::{Feeder, Monitor, Pipeline};
pub use stage::Batch;
pub use stats::{StageRow, table};

/// An item of a pipeline.
pub trait Item: Send + 'static {
    /// Returns how many items the statistics count for this value; a chunk of 64 records returns
    /// 64.
    fn count(&self) -> u64 {
        1
    }

    /// Returns the memory of the item in bytes, which counts towards the byte bound of a queue; 0
    /// if it does not matter.
    fn bytes(&self) -> u64 {
        0
    }
}

impl Item for () {}
impl Item for u64 {}
impl Item for String {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// Returns a 64-bit key for [`Flow::by_key`] from any hashable value. It is the same in every run.
pub fn key_of<K: std::hash::Hash + ?Sized>(key: &K) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    // `DefaultHasher::new` has fixed keys, unlike the `RandomState` of a `HashMap`.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
