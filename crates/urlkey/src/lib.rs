//! URL keys: the sort key of everything in Weft.
//!
//! A URL key is the SURT form of a URL (`org,archive)/path?q`): host labels reversed, `www.` and
//! the scheme removed, path and query canonicalised. The captures of one page, and the pages of one
//! site, are adjacent when keys are sorted bytewise. The rules are those of the `surt` package that
//! web archives share. `tests/reference/` lists each difference with its reason. The crate handles
//! URLs only, not archives or records.
//!
//! Invariants:
//! - A key depends only on the URL, and every URL has one unless [`KeyError`] is returned. Invalid
//!   bytes, invalid ports and broken escapes have keys too.
//! - The key of an http or https URL is printable ASCII without spaces, in the form
//!   `host[:port])/path[?query]`. Host and port have no `/` unless the URL escaped one there.
//! - Time is linear in the length of the URL.
//!
//! ```
//! let url_key = urlkey::url_key("http://www.archive.org/goo/?a=2&b&a=1").unwrap();
//! assert_eq!(url_key, "org,archive)/goo?a=1&a=2&b");
//! assert_eq!(urlkey::host_of_key(&url_key), "archive.org");
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod canonical;
mod domain;
mod error;
mod escape;
mod fast;
mod fuzzy;
mod host;
mod ip;
mod key;
mod match_type;
mod query;
mod range;
mod secrets;
mod session;
mod spelling;
mod split;

pub use domain::{domain_key_of_key, domain_of_host, domain_of_key, same_domain, suffix_of_host};
pub use error::KeyError;
pub use fuzzy::{FUZZY_RULES, Fuzzy, FuzzyEffect, FuzzyMatch, FuzzyRule, FuzzyValue};
pub use host::{host_of_key, host_of_url, host_without_www, may_be_host};
pub use key::{url_key, url_key_into};
pub use match_type::{MatchType, UnknownMatchType};
pub use range::{KeyRange, domain_ranges, host_ranges, prefix_range, url_ranges, whole_host};
pub use secrets::{has_user, without_secrets};
pub use spelling::Spelling;
