//! Which files are inspected: those named, and all below folders named, in the order of their names.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The files that `inputs` stand for.
pub(super) fn expand(inputs: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for input in inputs {
        let before = files.len();
        if input.is_dir() {
            walk(input, &mut files)?;
            if files.len() == before {
                bail!("{} holds no files", input.display());
            }
        } else {
            files.push(input.clone());
        }
    }
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let describe = || format!("read folder {}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(describe)? {
        paths.push(entry.with_context(describe)?.path());
    }
    paths.sort();
    for path in paths {
        // A link to a folder may lead in a circle; links to files are fine.
        if path.is_dir() && !path.is_symlink() {
            walk(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}
