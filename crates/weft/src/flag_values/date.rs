//! Dates and times on the command line.

use clap::builder::TypedValueParser;
use format::date::{DIGITS, DIGITS_MS, digits_ms_of_text, digits_of_text, ms_of_iso, range_of_digits};

use super::value;
use crate::outcome::WrongUse;

/// Returns a parser of existing dates to the millisecond and their beginnings. Its value is the
/// digits.
pub(crate) fn moment() -> impl TypedValueParser<Value = String> {
    let example = "2014, 2014-01, 2014-01-26 or 20140126200624123";
    value("a date or its beginning", example, |text| {
        digits_ms_of_text(text.trim())
    })
}

/// Returns a parser of existing dates and their beginnings. Its value is the digits.
pub(crate) fn date() -> impl TypedValueParser<Value = String> {
    let example = "2014, 2014-01, 2014-01-26 or 20140126200624";
    value("a date or its beginning", example, |text| {
        digits_of_text(text.trim())
    })
}

/// Refuses a period that ends before it begins. The bounds are values of [`date`].
pub(crate) fn refuse_reversed(from: Option<&str>, to: Option<&str>) -> Result<(), WrongUse> {
    let (Some(from), Some(to)) = (from, to) else {
        return Ok(());
    };
    if range_of_digits(from).0 > range_of_digits(to).1 {
        return Err(WrongUse(format!("--from {from} is after --to {to}")));
    }
    Ok(())
}

/// Returns a parser of dates with complete parts. Its value is the text.
pub(crate) fn whole_date() -> impl TypedValueParser<Value = String> {
    value("a date", "2030, 2030-01 or 2030-01-31", |text| {
        has_whole_parts(text.trim()).then(|| text.to_owned())
    })
}

/// Returns a parser of the times before which `weft forget` takes captures down. Its value is the
/// text.
pub(crate) fn limit_time() -> impl TypedValueParser<Value = String> {
    value("a time", "2009, 2009-01-31 or 20090131101500", |text| {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let has_fraction = is_digits && (DIGITS..=DIGITS_MS).contains(&text.len());
        let whole = if has_fraction { &text[..DIGITS] } else { text };
        (ms_of_iso(text).is_some() || has_whole_parts(whole)).then(|| text.to_owned())
    })
}

/// Returns whether a text is a date without a half part: `2030-1` is not.
fn has_whole_parts(text: &str) -> bool {
    digits_of_text(text).is_some_and(|digits| digits.len() >= 4 && digits.len().is_multiple_of(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_does_not_end_before_it_begins() {
        for (from, to, is_refused) in [
            (Some("2024"), Some("2023"), true),
            (Some("201402"), Some("20140131"), true),
            (Some("2014"), Some("2014"), false),
            (Some("20140601"), Some("2014"), false),
            (Some("2024"), None, false),
            (None, Some("2023"), false),
        ] {
            assert_eq!(refuse_reversed(from, to).is_err(), is_refused, "{from:?} {to:?}");
        }
    }

    #[test]
    fn dates_have_whole_parts() {
        for text in ["2030", "2030-01", "20300131", "2030-01-31T10:15Z"] {
            assert!(has_whole_parts(text), "{text}");
        }
        for text in ["203", "2030-1", "20301", "2030-02-30", "soon", ""] {
            assert!(!has_whole_parts(text), "{text}");
        }
    }
}
