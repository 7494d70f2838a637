//! Reads `datapackage.json`, which lists the content of a package with digests, and
//! `datapackage-digest.json`, which has the digest of the former.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use warc::Defect;

use super::package_description::{PackageDescription, Resource};
use super::signature::{SignedData, Verification};
use super::zip_file::ZipFile;
use crate::byte_order_mark::without_bom;
use crate::declared::DeclaredContent;
use crate::digest::text as digest_text;
use crate::path::is_address;

/// Name of the description in a package.
pub(super) const MANIFEST: &str = "datapackage.json";

/// Name of the file with the digest of the description.
pub(super) const MANIFEST_DIGEST: &str = "datapackage-digest.json";

/// Limit of the size of a description in bytes. Those of packages with thousands of members take
/// some hundred KiB.
pub(super) const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// Defect: the description does not list a member whose records are used.
const UNLISTED: &str = "package-unlisted";

/// Defect: several members have the same name as one whose records are used.
const SAME_NAME: &str = "package-same-name";

/// The description of a package, and its errors.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// Listed resources by the names of members; `None` if the description cannot be used.
    listed: Option<BTreeMap<String, Resource>>,
    /// Listed packages at addresses.
    pub(super) remote_packages: Vec<Resource>,
    /// Descriptions that cannot be used, by name, and why.
    pub(super) problems: BTreeMap<&'static str, Vec<String>>,
    /// A contradiction between the descriptions.
    pub(super) warning: Option<(&'static str, String)>,
    /// What the signature of the description says, if it is signed.
    pub(super) signature: Option<Verification>,
    /// File names of packages that hold content of revisits in this package.
    pub(super) required: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataPackageDigest {
    hash: String,
    #[serde(default)]
    signed_data: Option<Value>,
}

impl Manifest {
    /// Reads the descriptions of a package. The members can be read even without them.
    pub(super) fn of(zip: &mut ZipFile) -> Manifest {
        let mut manifest = Manifest::default();
        for file in [MANIFEST, MANIFEST_DIGEST] {
            if zip.count_of(file) > 1 {
                manifest.wrong(file, of_one_name(zip.count_of(file)));
            }
        }
        let bytes = match content(zip, MANIFEST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                manifest.wrong(
                    MANIFEST,
                    "missing: it is no WACZ, its digests are not known".to_owned(),
                );
                return manifest;
            }
            Err(error) => {
                manifest.wrong(MANIFEST, format!("cannot be read: {error}"));
                return manifest;
            }
        };
        manifest.compare(zip, &digest_text(&Sha256::digest(&bytes)));
        match PackageDescription::read(&bytes) {
            Ok(described) => manifest.take(zip, described),
            Err(error) => manifest.wrong(MANIFEST, format!("cannot be read: {error}")),
        }
        manifest
    }

    fn take(&mut self, zip: &ZipFile, described: PackageDescription) {
        let is_of_packages = described.is_of_packages();
        self.required = described.required;
        for (number, why) in &described.wrong {
            self.wrong(MANIFEST, format!("resource {number} cannot be used: {why}"));
        }
        let mut listed = BTreeMap::new();
        for resource in described.resources {
            // Services give the address from which a package was copied as well as its name in this
            // package.
            let named = resource.name().filter(|name| is_of_packages && zip.has(name));
            let place = named.unwrap_or(resource.place());
            if is_of_packages && is_address(place) {
                self.remote_packages.push(resource);
            } else {
                listed.insert(place.to_owned(), resource);
            }
        }
        self.listed = Some(listed);
    }

    fn wrong(&mut self, file: &'static str, why: String) {
        self.problems.entry(file).or_default().push(why);
    }

    /// Returns the names of the listed members.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.listed.iter().flat_map(BTreeMap::keys)
    }

    /// Returns the resource listed under a name.
    pub(super) fn resource(&self, member: &str) -> Option<&Resource> {
        self.listed.as_ref()?.get(member)
    }

    /// Returns the declarations about a member that contains records.
    pub(super) fn declared(&self, member: &str, zip: &ZipFile) -> DeclaredContent {
        DeclaredContent {
            digest: self.resource(member).and_then(Resource::hash),
            defects: self.defects(member, zip),
        }
    }

    /// Returns the defects of a member known before it is read.
    pub(super) fn defects(&self, member: &str, zip: &ZipFile) -> Vec<Defect> {
        let mut defects = Vec::new();
        if self
            .listed
            .as_ref()
            .is_some_and(|listed| !listed.contains_key(member))
        {
            let detail = format!("{MANIFEST} does not list it, so that its digest is not known; it is used");
            defects.push(Defect::new(UNLISTED, detail));
        }
        let members = zip.count_of(member);
        if members > 1 {
            defects.push(Defect::new(SAME_NAME, of_one_name(members)));
        }
        defects
    }

    /// Compares the description with the digest in the other file, if there is one.
    fn compare(&mut self, zip: &mut ZipFile, found: &str) {
        let declared = match content(zip, MANIFEST_DIGEST) {
            Ok(None) => return,
            Ok(Some(bytes)) => {
                serde_json::from_slice::<DataPackageDigest>(without_bom(&bytes)).map_err(io::Error::from)
            }
            Err(error) => Err(error),
        };
        match declared {
            Ok(DataPackageDigest { hash, signed_data }) => {
                self.signature = signed_data.map(|signed| verification(signed, &hash));
                if !hash.eq_ignore_ascii_case(found) {
                    let what = format!(
                        "{MANIFEST} is {found}, expected {hash}: it was changed after its digest was written"
                    );
                    self.warning = Some((MANIFEST_DIGEST, what));
                }
            }
            Err(error) => self.wrong(MANIFEST_DIGEST, format!("cannot be read: {error}")),
        }
    }
}

/// Verifies a signature of the digest `hash`.
fn verification(signed: Value, hash: &str) -> Verification {
    match SignedData::deserialize(signed) {
        Ok(signed) => signed.verify(hash),
        Err(error) => Verification::Unknown(format!("it cannot be read: {error}")),
    }
}

fn of_one_name(members: u64) -> String {
    format!(
        "found {members} members of this name, expected 1: the last in the package's directory is used, the others are not read"
    )
}

fn content(zip: &mut ZipFile, name: &str) -> io::Result<Option<Vec<u8>>> {
    let member = zip.member(name)?;
    member
        .map(|member| zip.content(member, MANIFEST_BYTES_MAX))
        .transpose()
}
