//! Which files are inspected: those named, and all below folders named, in the order of their names. The same of
//! addresses.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use archive::{Sources, is_address};

/// Paths and addresses of the files that `inputs` stand for.
pub(super) fn expand(inputs: &[String], sources: &Sources) -> anyhow::Result<Vec<String>> {
    let mut locations = Vec::new();
    for input in inputs {
        if is_address(input) {
            let found = sources.expand(input).with_context(|| format!("find {input}"))?;
            locations.extend(found);
        } else if Path::new(input).is_dir() {
            let mut files = Vec::new();
            walk(Path::new(input), &mut files)?;
            if files.is_empty() {
                bail!("{input} holds no files");
            }
            locations.extend(files.iter().map(|file| file.display().to_string()));
        } else {
            locations.push(input.clone());
        }
    }
    Ok(locations)
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
