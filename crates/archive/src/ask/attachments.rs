//! Lists what crawlers added to a page, and finds one of these records.
//!
//! Invariant: a client sees an attachment only if rules permit the attachment itself and also the
//! capture of the page nearest to it in time. Takedowns need nothing here, because an attachment
//! has the key of its page.

use extract::{AttachmentKind, CaptureKind};
use index::{CaptureRow, KeyRange, Snapshot};

use super::basis::LookUps;
use super::key::UrlSpelling;
use super::limit::CAPTURES_OF_KEY_MAX;
use super::visible_snapshot::VisibleSnapshot;
use super::{cdx, key, time};
use crate::AskError;
use crate::question::{AttachmentRow, Attachments, AttachmentsBody, CdxRow};

/// Limit of attachments listed for a page, newest first.
const ATTACHMENTS_MAX: usize = 1000;

/// Limit of attachments read of one page, newest first.
const ROWS_MAX: usize = 10_000;

/// How far the thumbnail of a search result may be from the capture of the result, in milliseconds.
/// Crawlers make it when the page has loaded and moved, within minutes.
const THUMBNAIL_APART_MS: i64 = 3_600_000;

/// Limit of attachments read for one search result.
const THUMBNAIL_ROWS_MAX: usize = 100;

pub(super) fn attachments(basis: &LookUps<'_>, question: &Attachments) -> Result<AttachmentsBody, AskError> {
    let visible = basis.visible();
    let url_key = key::url_key(&question.url)?;
    let at = question.at.as_deref().map(time::check_ms).transpose()?;
    let asked = UrlSpelling::of(&question.url);
    Ok(AttachmentsBody {
        rows: rows(&visible, &url_key, &asked, at)?,
        url_key,
    })
}

/// Returns the attachments of the URL asked for; with a time, of each address only the nearest.
pub(super) fn rows(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    asked: &UrlSpelling,
    at: Option<&str>,
) -> Result<Vec<AttachmentRow>, AskError> {
    let mut found = of_key(visible, url_key)?;
    // As for captures, other spellings count only if no attachment has the spelling asked for.
    if found.iter().any(|attachment| is_of(asked, attachment)) {
        found.retain(|attachment| is_of(asked, attachment));
    }
    if let Some(at) = at {
        found = nearest_of_each(found, at);
    }
    found.truncate(ATTACHMENTS_MAX);
    let row = |attachment: CaptureRow| AttachmentRow {
        kind: AttachmentKind::of(&attachment.url),
        capture: CdxRow {
            kind: record_kind(&attachment),
            ..cdx::row(attachment)
        },
    };
    Ok(found.into_iter().map(row).collect())
}

/// Returns the sort of record that an attachment is. The index does not store it, and has
/// `conversion` for all of them; of the two sorts, only a `response` has a status.
fn record_kind(attachment: &CaptureRow) -> CaptureKind {
    if attachment.status == 0 {
        CaptureKind::Resource
    } else {
        CaptureKind::Response
    }
}

/// Returns the attachment with an address such as `urn:text:http://example.org/`: the one nearest
/// to a time, or the newest.
pub(super) fn at_address(
    visible: &VisibleSnapshot<'_>,
    address: &str,
    page: &str,
    at: Option<&str>,
) -> Result<Option<CaptureRow>, AskError> {
    let Some(schemes) = address.trim().strip_suffix(page) else {
        return Ok(None);
    };
    let asked = UrlSpelling::of(page);
    let mut found = of_key(visible, &key::url_key(page)?)?;
    found.retain(|attachment| attachment.url.starts_with(schemes) && is_of(&asked, attachment));
    Ok(match at {
        Some(at) => found
            .into_iter()
            .min_by_key(|attachment| distance(attachment, at)),
        None => found.into_iter().next(),
    })
}

