//! Packages: ZIP files of WACZ 1.1.1, whose members are inputs of their own.
//!
//! A package is read by ranges: its directory, its small descriptions, and the members that are asked for. A stored
//! member is a range of the package, so that a record of it is one, too; a deflated member is unpacked into a file
//! without a name. A package may lie in a package.
//!
//! Invariants:
//! - what is read of a member belongs to the version of the package that was found, as far as its validator tells;
//! - memory is bounded by [`DIRECTORY_BYTES_MAX`](zip_file) and the descriptions' limit, whatever a package claims.

mod address;
mod described;
mod discovery;
mod elsewhere;
mod manifest;
mod package_list;
mod page_check;
mod page_lines;
mod parts;
mod source;
mod zip_file;

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

pub use address::{is_local_member, without_secrets};
pub(super) use address::{
    is_member, is_package_name, member_parts, of_member, outermost as outermost_package,
};
pub(crate) use elsewhere::Elsewhere;
pub(super) use package_list::is_package_list_name;
pub use page_lines::{ListedPage, MAIN_LIST, PageLine, PageLines};
pub use parts::{PackagePart, is_package, package_parts};
pub use source::Packages;

use super::path::address_of;

/// The package that a member is in, and the member's name, by the location that the ledger has; `None` of other locations.
pub fn package_of(location: &str) -> Option<(String, String)> {
    member_parts(&address_of(location)?)
}

/// Whether a file of this machine is a package by its name, and its directory, which comes last, cannot be read: it is still written,
/// or damaged.
pub fn is_unfinished_package(path: &Path) -> bool {
    if !is_package_name(path.as_os_str().as_bytes()) {
        return false;
    }
    let opened = super::open_file(path).and_then(|file| zip_file::ZipFile::open(Arc::new(file)));
    opened.is_err()
}
