//! Finds a replacement for a URL that was not captured: a capture of a URL that differs only in
//! arguments that do not matter.
//!
//! The key without these arguments is looked up first. Then the keys with the same prefix are
//! searched, up to [`LOOKED_AT_MAX`] captures: a page has many parts that were not captured, and
//! each needs this search.

use std::cmp::Reverse;

use cdx::Order;
use index::{CaptureRow, KeyRange};
use urlkey::{Fuzzy, FuzzyMatch};

use super::capture_at;
use super::cdx_walk::Walk;
use super::key::UrlSpelling;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// Limit of captures read for one URL.
const LOOKED_AT_MAX: usize = 2_000;

/// Limit of keys among which the nearest in time is chosen.
const KEYS_MAX: usize = 50;

/// A capture that replaces another URL.
pub(super) struct FuzzyCapture {
    pub(super) capture: CaptureRow,
    pub(super) rule: &'static str,
}

/// Returns the capture nearest to `at`, or the newest one, among those of the URLs that match best.
/// `at` must be the digits of a time.
pub(super) fn nearest(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    at: Option<&str>,
) -> Result<Option<FuzzyCapture>, AskError> {
    let fuzzy = Fuzzy::new(url_key);
    if let Some(plain) = fuzzy.plain()
        && let Some(found) = fuzzy.matches(plain)
        && let Some(capture) = capture_at::at_time(visible, plain, plain, at)?
    {
        return Ok(Some(FuzzyCapture {
            capture,
            rule: found.rule,
        }));
    }
    let matches = matches(visible, &fuzzy)?;
    let wanted = at.map(format::date::ms_of_digits);
    // If several captures are equally near, the one of the first key is taken.
    let mut best: Option<(Reverse<i64>, FuzzyCapture)> = None;
    for (key, found) in matches {
        let Some(capture) = capture_at::at_time(visible, &key, &key, at)? else {
            continue;
        };
        let nearness = Reverse(match wanted {
            Some(wanted) => (capture.fetch_time_ms - wanted).abs(),
            None => -capture.fetch_time_ms,
        });
        if best.as_ref().is_none_or(|(most, _)| nearness > *most) {
            let rule = found.rule;
            best = Some((nearness, FuzzyCapture { capture, rule }));
        }
    }
    Ok(best.map(|(_, found)| found))
}

/// Returns the captured keys that match best, in ascending order.
fn matches(visible: &VisibleSnapshot<'_>, fuzzy: &Fuzzy) -> Result<Vec<(String, FuzzyMatch)>, AskError> {
    let ranges = fuzzy.ranges().into_iter().map(KeyRange::from).collect();
    let mut walk = Walk::new(visible, ranges, (&Order::Forward, UrlSpelling::any()), None, true)?;
    let mut kept: Vec<(String, FuzzyMatch)> = Vec::new();
    let mut last = String::new();
    for _ in 0..LOOKED_AT_MAX {
        let Some(capture) = walk.next()? else { break };
        if capture.url_key == last {
            continue;
        }
        last.clone_from(&capture.url_key);
        let Some(found) = fuzzy.matches(&capture.url_key) else {
            continue;
        };
        let rank = kept.first().map_or(u8::MAX, |(_, kept)| kept.rank);
        if found.rank < rank {
            kept.clear();
        }
        if found.rank <= rank && kept.len() < KEYS_MAX {
            kept.push((capture.url_key, found));
        }
    }
    Ok(kept)
}
