//! Parses sizes, ages and percentages in a rules file.

use toml::Spanned;

use super::syntax_error::{ParseResult, SyntaxError};
use crate::condition::{Unit, quantity};

pub(super) fn measure(found: &Spanned<String>, unit: Unit) -> ParseResult<i64> {
    quantity(found.get_ref(), unit).map_err(|error| SyntaxError::new(found.span().start, error.to_string()))
}

pub(super) fn bytes(found: &Spanned<String>) -> ParseResult<u64> {
    measure(found, Unit::Bytes).map(i64::unsigned_abs)
}

pub(super) fn percent(found: &Spanned<String>) -> ParseResult<f64> {
    let wrong = || {
        let text = found.get_ref();
        SyntaxError::new(
            found.span().start,
            format!("{text:?}: expected a percentage such as 5%"),
        )
    };
    let text = found.get_ref().trim().strip_suffix('%').ok_or_else(wrong)?;
    let number: f64 = text.trim().parse().map_err(|_| wrong())?;
    (number.is_finite() && number >= 0.0)
        .then_some(number)
        .ok_or_else(wrong)
}