/// Returns the thumbnail nearest to a capture of a URL, if one was made within an hour of it and the
/// client may see it.
pub(super) fn thumbnail(
    visible: &VisibleSnapshot<'_>,
    (url_key, url): (&str, &str),
    fetch_time_ms: i64,
) -> Result<Option<CaptureRow>, AskError> {
    let from_ms = fetch_time_ms.saturating_sub(THUMBNAIL_APART_MS);
    let to_ms = fetch_time_ms.saturating_add(THUMBNAIL_APART_MS);
    let snapshot = visible.snapshot();
    let mut found = snapshot.attachments_between(url_key, (from_ms, to_ms), THUMBNAIL_ROWS_MAX)?;
    let asked = UrlSpelling::of(url);
    found.retain(|attachment| {
        AttachmentKind::of(&attachment.url) == AttachmentKind::Thumbnail && is_of(&asked, attachment)
    });
    let apart = |attachment: &CaptureRow| attachment.fetch_time_ms.abs_diff(fetch_time_ms);
    let Some(nearest) = found.into_iter().min_by_key(apart) else {
        return Ok(None);
    };
    if visible.sees_everything() {
        return Ok(Some(nearest));
    }
    // The nearest capture of the page is not further away than this one.
    let from_ms = nearest.fetch_time_ms.saturating_sub(THUMBNAIL_APART_MS);
    let to_ms = nearest.fetch_time_ms.saturating_add(THUMBNAIL_APART_MS);
    let page = page_captures(visible, url_key, (from_ms, to_ms))?;
    let is_seen = visible.sees(&nearest) && is_nearest_visible(&page, nearest.fetch_time_ms);
    Ok(is_seen.then_some(nearest))
}

/// Returns the visible attachments of a URL key, newest first.
pub(super) fn of_key(visible: &VisibleSnapshot<'_>, url_key: &str) -> Result<Vec<CaptureRow>, AskError> {
    let mut found = visible.snapshot().attachments(url_key, ROWS_MAX)?;
    if visible.sees_everything() || found.is_empty() {
        return Ok(found);
    }
    let page = page_captures(visible, url_key, (i64::MIN, i64::MAX))?;
    found
        .retain(|attachment| visible.sees(attachment) && is_nearest_visible(&page, attachment.fetch_time_ms));
    Ok(found)
}

/// Returns the time of each capture of a page from `from_ms` to `to_ms` (both inclusive), and whether
/// it is visible.
fn page_captures(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    (from_ms, to_ms): (i64, i64),
) -> Result<Vec<(i64, bool)>, AskError> {
    let range = KeyRange::Exact(url_key.to_owned());
    let from = Snapshot::captures_cursor_at(url_key, from_ms);
    let captures = visible.snapshot().captures(range, Some(&from));
    let mut page = Vec::new();
    for capture in captures.take(CAPTURES_OF_KEY_MAX) {
        let capture = capture?;
        if capture.fetch_time_ms > to_ms {
            break;
        }
        page.push((capture.fetch_time_ms, visible.sees(&capture)));
    }
    Ok(page)
}

/// Returns whether the captures nearest to a time are visible. Without any, nothing hides the page.
fn is_nearest_visible(page: &[(i64, bool)], time_ms: i64) -> bool {
    let apart = |(capture_ms, _): &(i64, bool)| capture_ms.abs_diff(time_ms);
    let least = page.iter().map(apart).min();
    page.iter()
        .filter(|capture| Some(apart(capture)) == least)
        .all(|(_, is_visible)| *is_visible)
}

/// Returns whether an attachment is of exactly the page asked for. The address of some attachments
/// does not name the page.
fn is_of(asked: &UrlSpelling, attachment: &CaptureRow) -> bool {
    extract::derived_from(&attachment.url).is_none_or(|page| asked.is(page))
}

fn nearest_of_each(found: Vec<CaptureRow>, at: &str) -> Vec<CaptureRow> {
    let mut nearest: Vec<CaptureRow> = Vec::new();
    for attachment in found {
        match nearest.iter_mut().find(|known| known.url == attachment.url) {
            Some(known) if distance(&attachment, at) < distance(known, at) => *known = attachment,
            Some(_) => {}
            None => nearest.push(attachment),
        }
    }
    nearest
}

/// Returns how far an attachment is from a time. A time with fewer digits means its beginning, and
/// an attachment whose time begins with these digits is nearer than all others.
fn distance(attachment: &CaptureRow, at: &str) -> u64 {
    let time_ms = attachment.fetch_time_ms;
    if format::date::digits_ms(time_ms).starts_with(at) {
        0
    } else {
        time_ms.abs_diff(format::date::ms_of_digits(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_captures_of_the_page_decide() {
        let page = [(100, true), (200, false), (300, true), (300, false)];
        assert!(is_nearest_visible(&[], 5));
        for (time_ms, expected) in [(0, true), (149, true), (150, false), (200, false), (299, false)] {
            assert_eq!(is_nearest_visible(&page, time_ms), expected, "{time_ms}");
        }
    }
}
