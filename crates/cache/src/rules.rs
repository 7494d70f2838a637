//! Rules for objects, by address.

use crate::ring::ShareId;
use crate::settings::{Rule, Settings};

/// Share of data without its own quota.
pub(crate) const SHARE_OF_DATA: ShareId = 0;
/// Share of metadata.
pub(crate) const SHARE_OF_METADATA: ShareId = 1;
/// Metadata may use this fraction of a directory (1/16).
const METADATA_PART: u64 = 16;

/// The rules from the settings, and pins set at run time.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Longest prefix first.
    rules: Vec<(Rule, Option<ShareId>)>,
    pins: Vec<String>,
    only_listed: bool,
}

/// How an object is cached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Treatment {
    pub(crate) is_cached: bool,
    pub(crate) is_pinned: bool,
    pub(crate) is_immutable: bool,
    pub(crate) ttl_ms: Option<u64>,
    /// Share of its data.
    pub(crate) share: ShareId,
    /// Group for statistics: the prefix of its rule, or its first folder.
    pub(crate) group: String,
}

impl Treatment {
    /// Returns the treatment of a block that moves to a slower directory.
    pub(crate) fn for_demoted() -> Treatment {
        Treatment {
            is_cached: true,
            is_pinned: false,
            is_immutable: false,
            ttl_ms: None,
            share: SHARE_OF_DATA,
            group: String::new(),
        }
    }
}

impl Rules {
    pub(crate) fn new(settings: &Settings) -> Rules {
        let mut share = SHARE_OF_METADATA;
        let mut rules: Vec<_> = settings
            .rules
            .iter()
            .map(|rule| {
                let own = rule.quota_bytes.map(|_| {
                    share += 1;
                    share
                });
                (rule.clone(), own)
            })
            .collect();
        rules.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.prefix.len()));
        Rules {
            rules,
            pins: Vec::new(),
            only_listed: settings.only_listed,
        }
    }

    /// Returns the limits of all shares of a directory or of memory.
    pub(crate) fn limits(settings: &Settings, capacity: u64, metadata: Option<u64>) -> Vec<u64> {
        let metadata = metadata.unwrap_or(capacity / METADATA_PART);
        let mut limits = vec![capacity.saturating_sub(metadata), metadata];
        limits.extend(
            settings
                .rules
                .iter()
                .filter_map(|rule| rule.quota_bytes)
                .map(|quota| quota.0),
        );
        limits
    }

    pub(crate) fn pins(&self) -> &[String] {
        &self.pins
    }

    /// Replaces the pinned prefixes. Returns whether anything changed.
    pub(crate) fn set_pins(&mut self, pins: Vec<String>) -> bool {
        let is_other = self.pins != pins;
        self.pins = pins;
        is_other
    }

    /// Pins or unpins a prefix. Returns whether anything changed.
    pub(crate) fn set_pin(&mut self, prefix: &str, is_pinned: bool) -> bool {
        let before = self.pins.len();
        self.pins.retain(|pin| pin != prefix);
        let was_pinned = self.pins.len() < before;
        if is_pinned {
            self.pins.push(prefix.to_owned());
        }
        was_pinned != is_pinned
    }

    pub(crate) fn of(&self, root: &str, path: &str) -> Treatment {
        let address = format!("{root}/{path}");
        let found = self
            .rules
            .iter()
            .find(|(rule, _)| address.starts_with(&rule.prefix));
        let pinned_now = self.pins.iter().any(|pin| address.starts_with(pin.as_str()));
        let rule = found.map(|(rule, _)| rule);
        let is_listed = rule.is_some() || pinned_now;
        Treatment {
            is_cached: rule
                .and_then(|rule| rule.cache)
                .unwrap_or(is_listed || !self.only_listed),
            is_pinned: pinned_now || rule.is_some_and(|rule| rule.pin),
            is_immutable: rule.is_some_and(|rule| rule.immutable) || is_data_of_delta(path),
            ttl_ms: rule
                .and_then(|rule| rule.ttl_seconds)
                .map(|seconds| seconds.saturating_mul(1000)),
            share: found.and_then(|(_, share)| *share).unwrap_or(SHARE_OF_DATA),
            group: match rule {
                Some(rule) => rule.prefix.clone(),
                None => first_folder(root, path),
            },
        }
    }
}

fn first_folder(root: &str, path: &str) -> String {
    match path.split_once('/') {
        Some((folder, _)) => format!("{root}/{folder}/"),
        None => format!("{root}/"),
    }
}

/// Returns whether a file has the name of a data file of a Delta table. Such names include a UUID
/// and are unique, so no file replaces another (Delta Lake protocol, "Data Files": files are never
/// changed, and their names are unique).
fn is_data_of_delta(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_data = name.ends_with(".parquet")
        && name.starts_with("part-")
        && !path.split('/').any(|part| part == "_delta_log");
    is_data && has_uuid(name)
}

fn has_uuid(name: &str) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = name.split(['-', '.', '_']).collect();
    let is_hex =
        |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.windows(GROUPS.len()).any(|window| {
        window
            .iter()
            .zip(GROUPS)
            .all(|(part, length)| is_hex(part, length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;

    #[test]
    fn the_longest_prefix_holds() {
        let rule = |prefix: &str| Rule {
            prefix: prefix.to_owned(),
            ..Rule::default()
        };
        let settings = Settings {
            only_listed: true,
            rules: vec![
                Rule {
                    quota_bytes: Some(Size(5)),
                    ..rule("s3://a/")
                },
                Rule {
                    cache: Some(false),
                    ..rule("s3://a/tmp/")
                },
                Rule {
                    pin: true,
                    ttl_seconds: Some(2),
                    quota_bytes: Some(Size(7)),
                    ..rule("s3://a/tmp/keep/")
                },
            ],
            ..Settings::default()
        };
        let mut rules = Rules::new(&settings);
        assert!(!rules.of("s3://b", "x").is_cached);
        assert_eq!(rules.of("s3://a", "x").share, 2);
        assert!(!rules.of("s3://a", "tmp/x").is_cached);
        let kept = rules.of("s3://a", "tmp/keep/x");
        assert!(kept.is_cached && kept.is_pinned);
        assert_eq!(
            (kept.share, kept.ttl_ms, kept.group.as_str()),
            (3, Some(2000), "s3://a/tmp/keep/")
        );
        assert_eq!(Rules::limits(&settings, 160, None), [150, 10, 5, 7]);
        assert!(rules.set_pin("s3://b/", true));
        assert!(rules.of("s3://b", "x").is_pinned && rules.of("s3://b", "x").is_cached);
        assert!(!rules.set_pin("s3://b/", true));
        assert!(rules.set_pin("s3://b/", false));
        assert!(!rules.of("s3://b", "x").is_pinned);
    }

    #[test]
    fn data_of_delta_tables_is_immutable() {
        let check = |path: &str, expected: bool| assert_eq!(is_data_of_delta(path), expected, "{path}");
        check(
            "t/part-00000-3e2f6c0e-8f9b-4d5a-9b1f-0a1b2c3d4e5f-c000.snappy.parquet",
            true,
        );
        check("t/part-00000-3e2f6c0e-8f9b-4d5a-9b1f-0a1b2c3d4e5f.parquet", true);
        check("t/part-00000.parquet", false);
        check(
            "t/_delta_log/part-00000-3e2f6c0e-8f9b-4d5a-9b1f-0a1b2c3d4e5f.parquet",
            false,
        );
        check("t/_delta_log/00000000000000000000.json", false);
    }
}
