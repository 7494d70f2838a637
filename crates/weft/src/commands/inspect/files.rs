//! Finds the files to inspect: named files, and all files below named folders in order of name.
//! Addresses are expanded alike. Locations are text, as in the archive.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use inputs::{Sources, is_address, path_of, path_text};

use crate::ask::path_or_escaped;

/// Returns the paths and addresses of all files of `inputs`.
pub(in crate::commands) fn expand(inputs: &[OsString], sources: &Sources) -> anyhow::Result<Vec<String>> {
    let mut locations = Vec::new();
    for input in inputs {
        let path = &path_of(&path_or_escaped(input, Path::new("")));
        if let Some(address) = input.to_str().filter(|input| is_address(input)) {
            let address = &sources.without_secrets(address);
            let found = sources
                .expand(address)
                .with_context(|| format!("find {address}"))?;
            locations.extend(found.iter().map(|address| path_text(address.as_ref())));
        } else if path.is_dir() {
            let mut files = Vec::new();
            walk(path, &mut files)?;
            if files.is_empty() {
                bail!("{} contains no files", path_text(path));
            }
            locations.extend(files.iter().map(|file| path_text(file)));
        } else {
            locations.push(path_text(path));
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
        // Links to folders are not followed, since they may form cycles; links to files are.
        if path.is_dir() && !path.is_symlink() {
            walk(&path, files)?;
        } else if !path.is_dir() {
            // Special files and dangling links are reported when they are opened.
            files.push(path);
        }
    }
    Ok(())
}
