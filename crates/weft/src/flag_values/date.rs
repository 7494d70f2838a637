//! Dates and times on the command line.

use clap::builder::TypedValueParser;
use format::date::{DIGITS, DIGITS_MS, digits_of_text, ms_of_iso};

use super::value;

/// Returns a parser of times for look-up: 1 to 14 digits, or a date such as `2014-01-26` or
/// `2014-01-26T20:06:24Z`. Its value is the digits.
pub(crate) fn time() -> impl TypedValueParser<Value = String> {
    value(
        "a time or its beginning",
        "2014, 2014-01-26 or 20140126200624",
        time_digits,
    )
}

/// Returns a parser of times to the millisecond: those of [`time`], 15 to 17 digits, or a date
/// with a fraction of a second.
pub(crate) fn moment() -> impl TypedValueParser<Value = String> {
    value(
        "a time or its beginning",
        "2014, 2014-01-26 or 20140126200624123",
        moment_digits,
    )
}

/// Returns a parser of existing dates and their beginnings. Its value is the digits.
pub(crate) fn date() -> impl TypedValueParser<Value = String> {
    let example = "2014, 2014-01, 2014-01-26 or 20140126200624";
    value("a date or its beginning", example, |text| {
        digits_of_text(text.trim())
    })
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

fn time_digits(text: &str) -> Option<String> {
    let text = text.trim();
    let seconds = text.split('.').next().unwrap_or_default();
    let known = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 't' | 'Z' | 'z' | ' ');
    let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
    ((1..=DIGITS).contains(&digits.len()) && seconds.chars().all(known)).then_some(digits)
}

fn moment_digits(text: &str) -> Option<String> {
    let text = text.trim();
    if (DIGITS + 1..=DIGITS_MS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.to_owned());
    }
    let mut digits = time_digits(text)?;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    // Only a full time can have a fraction: in "2014.5" it is dropped.
    if digits.len() == DIGITS {
        digits.extend(fraction.chars().take_while(char::is_ascii_digit).take(3));
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_milliseconds() {
        for (text, digits) in [
            ("20140126200624123", "20140126200624123"),
            ("2014-01-26T20:06:24.123456Z", "20140126200624123"),
            ("2014-01-26T20:06:24.5Z", "201401262006245"),
            ("2014-01-26", "20140126"),
        ] {
            assert_eq!(moment_digits(text).as_deref(), Some(digits));
        }
        assert_eq!(moment_digits("201401262006241234"), None);
    }

    #[test]
    fn times_are_digits_or_dates() {
        let good = [
            ("2014", "2014"),
            ("2014-01-26", "20140126"),
            ("2014-01-26T20:06:24.123Z", "20140126200624"),
        ];
        for (text, digits) in good {
            assert_eq!(time_digits(text).as_deref(), Some(digits));
        }
        for text in ["", "yesterday", "123456789012345", "2014/01/26"] {
            assert_eq!(time_digits(text), None, "{text}");
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
