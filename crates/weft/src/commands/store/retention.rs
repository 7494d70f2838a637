//! Parses how long to protect an object, and formats protection.

use clap::builder::TypedValueParser;
use format::date::{DAY_MS, DateTime};
use serde::Serialize;
use store::{Protection, RetentionMode};

use crate::commands::files::times::day_or_time_ms;
use crate::flag_values::value;

/// Longest retention, as in S3. A typo under `compliance` cannot be undone. A legal hold has no
/// end.
const YEARS_MAX: i64 = 100;

/// Protection as printed by `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct ProtectionBody {
    /// End of the retention, if there is one.
    until: Option<String>,
    mode: Option<RetentionMode>,
    hold: bool,
    /// Whether the object is protected now, by this machine's clock.
    in_force: bool,
}

impl ProtectionBody {
    pub(crate) fn of(protection: Protection) -> Self {
        Self {
            until: protection.retention.map(|retention| retention.until_text()),
            mode: protection.retention.map(|retention| retention.mode),
            hold: protection.hold,
            in_force: protection.in_force(system::wall_ms()).is_some(),
        }
    }
}

/// Returns a parser of spans such as `36h`, `30d`, `2w` or `10y`. Its value is the end of a
/// retention of this length that starts now. Years are calendar years.
pub(crate) fn end_of_span() -> impl TypedValueParser<Value = u64> {
    let takes = format!("a span of at most {YEARS_MAX} years (weft store hold has no end)");
    value(takes, "36h, 30d, 2w or 10y", |text| {
        let now_ms = system::time_ms();
        checked(span_end(text, now_ms)?, now_ms)
    })
}

/// Returns a parser of dates and times in UTC. Its value is the end of a retention: the first
/// moment of a date.
pub(crate) fn end_of_date() -> impl TypedValueParser<Value = u64> {
    let takes = format!("a date or a time (UTC) in the next {YEARS_MAX} years (weft store hold has no end)");
    value(takes, "2036-01-01 or 2036-01-01T00:00:00Z", |text| {
        checked(day_or_time_ms(text)?, system::time_ms())
    })
}

fn span_end(text: &str, from_ms: i64) -> Option<i64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().ok()?;
    let unit_ms = match unit {
        "h" => 3_600_000,
        "d" => DAY_MS,
        "w" => 7 * DAY_MS,
        "y" => return Some(years_later(from_ms, number.min(YEARS_MAX + 1))),
        _ => return None,
    };
    Some(number.saturating_mul(unit_ms).saturating_add(from_ms))
}

/// Returns the same day and time `years` later; 29 February becomes the 28th if the year has no
/// such day.
fn years_later(from_ms: i64, years: i64) -> i64 {
    let from = DateTime::of_ms(from_ms);
    let (year, month) = (from.year + years, i64::from(from.month));
    let day = i64::from(from.day).min(format::date::days_in_month(year, month));
    format::date::days_of(year, month, day) * DAY_MS + from_ms.rem_euclid(DAY_MS)
}

/// Returns the end if it is in the future and not too far away.
fn checked(end_ms: i64, now_ms: i64) -> Option<u64> {
    let is_in_range = end_ms > now_ms && end_ms <= years_later(now_ms, YEARS_MAX);
    u64::try_from(end_ms).ok().filter(|_| is_in_range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_counted_by_the_calendar() {
        let ms = |text: &str| format::date::ms_of_iso(&format!("{text}T10:20:30.400Z")).unwrap();
        for (from, span, end) in [
            ("2026-11-26", "10y", "2036-11-26"),
            ("2024-02-29", "1y", "2025-02-28"),
            ("2024-02-29", "4y", "2028-02-29"),
            ("2026-12-31", "1d", "2027-01-01"),
            ("2026-12-31", "48h", "2027-01-02"),
            ("2026-01-01", "2w", "2026-01-15"),
        ] {
            assert_eq!(span_end(span, ms(from)), Some(ms(end)), "{from} {span}");
        }
        for wrong in [
            "",
            "10",
            "y",
            "6m",
            "-1y",
            "1.5y",
            "10 y",
            "99999999999999999999d",
        ] {
            assert_eq!(span_end(wrong, 0), None, "{wrong}");
        }
    }

    #[test]
    fn an_end_lies_ahead_and_not_too_far() {
        let (command, now) = (clap::Command::new("weft"), system::time_ms());
        let span = |text: &str| end_of_span().parse_ref(&command, None, text.as_ref());
        let date = |text: &str| end_of_date().parse_ref(&command, None, text.as_ref());
        for wrong in [
            "0d",
            "101y",
            "36501w",
            "9223372036854775807d",
            "9223372036854775807y",
        ] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        assert!(span("100y").is_ok());
        for wrong in ["2020-01-01", "9999-01-01", "10y", "2036-02-30", "soon"] {
            assert!(date(wrong).is_err(), "{wrong}");
        }
        let end = u64::try_from(format::date::ms_of_iso("2036-01-01T00:00:00.000Z").unwrap()).unwrap();
        assert_eq!(date("2036-01-01").ok(), Some(end));
        assert_eq!(checked(now, now), None);
    }
}
