//! Numbers, sizes, times and rates as people read them.

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 page`, `2 pages`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Bytes in units of 1,024: `4.2 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Milliseconds as `0.4 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
pub(crate) fn duration_ms(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{:.1} s", ms as f64 / 1000.0),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `number` a second over `ms` milliseconds, whole; 0 where no time has passed.
pub(crate) fn per_second(number: u64, ms: u64) -> u64 {
    if ms == 0 {
        0
    } else {
        (number as f64 * 1000.0 / ms as f64).round() as u64
    }
}

/// `2014-01-26T20:06:24.000Z` as `2014-01-26 20:06:24`; anything else as it is.
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

/// Milliseconds since 1970 as `2014-01-26 20:06:24` (UTC); a time that no calendar has, as a number.
pub(crate) fn instant(ms: u64) -> String {
    let nanos = i128::from(ms) * 1_000_000;
    match time::OffsetDateTime::from_unix_timestamp_nanos(nanos) {
        Ok(t) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second()
        ),
        Err(_) => format!("{ms} ms"),
    }
}

/// Bytes as people write them: `4096`, `64k`, `1.5M`, `2G`, in units of 1,024.
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

/// The day of a time, `2014-01-26`.
pub(crate) fn day(fetch_time: &str) -> String {
    time(fetch_time).split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1234567].map(count).each_ref().map(|s| &**s)
        );
        assert_eq!(counted(1, "page", "pages"), "1 page");
        assert_eq!(
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB"],
            [0, 1023, 1024, 1536 * 1024].map(bytes).each_ref().map(|s| &**s)
        );
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.0 MiB");
    }

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
        assert_eq!(duration_ms(1234), "1.2 s");
        assert_eq!(duration_ms(125_000), "2 min 05 s");
        assert_eq!(duration_ms(7_380_000), "2 h 03 min");
        assert_eq!(time("2014-01-26T20:06:24.000Z"), "2014-01-26 20:06:24");
        assert_eq!(time("odd"), "odd");
        assert_eq!(instant(1_390_766_784_123), "2014-01-26 20:06:24");
        assert_eq!(instant(u64::MAX), "18446744073709551615 ms");
        assert_eq!(day("2014-01-26T20:06:24.000Z"), "2014-01-26");
        assert_eq!(per_second(10, 0), 0);
        assert_eq!(per_second(10, 500), 20);
    }
}
