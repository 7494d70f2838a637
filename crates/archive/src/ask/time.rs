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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_and_not_too_many() {
        assert!(check("2014").is_ok());
        for bad in ["", "x", "123456789012345", "2014-01"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check_ms("20140126200624123").is_ok() && check_ms("201401262006241234").is_err());
    }
}
