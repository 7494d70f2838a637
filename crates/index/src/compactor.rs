//! Merges the files of the tables on a thread of this crate.
//!
//! The engine has threads for merging. But while one of them merges, the other takes the message
//! that asks for the next merge, puts it back and takes it again without a pause, in case something
//! must be flushed (fjall 3.1.13, `worker_pool::worker_tick`). This takes 5 % of the processor time
//! of a load of a million pages. A single engine thread avoids it, but waits forever when its own
//! queue is full. So the engine's threads only flush (their strategy never finds enough to merge,
//! see [`engine_strategy`]), and this thread merges.
//!
//! Invariants:
//! - Rows that an open snapshot can see stay: the engine says which versions of a row no snapshot
//!   sees.
//! - No handle of the engine outlives the thread, and dropping the [`Compactor`] waits for it. So a
//!   closed index can be opened again.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fjall::compaction::Leveled;
use fjall::{AbstractTree, Database, Keyspace};
use parking_lot::{Condvar, Mutex};

/// New files that a table may have before they are merged into it. Every read looks into each of
/// them, and every merge rewrites a part of the table. With 12 instead of 6, a load of a million
/// pages writes 3.1 bytes instead of 3.4 per byte of the archive, in as much processor time.
const NEW_FILES_MAX: usize = 12;

/// How long to wait, after an epoch, for files that the engine is still writing.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Number of fruitless looks before waiting for the next epoch.
const LOOKS_MAX: u32 = 10;

/// The strategy of the engine's own threads: moves that write nothing, and no merges.
pub(crate) fn engine_strategy() -> Leveled {
    // 255 files and a pebibyte are never reached.
    Leveled::default()
        .with_l0_threshold(u8::MAX)
        .with_table_target_size(1 << 50)
}

fn strategy() -> Leveled {
    Leveled::default().with_l0_threshold(NEW_FILES_MAX as u8)
}

/// The merging thread. Dropping it stops the thread.
pub(crate) struct Compactor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_stopping: bool,
    /// Set when rows are written, cleared when the thread looks.
    is_woken: bool,
    /// Why the thread ended, until it is reported.
    failure: Option<fjall::Error>,
}

impl Compactor {
    pub(crate) fn start(db: &Database, spaces: &[Keyspace]) -> std::io::Result<Compactor> {
        let shared = Arc::new(Shared::default());
        let merging = Merging {
            db: db.clone(),
            spaces: spaces.to_vec(),
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("index-compact".into())
            .spawn(move || merging.run())?;
        Ok(Compactor {
            shared,
            thread: Some(thread),
        })
    }

    /// Signals that rows were written.
    pub(crate) fn wake(&self) {
        self.shared.state.lock().is_woken = true;
        self.shared.changed.notify_one();
    }

    /// Fails if the thread has ended: without merges, writers would wait forever.
    pub(crate) fn check(&self) -> fjall::Result<()> {
        if self.thread.as_ref().is_none_or(|thread| !thread.is_finished()) {
            return Ok(());
        }
        let failure = self.shared.state.lock().failure.take();
        Err(failure.unwrap_or(fjall::Error::Poisoned))
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.shared.state.lock().is_stopping = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic. An unfinished merge has no effect: the new files
            // count only when its last step names them.
            let _ = thread.join();
        }
    }
}

/// State of the merging thread.
struct Merging {
    db: Database,
    spaces: Vec<Keyspace>,
    shared: Arc<Shared>,
}

impl Merging {
    fn run(self) {
        while self.wait() {
            if let Err(error) = self.merge_what_is_written() {
                tracing::error!(%error, "cannot merge the tables of the index");
                self.shared.state.lock().failure = Some(error);
                return;
            }
        }
    }

    /// Waits until rows are written. Returns false when the thread must stop.
    fn wait(&self) -> bool {
        let mut state = self.shared.state.lock();
        while !state.is_woken && !state.is_stopping {
            self.shared.changed.wait(&mut state);
        }
        state.is_woken = false;
        !state.is_stopping
    }

    fn is_stopping(&self) -> bool {
        self.shared.state.lock().is_stopping
    }

    /// Merges until no table needs it, including files that the engine is still writing.
    fn merge_what_is_written(&self) -> fjall::Result<()> {
        let mut looks = 0;
        while looks < LOOKS_MAX && !self.is_stopping() {
            looks += 1;
            while let Some(space) = self.fullest() {
                self.merge(space)?;
                if self.is_stopping() {
                    return Ok(());
                }
                looks = 0;
            }
            self.pause();
        }
        Ok(())
    }

    /// Waits for the next look. Ends when the thread must stop, because closing the index waits for
    /// the thread.
    fn pause(&self) {
        let mut state = self.shared.state.lock();
        let is_running = |state: &mut State| !state.is_stopping;
        self.shared
            .changed
            .wait_while_for(&mut state, is_running, LOOK_INTERVAL);
    }

    /// Returns the table with the most new files, if it has too many.
    fn fullest(&self) -> Option<&Keyspace> {
        let new_files = |space: &&Keyspace| space.tree.l0_run_count();
        let fullest = self.spaces.iter().max_by_key(new_files);
        fullest.filter(|space| new_files(space) >= NEW_FILES_MAX)
    }

    /// Merges new files into a table, then levels further down that have grown too large.
    fn merge(&self, space: &Keyspace) -> fjall::Result<()> {
        loop {
            let before = space.tree.current_version().id();
            let visible = self.db.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
            space.tree.compact(Arc::new(strategy()), visible)?;
            // The engine does not report whether it merged anything.
            if space.tree.current_version().id() == before || self.is_stopping() {
                return Ok(());
            }
        }
    }
}
