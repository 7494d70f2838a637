//! Object lock of a bucket: whether it is enabled, and the default retention of new objects.

use s3s::S3Result;
use s3s::dto::{DefaultRetention as DefaultRetentionInput, Timestamp};
use serde::{Deserialize, Serialize};
use store::bucket::Bucket;
use store::{Protect, Protection, Retention, RetentionChange, RetentionMode};
use system::wall_ms;
use time::OffsetDateTime;

use crate::error::fault;

/// Attribute of a bucket with object lock: [`ObjectLock`] as JSON.
const OBJECT_LOCK: &str = "weft-object-lock";

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Longest default retention, as in S3.
const DAYS_MAX: u32 = 36_500;
const YEARS_MAX: u32 = 100;

/// Object lock of a bucket. Once enabled, it cannot be disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ObjectLock {
    /// Retention of objects that are put without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<DefaultRetention>,
}

/// Retention of objects that are put without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DefaultRetention {
    pub(crate) mode: RetentionMode,
    #[serde(flatten)]
    pub(crate) span: Span,
}

/// The length of a retention, from the moment of the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Span {
    Days(u32),
    /// Calendar years.
    Years(u32),
}

/// The protection that a request asks for, for the object that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LockRequest {
    pub(crate) retention: Option<Retention>,
    pub(crate) hold: Option<bool>,
}

/// Reads the requested protection from any s3s input with these headers.
macro_rules! lock_of {
    ($input:expr) => {{
        let input = &$input;
        $crate::lock::LockRequest::of(
            input.object_lock_mode.as_ref().map(|mode| mode.as_str()),
            input.object_lock_retain_until_date.as_ref(),
            input
                .object_lock_legal_hold_status
                .as_ref()
                .map(|status| status.as_str()),
        )
    }};
}

pub(crate) use lock_of;

impl ObjectLock {
    /// Reads the object lock of a bucket, if it has one.
    pub(crate) fn of(record: &Bucket) -> S3Result<Option<Self>> {
        let lock = record
            .attributes
            .get(OBJECT_LOCK)
            .map(|text| serde_json::from_str(text));
        let wrong = |error| fault("InternalError", format!("invalid stored object lock: {error}"));
        lock.transpose().map_err(wrong)
    }

    /// Reads the object lock of a bucket.
    ///
    /// # Errors
    /// `InvalidRequest` if the bucket has no object lock.
    pub(crate) fn of_bucket(record: &Bucket) -> S3Result<Self> {
        let missing = || {
            fault(
                "InvalidRequest",
                "the bucket is missing an object lock configuration",
            )
        };
        Self::of(record)?.ok_or_else(missing)
    }

    /// Returns the bucket attribute and its value.
    pub(crate) fn attribute(self) -> (String, String) {
        // A mode and a number always serialize to JSON.
        let text = serde_json::to_string(&self).unwrap_or_default();
        (OBJECT_LOCK.to_owned(), text)
    }
}

impl DefaultRetention {
    /// Reads a client's default retention.
    pub(crate) fn of(input: &DefaultRetentionInput) -> S3Result<Self> {
        let mode = read_mode(input.mode.as_ref().map_or("", |mode| mode.as_str()))?;
        let positive = |number: i32, max: u32| {
            let number = u32::try_from(number)
                .ok()
                .filter(|number| (1..=max).contains(number));
            let detail = format!(
                "a default retention must be 1 to {max}: at most {DAYS_MAX} days or {YEARS_MAX} years"
            );
            number.ok_or_else(|| fault("InvalidRetentionPeriod", detail))
        };
        let span = match (input.days, input.years) {
            (Some(days), None) => Span::Days(positive(days, DAYS_MAX)?),
            (None, Some(years)) => Span::Years(positive(years, YEARS_MAX)?),
            _ => {
                let detail = "a default retention must be either in days or in years";
                return Err(fault("MalformedXML", detail));
            }
        };
        Ok(Self { mode, span })
    }

    /// Returns the retention of an object written at `now_ms`.
    fn from(self, now_ms: u64) -> Retention {
        let until_ms = match self.span {
            Span::Days(days) => now_ms.saturating_add(u64::from(days) * DAY_MS),
            Span::Years(years) => years_later(now_ms, years),
        };
        Retention {
            mode: self.mode,
            until_ms,
        }
    }
}

impl LockRequest {
    /// Reads the headers.
    pub(crate) fn of(mode: Option<&str>, until: Option<&Timestamp>, hold: Option<&str>) -> S3Result<Self> {
        let retention = match (mode, until) {
            (None, None) => None,
            (Some(mode), Some(until)) => Some(retention(mode, until)?),
            _ => {
                let detail = "a retention requires both a mode and an end";
                return Err(fault("InvalidArgument", detail));
            }
        };
        Ok(Self {
            retention,
            hold: hold.map(read_hold).transpose()?,
        })
    }

