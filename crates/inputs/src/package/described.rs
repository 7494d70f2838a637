//! What a description of a package, or a list of packages, says: a profile, and resources with their digests.

use serde::Deserialize;
use serde_json::Value;

use super::super::without_bom;

/// Profile of a description whose resources are packages.
const OF_PACKAGES: &str = "multi-wacz-package";

/// A description as it is written.
#[derive(Debug, Default)]
pub(super) struct Described {
    /// What it is a description of; older tools leave it out.
    pub(super) profile: Option<String>,
    pub(super) resources: Vec<Resource>,
    /// Resources that cannot be used: their numbers, from 1 on, and why.
    pub(super) wrong: Vec<(usize, String)>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    profile: Option<String>,
    resources: Vec<Value>,
}

/// A file that a description lists.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Resource {
    /// Which one of the description it is, from 1 on.
    #[serde(skip)]
    pub(super) number: usize,
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
        let written: Written = serde_json::from_slice(without_bom(bytes))?;
        let mut described = Described {
            profile: written.profile,
            ..Described::default()
        };
        for (number, resource) in (1..).zip(written.resources) {
            match Resource::deserialize(resource) {
                Ok(resource) => described.resources.push(Resource { number, ..resource }),
                Err(error) => described.wrong.push((number, error.to_string())),
            }
        }
        Ok(described)
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
        for json in ["", "[]", "{}", r#"{"resources": 3}"#] {
            assert!(Described::read(json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn a_resource_of_a_wrong_type_leaves_the_others() {
        let json = br#"{"resources": [{"path": "a"}, {"path": 1}, "x", {"path": "b", "bytes": "7"}, {"path": "c"}]}"#;
        let read = Described::read(json).unwrap();
        let places: Vec<_> = read.resources.iter().map(|r| (r.number, r.place())).collect();
        assert_eq!(places, [(1, "a"), (5, "c")]);
        let wrong: Vec<usize> = read.wrong.iter().map(|(number, _)| *number).collect();
        assert_eq!(wrong, [2, 3, 4]);
        assert!(read.wrong[0].1.contains("expected a string"), "{:?}", read.wrong);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over() {
        let json = "\u{feff}{\"resources\": [{\"path\": \"a\"}]}";
        assert_eq!(
            Described::read(json.as_bytes()).unwrap().resources[0].place(),
            "a"
        );
    }
}
