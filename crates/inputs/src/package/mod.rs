//! Packages: ZIP files of WACZ 1.1.1, whose members are separate inputs.
//!
//! A package is read by ranges: its directory, its small descriptions, and the requested members. A
//! stored member is a range of the package, so each of its records is one, too. A deflated member
//! is unpacked into an unnamed file. A package may contain packages.
//!
//! Invariants:
//! - all bytes read from a member belong to the version of the package that was found, as far as
//!   its validator can tell;
//! - memory is bounded by [`DIRECTORY_BYTES_MAX`](zip_file) and the limit of descriptions, whatever
//!   sizes a package declares.

mod address;
mod allowed_origins;
mod discovery;
mod manifest;
mod package_description;
mod package_list;
mod page_check;
mod page_lines;
mod parts;
mod signature;
mod source;
mod zip_file;

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

pub use address::{is_local_member, without_secrets};
pub(super) use address::{
    is_member, is_package_list_name, is_package_name, member_parts, of_member, outermost as outermost_package,
};
pub(crate) use allowed_origins::AllowedOrigins;
pub use page_lines::{ListedPage, MAIN_LIST, PageLine, PageLineError, PageLines};
pub use parts::{PackagePart, is_package, package_parts};
pub use source::Packages;

use super::path::{address_of, address_text};

/// Returns the package and the name of a member from its location in the ledger; `None` for other
/// locations.
pub fn package_of(location: &str) -> Option<(String, String)> {
    member_parts(&address_of(location)?)
}

/// Returns the location of a member of a package in the ledger. The package is the text of an
/// absolute path, or an address.
pub fn member_location(package: &str, member: &str) -> String {
    address_text(&of_member(package, member))
}

/// Returns whether a local file is a package by its name, but its directory cannot be read. The
/// directory comes last, so the package is still being written, or damaged.
pub fn is_unfinished_package(path: &Path) -> bool {
    if !is_package_name(path.as_os_str().as_bytes()) {
        return false;
    }
    let opened = super::open_file(path).and_then(|file| zip_file::ZipFile::open(Arc::new(file)));
    opened.is_err()
}
