//! The Public Suffix List, compiled once.
//!
//! The `psl` crate contains ten thousand rules as generated functions, generic over the iterator of
//! labels. So every iterator type that calls them compiles all of them again. Here they are
//! compiled for one type, in a separate crate with the low optimisation level that suffices for a
//! table.
//!
//! This crate knows nothing about URLs or keys.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use psl::Psl as _;

/// Returns the length in bytes of the public suffix of a host name, including dots. `labels` start
/// at the top (`uk`, `co`, `example`). For a name without a matching rule the list's default rule
/// applies: the last label.
///
/// ```
/// let length = |host: &str| public_suffix::suffix_length(&mut host.rsplit('.').map(str::as_bytes));
/// assert_eq!(length("www.example.co.uk"), "co.uk".len());
/// assert_eq!(length("host.unknown-top-level"), "unknown-top-level".len());
/// ```
pub fn suffix_length(labels: &mut dyn Iterator<Item = &[u8]>) -> usize {
    psl::List.find(labels).len
}

#[cfg(test)]
mod tests {
    use super::suffix_length;

    #[track_caller]
    fn check(host: &str, suffix: &str) {
        let length = suffix_length(&mut host.rsplit('.').map(str::as_bytes));
        assert_eq!(length, suffix.len(), "{host}");
    }

    #[test]
    fn suffixes_of_all_kinds_of_rules() {
        check("example.com", "com");
        check("www.example.co.uk", "co.uk");
        check("someone.github.io", "github.io");
        // A wildcard and its exception.
        check("a.b.ck", "b.ck");
        check("www.ck", "ck");
        check("a.unknown-top-level", "unknown-top-level");
    }
}
