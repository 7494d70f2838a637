//! From the arguments of a load to the inputs to read: files, and what an [`InputSource`] reaches.
//!
//! Invariants:
//!  - a file, glob or path list that leads nowhere gives an entry with a problem; what a folder holds is an
//!    entry or counted as skipped: nothing vanishes silently;
//!  - no two entries name the same file (links resolved), the first mention wins;
//!  - the order is that of the arguments, within a folder or glob that of the names.

mod address;
mod digest;
mod glob;
mod known;
mod list;
mod probe;
mod source;
mod spool;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warc::Input;

pub(crate) use digest::{ContentDigest, digest, text as digest_text};
pub(crate) use known::KnownDigests;
pub(crate) use source::FromStart;
pub use source::{InputSource, Sources, Stat, is_address};
pub(crate) use spool::{Spool, SpoolRoom};

use crate::question::LoadInput;

/// An input to load, or a name that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Name for the ledger.
    pub(crate) name: String,
    pub(crate) place: Place,
    /// Bytes now, 0 if there is a problem.
    pub(crate) size: u64,
    /// Why it cannot be read.
    pub(crate) problem: Option<String>,
}

/// Where an input is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// An absolute path.
    File(PathBuf),
    /// An address, and what was seen there.
    Address(String, Stat),
}

impl Place {
    /// Path or address, as the ledger keeps it.
    pub(crate) fn location(&self) -> String {
        match self {
            Place::File(path) => text(path),
            Place::Address(address, _) => address.clone(),
        }
    }

    /// Opens the input as it was seen.
    pub(crate) fn open(&self, sources: &Sources) -> io::Result<Arc<dyn Input>> {
        match self {
            Place::File(path) => Ok(Arc::new(File::open(path)?)),
            Place::Address(address, stat) => sources.of(address)?.open(address, Some(stat)),
        }
    }

    /// Whether the name says that the input is still being written.
    pub(crate) fn is_named_open(&self) -> bool {
        match self {
            Place::File(path) => path.extension().is_some_and(|extension| extension == "open"),
            Place::Address(address, _) => address.ends_with(".open"),
        }
    }
}

/// An input as a load would find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundInput {
    /// Its name in the ledger.
    pub name: String,
    /// Absolute path or address.
    pub location: String,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// What the arguments of a load lead to: folders, patterns and path lists expanded.
pub fn found_inputs(inputs: &[LoadInput], sources: &Sources) -> Vec<FoundInput> {
    let found = discover(inputs, sources).found.into_iter();
    found
        .map(|found| FoundInput {
            location: found.place.location(),
            name: found.name,
            problem: found.problem,
        })
        .collect()
}

/// Everything the arguments of a load lead to.
#[derive(Debug)]
pub(crate) struct Discovery<'a> {
    pub(crate) found: Vec<Found>,
    /// Files in folders that hold no records by their first bytes.
    pub(crate) skipped: u64,
    sources: &'a Sources,
    /// Real paths and addresses.
    seen: HashSet<PathBuf>,
}

/// Whether an input begins like records, or cannot be looked at.
pub(crate) fn may_hold_records(content: impl Read, location: &str) -> bool {
    probe::holds_records(content, location.rsplit('/').next().unwrap_or(location)).unwrap_or(true)
}

/// Expands folders, globs and path lists.
pub(crate) fn discover<'a>(inputs: &[LoadInput], sources: &'a Sources) -> Discovery<'a> {
    let mut discovery = Discovery {
        found: Vec::new(),
        skipped: 0,
        sources,
        seen: HashSet::new(),
    };
    for input in inputs {
        discovery.argument(input);
    }
    discovery
}

impl Discovery<'_> {
    fn argument(&mut self, input: &LoadInput) {
        if let Some(name) = input.name.strip_prefix('@') {
            let path = input.path.strip_prefix('@').unwrap_or(&input.path);
            if is_address(path) {
                return self.address_list(path);
            }
            return self.list(Path::new(name), Path::new(path));
        }
        if is_address(&input.path) {
            return self.address(&input.path);
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
            place: Place::File(path.to_owned()),
            size,
            problem,
        });
    }

    fn problem(&mut self, name: String, path: &Path, problem: String) {
        self.found.push(Found {
            name,
            place: Place::File(path.to_owned()),
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
                Ok(_) => match holds_records(&path) {
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

    /// Entries of a path list are relative to the list's folder, absolute, or addresses.
    fn list(&mut self, name: &Path, path: &Path) {
        let entries = match File::open(path).and_then(list::read) {
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
        let mut looked = self.look_at_all(&entries);
        for entry in &entries {
            if let Some(looked) = looked.remove(entry.as_str()) {
                self.looked(entry, looked);
            } else if !is_address(entry) {
                self.listed(&beside(name, entry), &beside(path, entry));
            }
        }
    }
}

fn holds_records(path: &Path) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    probe::holds_records(File::open(path)?, &name)
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
