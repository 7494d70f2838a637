//! Finds the shared test data.

use std::path::{Path, PathBuf};

/// Returns a file of the shared data: in `WEFT_SHARED_DATA`, or in `shared/data` next to or above
/// the workspace. If it is missing, prints a line and returns `None`.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("WEFT_SHARED_DATA").map(PathBuf::from);
    let found = named.or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|folder| folder.join("shared/data"))
            .find(|folder| folder.is_dir())
    });
    let path = found.map(|folder| folder.join(name)).filter(|path| path.exists());
    if path.is_none() {
        eprintln!("skipped: no {name} in shared/data");
    }
    path
}
