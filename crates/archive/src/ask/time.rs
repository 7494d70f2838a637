//! Checks times in questions about captures: 1 to 14 digits, or 17 with milliseconds.

use format::date::{DIGITS, DIGITS_MS};

use crate::AskError;

/// Checks that `text` has 1 to 14 digits.
pub(super) fn check(text: &str) -> Result<&str, AskError> {
    check_digits(text, DIGITS)
}

/// Checks that `text` has 1 to 17 digits.
pub(super) fn check_ms(text: &str) -> Result<&str, AskError> {
    check_digits(text, DIGITS_MS)
}

/// Checks that `text` has 1 to 14 digits that begin a date.
pub(super) fn check_date(text: &str) -> Result<&str, AskError> {
    if format::date::begins_a_date(text) {
        return Ok(text);
    }
    Err(AskError::bad_request(format!(
        "{text:?} is not a date or its beginning: expected 1 to {DIGITS} digits, such as 2014 or 20140126"
    )))
}

fn check_digits(text: &str, digits: usize) -> Result<&str, AskError> {
    let good = (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if good {
        Ok(text)
    } else {
        Err(AskError::bad_request(format!(
            "{text:?} is not a time: expected 1 to {digits} digits"
        )))
    }
}

/// Bounds on capture times, as text to compare with 14 digits.
pub(super) struct Bounds {
    from: String,
    to: String,
    /// Whether there is any bound.
    bounded: bool,
}

impl Bounds {
    /// Returns the bounds that 1 to 14 digits name, both inclusive: `2024` includes all of 2024.
    pub(super) fn new(from: Option<&str>, to: Option<&str>) -> Result<Bounds, AskError> {
        let bound = |text: Option<&str>, default: &str| match text {
            Some(text) => Ok(format::date::range_of_digits(check(text)?)),
            None => Ok::<_, AskError>((default.to_owned(), default.to_owned())),
        };
        Ok(Bounds {
            from: bound(from, "")?.0,
            // `:` sorts after all digits, so this bound is greater than any time.
            to: bound(to, ":")?.1,
            bounded: from.is_some() || to.is_some(),
        })
    }

    /// Returns whether a time is within the bounds.
    pub(super) fn contain(&self, time_ms: i64) -> bool {
        if !self.bounded {
            return true;
        }
        let digits = format::date::digits(time_ms);
        self.from <= digits && digits <= self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_and_not_too_many() {
        assert!(check("2014").is_ok());
        for bad in ["", "x", "123456789012345", "2014-01"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check("201413").is_ok() && check_date("201412").is_ok());
        for bad in ["201413", "201400", "20149", "20140230", "2014-01", ""] {
            assert!(check_date(bad).is_err(), "{bad}");
        }
        assert!(check_ms("20140126200624123").is_ok() && check_ms("201401262006241234").is_err());
    }
}
