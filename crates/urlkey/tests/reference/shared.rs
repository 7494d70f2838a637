//! Where the shared test data is.

use std::path::{Path, PathBuf};

/// A file of the shared data: `WEFT_SHARED_DATA`, or `shared/data` beside or above the workspace.
/// Says so in one line and gives `None` where it is missing.
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
