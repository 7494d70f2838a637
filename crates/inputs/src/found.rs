//! An input that a load found, before it is read.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use warc::{Defect, Input};

use super::file::open_file;
use super::path::{address_text, path_text};
use super::source::{Sources, Stat};

/// An input to load, or a name that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Name for the ledger, as text.
    pub name: String,
    /// Where it is read from.
    pub place: Place,
    /// Present size in bytes; 0 if there is a problem.
    pub size: u64,
    /// Why the input cannot be read.
    pub problem: Option<String>,
    /// What its package declares about it.
    pub declared: Declared,
}

/// The declarations of a package about a member that is an input. Empty for other inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// Digest of the content (`sha256:<hex>`).
    pub digest: Option<String>,
    /// Defects of the member known before it is read. The member is used nevertheless.
    pub defects: Vec<Defect>,
}

/// The location of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An absolute path.
    File(PathBuf),
    /// An address, and the status of its object when it was found.
    Address(String, Stat),
}

impl Place {
    /// Returns the path or address as text, as in the ledger.
    pub fn location(&self) -> String {
        match self {
            Place::File(path) => path_text(path),
            Place::Address(address, _) => address_text(address),
        }
    }

    /// Opens the version of the input that was found.
    pub fn open(&self, sources: &Sources) -> io::Result<Arc<dyn Input>> {
        match self {
            Place::File(path) => Ok(Arc::new(open_file(path)?)),
            Place::Address(address, stat) => sources.of(address)?.open(address, Some(stat)),
        }
    }

    /// Returns whether the name says that the input is still being written.
    pub fn is_named_open(&self) -> bool {
        match self {
            Place::File(path) => path.extension().is_some_and(|extension| extension == "open"),
            Place::Address(address, _) => address.ends_with(".open"),
        }
    }
}
