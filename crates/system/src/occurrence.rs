//! An environment variable of tests that selects one occurrence of a named place: `name`, or `name:3` for the third.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A place selected by an environment variable, and how often it was passed.
#[derive(Debug)]
pub(crate) struct Occurrence {
    variable: &'static str,
    /// Read once: places are on paths that are taken for every epoch and every replica.
    selected: OnceLock<Option<(String, u64)>>,
    passed: AtomicU64,
}

impl Occurrence {
    pub(crate) const fn new(variable: &'static str) -> Self {
        Self {
            variable,
            selected: OnceLock::new(),
            passed: AtomicU64::new(0),
        }
    }

    /// Returns true if the variable selects this passage of `name`.
    pub(crate) fn is_now(&self, name: &str) -> bool {
        let selected = self
            .selected
            .get_or_init(|| std::env::var(self.variable).ok().map(|value| parse(&value)));
        selected.as_ref().is_some_and(|(selected, nth)| {
            selected == name && self.passed.fetch_add(1, Ordering::Relaxed) + 1 == *nth
        })
    }
}

fn parse(value: &str) -> (String, u64) {
    match value.rsplit_once(':') {
        Some((name, nth)) => (name.to_owned(), nth.parse().unwrap_or(1)),
        None => (value.to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_place_is_named_alone_or_with_a_number() {
        for (value, selected) in [
            ("apply.before_sync", ("apply.before_sync", 1)),
            ("apply.before_sync:3", ("apply.before_sync", 3)),
            ("apply.before_sync:x", ("apply.before_sync", 1)),
        ] {
            assert_eq!(parse(value), (selected.0.to_owned(), selected.1));
        }
    }
}
