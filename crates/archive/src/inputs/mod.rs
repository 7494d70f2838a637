//! Finds the inputs that the arguments of a load mean: files, and objects that an [`InputSource`] reaches.
//!
//! Invariants:
//! - a file, glob or path list that leads nowhere gives an entry with a problem; everything in a folder is an
//!   entry or is listed as skipped. Nothing is dropped silently;
//!  - paths are bytes; names and locations are their text ([`path_text`]);
//! - no two entries name the same file (links are resolved); the first mention wins;
//! - entries are in the order of the arguments, and within a folder or glob in the order of names.

mod address;
mod digest;
mod file;
mod folder;
mod glob;
mod known;
mod list;
mod path;
mod source;
mod spool;

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warc::Input;

pub(crate) use digest::{ContentDigest, digest, text as digest_text};
pub(crate) use file::{FileVersion, open_file};
pub(crate) use folder::Skipped;
pub(crate) use known::KnownDigests;
pub use path::{path_of, path_text};
pub(crate) use source::FromStart;
pub use source::{InputSource, Sources, Stat, is_address};
pub(crate) use spool::{Spool, SpoolRoom};

use crate::question::LoadInput;

/// An input to load, or a name that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Name for the ledger, as text.
    pub(crate) name: String,
    pub(crate) place: Place,
    /// Size in bytes now; 0 if there is a problem.
    pub(crate) size: u64,
    /// Why it cannot be read.
    pub(crate) problem: Option<String>,
}

/// Where an input is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// An absolute path.
    File(PathBuf),
    /// An address, and what was known about its object when it was found.
    Address(String, Stat),
}

impl Place {
    /// Path or address as text, as the ledger has it.
    pub(crate) fn location(&self) -> String {
        match self {
            Place::File(path) => path_text(path),
            Place::Address(address, _) => path::address_text(address),
        }
    }

    /// Opens the version of the input that was found.
    pub(crate) fn open(&self, sources: &Sources) -> io::Result<Arc<dyn Input>> {
        match self {
            Place::File(path) => Ok(Arc::new(open_file(path)?)),
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
    /// Name of the input in the ledger.
    pub name: String,
    /// Absolute path or address (the text of it, see [`path_text`]).
    pub location: String,
    /// Why the input cannot be read.
    pub problem: Option<String>,
}

/// Finds the inputs that the arguments of a load mean. Folders, patterns and path lists are expanded.
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

/// Everything that the arguments of a load mean.
#[derive(Debug)]
pub(crate) struct Discovery<'a> {
    pub(crate) found: Vec<Found>,
    /// Files in folders, or that match patterns, but are not archive files.
    pub(crate) skipped: Vec<Skipped>,
    /// Whether path lists are expanded without a mark. They are if only lists were named, because nothing
    /// else can be meant.
    expands_lists: bool,
    sources: &'a Sources,
    /// Resolved paths, and addresses, that were taken already.
    seen: HashSet<PathBuf>,
}

/// Whether an input begins like records. Also true if it cannot be read.
pub(crate) fn may_hold_records(content: impl Read, name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    warc::is_record_file_name(name.as_bytes()) || warc::begins_like_records(content).unwrap_or(true)
}

/// Expands folders, globs and path lists.
pub(crate) fn discover<'a>(inputs: &[LoadInput], sources: &'a Sources) -> Discovery<'a> {
    let mut discovery = Discovery {
        found: Vec::new(),
        skipped: Vec::new(),
        expands_lists: inputs.iter().all(is_list),
        sources,
        seen: HashSet::new(),
    };
    for input in inputs {
        discovery.argument(input);
    }
    discovery
}

/// Whether an argument is a path list, by its mark or its name.
fn is_list(input: &LoadInput) -> bool {
    input.name.starts_with('@') || list::is_path_list(Path::new(&input.path))
}

impl Discovery<'_> {
    fn argument(&mut self, input: &LoadInput) {
        let marked = input.name.strip_prefix('@');
        let path = match marked {
            Some(_) => input.path.strip_prefix('@').unwrap_or(&input.path),
            None => &input.path,
        };
        if is_address(path) {
            return match path::address_of(path) {
                Some(address) if marked.is_some() => self.address_list(&address),
                Some(address) => self.address(&address),
                None => self.no_object(path, "an address is UTF-8".to_owned()),
            };
        }
        let path = path_of(path);
        if let Some(name) = marked {
            return self.list(&path_of(name), &path);
        }
        let name = path_of(&input.name);
        if !path.exists() && glob::is_pattern(path.as_os_str().as_bytes()) {
            return self.glob(&name, &path);
        }
        self.named(&name, &path);
    }

    /// Takes what an argument or a glob means. A path list among other files was most likely matched by a
    /// pattern, of the shell or ours, so its entries are not loaded.
    fn named(&mut self, name: &Path, path: &Path) {
        if !(list::is_path_list(path) && path.is_file()) {
            self.listed(name, path);
        } else if self.expands_lists {
            self.list(name, path);
        } else {
            self.skip(path_text(name), folder::PATH_LIST);
        }
    }

    /// Takes an entry of a path list. A list in a list is treated as a plain file.
    fn listed(&mut self, name: &Path, path: &Path) {
        if path.is_dir() {
            self.folder(name, path);
        } else {
            self.file(path_text(name), path);
        }
    }

    /// Takes a file named explicitly or by a glob or list. It gets an entry whatever it is.
    fn file(&mut self, name: String, path: &Path) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return;
        }
        let (size, problem) = match fs::metadata(path) {
            Ok(metadata) => match file::irregular(metadata.file_type()) {
                None => (metadata.len(), None),
                Some(what) => (0, Some(file::not_regular(what))),
            },
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

    fn glob(&mut self, name: &Path, path: &Path) {
        let expanded = glob::expand(name, path);
        if expanded.matches.is_empty() && expanded.unlisted.is_empty() {
            self.problem(path_text(name), path, "no file matches".to_owned());
        }
        for (name, path, error) in expanded.unlisted {
            self.problem(path_text(&name), &path, format!("cannot be listed: {error}"));
        }
        for (name, path) in expanded.matches {
            self.named(&name, &path);
        }
    }

    /// Takes the entries of a path list, which are relative to the list's folder, absolute, or addresses.
    fn list(&mut self, name: &Path, path: &Path) {
        let entries = match file::open_stream(path).and_then(list::read) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(
                    path_text(name),
                    path,
                    format!("cannot be read as a path list: {error}"),
                );
            }
        };
        let beside = |path: &Path, entry: &Path| path.parent().unwrap_or(Path::new("")).join(entry);
        let addresses = entries.iter().filter_map(|entry| match entry {
            list::Entry::Address(address) => Some(address.as_str()),
            list::Entry::Path(_) => None,
        });
        let mut looked = self.look_at_all(addresses);
        for entry in &entries {
            match entry {
                list::Entry::Path(entry) => self.listed(&beside(name, entry), &beside(path, entry)),
                // A second line with the same address finds nothing, because the first one has taken the
                // answer.
                list::Entry::Address(address) => {
                    if let Some(looked) = looked.remove(address.as_str()) {
                        self.looked(address, looked);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
