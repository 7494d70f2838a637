//! Times as captures are asked for and shown: 1 to 14 digits (17 with milliseconds), ISO 8601 with milliseconds.

use crate::AskError;

/// Digits of a time, of which a shorter one stands for all that it begins.
const DIGITS: usize = 14;

/// Digits of a time to the millisecond.
const DIGITS_MS: usize = 17;

/// `20140126200624` from milliseconds since 1970.
pub(super) fn digits(ms: i64) -> String {
    let mut digits = digits_ms(ms);
    digits.truncate(DIGITS);
    digits
}

/// `20140126200624000` from milliseconds since 1970.
pub(super) fn digits_ms(ms: i64) -> String {
    let digits = iso(ms).into_bytes().into_iter().filter(u8::is_ascii_digit);
    digits.take(DIGITS_MS).map(char::from).collect()
}

/// `2014-01-26T20:06:24.000Z` from milliseconds since 1970.
pub(crate) fn iso(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = date(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a day since 1970-01-01 (Gregorian calendar).
fn date(days: i64) -> (i64, i64, i64) {
    // Years are counted from March, so that the leap day is the last of a year.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Checks 1 to 14 digits.
pub(super) fn check(text: &str) -> Result<&str, AskError> {
    check_digits(text, DIGITS)
}

/// Checks 1 to 17 digits.
pub(super) fn check_ms(text: &str) -> Result<&str, AskError> {
    check_digits(text, DIGITS_MS)
}

fn check_digits(text: &str, digits: usize) -> Result<&str, AskError> {
    let good = (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if good {
        Ok(text)
    } else {
        Err(AskError::bad_request(format!(
            "{text:?} is no time: 1 to {digits} digits are expected"
        )))
    }
}

/// First and last of the 14-digit times that `text` stands for, as text to be compared.
pub(super) fn bounds(text: &str) -> (String, String) {
    (format!("{text:0<DIGITS$}"), format!("{text:9<DIGITS$}"))
}

/// Milliseconds since 1970 of 1 to 17 digits, as [`seconds`].
pub(super) fn milliseconds(text: &str) -> i64 {
    let (text, fraction) = text.split_at(text.len().min(DIGITS));
    seconds(text) * 1000 + format!("{fraction:0<3}").parse::<i64>().unwrap_or(0)
}

/// Seconds since 1970 of digits, missing ones taken as the earliest; odd values (month 13) do no harm, as
/// this only serves to find the nearest capture.
pub(super) fn seconds(text: &str) -> i64 {
    let full = format!("{text}{}", &"00010101000000"[text.len().min(DIGITS)..]);
    let part = |from: usize, to: usize| {
        full.get(from..to)
            .and_then(|digits| digits.parse::<i64>().ok())
            .unwrap_or(0)
    };
    let (year, month, day) = (part(0, 4), part(4, 6).clamp(1, 12), part(6, 8));
    let years = year - i64::from(month <= 2);
    let month_from_march = (month + 9) % 12;
    let days = years * 365 + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        + (153 * month_from_march + 2) / 5
        + day
        - 1
        - 719_468;
    days * 86_400 + part(8, 10) * 3600 + part(10, 12) * 60 + part(12, 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_there_and_back() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_390_766_784_123), "2014-01-26T20:06:24.123Z");
        assert_eq!(digits(1_390_766_784_123), "20140126200624");
        assert_eq!(iso(-1), "1969-12-31T23:59:59.999Z");
        for second in (-4_000_000_000_i64..4_200_000_000).step_by(12_345_677) {
            assert_eq!(seconds(&digits(second * 1000)), second);
        }
        assert_eq!(seconds("2014"), seconds("20140101000000"));
        assert_eq!(digits_ms(1_390_766_784_123), "20140126200624123");
        assert_eq!(milliseconds("20140126200624123"), 1_390_766_784_123);
        assert_eq!(milliseconds("201401262006241"), 1_390_766_784_100);
        assert_eq!(milliseconds("2014"), seconds("2014") * 1000);
    }

    #[test]
    fn bounds_cover_what_begins_so() {
        assert_eq!(bounds("2014"), ("20140000000000".into(), "20149999999999".into()));
        assert!(check("2014").is_ok());
        for bad in ["", "x", "123456789012345", "2014-01"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check_ms("20140126200624123").is_ok() && check_ms("201401262006241234").is_err());
    }
}
