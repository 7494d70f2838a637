//! Stretches of keys: what a question about a URL, a host or a domain has to read.
//!
//! In bytewise order `)` < `,` < `-` < `:`, so the keys of `example.com` do not stand in one stretch:
//!
//! | keys | of |
//! |---|---|
//! | `com,example)/...` | the host |
//! | `com,example,...` | hosts below it |
//! | `com,example-x)/...` | somebody else |
//! | `com,example:8080)/...` | the host at another port |

use crate::host::host_part;
use crate::{KeyError, url_key};

/// Half-open stretch of keys, compared bytewise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// First key that may belong.
    pub start: String,
    /// First key that does not belong any more; greater than `start`.
    pub end: String,
}

impl KeyRange {
    /// Whether `url_key` belongs.
    pub fn contains(&self, url_key: &str) -> bool {
        self.start.as_str() <= url_key && url_key < self.end.as_str()
    }

    /// All keys that begin with `prefix`.
    fn of_prefix(prefix: String) -> KeyRange {
        let mut end = prefix.clone();
        while let Some(last) = end.pop() {
            if let Some(next) = successor(last) {
                end.push(next);
                break;
            }
        }
        KeyRange { start: prefix, end }
    }
}

/// The next character in bytewise order; `None` after the last one.
fn successor(last: char) -> Option<char> {
    (last..=char::MAX).nth(1)
}

/// How a URL stands for captures, as in CDX servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MatchType {
    /// Its own key.
    #[default]
    Exact,
    /// Keys that begin with its key.
    Prefix,
    /// Its host, whatever the path, at any port.
    Host,
    /// Its host and the hosts below it, at any port.
    Domain,
}

/// The ranges of keys that `url` stands for, in ascending order and disjoint.
///
/// A trailing slash or question mark of a prefix counts: `http://a.org/b/` does not match `/bc`.
///
/// # Errors
/// [`KeyError`] where `url` has no key, or no host where one is asked for.
pub fn url_ranges(url: &str, match_type: MatchType) -> Result<Vec<KeyRange>, KeyError> {
    let url_key = url_key(url)?;
    Ok(match match_type {
        MatchType::Exact => vec![exact(url_key)],
        MatchType::Prefix => vec![KeyRange::of_prefix(with_ending(url_key, url))],
        MatchType::Host => host_ranges(&url_key, &[")", ":"])?,
        MatchType::Domain => host_ranges(&url_key, &[")", ",", ":"])?,
    })
}

/// The ranges of keys of `domain` and of every host below it, in ascending order and disjoint.
///
/// # Errors
/// [`KeyError`] where `domain` is no host.
pub fn domain_ranges(domain: &str) -> Result<Vec<KeyRange>, KeyError> {
    let url_key = url_key(&format!("http://{domain}/"))?;
    host_ranges(&url_key, &[")", ",", ":"])
}

fn exact(url_key: String) -> KeyRange {
    let end = format!("{url_key}\0");
    KeyRange { start: url_key, end }
}

/// The ending that the key lost, as it makes the prefix longer.
fn with_ending(mut url_key: String, url: &str) -> String {
    let url = url.trim_end();
    for ending in ['/', '?'] {
        if url.ends_with(ending) && !url_key.ends_with(ending) {
            url_key.push(ending);
        }
    }
    url_key
}

fn host_ranges(url_key: &str, separators: &[&str]) -> Result<Vec<KeyRange>, KeyError> {
    let host = host_part(url_key);
    if host.is_empty() {
        return Err(KeyError::NoHost);
    }
    let range = |separator| KeyRange::of_prefix(format!("{host}{separator}"));
    Ok(separators.iter().map(range).collect())
}
