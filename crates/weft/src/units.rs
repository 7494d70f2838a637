//! Numbers, sizes, times and rates in the form that people read.

pub(crate) use human::{bytes, count, counted, duration_ms, per_second};

/// Returns `2014-01-26T20:06:24.000Z` as `2014-01-26 20:06:24`, and any other text unchanged.
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

/// Returns milliseconds since 1970 as `2014-01-26 20:06:24` (UTC). A time beyond the calendar is returned as
/// a number.
pub(crate) fn instant(ms: u64) -> String {
    let of_calendar = i64::try_from(ms).ok().filter(|ms| *ms < YEAR_10000_MS);
    of_calendar.map_or_else(|| format!("{ms} ms"), |ms| time(&civil::iso(ms)))
}

/// The first moment, in milliseconds since 1970, whose year has five digits.
const YEAR_10000_MS: i64 = 253_402_300_800_000;

/// Reads bytes as people write them: `4096`, `64k`, `1.5M`, `2G`, in units of 1,024.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let expected = || format!("{text:?}: expected bytes, such as 500000, 64k, 1.5M or 2G");
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, shift) = match bare.chars().last() {
        Some('k') => (&bare[..bare.len() - 1], 10),
        Some('m') => (&bare[..bare.len() - 1], 20),
        Some('g') => (&bare[..bare.len() - 1], 30),
        Some('t') => (&bare[..bare.len() - 1], 40),
        _ => (bare, 0),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let bytes = number * f64::from(2_u32).powi(shift);
    if !bytes.is_finite() || !(1.0..1e18).contains(&bytes) {
        return Err(expected());
    }
    Ok(bytes as u64)
}

/// Returns the day of a time, such as `2014-01-26`.
pub(crate) fn day(fetch_time: &str) -> String {
    time(fetch_time).split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_are_written() {
        let read = ["1", "64k", "1.5M", "2GiB", "3 kb", "0", "-1", "fast", "", "k"]
            .map(|text| parse_bytes(text).ok());
        let meant = [
            Some(1),
            Some(65_536),
            Some(1_572_864),
            Some(2 << 30),
            None,
            None,
            None,
            None,
            None,
            None,
        ];
        assert_eq!(read, meant);
    }

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
