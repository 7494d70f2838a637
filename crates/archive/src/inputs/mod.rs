//! From the arguments of a load to the files to read.
//!
//! Invariants:
//!  - a file, glob or path list that leads nowhere gives an entry with a problem; what a folder holds is an
//!    entry or counted as skipped: nothing vanishes silently;
//!  - no two entries name the same file (links resolved), the first mention wins;
//!  - the order is that of the arguments, within a folder or glob that of the names.

mod digest;
mod glob;
mod list;
mod probe;

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) use digest::{ContentDigest, digest};

use crate::question::LoadInput;

/// A file to load, or a name that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Name for the ledger.
    pub(crate) name: String,
    /// Absolute.
    pub(crate) path: PathBuf,
    /// Bytes now, 0 if there is a problem.
    pub(crate) size: u64,
    /// Why it cannot be read.
    pub(crate) problem: Option<String>,
}

/// Everything the arguments of a load lead to.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    pub(crate) found: Vec<Found>,
    /// Files in folders that hold no records by their first bytes.
    pub(crate) skipped: u64,
    seen: HashSet<PathBuf>,
}

/// Whether a file begins like records, or cannot be looked at.
pub(crate) fn may_hold_records(path: &Path) -> bool {
    probe::holds_records(path).unwrap_or(true)
}

/// Expands folders, globs and path lists.
pub(crate) fn discover(inputs: &[LoadInput]) -> Discovery {
    let mut discovery = Discovery::default();
    for input in inputs {
        discovery.argument(input);
    }
    discovery
}

impl Discovery {
    fn argument(&mut self, input: &LoadInput) {
        if let Some(name) = input.name.strip_prefix('@') {
            let path = input.path.strip_prefix('@').unwrap_or(&input.path);
            return self.list(Path::new(name), Path::new(path));
        }
        let path = Path::new(&input.path);
        if !path.exists() && glob::is_pattern(&input.path) {
            return self.glob(input);
        }
        self.named(Path::new(&input.name), path);
    }

    /// What an argument or a glob leads to.
    fn named(&mut self, name: &Path, path: &Path) {
        if list::is_path_list(path) && path.is_file() {
            self.list(name, path);
        } else {
            self.listed(name, path);
        }
    }

    /// What an entry of a path list leads to: a list in a list is a plain file.
    fn listed(&mut self, name: &Path, path: &Path) {
        if path.is_dir() {
            self.folder(name, path);
        } else {
            self.file(text(name), path);
        }
    }

    /// A file named explicitly or by a glob or list: whatever it is, it gets an entry.
    fn file(&mut self, name: String, path: &Path) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let (size, problem) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => (metadata.len(), None),
            Ok(_) => (0, Some("not a regular file".to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => (0, Some("no such file".to_owned())),
            Err(error) => (0, Some(format!("cannot be read: {error}"))),
        };
        self.found.push(Found {
            name,
            path: path.to_owned(),
            size,
            problem,
        });
    }

    fn problem(&mut self, name: String, path: &Path, problem: String) {
        self.found.push(Found {
            name,
            path: path.to_owned(),
            size: 0,
            problem: Some(problem),
        });
    }

    /// All files below a folder whose first bytes look like records. Symbolic links to folders are not followed,
    /// so that a loop ends.
    fn folder(&mut self, name: &Path, path: &Path) {
        let entries = match sorted_entries(path) {
            Ok(entries) => entries,
            Err(error) => return self.problem(text(name), path, format!("cannot be listed: {error}")),
        };
        for entry in entries {
            let (name, path) = (name.join(&entry), path.join(&entry));
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.folder(&name, &path),
                Ok(_) if !fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) => self.skipped += 1,
                Ok(_) => match probe::holds_records(&path) {
                    Ok(true) => self.file(text(&name), &path),
                    Ok(false) => self.skipped += 1,
                    Err(error) => self.problem(text(&name), &path, format!("cannot be read: {error}")),
                },
                Err(error) => self.problem(text(&name), &path, format!("cannot be read: {error}")),
            }
        }
    }

    fn glob(&mut self, input: &LoadInput) {
        let matches = glob::expand(&input.name, Path::new(&input.path));
        if matches.is_empty() {
            self.problem(
                input.name.clone(),
                Path::new(&input.path),
                "no file matches".to_owned(),
            );
        }
        for (name, path) in matches {
            self.named(&name, &path);
        }
    }

    /// Entries of a path list are relative to the list's folder, or absolute.
    fn list(&mut self, name: &Path, path: &Path) {
        let entries = match list::read(path) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(
                    text(name),
                    path,
                    format!("cannot be read as a path list: {error}"),
                );
            }
        };
        let beside = |path: &Path, entry: &str| path.parent().unwrap_or(Path::new("")).join(entry);
        for entry in entries {
            let (name, path) = (beside(name, &entry), beside(path, &entry));
            self.listed(&name, &path);
        }
    }
}

fn sorted_entries(path: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
    let mut entries = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    Ok(entries)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
