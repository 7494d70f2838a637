//! What must hold of our own state, checked where it could break.
//!
//! [`holds!`] returns an error from the function around it if a condition does not hold. Whoever writes turns that
//! error into what it does after a failed commit: it refuses writes, reads go on, nothing panics across a request.
//! The conditions are about our own state alone: bytes from outside have errors of their own.
//!
//! What costs a walk over data is a `debug_assert!` instead: tests run with these.
//!
//! `WEFT_BREAK_INVARIANT=place` (or `place:3` for the third time) makes the check at a place fail, to see what follows.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Something that must hold of our own state does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("broken invariant {place}: {detail}: this is a bug of Weft, please report it")]
pub struct Broken {
    /// Which invariant, as `crate.what`.
    pub place: &'static str,
    /// The values that contradict each other.
    pub detail: String,
}

/// Returns [`Broken`], made into the error of the function around it, unless the condition holds.
///
/// The place names the invariant; the message names the values.
#[macro_export]
macro_rules! holds {
    ($place:literal, $condition:expr, $($message:tt)+) => {
        if !$condition || $crate::is_told_to_break($place) {
            return ::core::result::Result::Err(
                $crate::Broken { place: $place, detail: ::std::format!($($message)+) }.into(),
            );
        }
    };
}

/// Whether a test wants the check at this place to fail.
#[doc(hidden)]
pub fn is_told_to_break(place: &str) -> bool {
    // Read once: the checks lie on paths that are taken for every epoch and every replica.
    static CHOSEN: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let chosen = CHOSEN.get_or_init(|| std::env::var("WEFT_BREAK_INVARIANT").ok().map(|v| parse(&v)));
    chosen
        .as_ref()
        .is_some_and(|(chosen, nth)| chosen == place && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *nth)
}

fn parse(value: &str) -> (String, u64) {
    match value.rsplit_once(':') {
        Some((place, nth)) => (place.to_owned(), nth.parse().unwrap_or(1)),
        None => (value.to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(before: u64, now: u64) -> Result<u64, Broken> {
        holds!("tests.grown", before <= now, "{before} was more than {now}");
        Ok(now - before)
    }

    #[test]
    fn what_does_not_hold_is_an_error_that_names_the_values() {
        assert_eq!(grown(1, 3), Ok(2));
        let broken = grown(3, 1).unwrap_err().to_string();
        assert!(
            broken.starts_with("broken invariant tests.grown: 3 was more than 1: "),
            "{broken}"
        );
    }

    #[test]
    fn a_place_is_named_alone_or_with_a_number() {
        assert_eq!(parse("weave.totals"), ("weave.totals".to_owned(), 1));
        assert_eq!(parse("weave.totals:3"), ("weave.totals".to_owned(), 3));
    }
}
