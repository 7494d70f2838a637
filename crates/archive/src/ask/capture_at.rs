//! Chooses the capture of a URL: the nearest to a time, or the current version.

use extract::CaptureKind;
use index::{CaptureRow, Snapshot, SnapshotError};

use super::key::UrlSpelling;
use super::limit::CAPTURES_OF_KEY_MAX;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// HTTP status of a part of a resource.
const PARTIAL_CONTENT: u16 = 206;

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
    let (mut of_key, mut as_asked) = (None, None);
    for capture in visible.captures_reversed(url_key).take(CAPTURES_OF_KEY_MAX) {
        let capture = capture?;
        if !asked.is(&capture.url) {
            keep_page(&mut of_key, capture);
        } else if is_of_page(&capture) && is_whole(&capture) {
            return Ok(Some(capture));
        } else {
            keep_page(&mut as_asked, capture);
        }
    }
    Ok(as_asked.or(current).or(of_key))
}

/// Keeps the first capture, or the first one that is of a page.
fn keep_page(kept: &mut Option<CaptureRow>, capture: CaptureRow) {
    if kept
        .as_ref()
        .is_none_or(|kept| !is_of_page(kept) && is_of_page(&capture))
    {
        *kept = Some(capture);
    }
}

/// Returns whether a capture may show its URL. The response to a method other than GET does not,
/// and one with status 304 only says that nothing changed. A revisit with status 304 has the
/// content to which it refers.
pub(super) fn is_of_page(capture: &CaptureRow) -> bool {
    let is_empty = capture.status == 304 && capture.kind != CaptureKind::Revisit;
    matches!(capture.method.as_str(), "" | "GET") && !is_empty
}

/// Returns whether a capture has the whole content of its URL, judging by its row.
fn is_whole(capture: &CaptureRow) -> bool {
    match capture.kind {
        CaptureKind::Revisit => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        _ => (200..300).contains(&capture.status) && capture.status != PARTIAL_CONTENT,
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
/// that precise. The order of preference is: the current version, status 2xx, a record that is not
/// damaged, a URL written exactly as asked for (a key has several spellings, such as http and
/// https), the latest.
///
/// A response to a method other than GET, or with status 304, counts only if nothing else was
/// captured, and a part (status 206) only if the whole was not.
fn nearest(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    (url, asked): (&str, &UrlSpelling),
    at: &str,
) -> Result<Option<CaptureRow>, AskError> {
    let has_fraction = at.len() > format::date::digits(0).len();
    let instant = |ms: i64| if has_fraction { ms } else { ms.div_euclid(1000) };
    let wanted_ms = format::date::ms_of_digits(at);
    let wanted = instant(wanted_ms);
    let current = visible
        .version(url_key)?
        .map(|version| (version.input, version.offset));
    let preference = |capture: &CaptureRow| {
        (
            current == Some((capture.input, capture.offset)),
            (200..300).contains(&capture.status),
            !capture.is_damaged,
            capture.url == url,
        )
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
    let Some((_, best)) = best else { return Ok(None) };
    if best.status != PARTIAL_CONTENT || current == Some((best.input, best.offset)) {
        return Ok(Some(best));
    }
    let whole = nearest_whole(visible, url_key, &best.url, wanted_ms)?;
    Ok(Some(whole.unwrap_or(best)))
}

/// Returns the capture of a URL that has the whole content and is nearest to a time.
fn nearest_whole(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    url: &str,
    wanted_ms: i64,
) -> Result<Option<CaptureRow>, AskError> {
    let asked = UrlSpelling::of(url);
    let mut best: Option<(i64, CaptureRow)> = None;
    for capture in captures(visible, url_key) {
        let capture = capture?;
        let distance = (capture.fetch_time_ms - wanted_ms).abs();
        let can_replace = is_whole(&capture) && is_of_page(&capture) && capture.kind != CaptureKind::Wet;
        if can_replace && asked.is(&capture.url) && best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, capture));
        }
    }
    Ok(best.map(|(_, capture)| capture))
}
