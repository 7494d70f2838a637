//! Human-readable counts, sizes, durations and rates, the same on the terminal and in the browser.

use crate::ParseValueError;

/// Formats a count: `1234567` becomes `1,234,567`.
pub fn count(number: u64) -> String {
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

/// Formats a count with its noun: `1 page`, `2 pages`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Formats bytes in units of 1,024: `999 B`, `4.2 MiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = number as f64;
    let mut unit = 0;
    // A value that would round to 1,024.0 is shown as 1.0 of the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Formats milliseconds as `0.4 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
pub fn duration_ms(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{:.1} s", ms as f64 / 1000.0),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a rate: as a whole number from ten up, with one decimal below.
pub fn rate(value: f64) -> String {
    match value {
        v if v >= 9.95 => count(v.round() as u64),
        v if v > 0.0 => format!("{v:.1}"),
        _ => "0".to_owned(),
    }
}

/// Returns `number` per second over `ms` milliseconds, rounded; 0 if no time has passed.
pub fn per_second(number: u64, ms: u64) -> u64 {
    if ms == 0 {
        0
    } else {
        (number as f64 * 1000.0 / ms as f64).round() as u64
    }
}

/// Parses human-readable bytes: `4096`, `64k`, `1.5M`, `2G`, `10 GiB`, in units of 1,024.
///
/// # Errors
/// [`ParseValueError`] if the text is not a number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, ParseValueError> {
    let expected = || ParseValueError::new("", text, "bytes, such as 500000, 64k, 1.5M or 2G");
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, shift) = match bare.chars().last() {
        Some('k') => (&bare[..bare.len() - 1], 10),
        Some('m') => (&bare[..bare.len() - 1], 20),
        Some('g') => (&bare[..bare.len() - 1], 30),
        Some('t') => (&bare[..bare.len() - 1], 40),
        _ => (bare, 0),
    };
    let number: f64 = number.trim_end().parse().map_err(|_| expected())?;
    let bytes = number * f64::from(2_u32).powi(shift);
    if !bytes.is_finite() || !(1.0..1e18).contains(&bytes) {
        return Err(expected());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let counts = [0, 999, 1000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "page", "pages"), "1 page");
        assert_eq!(counted(2000, "page", "pages"), "2,000 pages");
    }

    #[test]
    fn sizes() {
        let sizes = [0, 1023, 1024, 1536 << 10, (1 << 20) - 1, 25_000_000_000, u64::MAX].map(bytes);
        assert_eq!(
            sizes,
            [
                "0 B",
                "1023 B",
                "1.0 KiB",
                "1.5 MiB",
                "1.0 MiB",
                "23.3 GiB",
                "16384.0 PiB"
            ]
        );
    }

    #[test]
    fn durations_and_rates() {
        let durations = [400, 1234, 42_000, 125_000, 7_380_000].map(duration_ms);
        assert_eq!(
            durations,
            ["0.4 s", "1.2 s", "42.0 s", "2 min 05 s", "2 h 03 min"]
        );
        assert_eq!([0.0, 0.25, 9.96, 12345.6].map(rate), ["0", "0.2", "10", "12,346"]);
        assert_eq!([per_second(10, 0), per_second(10, 500)], [0, 20]);
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
            Some(3072),
            None,
            None,
            None,
            None,
            None,
        ];
        assert_eq!(read, meant);
    }
}
