//! Parses when a policy is due, and how much it does at a time.

use toml::Spanned;

use super::quantities::{bytes, measure, percent};
use super::syntax_error::{ParseResult, SyntaxError};
use super::tables::{LimitsTable, TriggerTable};
use super::{Level, Limits, Trigger, Usage, UsageOf};
use crate::condition::Unit;

/// Maximum number of files in one run, which are held in memory. The next run continues.
const COUNT_MAX: u64 = 1_000_000;

pub(super) fn trigger(begin: usize, table: &TriggerTable) -> ParseResult<Trigger> {
    let every_ms = table.every.as_ref().map(|age| measure(age, Unit::Time));
    let usage = match (&table.usage_of, &table.high, &table.low) {
        (None, None, None) => None,
        (Some(of), Some(high), Some(low)) => {
            let usage = Usage {
                of: *of.get_ref(),
                high: level(*of.get_ref(), high)?,
                low: level(*of.get_ref(), low)?,
            };
            let is_ordered = match (usage.high, usage.low) {
                (Level::Percent(high), Level::Percent(low)) => low <= high,
                (Level::Number(high), Level::Number(low)) => low <= high,
                _ => false,
            };
            if !is_ordered {
                let message = "`low` must have the same unit as `high` and must not exceed it".to_owned();
                return Err(SyntaxError::new(low.span().start, message));
            }
            Some(usage)
        }
        _ => {
            return Err(SyntaxError::new(
                begin,
                "a usage trigger requires `usage_of`, `high` and `low`".to_owned(),
            ));
        }
    };
    Ok(Trigger {
        every_ms: every_ms.transpose()?,
        usage,
    })
}

fn level(of: UsageOf, found: &Spanned<String>) -> ParseResult<Level> {
    match of {
        UsageOf::Volume if found.get_ref().trim().ends_with('%') => percent(found).map(Level::Percent),
        UsageOf::Volume | UsageOf::Owner => measure(found, Unit::Bytes).map(Level::Number),
        UsageOf::Count => measure(found, Unit::Count).map(Level::Number),
    }
}

pub(super) fn limits(table: &LimitsTable) -> ParseResult<Limits> {
    let window = table.window.as_ref().map(|found| {
        let wrong = || {
            let text = found.get_ref();
            SyntaxError::new(
                found.span().start,
                format!("{text:?}: expected times of the day (UTC) such as 22:00-06:00"),
            )
        };
        let minute = |text: &str| -> Option<u32> {
            let (hour, minute) = text.trim().split_once(':')?;
            let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let (from, to) = found.get_ref().split_once('-').ok_or_else(wrong)?;
        Ok((minute(from).ok_or_else(wrong)?, minute(to).ok_or_else(wrong)?))
    });
    Ok(Limits {
        count: table.count.unwrap_or(COUNT_MAX).min(COUNT_MAX),
        size_bytes: table.size.as_ref().map(bytes).transpose()?,
        rate_bytes: table.rate.as_ref().map(bytes).transpose()?,
        window: window.transpose()?,
        errors_percent: table.errors.as_ref().map(percent).transpose()?.unwrap_or(100.0),
    })
}
