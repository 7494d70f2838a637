//! The program that is measured.

use std::path::PathBuf;

use anyhow::ensure;

/// The `weft` given, or the one beside this benchmark.
///
/// # Errors
/// A program that is not there, with the command that builds it.
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
