//! Checks of our own state in production code.
//!
//! [`holds!`](crate::holds) returns an error from the enclosing function if a condition does not hold. A writer treats
//! that error like a failed commit: it refuses further writes and keeps serving reads, so nothing panics across a
//! request. The conditions concern our own state only: bytes from outside have their own errors.
//!
//! A check that has to walk over data is a `debug_assert!` instead; tests run with these.
//!
//! `WEFT_BREAK_INVARIANT=place` (or `place:3` for the third time) makes the check at a place fail.

use crate::occurrence::Occurrence;

static SELECTED: Occurrence = Occurrence::new("WEFT_BREAK_INVARIANT");

/// An invariant of our own state does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("broken invariant {place}: {detail}: this is a bug of Weft, please report it")]
pub struct Broken {
    /// Which invariant, as `crate.what`.
    pub place: &'static str,
    /// The values that contradict each other.
    pub detail: String,
}

/// Returns [`Broken`](crate::Broken), converted to the error of the enclosing function, unless the condition holds.
///
/// The place names the invariant; the message names the values.
#[macro_export]
macro_rules! holds {
    ($place:literal, $condition:expr, $($message:tt)+) => {
        if !$condition || $crate::invariant::is_to_break($place) {
            return ::core::result::Result::Err(
                $crate::invariant::Broken { place: $place, detail: ::std::format!($($message)+) }.into(),
            );
        }
    };
}

/// Returns true if a test wants the check at this place to fail.
#[doc(hidden)]
pub fn is_to_break(place: &str) -> bool {
    SELECTED.is_now(place)
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
}
