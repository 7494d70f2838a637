//! Expands a package to its members.
//!
//! Every member with the name of an archive file is an input, and so are those of packages within.
//! A listed member that is missing, and a description that is missing or wrong, become entries with
//! a problem: they fail visibly, and the rest is loaded.

use std::collections::HashSet;

use super::address::{is_package_name, name_of_member, of_member};
use super::manifest::{MANIFEST, MANIFEST_DIGEST, Manifest};
use super::page_lines::is_page_list;
use super::signature::Verification;
use super::zip_file::ZipFile;
use crate::declared::DeclaredContent;
use crate::discovered::{DiscoveredInput, InputLocation};
use crate::discovery::{Discovery, DiscoveryNote, DiscoveryWarning};
use crate::required_package::RequiredPackage;
use crate::skipped_file::NOT_AN_ARCHIVE;
use crate::source::InputStat;
use crate::{PACKAGE_DIGEST, PACKAGE_SIGNATURE};

impl Discovery<'_> {
    /// Takes the contents of a package: the text of an absolute path, an address, or the address of
    /// a member.
    pub(crate) fn package(&mut self, name: &str, package: &str) {
        let (mut zip, validator) = match self.sources.packages().package(package) {
            Ok(opened) => opened,
            Err(error) => {
                let place = if super::super::is_address(package) {
                    InputLocation::Address(package.to_owned(), InputStat::default())
                } else {
                    InputLocation::File(super::super::path_of(package))
                };
                return self.wrong(name, place, format!("cannot be read as a package: {error}"));
            }
        };
        let mut manifest = Manifest::of(&mut zip);
        for (file, why) in &manifest.problems {
            self.not_in_package(name, package, file, why.join("; "));
        }
        if let Some((file, what)) = manifest.warning.take() {
            self.warn(name_of_member(name, file), what);
        }
        if let Some(verification) = manifest.signature.take() {
            self.signature(name_of_member(name, MANIFEST_DIGEST), verification);
        }
        for filename in std::mem::take(&mut manifest.required) {
            let name = name_of_member(name, MANIFEST);
            self.required.push(RequiredPackage { name, filename });
        }
        let names = zip.names();
        let there: HashSet<&String> = names.iter().collect();
        for listed in manifest.names().filter(|listed| !there.contains(listed)) {
            let why = "datapackage.json lists it, and the package has no such member".to_owned();
            self.not_in_package(name, package, listed, why);
        }
        let file_name = |member: &str| member.rsplit('/').next().unwrap_or_default().to_owned();
        for member in &names {
            if warc::is_record_file_name(file_name(member).as_bytes()) {
                self.package_member(name, package, member, &mut zip, (&validator, &manifest));
            } else if is_package_name(member.as_bytes()) {
                self.package_within((name, package), member, &mut zip, &manifest);
            } else if is_page_list(member) {
                self.page_list((name, package), member, &mut zip, &manifest);
            } else if member.starts_with("archive/") {
                self.skip(name_of_member(name, member), NOT_AN_ARCHIVE);
            }
        }
        self.remote_packages((name, package), std::mem::take(&mut manifest.remote_packages));
    }

    /// Takes a package in a package.
    fn package_within(
        &mut self,
        (name, package): (&str, &str),
        member: &str,
        zip: &mut ZipFile,
        manifest: &Manifest,
    ) {
        let (name, address) = (name_of_member(name, member), of_member(package, member));
        let place = || InputLocation::Address(address.clone(), InputStat::default());
        let details: Vec<String> = manifest
            .defects(member, zip)
            .into_iter()
            .map(|defect| defect.detail)
            .collect();
        if !details.is_empty() {
            self.wrong(&name, place(), details.join("; "));
        } else if let (Some(declared), Ok(Some(found))) = (manifest.resource(member), zip.member(member)) {
            let found = (Some(found.stat(None).size), None);
            self.compare_package(MANIFEST, &name, place(), declared, found);
        }
        self.package(&name, &address);
    }

    fn package_member(
        &mut self,
        name: &str,
        package: &str,
        member: &str,
        zip: &mut ZipFile,
        (validator, manifest): (&Option<String>, &Manifest),
    ) {
        let found = match zip.member(member) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(error) => {
                return self.not_in_package(name, package, member, format!("cannot be read: {error}"));
            }
        };
        let address = of_member(package, member);
        if self.seen.insert((&address).into()) {
            let stat = found.stat(validator.as_deref());
            self.found.push(DiscoveredInput {
                name: name_of_member(name, member),
                size: stat.size,
                place: InputLocation::Address(address, stat),
                problem: None,
                declared: manifest.declared(member, zip),
            });
        }
    }

    /// Reports what the signature of a package says.
    fn signature(&mut self, name: String, verification: Verification) {
        match verification {
            Verification::Correct(detail) => self.notes.push(DiscoveryNote { name, detail }),
            Verification::Unknown(why) => self.notes.push(DiscoveryNote {
                name,
                detail: format!("signed, but the signature was not verified: {why}"),
            }),
            Verification::Wrong(why) => self.warnings.push(DiscoveryWarning {
                name,
                reason: PACKAGE_SIGNATURE,
                detail: format!("the signature is wrong: {why}"),
            }),
        }
    }

    /// Reports a wrong declaration about content that can be used nevertheless.
    pub(super) fn warn(&mut self, name: String, detail: String) {
        self.warnings.push(DiscoveryWarning {
            name,
            reason: PACKAGE_DIGEST,
            detail,
        });
    }

    pub(super) fn not_in_package(&mut self, name: &str, package: &str, member: &str, problem: String) {
        let address = of_member(package, member);
        if self.seen.insert((&address).into()) {
            self.found.push(DiscoveredInput {
                name: name_of_member(name, member),
                size: 0,
                place: InputLocation::Address(address, InputStat::default()),
                problem: Some(problem),
                declared: DeclaredContent::default(),
            });
        }
    }

    /// Takes a member of a package named by its address, as when a load is repeated.
    pub(crate) fn member_address(&mut self, name: &str, address: &str) {
        if is_package_name(address.as_bytes()) {
            return self.package(name, address);
        }
        let before = self.found.len();
        self.address(address);
        for found in &mut self.found[before..] {
            found.name = name.to_owned();
            found.declared = self.sources.packages().declared(address);
        }
    }
}
