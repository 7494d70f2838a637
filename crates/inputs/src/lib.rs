//! Finds the inputs that the arguments of a load name: files, and objects that an [`InputSource`]
//! reaches.
//!
//! Invariants:
//! - a file, glob or path list that leads nowhere gives an entry with a problem; everything in a
//!   folder is an entry or is listed as skipped. Files are never dropped silently;
//! - paths are bytes; names and locations are their text ([`path_text`]);
//! - no two entries name the same file (links are resolved); the first mention wins;
//! - entries are in the order of the arguments, and within a folder or glob in the order of names.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod address;
mod byte_order_mark;
pub mod common_crawl;
mod declared;
mod digest;
mod digest_cache;
mod discovered;
mod discovery;
mod exchanges;
mod file;
mod folder;
mod glob;
mod index_file;
mod list;
mod load_input;
mod package;
mod path;
mod required_package;
mod secret_source;
mod skipped_file;
mod source;
mod sources;
mod spool;

use std::io::Read;

pub use declared::DeclaredContent;
pub use digest::{ContentDigest, Digesting, digest, text as digest_text};
pub use digest_cache::DigestCache;
pub use discovered::{DiscoveredInput, InputLocation};
pub use discovery::{Discovery, DiscoveryNote, DiscoveryWarning, discover};
pub use exchanges::{Exchanges, RequestMethod, early_answers};
pub use file::{FileVersion, open_file};
pub use index_file::{IndexLines, NumberedLine};
pub use list::read_inherited_list;
pub use load_input::LoadInput;
pub use package::{ListedPage, MAIN_LIST, Packages, PageLine, PageLineError, PageLines, package_of};
pub use package::{
    PackagePart, is_local_member, is_package, is_unfinished_package, member_location, package_parts,
    without_secrets,
};
pub use path::{is_address, path_of, path_text};
pub use required_package::RequiredPackage;
pub use skipped_file::SkippedFile;
pub use source::{InputReader, InputSource, InputStat};
pub use sources::Sources;
pub use spool::{Spool, SpoolRoom};

/// Defect: a declared digest differs from that of the content.
pub const PACKAGE_DIGEST: &str = "package-digest";

/// Defect: the signature of a package is wrong.
pub const PACKAGE_SIGNATURE: &str = "package-signature";

/// Defect: a package needs another one, which is neither loaded nor given.
pub const PACKAGE_REQUIRES: &str = "package-requires";

/// An input as a load would find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedInput {
    /// Name of the input in the ledger.
    pub name: String,
    /// Absolute path or address as text (see [`path_text`]).
    pub location: String,
    /// Size in bytes, if it is known before reading; 0 if there is a problem.
    pub size: u64,
    /// A value that changes whenever the content does, if the source of an address has one.
    pub validator: Option<String>,
    /// Why the input cannot be read.
    pub problem: Option<String>,
}

/// Finds the inputs that the arguments of a load name. Expands folders, patterns and path lists.
/// Lists of packages may lead to their own origin, and to the places of `allow_elsewhere`.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// std::fs::write(dir.path().join("b.warc"), "WARC/1.0\r\n")?;
/// std::fs::write(dir.path().join("notes.txt"), "no records")?;
/// let folder = inputs::LoadInput {
///     name: "crawl".into(),
///     path: inputs::path_text(dir.path()),
/// };
/// let found = inputs::resolve_inputs(&[folder], &[], &inputs::Sources::default());
/// let names: Vec<&str> = found.iter().map(|input| &*input.name).collect();
/// assert_eq!(names, ["crawl/b.warc"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn resolve_inputs(
    inputs: &[LoadInput],
    allow_elsewhere: &[String],
    sources: &Sources,
) -> Vec<ResolvedInput> {
    let found = discover(inputs, allow_elsewhere, sources).found.into_iter();
    found
        .map(|found| ResolvedInput {
            location: found.place.location(),
            validator: match &found.place {
                InputLocation::File(_) => None,
                InputLocation::Address(_, stat) => stat.validator.clone(),
            },
            name: found.name,
            size: found.size,
            problem: found.problem,
        })
        .collect()
}

/// Returns whether an input begins like a file of records, or cannot be read.
pub fn may_hold_records(content: impl Read, name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    warc::is_record_file_name(name.as_bytes()) || warc::begins_like_records(content).unwrap_or(true)
}

#[cfg(test)]
mod tests;
