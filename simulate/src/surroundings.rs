//! What a run lives in: one thread, chance from a seed, clocks that stand still while there is work, a directory in
//! memory.

use std::cell::RefCell;
use std::path::Path;

use system::Simulated;
use tempfile::TempDir;

thread_local! {
    /// What serves the run on this thread.
    static HERE: RefCell<Option<Simulated>> = const { RefCell::new(None) };
}

/// Ends the simulation of this thread when it is dropped, after a panic too.
struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        HERE.take();
    }
}

/// Runs a future on this thread alone. Time goes on only when nothing else is left to do.
///
/// # Errors
/// That of the future.
pub fn run<T>(seed: u64, future: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let simulated = Simulated::enter(seed);
    let _entered = Entered;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(async {
        let began = tokio::time::Instant::now();
        simulated.follow(move || began.elapsed());
        HERE.set(Some(simulated));
        future.await
    })
}

/// The wall clock jumps by so many milliseconds, forwards or backwards.
pub fn jump(by_ms: i64) {
    HERE.with_borrow(|here| {
        if let Some(simulated) = here {
            simulated.jump_wall_ms(by_ms);
        }
    });
}

/// A directory of its own for a run: in memory where the machine has that, because runs sync much.
///
/// # Errors
/// When it cannot be made.
pub fn directory() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.map_err(|error| format!("no directory: {error}"))
}
