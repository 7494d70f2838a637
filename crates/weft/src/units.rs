//! Numbers, sizes, times and rates in human-readable form.

pub(crate) use format::number::{bytes, count, counted, duration_ms, parse_bytes, per_second};

/// Formats `2014-01-26T20:06:24.000Z` as `2014-01-26 20:06:24`; returns any other text unchanged.
pub(crate) fn time(fetch_time: &str) -> String {
    match (
        fetch_time.get(..10),
        fetch_time.get(10..11),
        fetch_time.get(11..19),
    ) {
        (Some(day), Some("T"), Some(clock)) => format!("{day} {clock}"),
        _ => fetch_time.to_owned(),
    }
}

/// Formats milliseconds since 1970 as `2014-01-26 20:06:24` (UTC). Times beyond the calendar are
/// printed as a number.
pub(crate) fn instant(ms: u64) -> String {
    let of_calendar = i64::try_from(ms).ok().filter(|ms| *ms < YEAR_10000_MS);
    of_calendar.map_or_else(|| format!("{ms} ms"), |ms| time(&format::date::iso(ms)))
}

/// The first millisecond since 1970 whose year has five digits.
const YEAR_10000_MS: i64 = 253_402_300_800_000;

/// Returns the date of a time, such as `2014-01-26`.
pub(crate) fn day(fetch_time: &str) -> String {
    time(fetch_time).split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(time("2014-01-26T20:06:24.000Z"), "2014-01-26 20:06:24");
        assert_eq!(time("odd"), "odd");
        assert_eq!(instant(1_390_766_784_123), "2014-01-26 20:06:24");
        assert_eq!(instant(253_402_300_799_999), "9999-12-31 23:59:59");
        assert_eq!(instant(253_402_300_800_000), "253402300800000 ms");
        assert_eq!(instant(u64::MAX), "18446744073709551615 ms");
        assert_eq!(day("2014-01-26T20:06:24.000Z"), "2014-01-26");
    }
}
