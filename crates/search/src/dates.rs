//! Dates as numbers of 14 digits (`YYYYMMDDhhmmss`), so that a prefix of digits is a range.

use format::date::DateTime;

/// Returns a time in UTC as a number of 14 digits. Times outside the years 0 to 9999 are clipped.
pub(crate) fn digits_of_ms(time_ms: i64) -> u64 {
    let time = DateTime::of_ms(time_ms);
    let Ok(year) = u64::try_from(time.year) else {
        return 0;
    };
    if year > 9999 {
        return 99_991_231_235_959;
    }
    [time.month, time.day, time.hour, time.minute, time.second]
        .into_iter()
        .fold(year, |digits, part| digits * 100 + u64::from(part))
}

/// Returns the first and last 14-digit number that begin with the digits of `text`. Separators are
/// skipped (`2008-01-31`). `None` unless the text has 1 to 14 digits and no other characters.
pub(crate) fn range_of(text: &str) -> Option<(u64, u64)> {
    let (first, last) = format::date::range_of_digits(&format::date::digits_of_text(text)?);
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Maps a 14-digit number to 32 bits, keeping the order. Exact to the second from 1980 to 2113; all
/// earlier times map to one number, and all later times to another.
pub(crate) fn order_of(digits: u64) -> u32 {
    let (date, time) = (digits / 1_000_000, digits % 1_000_000);
    let days = (date / 10_000) * 372 + (date / 100 % 100) * 31 + date % 100;
    let seconds = (time / 10_000) * 3600 + (time / 100 % 100) * 60 + time % 100;
    let order = (days.saturating_sub(1980 * 372)) * 86_400 + seconds;
    u32::try_from(order).unwrap_or(u32::MAX)
}

/// Returns the year of a 14-digit number.
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
    fn the_order_of_dates_is_kept() {
        let days = (0..40_000).map(|day| 400_000_000_000 + day * 86_399_000);
        let orders: Vec<u32> = days.map(|ms| order_of(digits_of_ms(ms))).collect();
        assert!(orders.is_sorted_by(|a, b| a < b));
        assert!(orders[39_999] < u32::MAX && order_of(digits_of_ms(0)) < orders[0]);
        assert_eq!(order_of(99_991_231_235_959), u32::MAX);
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
