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
mod discovery;
mod file;
mod folder;
mod found;
mod glob;
mod index_file;
mod known;
mod list;
mod of_archive;
mod package;
mod path;
mod secrets;
mod skipped;
mod source;
mod spool;

use std::io::Read;

pub(crate) use digest::{ContentDigest, Digesting, digest, text as digest_text};
pub(crate) use discovery::{Warning, discover};
pub(crate) use file::{FileVersion, open_file};
pub(crate) use found::{Declared, Found, Place};
pub(crate) use index_file::{IndexLines, NumberedLine, is_index_name};
pub(crate) use known::KnownDigests;
pub(crate) use of_archive::POSTED;
pub(crate) use package::{ListedPage, MAIN_LIST, PageLine, package_of};
pub use package::{
    PackagePart, is_local_member, is_package, is_unfinished_package, package_parts, without_secrets,
};
pub use path::{path_of, path_text};
pub(crate) use skipped::Skipped;
pub(crate) use source::FromStart;
pub use source::{InputSource, Sources, Stat, is_address};
pub(crate) use spool::{Spool, SpoolRoom};

use crate::question::LoadInput;

/// A declared digest is not that of the content.
pub(crate) const PACKAGE_DIGEST: &str = "package-digest";

/// A byte order mark in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// An input as a load would find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundInput {
    /// Name of the input in the ledger.
    pub name: String,
    /// Absolute path or address (the text of it, see [`path_text`]).
    pub location: String,
    /// Bytes, as far as that is known before reading; 0 if there is a problem.
    pub size: u64,
    /// A value that changes whenever the content does, if the source of an address has one.
    pub validator: Option<String>,
    /// Why the input cannot be read.
    pub problem: Option<String>,
}

/// Finds the inputs that the arguments of a load mean. Folders, patterns and path lists are expanded; lists of packages lead to
/// their own origin, and to the places of `allow_elsewhere`.
pub fn found_inputs(inputs: &[LoadInput], allow_elsewhere: &[String], sources: &Sources) -> Vec<FoundInput> {
    let found = discover(inputs, allow_elsewhere, sources).found.into_iter();
    found
        .map(|found| FoundInput {
            location: found.place.location(),
            validator: match &found.place {
                Place::File(_) => None,
                Place::Address(_, stat) => stat.validator.clone(),
            },
            name: found.name,
            size: found.size,
            problem: found.problem,
        })
        .collect()
}

/// What follows a byte order mark (UTF-8), which some editors write before all text.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// Whether an input begins like records. Also true if it cannot be read.
pub(crate) fn may_hold_records(content: impl Read, name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    warc::is_record_file_name(name.as_bytes()) || warc::begins_like_records(content).unwrap_or(true)
}

#[cfg(test)]
mod tests;
