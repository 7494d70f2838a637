//! Finds the program to measure.

use std::path::PathBuf;

use anyhow::ensure;

/// Returns the given `weft`, or the one next to this benchmark.
///
/// # Errors
/// If the program does not exist. The error names the command that builds it.
pub fn weft(given: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    let weft = match given {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("weft"),
    };
    ensure!(
        weft.exists(),
        "{} is missing; build it with: cargo build --release -p weft",
        weft.display()
    );
    Ok(weft)
}
