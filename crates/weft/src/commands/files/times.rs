//! Times on the command line: ages and days.

use anyhow::{anyhow, bail};

/// Parses an age such as `90s`, `15m`, `36h`, `30d`, `2w` into milliseconds; a bare number counts
/// days.
pub(super) fn age_ms(text: &str) -> anyhow::Result<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ms = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" | "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        "y" => 365 * 86_400_000,
        _ => bail!("{text:?}: expected an age such as 15m, 36h, 30d, 2w or 1y"),
    };
    let number: i64 = number
        .parse()
        .map_err(|_| anyhow!("{text:?}: expected an age such as 15m, 36h, 30d or 2w"))?;
    number
        .checked_mul(unit_ms)
        .ok_or_else(|| anyhow!("{text:?} is too long ago"))
}

/// Parses a moment: a day such as `2026-11-23`, a time such as `2026-11-23T10:00:00Z`, or an age.
pub(crate) fn moment_ms(text: &str) -> anyhow::Result<i64> {
    if text.contains('-') {
        let expected = || {
            anyhow!(
                "{text:?}: expected a day such as 2026-11-23, or a time such as 2026-11-23T10:00:00Z (UTC)"
            )
        };
        let digits = format::date::digits_of_text(text).ok_or_else(expected)?;
        let ms = format::date::ms_of_digits(&digits);
        let day = text.split(['T', ' ']).next().unwrap_or_default();
        let has_form = text.find('-') == Some(4) && matches!(day.len(), 7 | 10);
        // Out-of-range values overflow (such as 30 February) and yield other digits.
        let is_time = has_form && format::date::digits(ms).starts_with(&digits);
        return is_time.then_some(ms).ok_or_else(expected);
    }
    Ok(system::time_ms() - age_ms(text)?)
}

/// Formats milliseconds since 1970 as a time.
pub(super) fn shown_ms(ms: i64) -> String {
    match u64::try_from(ms) {
        Ok(ms) => crate::units::instant(ms),
        Err(_) => format::date::iso_short(ms),
    }
}

/// Formats how long ago a time was.
pub(super) fn ago(ms: i64) -> String {
    let age_ms = u64::try_from(system::time_ms() - ms).unwrap_or(0);
    match age_ms / 86_400_000 {
        0 => format!("{} ago", crate::units::duration_ms(age_ms / 1000 * 1000)),
        1 => "1 day ago".to_owned(),
        days => format!("{} days ago", crate::units::count(days)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_days_are_read() {
        assert_eq!(age_ms("90s").unwrap(), 90_000);
        assert_eq!(age_ms("2").unwrap(), 2 * 86_400_000);
        assert_eq!(age_ms("3w").unwrap(), 21 * 86_400_000);
        for wrong in [
            "",
            "d",
            "5x",
            "99999999999999999999d",
            "9223372036854775807y",
            "-1",
        ] {
            assert!(age_ms(wrong).is_err(), "{wrong}");
        }
        assert_eq!(moment_ms("1970-01-02").unwrap(), 86_400_000);
        assert_eq!(moment_ms("1970-01-01T10:00:00Z").unwrap(), 36_000_000);
        assert_eq!(moment_ms("1970-02").unwrap(), 31 * 86_400_000);
        for wrong in [
            "20-x",
            "2026-13-01",
            "2026-02-30",
            "26-1-1",
            "2026-11-24T25:00:00",
            "2026-1-1",
        ] {
            assert!(moment_ms(wrong).is_err(), "{wrong}");
        }
        assert_eq!(shown_ms(-1500), "1969-12-31T23:59:58.500Z");
        let day = moment_ms("1d").unwrap();
        assert!((system::time_ms() - day - 86_400_000).abs() < 60_000);
    }
}
