//! An input that a load found, before it is read.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use warc::Input;

use super::declared::DeclaredContent;
use super::file::open_file;
use super::path::{address_text, path_text};
use super::source::InputStat;
use super::sources::Sources;

/// An input to load, or a name that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredInput {
    /// Name for the ledger, as text.
    pub name: String,
    /// Where it is read from.
    pub place: InputLocation,
    /// Present size in bytes; 0 if there is a problem.
    pub size: u64,
    /// Why the input cannot be read.
    pub problem: Option<String>,
    /// What its package declares about it.
    pub declared: DeclaredContent,
}

/// The location of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLocation {
    /// An absolute path.
    File(PathBuf),
    /// An address, and the status of its object when it was found.
    Address(String, InputStat),
}

impl InputLocation {
    /// Returns the path or address as text, as in the ledger.
    pub fn location(&self) -> String {
        match self {
            InputLocation::File(path) => path_text(path),
            InputLocation::Address(address, _) => address_text(address),
        }
    }

    /// Opens the version of the input that was found.
    pub fn open(&self, sources: &Sources) -> io::Result<Arc<dyn Input>> {
        match self {
            InputLocation::File(path) => Ok(Arc::new(open_file(path)?)),
            InputLocation::Address(address, stat) => sources.source_of(address)?.open(address, Some(stat)),
        }
    }

    /// Returns whether the name says that the input is still being written.
    pub fn is_named_open(&self) -> bool {
        match self {
            InputLocation::File(path) => path.extension().is_some_and(|extension| extension == "open"),
            InputLocation::Address(address, _) => address.ends_with(".open"),
        }
    }
}
