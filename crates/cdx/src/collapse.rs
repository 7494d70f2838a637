//! Collapses adjacent captures that are equal in some fields: only the first of them is returned.
//!
//! Servers differ if several fields are given. At the Internet Archive each field is compared
//! separately, with the last value that it let through, and one equal field is enough to leave a
//! capture out. In the other servers all fields must be equal.

use serde::{Deserialize, Serialize};

use super::Dialect;
use super::field::Field;
use super::filter::{FilterError, field_of};
use super::row::CdxRow;

/// A field by which adjacent captures are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collapse {
    /// The field to compare.
    pub field: Field,
    /// Number of leading characters to compare; all if absent.
    pub chars: Option<usize>,
}

/// Leaves out captures whose time has the same leading digits as the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollapseTime {
    /// Number of digits of the time to compare.
    pub digits: usize,
    /// Whether a capture with a lower status than all before it in its group is also returned
    /// (Internet Archive). Otherwise every change of the status begins a new group (pywb).
    pub best_status: bool,
}

impl Collapse {
    /// Parses `field` or `field:CHARS`.
    ///
    /// # Errors
    /// [`FilterError`] if the field is unknown or the number is invalid.
    pub fn read(text: &str) -> Result<Collapse, FilterError> {
        Collapse::read_as(text, Dialect::Pywb)
    }

    /// Like [`Collapse::read`], with the field names of a server.
    ///
    /// # Errors
    /// The errors of [`Collapse::read`].
    pub fn read_as(text: &str, dialect: Dialect) -> Result<Collapse, FilterError> {
        let (name, chars) = match text.split_once(':') {
            Some((name, chars)) => (name, Some(chars)),
            None => (text, None),
        };
        let number = |chars: &str| match chars.parse() {
            Ok(chars @ 1..) => Ok(chars),
            _ => Err(FilterError::Chars(chars.to_owned())),
        };
        Ok(Collapse {
            field: field_of(name, dialect)?,
            chars: chars.map(number).transpose()?,
        })
    }

    /// Returns the text of a capture to compare.
    pub fn value(self, row: &CdxRow) -> String {
        let text = self.field.text(row);
        match self.chars {
            Some(chars) => text.chars().take(chars).collect(),
            None => text.into_owned(),
        }
    }
}

/// Decides for one capture after the other whether it is returned.
pub struct Collapsing<'c> {
    fields: &'c [Collapse],
    /// Whether one equal field is enough to leave a capture out.
    any: bool,
    time: Option<CollapseTime>,
    /// Values to compare the next capture with, one for each field; empty before the first capture.
    last: Vec<String>,
    /// Leading digits of the time, and status, of the group; empty before the first capture.
    group: Vec<String>,
}

/// The value of a missing status, which is worse than any other.
const WORST_STATUS: u16 = 9999;

impl<'c> Collapsing<'c> {
    /// Continues from a `state`, which is empty at the beginning.
    pub fn new(
        fields: &'c [Collapse],
        any: bool,
        time: Option<CollapseTime>,
        mut state: Vec<String>,
    ) -> Collapsing<'c> {
        let group = state.split_off(fields.len().min(state.len()));
        Collapsing {
            fields,
            any,
            time,
            last: state,
            group,
        }
    }

    /// Returns the state that decides about the following captures. It is stored in a cursor.
    pub fn state(&self) -> Vec<String> {
        [&self.last[..], &self.group].concat()
    }

    /// Returns whether `row` is returned to the client.
    pub fn accepts(&mut self, row: &CdxRow) -> bool {
        self.differs(row) && self.time.is_none_or(|time| self.begins_a_group(row, time))
    }

    fn differs(&mut self, row: &CdxRow) -> bool {
        if self.fields.is_empty() {
            return true;
        }
        if !self.any || self.last.is_empty() {
            let values: Vec<String> = self.fields.iter().map(|field| field.value(row)).collect();
            let new = values != self.last;
            self.last = values;
            return new;
        }
        // As at the Internet Archive, the fields after an equal one keep their last value.
        for (field, last) in self.fields.iter().zip(&mut self.last) {
            let value = field.value(row);
            if value == *last {
                return false;
            }
            *last = value;
        }
        true
    }

    fn begins_a_group(&mut self, row: &CdxRow, time: CollapseTime) -> bool {
        let digits: String = row.timestamp.chars().take(time.digits).collect();
        let status = if time.best_status {
            Field::Status
                .value(row)
                .and_then(|status| status.parse().ok())
                .unwrap_or(WORST_STATUS)
                .to_string()
        } else {
            Field::Status.text(row).into_owned()
        };
        let begins = match self.group.as_slice() {
            [known, best] if *known == digits => {
                if time.best_status {
                    status.parse::<u16>().ok() < best.parse().ok()
                } else {
                    status != *best
                }
            }
            _ => true,
        };
        if begins {
            self.group = vec![digits, status];
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(timestamp: &str, status: u16) -> CdxRow {
        CdxRow {
            timestamp: timestamp.into(),
            status,
            ..CdxRow::default()
        }
    }

    /// Tests the captures one by one, each time from the state that a cursor would store.
    #[track_caller]
    fn check(
        fields: &[&str],
        any: bool,
        time: Option<CollapseTime>,
        rows: &[(&str, u16)],
        expected: &[bool],
    ) {
        let fields: Vec<Collapse> = fields
            .iter()
            .map(|field| Collapse::read(field).expect("a collapse"))
            .collect();
        let mut state = Vec::new();
        let mut lets = |(timestamp, status): &(&str, u16)| {
            let mut collapsing = Collapsing::new(&fields, any, time, std::mem::take(&mut state));
            let lets = collapsing.accepts(&row(timestamp, *status));
            state = collapsing.state();
            lets
        };
        let found: Vec<bool> = rows.iter().map(&mut lets).collect();
        assert_eq!(found, expected, "{rows:?}");
    }

    #[test]
    fn neighbours_are_compared() {
        let rows = ["201401", "20140131", "201402", "201401"].map(|time| (time, 200));
        check(&["timestamp:6"], false, None, &rows, &[true, false, true, true]);
    }

    #[test]
    fn of_several_fields_all_or_one_must_be_equal() {
        let rows = [("2014", 200), ("2014", 503), ("2015", 503), ("2016", 200)];
        let fields = ["timestamp:4", "status"];
        check(&fields, false, None, &rows, &[true, true, true, true]);
        // The third is compared with the first status, because the second capture was left out for
        // its year.
        check(&fields, true, None, &rows, &[true, false, true, true]);
        check(
            &["status", "timestamp:4"],
            true,
            None,
            &rows,
            &[true, false, false, true],
        );
    }

    #[test]
    fn captures_of_an_hour_are_collapsed_by_status() {
        let time = |best_status| {
            Some(CollapseTime {
                digits: 10,
                best_status,
            })
        };
        let rows = [503, 503, 200, 302, 200, 0].map(|status| ("2014012620", status));
        check(
            &[],
            false,
            time(false),
            &rows,
            &[true, false, true, true, true, true],
        );
        check(
            &[],
            false,
            time(true),
            &rows,
            &[true, false, true, false, false, false],
        );
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for text in ["colour", "timestamp:0", "timestamp:x", "timestamp:"] {
            assert!(Collapse::read(text).is_err(), "{text}");
        }
        let by_number = Collapse::read_as("1:4", Dialect::WaybackMachine).expect("a collapse");
        assert_eq!((by_number.field, by_number.chars), (Field::Timestamp, Some(4)));
    }
}
