//! Ranges of keys to read for a query about a URL, a host or a domain.
//!
//! In bytewise order `)` < `,` < `-` < `:`, so the keys of `example.com` are not contiguous:
//!
//! | keys | belong to |
//! |---|---|
//! | `com,example)/...` | the host |
//! | `com,example,...` | hosts below it |
//! | `com,example-x)/...` | another domain |
//! | `com,example:8080)/...` | the host at another port |

use crate::host::{host_of_key, host_part};
use crate::{KeyError, MatchType, url_key};

/// A half-open range of keys, compared bytewise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The first possible key in the range.
    pub start: String,
    /// The first key after the range; greater than `start`.
    pub end: String,
}

impl KeyRange {
    /// Returns whether `url_key` is in the range.
    pub fn contains(&self, url_key: &str) -> bool {
        self.start.as_str() <= url_key && url_key < self.end.as_str()
    }

    /// Returns the range of all keys that begin with `prefix`.
    pub(crate) fn of_prefix(prefix: String) -> KeyRange {
        let mut end = prefix.clone();
        // If the last character has no successor, it is dropped and the one before it is
        // incremented.
        while let Some(last) = end.pop() {
            if let Some(next) = successor(last) {
                end.push(next);
                break;
            }
        }
        KeyRange { start: prefix, end }
    }
}

/// Returns the next character in bytewise order; `None` after the last one.
fn successor(last: char) -> Option<char> {
    // A range of `char` skips the surrogates, and UTF-8 sorts bytewise in the order of its
    // characters.
    (last..=char::MAX).nth(1)
}

/// Returns the range of all keys that begin with `prefix`, which must not be empty.
pub fn prefix_range(prefix: &str) -> KeyRange {
    debug_assert!(!prefix.is_empty(), "an empty prefix would match every key");
    KeyRange::of_prefix(prefix.to_owned())
}

/// Returns the ranges of keys that `url` selects, in ascending order and disjoint.
///
/// A trailing slash or question mark of a prefix is significant: `http://a.org/b/` does not match
/// `/bc`.
///
/// ```
/// use urlkey::{MatchType, url_key, url_ranges};
///
/// let ranges = url_ranges("http://example.com/", MatchType::Domain)?;
/// let selects = |url: &str| url_key(url).map(|key| ranges.iter().any(|range| range.contains(&key)));
/// assert!(selects("https://shop.example.com:8443/cart")?);
/// assert!(!selects("http://example-x.com/")?);
/// # Ok::<(), urlkey::KeyError>(())
/// ```
///
/// # Errors
/// [`KeyError`] if `url` has no key, or if it has no host and `match_type` needs one.
pub fn url_ranges(url: &str, match_type: MatchType) -> Result<Vec<KeyRange>, KeyError> {
    let url_key = url_key(url)?;
    Ok(match match_type {
        MatchType::Exact => vec![exact(url_key)],
        MatchType::Prefix => vec![KeyRange::of_prefix(with_ending(url_key, url))],
        MatchType::Host => ranges_behind(&url_key, &[")", ":"])?,
        MatchType::Domain => ranges_behind(&url_key, &[")", ",", ":"])?,
    })
}

/// Returns the ranges of keys of `domain` and of every host below it, in ascending order and
/// disjoint.
///
/// # Errors
/// [`KeyError`] if `domain` is not a host name.
pub fn domain_ranges(domain: &str) -> Result<Vec<KeyRange>, KeyError> {
    let url_key = url_key(&format!("http://{domain}/"))?;
    ranges_behind(&url_key, &[")", ",", ":"])
}

/// Returns the ranges of keys of `host` only, at any port, in ascending order and disjoint. They
/// exclude hosts below it, except the host with a leading `www.`, which has the same keys.
///
/// # Errors
/// [`KeyError`] if `host` is not a host name.
pub fn host_ranges(host: &str) -> Result<Vec<KeyRange>, KeyError> {
    let url_key = url_key(&format!("http://{host}/"))?;
    ranges_behind(&url_key, &[")", ":"])
}

/// Returns a host in the form of keys (lower case, punycode), but with the `www.` that keys leave
/// out.
///
/// # Errors
/// [`KeyError`] if `host` is not a host name.
pub fn whole_host(host: &str) -> Result<String, KeyError> {
    // Keys drop only a leading `www.`.
    let name = host_of_key(&url_key(&format!("http://a.{host}/"))?);
    match name.strip_prefix("a.") {
        Some(name) if !host.starts_with('[') => Ok(name.to_owned()),
        _ => Err(KeyError::NoHost),
    }
}

fn exact(url_key: String) -> KeyRange {
    // A key followed by the smallest byte is the next string after the key itself.
    let end = format!("{url_key}\0");
    KeyRange { start: url_key, end }
}

/// Restores a trailing slash or question mark that the key has lost, because it makes the prefix
/// more specific.
fn with_ending(mut url_key: String, url: &str) -> String {
    let url = url.trim_end();
    for ending in ['/', '?'] {
        if url.ends_with(ending) && !url_key.ends_with(ending) {
            url_key.push(ending);
        }
    }
    url_key
}

fn ranges_behind(url_key: &str, separators: &[&str]) -> Result<Vec<KeyRange>, KeyError> {
    let host = host_part(url_key);
    if host.is_empty() {
        return Err(KeyError::NoHost);
    }
    let range = |separator| KeyRange::of_prefix(format!("{host}{separator}"));
    Ok(separators.iter().map(range).collect())
}
