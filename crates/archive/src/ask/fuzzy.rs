//! Finds a capture for a URL that was not captured, of another URL that differs from it only in what does not matter.
//!
//! The key without what does not matter is looked up first. Then the keys are looked through that begin alike, [`LOOKED_AT_MAX`]
//! captures at most: a page has many parts that were not captured, and each of them is looked up so.

use std::cmp::Reverse;

use urlkey::{Fuzzy, FuzzyMatch};
use weave::{CaptureRow, KeyRange};

use super::cdx_walk::Walk;
use super::key::AsAsked;
use super::record;
use super::seen::Seen;
use crate::AskError;
use cdx::Order;

/// Most captures that are looked at for one URL.
const LOOKED_AT_MAX: usize = 2_000;

/// Most keys among which the one is chosen that is nearest in time.
const KEYS_MAX: usize = 50;

/// A capture that stands in for another URL.
pub(super) struct Found {
    pub(super) capture: CaptureRow,
    pub(super) rule: &'static str,
}

/// The capture nearest to `at`, or the newest one, among those of the URLs that match best. `at` must be digits of a time.
pub(super) fn nearest(seen: &Seen<'_>, url_key: &str, at: Option<&str>) -> Result<Option<Found>, AskError> {
    let fuzzy = Fuzzy::of(url_key);
    if let Some(plain) = fuzzy.plain()
        && let Some(found) = fuzzy.matches(plain)
        && let Some(capture) = record::at_time(seen, plain, plain, at)?
    {
        return Ok(Some(Found {
            capture,
            rule: found.rule,
        }));
    }
    let matches = matches(seen, &fuzzy)?;
    let wanted = at.map(format::date::ms_of_digits);
    // Of captures equally near, that of the first key is taken.
    let mut best: Option<(Reverse<i64>, Found)> = None;
    for (key, found) in matches {
        let Some(capture) = record::at_time(seen, &key, &key, at)? else {
            continue;
        };
        let nearness = Reverse(match wanted {
            Some(wanted) => (capture.fetch_time_ms - wanted).abs(),
            None => -capture.fetch_time_ms,
        });
        if best.as_ref().is_none_or(|(most, _)| nearness > *most) {
            let rule = found.rule;
            best = Some((nearness, Found { capture, rule }));
        }
    }
    Ok(best.map(|(_, found)| found))
}

/// The captured keys that match best, in ascending order.
fn matches(seen: &Seen<'_>, fuzzy: &Fuzzy) -> Result<Vec<(String, FuzzyMatch)>, AskError> {
    let ranges = fuzzy.ranges().into_iter().map(KeyRange::from).collect();
    let mut walk = Walk::new(seen, ranges, (&Order::Forward, AsAsked::any()), None, true)?;
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
