//! The environment of a run: a single thread, seeded randomness, simulated clocks that advance only
//! when the thread is idle, and a directory in memory.

use std::cell::RefCell;
use std::path::Path;

use system::Simulated;
use tempfile::TempDir;

thread_local! {
    /// The simulation of the run on this thread.
    static HERE: RefCell<Option<Simulated>> = const { RefCell::new(None) };
}

/// Ends the simulation of this thread when dropped, also after a panic.
struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        HERE.take();
    }
}

/// Runs a future on this thread only. Time advances only when no task can run.
///
/// # Errors
/// The error of the future.
pub fn run<T>(seed: u64, future: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let simulated = Simulated::enter(seed);
    let _entered = Entered;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("cannot create a runtime: {error}"))?;
    runtime.block_on(async {
        let began = tokio::time::Instant::now();
        simulated.follow(move || began.elapsed());
        HERE.set(Some(simulated));
        future.await
    })
}

/// Moves the wall clock by this many milliseconds, forwards or backwards.
pub fn jump(by_ms: i64) {
    HERE.with_borrow(|here| {
        if let Some(simulated) = here {
            simulated.jump_wall_ms(by_ms);
        }
    });
}

/// Returns a new directory for a run: in memory if the machine supports that, because runs sync
/// often.
///
/// # Errors
/// Fails if the directory cannot be created.
pub fn directory() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.map_err(|error| format!("cannot create a directory: {error}"))
}
