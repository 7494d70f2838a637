//! The Public Suffix List, compiled once.
//!
//! The `psl` crate is ten thousand rules as generated functions that are generic over the labels they are asked
//! about, so every kind of iterator that asks compiles all of them again. Here they are compiled for one kind, in a
//! crate of its own, so that they are optimised as little as a table needs.
//!
//! This crate knows nothing of URLs or keys.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use psl::Psl as _;

/// Bytes of the public suffix of a host name, dots included; `labels` begin at the top (`uk`, `co`, `example`). A name
/// under no known rule falls under the list's default rule: its last label.
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
