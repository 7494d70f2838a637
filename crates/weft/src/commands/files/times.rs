//! Times on the command line: ages and days.

use clap::builder::TypedValueParser;

use crate::flag_values::value;

/// Parses an age such as `90s`, `15m`, `36h`, `30d`, `2w` into milliseconds; a bare number counts
/// days.
pub(super) fn age_ms(text: &str) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ms = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" | "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        "y" => 365 * 86_400_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit_ms)
}

/// Returns a parser of moments: a day, a time (UTC), or an age. Its value is milliseconds since
/// 1970.
pub(super) fn moment_ms() -> impl TypedValueParser<Value = i64> {
    let example = "2026-11-23, 2026-11-23T10:00:00Z or 7d";
    value("a day, a time (UTC) or an age", example, |text| {
        if text.contains('-') {
            day_or_time_ms(text)
        } else {
            system::time_ms().checked_sub(age_ms(text)?)
        }
    })
}

/// Parses a day such as `2026-11-23`, or a time such as `2026-11-23T10:00:00Z`.
pub(crate) fn day_or_time_ms(text: &str) -> Option<i64> {
    let digits = format::date::digits_of_text(text)?;
    let ms = format::date::ms_of_digits(&digits);
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let has_form = text.find('-') == Some(4) && matches!(day.len(), 7 | 10);
    // Out-of-range values overflow (such as 30 February) and yield other digits.
    (has_form && format::date::digits(ms).starts_with(&digits)).then_some(ms)
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
        assert_eq!(age_ms("90s"), Some(90_000));
        assert_eq!(age_ms("2"), Some(2 * 86_400_000));
        assert_eq!(age_ms("3w"), Some(21 * 86_400_000));
        for wrong in [
            "",
            "d",
            "5x",
            "99999999999999999999d",
            "9223372036854775807y",
            "-1",
        ] {
            assert_eq!(age_ms(wrong), None, "{wrong}");
        }
        assert_eq!(day_or_time_ms("1970-01-02"), Some(86_400_000));
        assert_eq!(day_or_time_ms("1970-01-01T10:00:00Z"), Some(36_000_000));
        assert_eq!(day_or_time_ms("1970-02"), Some(31 * 86_400_000));
        for wrong in [
            "20-x",
            "2026-13-01",
            "2026-02-30",
            "26-1-1",
            "2026-11-24T25:00:00",
            "2026-1-1",
            "20261123",
        ] {
            assert_eq!(day_or_time_ms(wrong), None, "{wrong}");
        }
        assert_eq!(shown_ms(-1500), "1969-12-31T23:59:58.500Z");
    }
}
