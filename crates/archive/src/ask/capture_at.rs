//! Chooses the capture of a URL: the nearest to a time, or the current version.

use extract::CaptureKind;
use index::{CaptureRow, Snapshot, SnapshotError};

use super::key::UrlSpelling;
use super::limit::CAPTURES_OF_KEY_MAX;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// Returns the capture of a URL nearest to a time, or its current version. Captures of other URLs
/// with the same key count only if this URL has no capture.
pub(super) fn at_time(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    url: &str,
    at: Option<&str>,
) -> Result<Option<CaptureRow>, AskError> {
    let asked = UrlSpelling::of(url);
    match at {
        Some(at) => nearest(visible, url_key, (url, &asked), at),
        None => newest(visible, url_key, &asked),
    }
}

/// Returns all captures of a key, oldest first.
pub(super) fn captures<'s>(
    visible: &'s VisibleSnapshot<'_>,
    url_key: &str,
) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + 's {
    visible.captures(url_key).take(CAPTURES_OF_KEY_MAX)
}

/// Returns the current version, or else the newest capture. If the current version has another
/// spelling than the URL asked for, it counts only if no capture has that spelling.
fn newest(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    asked: &UrlSpelling,
) -> Result<Option<CaptureRow>, AskError> {
    let current = current(visible, url_key)?;
    if current.as_ref().is_some_and(|capture| asked.is(&capture.url)) {
        return Ok(current);
    }
    let mut of_key = current;
    let mut as_asked = None;
    for capture in visible.captures_reversed(url_key).take(CAPTURES_OF_KEY_MAX) {
        let capture = capture?;
        if !asked.is(&capture.url) {
            of_key.get_or_insert(capture);
        } else if has_content(&capture) {
            return Ok(Some(capture));
        } else {
            as_asked.get_or_insert(capture);
        }
    }
    Ok(as_asked.or(of_key))
}

/// Returns whether a capture has the content of its URL, judging by its row.
fn has_content(capture: &CaptureRow) -> bool {
    match capture.kind {
        CaptureKind::Revisit => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        _ => (200..300).contains(&capture.status),
    }
}

/// Returns the capture that is the current version.
pub(super) fn current(visible: &VisibleSnapshot<'_>, url_key: &str) -> Result<Option<CaptureRow>, AskError> {
    let Some(version) = visible.version(url_key)? else {
        return Ok(None);
    };
    let from = Snapshot::captures_cursor_at(url_key, version.fetch_time_ms);
    for capture in visible
        .captures_after(url_key, Some(&from))
        .take(CAPTURES_OF_KEY_MAX)
    {
        let capture = capture?;
        if (capture.input, capture.offset) == (version.input, version.offset) {
            return Ok(Some(capture));
        }
    }
    Ok(None)
}

/// Returns the capture nearest to a time among those of the URL `asked` for, or else among all of
/// the key. If two are equally near, it is the earlier. A time with fewer digits means its
/// beginning, and a capture whose time begins with these digits is nearer than all others.
///
/// Several captures may be equally near: those of one second, or of one millisecond if the time is
/// that precise. The order of preference is: the current version, status 2xx, a URL written exactly
/// as asked for (a key has several spellings, such as http and https), the latest.
///
/// A response to a method other than GET, or with status 304, counts only if nothing else was
/// captured. A revisit with status 304 has the content to which it refers.
fn nearest(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    (url, asked): (&str, &UrlSpelling),
    at: &str,
) -> Result<Option<CaptureRow>, AskError> {
    let has_fraction = at.len() > format::date::digits(0).len();
    let instant = |ms: i64| if has_fraction { ms } else { ms.div_euclid(1000) };
    let wanted = instant(format::date::ms_of_digits(at));
    let current = visible
        .version(url_key)?
        .map(|version| (version.input, version.offset));
    let preference = |capture: &CaptureRow| {
        (
            current == Some((capture.input, capture.offset)),
            (200..300).contains(&capture.status),
            capture.url == url,
        )
    };
    let is_of_page = |capture: &CaptureRow| {
        let is_empty = capture.status == 304 && capture.kind != CaptureKind::Revisit;
        matches!(capture.method.as_str(), "" | "GET") && !is_empty
    };
    let mut best: Option<(i64, CaptureRow)> = None;
    let mut best_is_asked = false;
    for capture in captures(visible, url_key) {
        let capture = capture?;
        let now = instant(capture.fetch_time_ms);
        let distance = if format::date::digits_ms(capture.fetch_time_ms).starts_with(at) {
            0
        } else {
            (now - wanted).abs()
        };
        let is_asked = asked.is(&capture.url);
        if best_is_asked && !is_asked {
            continue;
        }
        if is_asked && !best_is_asked {
            best = None;
            best_is_asked = true;
        }
        let is_better = best.as_ref().is_none_or(|(least, best)| {
            let is_together = distance == *least && now == instant(best.fetch_time_ms);
            match (is_of_page(&capture), is_of_page(best)) {
                (true, false) => true,
                (false, true) => false,
                _ => distance < *least || is_together && preference(&capture) >= preference(best),
            }
        });
        if is_better {
            best = Some((distance, capture));
        }
    }
    Ok(best.map(|(_, capture)| capture))
}
