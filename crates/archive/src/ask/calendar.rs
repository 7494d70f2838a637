//! Lists the days on which a URL was captured.

use std::collections::HashMap;

use super::basis::LookUps;
use super::{key, time};
use crate::AskError;
use crate::question::{Calendar, CalendarBody, CalendarDay, CalendarTime};

/// Limit of captures counted, newest first. They take a few megabytes, and a tenth of a second.
const CAPTURES_MAX: usize = 100_000;

/// Milliseconds per day.
const DAY_MS: i64 = 86_400_000;

/// A capture of the URL.
#[derive(Clone, Copy)]
struct CaptureTime {
    fetch_time_ms: i64,
    is_changed: bool,
}

impl CaptureTime {
    fn day(&self) -> i64 {
        self.fetch_time_ms.div_euclid(DAY_MS)
    }

    fn row(&self) -> CalendarTime {
        CalendarTime {
            timestamp: format::date::digits(self.fetch_time_ms),
            fetch_time: format::date::iso(self.fetch_time_ms),
            is_changed: self.is_changed,
        }
    }
}

pub(super) fn calendar(
    basis: &LookUps<'_>,
    Calendar { url, around }: &Calendar,
) -> Result<CalendarBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(url)?;
    let around_s = match around {
        Some(around) => Some(format::date::ms_of_digits(time::check(around)?).div_euclid(1000)),
        None => None,
    };
    let (mut times_ms, mut contents) = (Vec::new(), Vec::new());
    let mut digests: HashMap<String, u32> = HashMap::new();
    let mut is_cut = false;
    let asked = key::UrlSpelling::of(url);
    let mut are_asked = false;
    for (looked_at, capture) in visible.known(&url_key, true).enumerate() {
        let capture = capture?;
        if looked_at == CAPTURES_MAX {
            is_cut = true;
            break;
        }
        // Captures of other spellings count only if this spelling has no captures.
        let is_asked = asked.is(&capture.url);
        if are_asked && !is_asked {
            continue;
        }
        if is_asked && !are_asked {
            are_asked = true;
            (times_ms, contents) = (Vec::new(), Vec::new());
            digests.clear();
        }
        let next = digests.len() as u32;
        times_ms.push(capture.fetch_time_ms);
        contents.push(*digests.entry(capture.digest).or_insert(next));
    }
    if times_ms.is_empty() {
        return Err(key::unknown(url, &url_key));
    }
    let times: Vec<CaptureTime> = (0..times_ms.len())
        .rev()
        .map(|place| CaptureTime {
            fetch_time_ms: times_ms[place],
            // The list is newest first here, so the previous capture is at the next index.
            is_changed: contents
                .get(place + 1)
                .is_some_and(|before| *before != contents[place]),
        })
        .collect();
    Ok(CalendarBody {
        url_key,
        captures: times.len() as u64,
        contents: digests.len() as u64,
        is_cut,
        days: times.chunk_by(|a, b| a.day() == b.day()).map(day).collect(),
        ..around_time(&times, around_s)
    })
}

/// Returns the row of one day with captures.
fn day(times: &[CaptureTime]) -> CalendarDay {
    let time = |of: Option<&CaptureTime>| {
        of.map(|one| format::date::iso(one.fetch_time_ms))
            .unwrap_or_default()
    };
    CalendarDay {
        first: time(times.first()),
        last: time(times.last()),
        captures: times.len() as u64,
        changes: times.iter().filter(|time| time.is_changed).count() as u64,
    }
}

/// Returns the captures around a time given in seconds: those of its day, the last before and the
/// first after.
fn around_time(times: &[CaptureTime], around_s: Option<i64>) -> CalendarBody {
    let Some(around_s) = around_s else {
        return CalendarBody::default();
    };
    let second = |time: &CaptureTime| time.fetch_time_ms.div_euclid(1000);
    let begin = times.partition_point(|time| second(time) < around_s);
    let end = times.partition_point(|time| second(time) <= around_s);
    let today = (around_s * 1000).div_euclid(DAY_MS);
    let first = times.partition_point(|time| time.day() < today);
    let last = times.partition_point(|time| time.day() <= today);
    CalendarBody {
        times: times[first..last].iter().map(CaptureTime::row).collect(),
        earlier: times[..begin].last().map(CaptureTime::row),
        later: times[end..].first().map(CaptureTime::row),
        ..CalendarBody::default()
    }
}
