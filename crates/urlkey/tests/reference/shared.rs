//! Finds the shared test data.

use std::path::PathBuf;

/// Returns a file of the shared data: in `WEFT_SHARED_DATA`, or in `shared/data` next to or above
/// the workspace. If it is missing, prints a line and returns `None`.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let path = test_env::shared_data()
        .map(|folder| folder.join(name))
        .filter(|path| path.exists());
    if path.is_none() {
        eprintln!("skipped: no {name} in shared/data");
    }
    path
}
