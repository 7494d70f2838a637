//! Parses how long to protect an object, and formats protection.

use anyhow::{anyhow, bail, ensure};
use format::date::{DAY_MS, DateTime};
use serde::Serialize;
use store::{Protection, RetentionMode};

use crate::commands::files::times::moment_ms;

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

/// Returns the end of a retention that starts now and lasts for `text`: `36h`, `30d`, `2w`, `10y`.
/// Years are calendar years.
///
/// # Errors
/// Fails if `text` is not a span, is empty, or is too long.
pub(crate) fn end_of_span(text: &str) -> anyhow::Result<u64> {
    checked(text, span_end(text, system::time_ms())?, system::time_ms())
}

/// Returns the retention end for a date (its first moment) or a time in UTC.
///
/// # Errors
/// Fails if `text` is not a date, is in the past, or is too far away.
pub(crate) fn end_of_date(text: &str) -> anyhow::Result<u64> {
    ensure!(
        text.contains('-'),
        "{text:?}: expected a day such as 2036-01-01, or a time such as 2036-01-01T00:00:00Z (UTC)"
    );
    checked(text, moment_ms(text)?, system::time_ms())
}

fn span_end(text: &str, from_ms: i64) -> anyhow::Result<i64> {
    let expected = || anyhow!("{text:?}: expected a span such as 36h, 30d, 2w or 10y (m is not a unit)");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().map_err(|_| expected())?;
    let unit_ms = match unit {
        "h" => 3_600_000,
        "d" => DAY_MS,
        "w" => 7 * DAY_MS,
        "y" => return Ok(years_later(from_ms, number.min(YEARS_MAX + 1))),
        _ => bail!(expected()),
    };
    Ok(number.saturating_mul(unit_ms).saturating_add(from_ms))
}

/// Returns the same day and time `years` later; 29 February becomes the 28th if the year has no
/// such day.
fn years_later(from_ms: i64, years: i64) -> i64 {
    let from = DateTime::of_ms(from_ms);
    let (year, month) = (from.year + years, i64::from(from.month));
    let day = i64::from(from.day).min(format::date::days_in_month(year, month));
    format::date::days_of(year, month, day) * DAY_MS + from_ms.rem_euclid(DAY_MS)
}

fn checked(text: &str, end_ms: i64, now_ms: i64) -> anyhow::Result<u64> {
    ensure!(end_ms > now_ms, "{text:?} is not in the future");
    ensure!(
        end_ms <= years_later(now_ms, YEARS_MAX),
        "{text:?}: at most {YEARS_MAX} years are possible; use weft store hold to keep objects indefinitely"
    );
    u64::try_from(end_ms).map_err(|_| anyhow!("{text:?} is before 1970"))
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
            assert_eq!(span_end(span, ms(from)).unwrap(), ms(end), "{from} {span}");
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
            assert!(span_end(wrong, 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_end_lies_ahead_and_not_too_far() {
        for wrong in [
            "0d",
            "101y",
            "36501w",
            "9223372036854775807d",
            "9223372036854775807y",
        ] {
            assert!(end_of_span(wrong).is_err(), "{wrong}");
        }
        assert!(end_of_span("100y").is_ok());
        for wrong in ["2020-01-01", "9999-01-01", "10y", "2036-02-30", "soon"] {
            assert!(end_of_date(wrong).is_err(), "{wrong}");
        }
        let end = u64::try_from(format::date::ms_of_iso("2036-01-01T00:00:00.000Z").unwrap()).unwrap();
        assert_eq!(end_of_date("2036-01-01").unwrap(), end);
    }
}
