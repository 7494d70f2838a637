//! What a run lives in: one thread, a clock that stands still while there is work, a directory in memory.

use std::path::Path;

use tempfile::TempDir;

/// Runs a future on this thread alone. Time goes on only when nothing else is left to do.
pub fn run<T>(_seed: u64, future: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(future)
}

/// A directory of its own for a run: in memory where the machine has that, because runs sync much.
pub fn directory() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.map_err(|error| format!("no directory: {error}"))
}
