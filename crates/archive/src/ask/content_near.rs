//! Finds the capture nearest to a time whose content is in the archive, for when the nearest
//! capture has none: a revisit whose original is not in the archive, or a response with status 304.

use extract::CaptureKind;
use index::CaptureRow;

use super::basis::LookUps;
use super::capture_at::{captures, is_of_page};
use super::key::UrlSpelling;
use super::record::original;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// Maximum number of revisits whose originals are searched. Each may need reading a record.
const REVISITS_MAX: usize = 5;

/// A capture, and the capture with its payload if it is a revisit.
pub(super) type WithOriginal = (CaptureRow, Option<CaptureRow>);

/// Returns whether the content of a capture is not in the archive.
pub(super) fn is_without_content(capture: &CaptureRow, original: Option<&CaptureRow>) -> bool {
    match capture.kind {
        CaptureKind::Revisit => original.is_none(),
        _ => capture.status == 304,
    }
}

/// Returns the capture of the same URL as `capture` that has content and is nearest to `at`, or to
/// the time of `capture`. Failures and responses to methods other than GET do not count.
pub(super) fn nearest_with_content(
    basis: &LookUps<'_>,
    visible: &VisibleSnapshot<'_>,
    capture: &CaptureRow,
    at: Option<&str>,
) -> Result<Option<WithOriginal>, AskError> {
    let wanted_ms = at.map_or(capture.fetch_time_ms, format::date::ms_of_digits);
    let distance = |row: &CaptureRow| (row.fetch_time_ms - wanted_ms).abs();
    let asked = UrlSpelling::of(&capture.url);
    let mut whole: Option<CaptureRow> = None;
    let mut revisits: Vec<CaptureRow> = Vec::new();
    for row in captures(visible, &capture.url_key) {
        let row = row?;
        if !asked.is(&row.url) || !may_have_content(&row) {
            continue;
        }
        if row.kind != CaptureKind::Revisit {
            if whole.as_ref().is_none_or(|best| distance(&row) < distance(best)) {
                whole = Some(row);
            }
            continue;
        }
        revisits.push(row);
        if revisits.len() > 2 * REVISITS_MAX {
            revisits.sort_by_key(distance);
            revisits.truncate(REVISITS_MAX);
        }
    }
    revisits.retain(|row| whole.as_ref().is_none_or(|best| distance(row) < distance(best)));
    revisits.sort_by_key(distance);
    for revisit in revisits.into_iter().take(REVISITS_MAX) {
        if let Some(original) = original(basis, visible, &revisit)? {
            return Ok(Some((revisit, Some(original))));
        }
    }
    Ok(whole.map(|capture| (capture, None)))
}

fn may_have_content(row: &CaptureRow) -> bool {
    let is_derived = matches!(
        row.kind,
        CaptureKind::Wat | CaptureKind::Wet | CaptureKind::Conversion
    );
    !is_derived && is_of_page(row) && row.status < 400
}