    /// Returns the protection for a new object in this bucket.
    ///
    /// # Errors
    /// `InvalidRequest` if protection is requested and the bucket has no object lock.
    pub(crate) fn resolve(self, record: &Bucket) -> S3Result<Protect> {
        let lock = if self == Self::default() {
            ObjectLock::of(record)?
        } else {
            Some(ObjectLock::of_bucket(record)?)
        };
        let default = lock.and_then(|lock| lock.default);
        let retention = self
            .retention
            .or_else(|| default.map(|default| default.from(wall_ms())));
        Ok(Protect {
            retention: retention.map_or(RetentionChange::Keep, |to| RetentionChange::Set(Some(to))),
            hold: self.hold.filter(|hold| *hold),
            bypass_governance: false,
        })
    }

    /// Returns the protection requested when an upload began, from the upload's attributes.
    pub(crate) fn of_upload(protection: Protection) -> Self {
        Self {
            retention: protection.retention,
            hold: protection.hold.then_some(true),
        }
    }

    /// Returns the protection as attributes of an upload, which hold it until completion.
    pub(crate) fn protection(self) -> Protection {
        Protection {
            retention: self.retention,
            hold: self.hold.unwrap_or(false),
        }
    }
}

/// Reads a retention that a client requests.
pub(crate) fn retention(mode: &str, until: &Timestamp) -> S3Result<Retention> {
    let until = OffsetDateTime::from(until.clone()).unix_timestamp_nanos() / 1_000_000;
    let retention = Retention {
        mode: read_mode(mode)?,
        until_ms: u64::try_from(until).unwrap_or(0),
    };
    if retention.until_ms > wall_ms() {
        Ok(retention)
    } else {
        Err(fault("InvalidArgument", "the retention ends in the past"))
    }
}

/// Returns S3's spelling of a mode.
pub(crate) fn mode_name(mode: RetentionMode) -> &'static str {
    match mode {
        RetentionMode::Governance => "GOVERNANCE",
        RetentionMode::Compliance => "COMPLIANCE",
    }
}

fn read_mode(name: &str) -> S3Result<RetentionMode> {
    match name {
        "GOVERNANCE" => Ok(RetentionMode::Governance),
        "COMPLIANCE" => Ok(RetentionMode::Compliance),
        _ => Err(fault(
            "MalformedXML",
            format!("{name:?} is neither GOVERNANCE nor COMPLIANCE"),
        )),
    }
}

/// Parses the status of a legal hold.
pub(crate) fn read_hold(status: &str) -> S3Result<bool> {
    match status {
        "ON" => Ok(true),
        "OFF" => Ok(false),
        _ => Err(fault("MalformedXML", format!("{status:?} is neither ON nor OFF"))),
    }
}

/// Returns the same day and time `years` later; 29 February becomes 28 February if that year has no
/// leap day.
fn years_later(from_ms: u64, years: u32) -> u64 {
    let later = || {
        let from = OffsetDateTime::from_unix_timestamp_nanos(i128::from(from_ms) * 1_000_000).ok()?;
        let year = from.year().checked_add(i32::try_from(years).ok()?)?;
        let to = from
            .replace_year(year)
            .or_else(|_| from.replace_day(28)?.replace_year(year))
            .ok()?;
        u64::try_from(to.unix_timestamp_nanos() / 1_000_000).ok()
    };
    // A date beyond the supported calendar means that the retention never ends.
    later().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> u64 {
        let format = &time::format_description::well_known::Rfc3339;
        let time = OffsetDateTime::parse(text, format).unwrap();
        u64::try_from(time.unix_timestamp_nanos() / 1_000_000).unwrap()
    }

    #[test]
    fn spans_are_of_the_calendar() {
        for (from, span, expected) in [
            ("2024-02-29T12:00:00Z", Span::Years(1), "2025-02-28T12:00:00Z"),
            ("2024-02-29T12:00:00Z", Span::Years(4), "2028-02-29T12:00:00Z"),
            ("2024-02-28T00:00:00Z", Span::Days(2), "2024-03-01T00:00:00Z"),
        ] {
            let mode = RetentionMode::Governance;
            let retention = DefaultRetention { mode, span }.from(ms(from));
            assert_eq!(retention.until_ms, ms(expected), "{from} and {span:?}");
        }
    }

    #[test]
    fn kept_with_the_bucket() {
        let span = Span::Years(3);
        let default = DefaultRetention {
            mode: RetentionMode::Compliance,
            span,
        };
        for lock in [
            ObjectLock::default(),
            ObjectLock {
                default: Some(default),
            },
        ] {
            let record = Bucket {
                name: "b".to_owned(),
                created_ms: 0,
                attributes: [lock.attribute()].into(),
            };
            assert_eq!(ObjectLock::of(&record).unwrap(), Some(lock));
        }
    }

    #[test]
    fn half_a_retention_is_none() {
        let until = crate::attributes::at(wall_ms() + DAY_MS);
        assert!(LockRequest::of(Some("GOVERNANCE"), Some(&until), Some("ON")).is_ok());
        let past = crate::attributes::at(1);
        for (mode, until, hold) in [
            (Some("GOVERNANCE"), None, None),
            (None, Some(&until), None),
            (Some("governance"), Some(&until), None),
            (Some("COMPLIANCE"), Some(&past), None),
            (None, None, Some("on")),
        ] {
            assert!(
                LockRequest::of(mode, until, hold).is_err(),
                "{mode:?} {until:?} {hold:?}"
            );
        }
    }
}
