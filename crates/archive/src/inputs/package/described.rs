//! What a description of a package, or a list of packages, says: a profile, and resources with their digests.

use serde::Deserialize;

/// Profile of a description whose resources are packages.
const OF_PACKAGES: &str = "multi-wacz-package";

/// A description as it is written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Described {
    /// What it is a description of; older tools leave it out.
    #[serde(default)]
    pub(super) profile: Option<String>,
    pub(super) resources: Vec<Resource>,
}

/// A file that a description lists.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Resource {
    /// Where it is: within the package, beside the list, or an address.
    #[serde(default)]
    path: String,
    /// The same in older descriptions.
    #[serde(default)]
    url: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    hash: Option<String>,
    /// Size in bytes.
    #[serde(default)]
    bytes: Option<u64>,
    /// The same where services write lists.
    #[serde(default)]
    size: Option<u64>,
}

impl Described {
    /// Reads a description.
    ///
    /// # Errors
    /// It is no JSON of this form.
    pub(super) fn read(bytes: &[u8]) -> Result<Described, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Whether its resources are packages.
    pub(super) fn is_of_packages(&self) -> bool {
        self.profile.as_deref() == Some(OF_PACKAGES)
    }
}

impl Resource {
    /// Its path or address; its name where it has no other place.
    pub(super) fn place(&self) -> &str {
        let places = [&self.path, &self.url, &self.name];
        places
            .into_iter()
            .find(|place| !place.is_empty())
            .map_or("", String::as_str)
    }

    /// Its size.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        self.bytes.or(self.size)
    }

    /// Its name, if it has one beside the path.
    pub(super) fn name(&self) -> Option<&str> {
        (!self.name.is_empty()).then_some(&*self.name)
    }

    /// Its digest with the label of the algorithm: digits alone are taken for SHA-256 if there are as many as that has.
    pub(super) fn hash(&self) -> Option<String> {
        let hash = self.hash.as_ref()?;
        let is_bare = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(match is_bare {
            true => format!("sha256:{}", hash.to_ascii_lowercase()),
            false => hash.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: (&str, Option<&str>, Option<u64>)) {
        let read = Described::read(format!(r#"{{"resources": [{json}]}}"#).as_bytes()).unwrap();
        let [resource] = &read.resources[..] else {
            panic!("{read:?}");
        };
        let hash = resource.hash();
        assert_eq!(
            (resource.place(), hash.as_deref(), resource.size_bytes()),
            expected
        );
    }

    #[test]
    fn resources_are_written_in_several_ways() {
        let digits = "AB".repeat(32);
        let labelled = format!("sha256:{}", "ab".repeat(32));
        check(r#"{"path": "x.wacz"}"#, ("x.wacz", None, None));
        check(
            r#"{"url": "https://h/x", "bytes": 3}"#,
            ("https://h/x", None, Some(3)),
        );
        check(
            &format!(r#"{{"name": "n.wacz", "hash": "{digits}", "size": 7, "crawlId": null}}"#),
            ("n.wacz", Some(&labelled), Some(7)),
        );
        check(r#"{"path": "a", "hash": "md5:00"}"#, ("a", Some("md5:00"), None));
    }

    #[test]
    fn other_json_is_none() {
        for json in [
            "",
            "[]",
            "{}",
            r#"{"resources": 3}"#,
            r#"{"resources": [{"path": 1}]}"#,
        ] {
            assert!(Described::read(json.as_bytes()).is_err(), "{json}");
        }
    }
}
