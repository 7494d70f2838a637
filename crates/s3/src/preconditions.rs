//! `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`: checked here for reads
//! and by the store for writes.

use http::{HeaderMap, HeaderValue};
use s3s::dto::{ETag, ETagCondition, Timestamp, TimestampFormat};
use s3s::{S3Error, S3Result};
use store::{Condition, Key, Meta, Store, StoreError};
use time::OffsetDateTime;

use crate::attributes;
use crate::error::{fault, from_store};

/// The conditions of a read.
#[derive(Debug, Default)]
pub(crate) struct Reading<'a> {
    pub(crate) if_match: Option<&'a ETagCondition>,
    pub(crate) if_none_match: Option<&'a ETagCondition>,
    pub(crate) if_modified_since: Option<&'a Timestamp>,
    pub(crate) if_unmodified_since: Option<&'a Timestamp>,
}

impl Reading<'_> {
    /// Checks in the order of RFC 9110, section 13.2.2: an entity tag overrides the date of its
    /// kind.
    pub(crate) fn check(&self, meta: &Meta) -> S3Result<()> {
        let later = |time: &Timestamp| seconds(&attributes::modified(meta)) > seconds(time);
        let as_it_was = match self.if_match {
            Some(condition) => holds(condition, &meta.etag),
            None => !self.if_unmodified_since.is_some_and(later),
        };
        if !as_it_was {
            return Err(failed());
        }
        let changed = match self.if_none_match {
            Some(condition) => !holds(condition, &meta.etag),
            None => self.if_modified_since.is_none_or(later),
        };
        if changed { Ok(()) } else { Err(not_modified(meta)) }
    }

    /// Like [`Reading::check`], for the source of a copy: failure is always 412, never "not
    /// modified".
    pub(crate) fn check_source(&self, meta: &Meta) -> S3Result<()> {
        self.check(meta).map_err(|_| failed())
    }
}

/// Reports whether `If-Range` (RFC 9110, section 13.1.5) names this version, or is absent. If not,
/// the client gets the whole object instead of the range.
pub(crate) fn continues(asked: &HeaderMap, etag: &str, modified: Option<i64>) -> bool {
    let mut values = asked.get_all(http::header::IF_RANGE).iter();
    let Some(value) = values.next() else { return true };
    let Some(value) = value.to_str().ok().filter(|_| values.next().is_none()) else {
        return false;
    };
    if let Some(since) = http_seconds(value) {
        return modified == Some(since);
    }
    // Weak tags do not imply equal bytes. S3 clients may omit the quotes.
    let strong = |tag: &str| {
        let tag = tag.trim();
        (!tag.starts_with("W/")).then(|| tag.trim_matches('"').to_owned())
    };
    strong(value).is_some_and(|tag| !tag.is_empty() && Some(tag) == strong(etag))
}

/// Parses an HTTP date to seconds since 1970; `None` for anything else, which is then no condition.
pub(crate) fn http_seconds(text: &str) -> Option<i64> {
    let time = Timestamp::parse(TimestampFormat::HttpDate, text).ok()?;
    Some(seconds(&time))
}

/// The conditions of a write, on the object to be replaced.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
}

impl Writing {
    /// Reads headers, for operations whose s3s input lacks them.
    pub(crate) fn of_headers(headers: &HeaderMap) -> S3Result<Self> {
        let get = |name: &str| {
            let wrong = |_| fault("InvalidArgument", format!("{name} is not an entity tag"));
            let value = headers.get(name).map(HeaderValue::as_bytes);
            value
                .map(|value| ETagCondition::parse_http_header(value).map_err(wrong))
                .transpose()
        };
        Ok(Self {
            if_match: get("if-match")?,
            if_none_match: get("if-none-match")?,
        })
    }

    /// Returns the condition for the store, which checks it once the content is durable. A
    /// condition that already fails is refused here, before content is sent in vain. `If-Match: *`
    /// and `If-None-Match` with a tag become a condition on the current version: if another write
    /// intervenes, this one is refused as well.
    pub(crate) async fn resolve(&self, store: &Store, key: &Key) -> S3Result<Condition> {
        if self.if_match.is_none() && self.if_none_match.is_none() {
            return Ok(Condition::Always);
        }
        let current = match store.head(key).await {
            Ok(meta) => Some(meta.etag),
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(from_store(error)),
        };
        if let (Some(_), None) = (&self.if_match, &current) {
            return Err(fault("NoSuchKey", "there is no such key"));
        }
        let fails = |condition: &Option<ETagCondition>, wanted: bool| {
            let (Some(condition), Some(current)) = (condition, &current) else {
                return false;
            };
            holds(condition, current) != wanted
        };
        if fails(&self.if_match, true) || fails(&self.if_none_match, false) {
            return Err(failed());
        }
        Ok(current.map_or(Condition::Absent, Condition::Etag))
    }
}

/// Converts the store's refusal of a write: a missing object under `If-Match` becomes "no such
/// key".
pub(crate) fn refused(condition: &Condition, error: StoreError) -> S3Error {
    match (condition, &error) {
        (Condition::Etag(_), StoreError::Condition { current: None, .. }) => {
            fault("NoSuchKey", "there is no such key")
        }
        _ => from_store(error),
    }
}

/// Returns the error with status 412.
pub(crate) fn failed() -> S3Error {
    fault(
        "PreconditionFailed",
        "at least one of the conditions does not hold",
    )
}

/// Returns the error with status 304, with the headers that caches need.
fn not_modified(meta: &Meta) -> S3Error {
    let mut error = fault("NotModified", "not modified");
    let mut headers = HeaderMap::new();
    let etag = ETag::Strong(meta.etag.clone()).to_http_header();
    let date = attributes::http_date(&attributes::modified(meta)).ok();
    if let Ok(etag) = etag {
        headers.insert(http::header::ETAG, etag);
    }
    if let Some(date) = date.and_then(|date| HeaderValue::try_from(date).ok()) {
        headers.insert(http::header::LAST_MODIFIED, date);
    }
    error.set_headers(headers);
    error
}

/// Reports whether a condition names this entity tag.
pub(crate) fn holds(condition: &ETagCondition, etag: &str) -> bool {
    condition.is_any() || condition.as_etag().is_some_and(|wanted| wanted.value() == etag)
}

/// Returns seconds since 1970, because HTTP dates have no finer unit.
pub(crate) fn seconds(time: &Timestamp) -> i64 {
    OffsetDateTime::from(time.clone()).unix_timestamp()
}
