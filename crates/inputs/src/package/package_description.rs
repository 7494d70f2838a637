//! Parses the description of a package or of a list of packages: a profile, and resources with
//! their digests.

use serde::Deserialize;
use serde_json::Value;

use crate::byte_order_mark::without_bom;

/// Profile of a description whose resources are packages.
const OF_PACKAGES: &str = "multi-wacz-package";

/// A parsed description.
#[derive(Debug, Default)]
pub(super) struct PackageDescription {
    /// Kind of the description; older tools omit it.
    pub(super) profile: Option<String>,
    pub(super) resources: Vec<Resource>,
    /// Numbers of the resources that cannot be used, counted from 1, and why.
    pub(super) wrong: Vec<(usize, String)>,
    /// File names of packages that hold content of revisits in this package.
    pub(super) required: Vec<String>,
}

#[derive(Deserialize)]
struct RawDescription {
    #[serde(default)]
    profile: Option<String>,
    resources: Vec<Value>,
    #[serde(default)]
    relation: Value,
}

/// A file listed in a description.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Resource {
    /// Number of the resource in the description, counted from 1.
    #[serde(skip)]
    pub(super) number: usize,
    /// Path within the package or relative to the list, or an address.
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
    /// The same in lists written by services.
    #[serde(default)]
    size: Option<u64>,
}

impl PackageDescription {
    /// Parses a description.
    ///
    /// # Errors
    /// The text is not JSON of this form.
    pub(super) fn read(bytes: &[u8]) -> Result<PackageDescription, serde_json::Error> {
        let raw: RawDescription = serde_json::from_slice(without_bom(bytes))?;
        let mut described = PackageDescription {
            profile: raw.profile,
            required: required(&raw.relation),
            ..PackageDescription::default()
        };
        for (number, resource) in (1..).zip(raw.resources) {
            match Resource::deserialize(resource) {
                Ok(resource) => described.resources.push(Resource { number, ..resource }),
                Err(error) => described.wrong.push((number, error.to_string())),
            }
        }
        Ok(described)
    }

    /// Returns whether the resources are packages.
    pub(super) fn is_of_packages(&self) -> bool {
        self.profile.as_deref() == Some(OF_PACKAGES)
    }
}

impl Resource {
    /// Returns the path or address, or the name if there is neither.
    pub(super) fn place(&self) -> &str {
        let places = [&self.path, &self.url, &self.name];
        places
            .into_iter()
            .find(|place| !place.is_empty())
            .map_or("", String::as_str)
    }

    /// Returns the size in bytes.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        self.bytes.or(self.size)
    }

    /// Returns the name, if there is one in addition to the path.
    pub(super) fn name(&self) -> Option<&str> {
        (!self.name.is_empty()).then_some(&*self.name)
    }

    /// Returns the digest with the label of its algorithm. A digest without label is taken as
    /// SHA-256 if it has the right number of digits.
    pub(super) fn hash(&self) -> Option<String> {
        let hash = self.hash.as_ref()?;
        let is_bare = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(if is_bare {
            format!("sha256:{}", hash.to_ascii_lowercase())
        } else {
            hash.clone()
        })
    }
}

/// Returns the file names in `relation.requires`. Its items are names, or objects with a name, as
/// Browsertrix writes them; others are ignored.
fn required(relation: &Value) -> Vec<String> {
    let items = relation.get("requires").and_then(Value::as_array);
    let name = |item: &Value| {
        let name = item.as_str().or_else(|| item.get("filename")?.as_str())?;
        let name = format::file_name::base_name(name);
        (!name.is_empty()).then(|| name.to_owned())
    };
    items.into_iter().flatten().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: (&str, Option<&str>, Option<u64>)) {
        let read = PackageDescription::read(format!(r#"{{"resources": [{json}]}}"#).as_bytes()).unwrap();
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
        for json in ["", "[]", "{}", r#"{"resources": 3}"#] {
            assert!(PackageDescription::read(json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn a_resource_of_a_wrong_type_leaves_the_others() {
        let json = br#"{"resources": [{"path": "a"}, {"path": 1}, "x", {"path": "b", "bytes": "7"}, {"path": "c"}]}"#;
        let read = PackageDescription::read(json).unwrap();
        let places: Vec<_> = read.resources.iter().map(|r| (r.number, r.place())).collect();
        assert_eq!(places, [(1, "a"), (5, "c")]);
        let wrong: Vec<usize> = read.wrong.iter().map(|(number, _)| *number).collect();
        assert_eq!(wrong, [2, 3, 4]);
        assert!(read.wrong[0].1.contains("expected a string"), "{:?}", read.wrong);
    }

    #[test]
    fn required_packages_are_named_in_several_ways() {
        let required = |relation: &str| {
            let json = format!(r#"{{"resources": [], "relation": {relation}}}"#);
            PackageDescription::read(json.as_bytes()).unwrap().required
        };
        let both =
            r#"{"requires": ["a.wacz", {"filename": "crawls/b.wacz", "hash": "00"}, {"hash": "00"}, "", 3]}"#;
        assert_eq!(required(both), ["a.wacz", "b.wacz"]);
        for none in ["null", "[]", "{}", "3", r#"{"requires": "a.wacz"}"#] {
            assert!(required(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        let json = "\u{feff}{\"resources\": [{\"path\": \"a\"}]}";
        assert_eq!(
            PackageDescription::read(json.as_bytes()).unwrap().resources[0].place(),
            "a"
        );
    }
}
