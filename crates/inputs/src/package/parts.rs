//! Lists the parts of a package, for programs that read files without an archive.

use std::io;

use super::address::is_package_name;
use crate::digest::digest;
use crate::discovery::discover;
use crate::path::{is_address, path_of};
use crate::source::InputReader;
use crate::sources::Sources;

/// A member of a package that contains records, or a problem of the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagePart {
    /// The name of the package, `#`, and the name of the member.
    pub name: String,
    /// The address of the member, as [`Sources::open`] accepts it.
    pub location: String,
    /// The digest declared in `datapackage.json` (`sha256:<hex>`).
    pub declared: Option<String>,
    /// Wrong declarations about content that can be used nevertheless.
    pub warnings: Vec<String>,
    /// What the package says about itself, such as who signed it.
    pub notes: Vec<String>,
    /// Why the member cannot be used.
    pub problem: Option<String>,
}

impl PackagePart {
    /// Returns the digest of the content if it differs from the declared one.
    ///
    /// # Errors
    /// The member cannot be read.
    pub fn digest_if_other(&self, sources: &Sources) -> io::Result<Option<String>> {
        let Some(declared) = self
            .declared
            .as_ref()
            .filter(|declared| declared.starts_with("sha256:"))
        else {
            return Ok(None);
        };
        let found = digest(InputReader::of(sources.open(&self.location)?), &[], |_| {})?.digest;
        Ok((!found.eq_ignore_ascii_case(declared)).then_some(found))
    }
}

/// Returns whether a file or an object is a package (WACZ) by its name.
pub fn is_package(location: &str) -> bool {
    let path = if is_address(location) {
        location
            .split(['?', '#'])
            .next()
            .unwrap_or(location)
            .as_bytes()
            .to_vec()
    } else {
        path_of(location).into_os_string().into_encoded_bytes()
    };
    is_package_name(&path)
}

/// Returns the members of the package at a location, including those of packages within it, and its
/// problems. Packages at other addresses that it names are not read.
pub fn package_parts(location: &str, sources: &Sources) -> Vec<PackagePart> {
    let mut discovery = discover(&[], &[], sources);
    discovery.package(location, location);
    let of_package = |name, warnings, notes| PackagePart {
        name,
        location: String::new(),
        declared: None,
        warnings,
        notes,
        problem: None,
    };
    let warnings = discovery
        .warnings
        .into_iter()
        .map(|warning| of_package(warning.name, vec![warning.detail], Vec::new()));
    let notes = discovery
        .notes
        .into_iter()
        .map(|note| of_package(note.name, Vec::new(), vec![note.detail]));
    let required = discovery
        .required
        .into_iter()
        .map(|package| of_package(package.name.clone(), Vec::new(), vec![package.note()]));
    let found = discovery.found.into_iter().map(|found| PackagePart {
        location: found.place.location(),
        name: found.name,
        declared: found.declared.digest,
        warnings: found
            .declared
            .defects
            .into_iter()
            .map(|defect| defect.detail)
            .collect(),
        notes: Vec::new(),
        problem: found.problem,
    });
    warnings.chain(notes).chain(required).chain(found).collect()
}
