//! Statistics of a file in the log, so that engines need not open it (section "Per-file
//! Statistics").

use std::collections::BTreeMap;

use parquet::file::statistics::Statistics;
use serde_json::{Map, Value, json};

use crate::field::{Field, Kind};

/// Maximum number of characters of a text in bounds, as in other writers of the format.
const TEXT_CHARS_MAX: usize = 32;

/// The greatest character: appended to a truncated text, it makes an upper bound.
const GREATEST: char = char::MAX;

/// Least and greatest value of a column in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bounds {
    Text(String, String),
    Number(i64, i64),
}

/// Number of rows of a file, and bounds of the columns that have them.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileStats {
    pub(crate) records: u64,
    /// `None` if the bounds of some rows are unknown; then the file has none.
    bounds: BTreeMap<&'static str, (Kind, Option<Bounds>)>,
}

impl Bounds {
    /// Returns the bounds of a column of a row group. Bounds of texts may be truncated, the upper
    /// one upwards.
    pub(crate) fn of(statistics: &Statistics) -> Option<Bounds> {
        let text = |bytes: Option<&[u8]>| std::str::from_utf8(bytes?).ok().map(str::to_owned);
        match statistics {
            Statistics::ByteArray(_) => Some(Bounds::Text(
                text(statistics.min_bytes_opt())?,
                text(statistics.max_bytes_opt())?,
            )),
            Statistics::Int32(typed) => Some(Bounds::Number(
                (*typed.min_opt()?).into(),
                (*typed.max_opt()?).into(),
            )),
            Statistics::Int64(typed) => Some(Bounds::Number(*typed.min_opt()?, *typed.max_opt()?)),
            _ => None,
        }
    }
}

impl FileStats {
    /// Includes the bounds of more rows.
    pub(crate) fn widen(&mut self, field: &'static Field, bounds: Option<Bounds>) {
        let widened = match (self.bounds.remove(field.name), bounds) {
            (None, bounds) => bounds,
            (Some((_, Some(Bounds::Number(a, b)))), Some(Bounds::Number(c, d))) => {
                Some(Bounds::Number(a.min(c), b.max(d)))
            }
            (Some((_, Some(Bounds::Text(a, b)))), Some(Bounds::Text(c, d))) => {
                Some(Bounds::Text(a.min(c), b.max(d)))
            }
            _ => None,
        };
        self.bounds.insert(field.name, (field.kind, widened));
    }

    /// Encodes the statistics for the log.
    pub(crate) fn to_json(&self) -> String {
        let (mut least, mut greatest, mut nulls) = (Map::new(), Map::new(), Map::new());
        for (name, (kind, bounds)) in &self.bounds {
            let Some(bounds) = bounds else { continue };
            let (min, max) = match bounds {
                Bounds::Text(min, max) => (Value::from(cut(min)), upper_bound(max).map(Value::from)),
                Bounds::Number(min, max) if *kind == Kind::Time => {
                    (Value::from(time(*min, 0)), Some(Value::from(time(*max, 999))))
                }
                Bounds::Number(min, max) => (Value::from(*min), Some(Value::from(*max))),
            };
            least.insert((*name).to_owned(), min);
            greatest.extend(max.map(|max| ((*name).to_owned(), max)));
            nulls.insert((*name).to_owned(), Value::from(0));
        }
        json!({
            "numRecords": self.records,
            "minValues": least,
            "maxValues": greatest,
            "nullCount": nulls,
        })
        .to_string()
    }
}

/// Returns the beginning of a text, which is a lower bound.
fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

/// Returns a short text that is not less than `text`, if possible.
fn upper_bound(text: &str) -> Option<String> {
    let mut bound = cut(text);
    if bound.len() < text.len() {
        let next = text[bound.len()..].chars().next();
        if next == Some(GREATEST) {
            return None;
        }
        bound.push(GREATEST);
    }
    Some(bound)
}

/// Formats a time in milliseconds for the log. `within_us` is added before rounding down.
fn time(us: i64, within_us: i64) -> String {
    let ms = (us + within_us).div_euclid(1_000);
    format::date::iso(ms)
}

/// Returns the least and greatest value of a number column in a file, from its statistics in the
/// log.
pub(crate) fn numbers(stats: &str, column: &str) -> Option<(i64, i64)> {
    let stats: Value = serde_json::from_str(stats).ok()?;
    let bound = |which: &str| stats.get(which)?.get(column)?.as_i64();
    Some((bound("minValues")?, bound("maxValues")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_upper(text: &str, expected: Option<&str>) {
        let bound = upper_bound(text);
        assert_eq!(bound.as_deref(), expected);
        assert!(bound.is_none_or(|bound| bound.as_bytes() >= text.as_bytes()));
    }

    #[test]
    fn upper_bounds_are_short_and_not_less() {
        check_upper("com,example)/", Some("com,example)/"));
        let long = "x".repeat(40);
        check_upper(&long, Some(&format!("{}{GREATEST}", "x".repeat(32))));
        check_upper(&format!("{}{GREATEST}", "x".repeat(32)), None);
        check_upper(&"ü".repeat(33), Some(&format!("{}{GREATEST}", "ü".repeat(32))));
    }

    #[test]
    fn a_file_has_bounds_only_if_all_of_its_rows_have() {
        static FIELD: Field = Field::new("n", Kind::Long).bounds();
        let mut stats = FileStats::default();
        stats.widen(&FIELD, Some(Bounds::Number(3, 5)));
        stats.widen(&FIELD, Some(Bounds::Number(1, 4)));
        assert_eq!(numbers(&stats.to_json(), "n"), Some((1, 5)));
        stats.widen(&FIELD, None);
        stats.widen(&FIELD, Some(Bounds::Number(1, 4)));
        assert_eq!(numbers(&stats.to_json(), "n"), None);
    }

    #[test]
    fn times_are_rounded_outwards() {
        assert_eq!(time(1_500, 0), "1970-01-01T00:00:00.001Z");
        assert_eq!(time(1_500, 999), "1970-01-01T00:00:00.002Z");
        assert_eq!(time(2_000, 999), "1970-01-01T00:00:00.002Z");
        assert_eq!(time(-1, 0), "1969-12-31T23:59:59.999Z");
    }
}
