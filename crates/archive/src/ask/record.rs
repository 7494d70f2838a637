//! Where a record is, and reading it there.

use extract::CaptureKind;
use weave::{CaptureRow, KeyRange, Snapshot};

use super::{cdx, key, time, unknown};
use crate::AskError;
use crate::question::{Body, RecordBody};

/// Captures of one key looked at to find the nearest in time.
const LOOKED_AT_MAX: usize = 100_000;

pub(super) fn record(snapshot: &Snapshot, url: &str, at: Option<&str>) -> Result<Body, AskError> {
    let url_key = key::url_key(url)?;
    let at = at.map(time::check).transpose()?;
    let capture = match at {
        Some(at) => nearest(snapshot, &url_key, url, at)?,
        None => newest(snapshot, &url_key)?,
    };
    let Some(capture) = capture else {
        return match snapshot.uri(&url_key)? {
            Some(_) => Err(AskError::not_found(format!(
                "no capture of {url}, only links to it (key {url_key})"
            ))),
            None => Err(unknown(url, &url_key)),
        };
    };
    let original = if capture.kind == CaptureKind::Revisit {
        original(snapshot, &capture)?
    } else {
        None
    };
    let mut body = located(capture);
    body.original = original.map(|original| Box::new(located(original)));
    Ok(Body::Record(body))
}

fn located(capture: CaptureRow) -> RecordBody {
    RecordBody {
        location: capture.location.clone(),
        capture: cdx::row(capture),
        original: None,
    }
}

/// All captures of a key, oldest first.
fn captures(
    snapshot: &Snapshot,
    url_key: &str,
) -> impl Iterator<Item = Result<CaptureRow, weave::SnapshotError>> {
    snapshot
        .captures(KeyRange::Exact(url_key.to_owned()), None)
        .take(LOOKED_AT_MAX)
}

/// The current version, or the newest capture where nothing is current.
fn newest(snapshot: &Snapshot, url_key: &str) -> Result<Option<CaptureRow>, AskError> {
    if let Some(version) = snapshot.version(url_key)? {
        for capture in captures(snapshot, url_key) {
            let capture = capture?;
            if capture.input == version.input && capture.offset == version.offset {
                return Ok(Some(capture));
            }
        }
    }
    Ok(snapshot.captures_newest(url_key, 1)?.pop())
}

/// The capture nearest to a time; of two as near, the one whose URL is written as asked for (two spellings of a
/// key may be captured in one second), then the earlier. A time of fewer digits means its beginning,
/// and any capture that begins with them is nearer than all others.
fn nearest(snapshot: &Snapshot, url_key: &str, url: &str, at: &str) -> Result<Option<CaptureRow>, AskError> {
    let wanted = time::seconds(at);
    let mut best: Option<((i64, bool), CaptureRow)> = None;
    for capture in captures(snapshot, url_key) {
        let capture = capture?;
        let digits = time::digits(capture.fetch_time_ms);
        let distance = if digits.starts_with(at) {
            0
        } else {
            (capture.fetch_time_ms.div_euclid(1000) - wanted).abs()
        };
        let distance = (distance, capture.url != url);
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, capture));
        }
    }
    Ok(best.map(|(_, capture)| capture))
}

/// The capture of the same key with the payload that a revisit saw again: the latest up to it, else any.
fn original(snapshot: &Snapshot, revisit: &CaptureRow) -> Result<Option<CaptureRow>, AskError> {
    let mut found: Option<CaptureRow> = None;
    for capture in captures(snapshot, &revisit.url_key) {
        let capture = capture?;
        let same = capture.kind != CaptureKind::Revisit && capture.digest == revisit.digest;
        if same && (found.is_none() || capture.fetch_time_ms <= revisit.fetch_time_ms) {
            found = Some(capture);
        }
    }
    Ok(found)
}
