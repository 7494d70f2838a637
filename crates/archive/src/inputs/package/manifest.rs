//! `datapackage.json` of a package: what is in it, with digests. `datapackage-digest.json` has that of the former.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use sha2_with_state::{Digest, Sha256};

use super::super::digest_text;
use super::zip_file::ZipFile;

/// Name of the description in a package.
pub(super) const MANIFEST: &str = "datapackage.json";

/// Name of the file with its digest.
pub(super) const MANIFEST_DIGEST: &str = "datapackage-digest.json";

/// Longest description that is read, in bytes. Those of packages with thousands of members take some hundred KiB.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// What a package says of itself, and what is wrong with that.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// Digests of members by their names, as `sha256:<hex>`.
    pub(super) digests: BTreeMap<String, String>,
    /// Descriptions that cannot be used, by name, and why.
    pub(super) problems: Vec<(&'static str, String)>,
}

#[derive(Deserialize)]
struct DataPackage {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    path: String,
    #[serde(default)]
    hash: String,
}

#[derive(Deserialize)]
struct DataPackageDigest {
    hash: String,
}

impl Manifest {
    /// Reads the descriptions of a package. Without them its members can be read all the same.
    pub(super) fn of(zip: &mut ZipFile) -> Manifest {
        let mut manifest = Manifest::default();
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
        match serde_json::from_slice::<DataPackage>(&bytes) {
            Ok(described) => {
                let declared = described.resources.into_iter();
                manifest.digests = declared.map(|one| (one.path, one.hash)).collect();
            }
            Err(error) => manifest.wrong(MANIFEST, format!("cannot be read: {error}")),
        }
        manifest
    }

    fn wrong(&mut self, file: &'static str, why: String) {
        self.problems.push((file, why));
    }

    /// Compares the description with the digest beside it, if there is one.
    fn compare(&mut self, zip: &mut ZipFile, found: &str) {
        let declared = match content(zip, MANIFEST_DIGEST) {
            Ok(None) => return,
            Ok(Some(bytes)) => serde_json::from_slice::<DataPackageDigest>(&bytes).map_err(io::Error::from),
            Err(error) => Err(error),
        };
        match declared {
            Ok(declared) if declared.hash.eq_ignore_ascii_case(found) => {}
            Ok(declared) => self.wrong(
                MANIFEST_DIGEST,
                format!(
                    "{MANIFEST} is {found}, expected {}: the package was changed",
                    declared.hash
                ),
            ),
            Err(error) => self.wrong(MANIFEST_DIGEST, format!("cannot be read: {error}")),
        }
    }
}

fn content(zip: &mut ZipFile, name: &str) -> io::Result<Option<Vec<u8>>> {
    let member = zip.member(name)?;
    member
        .map(|member| zip.content(member, MANIFEST_BYTES_MAX))
        .transpose()
}
