//! Finds the location of a record.

use extract::CaptureKind;
use format::file_name::base_name;
use index::CaptureRow;

use super::basis::LookUps;
use super::capture_at::{at_time, captures};
use super::content_near::{is_without_content, nearest_with_content};
use super::limit::CAPTURES_OF_KEY_MAX;
use super::originals::Originals;
use super::referred::referred;
use super::visible_snapshot::VisibleSnapshot;
use super::{attachments, cdx, fuzzy, key, time};
use crate::AskError;
use crate::question::{Record, RecordBody};

/// Returns the location of the capture given by name or by time. Without either, that of the
/// current version.
pub(super) fn record(basis: &LookUps<'_>, question: &Record) -> Result<RecordBody, AskError> {
    let (visible, url) = (&basis.visible(), question.url.as_str());
    // Replay accepts similar URLs, and never shows attachments.
    if let Some(page) = extract::derived_from(url).filter(|_| !question.fuzzy) {
        return attachment(visible, question, page);
    }
    let url_key = key::url_key(url)?;
    let at = question.at.as_deref().map(time::check_ms).transpose()?;
    let mut rule = None;
    let mut capture = match question.capture.as_deref() {
        Some(name) => named(visible, &url_key, url, name)?,
        None => at_time(visible, &url_key, url, at)?,
    };
    if capture.is_none()
        && question.fuzzy
        && let Some(found) = fuzzy::nearest(visible, &url_key, at)?
    {
        rule = Some(found.rule.to_owned());
        capture = Some(found.capture);
    }
    let Some(capture) = capture else {
        if let Some(line) = only_in_index(visible, &url_key, None)? {
            return Err(not_loaded(&line));
        }
        return match visible.uri(&url_key)? {
            Some(_) => Err(AskError::not_found(format!(
                "no capture of {url}, only links to it (key {url_key})"
            ))),
            None => Err(key::unknown(url, &url_key)),
        };
    };
    let mut found = (original(basis, visible, &capture)?, capture);
    if question.with_content
        && question.capture.is_none()
        && is_without_content(&found.1, found.0.as_ref())
        && let Some((capture, original)) = nearest_with_content(basis, visible, &found.1, at)?
    {
        found = (original, capture);
    }
    let (original, capture) = found;
    let mut body = located(capture);
    body.original = original.map(|original| Box::new(located(original)));
    body.fuzzy = rule;
    Ok(body)
}

/// Returns the location of an attachment of a page, given by its address.
fn attachment(visible: &VisibleSnapshot<'_>, question: &Record, page: &str) -> Result<RecordBody, AskError> {
    let url = question.url.as_str();
    let at = question.at.as_deref().map(time::check_ms).transpose()?;
    let found = match question.capture.as_deref() {
        Some(name) => named(visible, &key::url_key(page)?, page, name)?,
        None => attachments::at_address(visible, url, page, at)?,
    };
    found
        .map(located)
        .ok_or_else(|| AskError::not_found(format!("no attachment {url}")))
}

/// Returns the capture that has the payload of a revisit. The capture of its version comes first,
/// so that both have the same type and links. Otherwise it is a capture of the same key and digest,
/// or else the one that the record refers to.
pub(super) fn original(
    basis: &LookUps<'_>,
    visible: &VisibleSnapshot<'_>,
    capture: &CaptureRow,
) -> Result<Option<CaptureRow>, AskError> {
    if capture.kind != CaptureKind::Revisit {
        return Ok(None);
    }
    if let Some(original) = visible.snapshot().original(capture)?
        && visible.sees(&original)
    {
        return Ok(Some(original));
    }
    match Originals::of(visible).original(capture)?.cloned() {
        None => referred(basis, visible, capture),
        original => Ok(original),
    }
}

fn located(capture: CaptureRow) -> RecordBody {
    RecordBody {
        location: capture.location.clone(),
        capture: cdx::row(capture),
        original: None,
        fuzzy: None,
    }
}

/// Returns the capture or attachment with this [`CdxRow::name`](crate::question::CdxRow::name),
/// given with the whole name of its input or, as in CDX, the last part of it.
fn named(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    url: &str,
    name: &str,
) -> Result<Option<CaptureRow>, AskError> {
    let parsed = name
        .split_once(',')
        .and_then(|(offset, filename)| Some((offset.parse::<u64>().ok()?, filename)));
    let Some((offset, filename)) = parsed else {
        return Err(AskError::bad_request(format!(
            "{name:?} is not the name of a capture: expected an offset, a comma and the name of an input, as in \
             334,x.warc.gz"
        )));
    };
    let is_named = |capture: &CaptureRow| {
        let is_input = capture.input_name == filename || base_name(&capture.input_name) == filename;
        capture.offset == offset && is_input
    };
    let mut any = false;
    for capture in captures(visible, url_key) {
        let capture = capture?;
        if is_named(&capture) {
            return Ok(Some(capture));
        }
        any = true;
    }
    let attached = attachments::of_key(visible, url_key)?;
    if let Some(attachment) = attached.into_iter().find(is_named) {
        return Ok(Some(attachment));
    }
    if let Some(line) = only_in_index(visible, url_key, Some((offset, filename)))? {
        return Err(not_loaded(&line));
    }
    if any {
        Err(AskError::not_found(format!(
            "no capture of {url} at offset {offset} of {filename}; use a time to find the nearest one"
        )))
    } else {
        Ok(None)
    }
}

/// Returns a capture known only from an index: the newest, or the one at a place.
fn only_in_index(
    visible: &VisibleSnapshot<'_>,
    url_key: &str,
    place: Option<(u64, &str)>,
) -> Result<Option<CaptureRow>, AskError> {
    for capture in visible.known(url_key, true).take(CAPTURES_OF_KEY_MAX) {
        let capture = capture?;
        let is_meant = place.is_none_or(|(offset, filename)| {
            let is_input = capture.input_name == filename || base_name(&capture.input_name) == filename;
            capture.offset == offset && is_input
        });
        if capture.index_only && is_meant {
            return Ok(Some(capture));
        }
    }
    Ok(None)
}

/// Returns the error for content that is known only from an index.
fn not_loaded(line: &CaptureRow) -> AskError {
    AskError::not_found(format!(
        "record not loaded: an index lists {} at {}, whose record is at offset {} of {}; load that file",
        line.url,
        format::date::digits(line.fetch_time_ms),
        line.offset,
        base_name(&line.input_name)
    ))
}
