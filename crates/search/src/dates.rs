//! Dates as numbers of 14 digits (`YYYYMMDDhhmmss`), so that a prefix of digits is a range.

const DAY_MS: i64 = 86_400_000;

/// The 14 digits of a time in UTC, as a number; times outside the years 0 to 9999 are clipped.
pub(crate) fn digits_of_ms(time_ms: i64) -> u64 {
    let (year, month, day) = civil(time_ms.div_euclid(DAY_MS));
    if year < 0 {
        return 0;
    }
    if year > 9999 {
        return 99_991_231_235_959;
    }
    let second = time_ms.rem_euclid(DAY_MS) / 1000;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let date = (year * 100 + month) * 100 + day;
    (((date * 100 + hour) * 100 + minute) * 100 + second) as u64
}

/// Year, month, day of a day counted from 1970-01-01 (Gregorian calendar, eras of 400 years).
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
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

/// First and last 14-digit number that begin with the digits of `text` (separators are skipped:
/// `2008-01-31`); `None` unless there are 1 to 14 digits and nothing else.
pub(crate) fn range_of(text: &str) -> Option<(u64, u64)> {
    let separator = |c: char| matches!(c, '-' | ':' | '.' | '/' | 'T' | 't' | 'Z' | 'z');
    let digits: String = text.chars().filter(|&c| !separator(c)).collect();
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || digits.len() > 14 || !plain {
        return None;
    }
    let first = format!("{digits:0<14}").parse().ok()?;
    let last = format!("{digits:9<14}").parse().ok()?;
    Some((first, last))
}

/// The year of a 14-digit number.
pub(crate) fn year_of(digits: u64) -> u64 {
    digits / 10_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_digits() {
        assert_eq!(digits_of_ms(0), 19_700_101_000_000);
        assert_eq!(digits_of_ms(951_782_399_999), 20_000_228_235_959);
        assert_eq!(digits_of_ms(951_782_400_000), 20_000_229_000_000);
        assert_eq!(digits_of_ms(-1), 19_691_231_235_959);
        assert_eq!(digits_of_ms(1_716_239_107_000), 20_240_520_210_507);
        assert_eq!(digits_of_ms(i64::MAX), 99_991_231_235_959);
        assert_eq!(digits_of_ms(i64::MIN), 0);
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let mut before = digits_of_ms(-30_000 * DAY_MS);
        for day in -29_999..146_097 {
            let digits = digits_of_ms(day * DAY_MS);
            assert!(digits > before, "day {day}: {before} then {digits}");
            before = digits;
        }
    }

    #[test]
    fn prefixes_become_ranges() {
        assert_eq!(range_of("2008"), Some((20_080_000_000_000, 20_089_999_999_999)));
        assert_eq!(
            range_of("2008-01-31"),
            Some((20_080_131_000_000, 20_080_131_999_999))
        );
        for odd in ["", "x", "200x", "123456789012345", "٢٠٠٨"] {
            assert_eq!(range_of(odd), None, "{odd}");
        }
    }
}
