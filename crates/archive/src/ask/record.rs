//! Finds the location of a record.

use extract::CaptureKind;
use format::file_name::base_name;
use index::{CaptureRow, Snapshot, SnapshotError};

use super::basis::Basis;
use super::key::AsAsked;
use super::originals::Originals;
use super::referred::referred;
use super::seen::Seen;
use super::{cdx, fuzzy, key, time};
use crate::AskError;
use crate::question::{Record, RecordBody};

/// Limit of captures of one key read to find the nearest in time.
pub(super) const LOOKED_AT_MAX: usize = 100_000;

/// Returns the location of the capture given by name or by time. Without either, that of the
/// current version.
pub(super) fn record(basis: &Basis<'_>, question: &Record) -> Result<RecordBody, AskError> {
    let (seen, url) = (&basis.seen(), question.url.as_str());
    let url_key = key::url_key(url)?;
    let at = question.at.as_deref().map(time::check_ms).transpose()?;
    let mut rule = None;
    let mut capture = match question.capture.as_deref() {
        Some(name) => named(seen, &url_key, url, name)?,
        None => at_time(seen, &url_key, url, at)?,
    };
    if capture.is_none()
        && question.fuzzy
        && let Some(found) = fuzzy::nearest(seen, &url_key, at)?
    {
        rule = Some(found.rule.to_owned());
        capture = Some(found.capture);
    }
    let Some(capture) = capture else {
        if let Some(line) = only_in_index(seen, &url_key, None)? {
            return Err(not_loaded(&line));
        }
        return match seen.uri(&url_key)? {
            Some(_) => Err(AskError::not_found(format!(
                "no capture of {url}, only links to it (key {url_key})"
            ))),
            None => Err(key::unknown(url, &url_key)),
        };
    };
    let original = original(basis, seen, &capture)?;
    let mut body = located(capture);
    body.original = original.map(|original| Box::new(located(original)));
    body.fuzzy = rule;
    Ok(body)
}

/// Returns the capture that has the payload of a revisit. The capture of its version comes first,
/// so that both have the same type and links. Otherwise it is a capture of the same key and digest,
/// or else the one that the record refers to.
fn original(
    basis: &Basis<'_>,
    seen: &Seen<'_>,
    capture: &CaptureRow,
) -> Result<Option<CaptureRow>, AskError> {
    if capture.kind != CaptureKind::Revisit {
        return Ok(None);
    }
    if let Some(original) = seen.snapshot().original(capture)?
        && seen.sees(&original)
    {
        return Ok(Some(original));
    }
    match Originals::of(seen).original(capture)?.cloned() {
        None => referred(basis, seen, capture),
        original => Ok(original),
    }
}

/// Returns the capture of a URL nearest to a time, or its current version. Captures of other URLs
/// with the same key count only if this URL has no capture.
pub(super) fn at_time(
    seen: &Seen<'_>,
    url_key: &str,
    url: &str,
    at: Option<&str>,
) -> Result<Option<CaptureRow>, AskError> {
    let asked = AsAsked::of(url);
    match at {
        Some(at) => nearest(seen, url_key, (url, &asked), at),
        None => newest(seen, url_key, &asked),
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

/// Returns all captures of a key, oldest first.
fn captures<'s>(
    seen: &'s Seen<'_>,
    url_key: &str,
) -> impl Iterator<Item = Result<CaptureRow, SnapshotError>> + 's {
    seen.captures(url_key).take(LOOKED_AT_MAX)
}

/// Returns the current version, or else the newest capture. If the current version has another
/// spelling than the URL asked for, it counts only if no capture has that spelling.
fn newest(seen: &Seen<'_>, url_key: &str, asked: &AsAsked) -> Result<Option<CaptureRow>, AskError> {
    let current = current(seen, url_key)?;
    if current.as_ref().is_some_and(|capture| asked.is(&capture.url)) {
        return Ok(current);
    }
    let mut of_key = current;
    let mut as_asked = None;
    for capture in seen.captures_reversed(url_key).take(LOOKED_AT_MAX) {
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
pub(super) fn current(seen: &Seen<'_>, url_key: &str) -> Result<Option<CaptureRow>, AskError> {
    let Some(version) = seen.version(url_key)? else {
        return Ok(None);
    };
    let from = Snapshot::captures_cursor_at(url_key, version.fetch_time_ms);
    for capture in seen.captures_after(url_key, Some(&from)).take(LOOKED_AT_MAX) {
        let capture = capture?;
        if (capture.input, capture.offset) == (version.input, version.offset) {
            return Ok(Some(capture));
        }
    }
    Ok(None)
}

/// Returns the capture with this [`CdxRow::name`](crate::question::CdxRow::name), given with the
/// whole name of its input or, as in CDX, the last part of it.
fn named(seen: &Seen<'_>, url_key: &str, url: &str, name: &str) -> Result<Option<CaptureRow>, AskError> {
    let parsed = name
        .split_once(',')
        .and_then(|(offset, filename)| Some((offset.parse::<u64>().ok()?, filename)));
    let Some((offset, filename)) = parsed else {
        return Err(AskError::bad_request(format!(
            "{name:?} is not the name of a capture: expected an offset, a comma and the name of an input, as in \
             334,x.warc.gz"
        )));
    };
    let mut any = false;
    for capture in captures(seen, url_key) {
        let capture = capture?;
        let is_input = capture.input_name == filename || base_name(&capture.input_name) == filename;
        if capture.offset == offset && is_input {
            return Ok(Some(capture));
        }
        any = true;
    }
    if let Some(line) = only_in_index(seen, url_key, Some((offset, filename)))? {
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
    seen: &Seen<'_>,
    url_key: &str,
    place: Option<(u64, &str)>,
) -> Result<Option<CaptureRow>, AskError> {
    for capture in seen.known(url_key, true).take(LOOKED_AT_MAX) {
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
        line.input_name
    ))
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
    seen: &Seen<'_>,
    url_key: &str,
    (url, asked): (&str, &AsAsked),
    at: &str,
) -> Result<Option<CaptureRow>, AskError> {
    let has_fraction = at.len() > format::date::digits(0).len();
    let instant = |ms: i64| if has_fraction { ms } else { ms.div_euclid(1000) };
    let wanted = instant(format::date::ms_of_digits(at));
    let current = seen
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
    for capture in captures(seen, url_key) {
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
