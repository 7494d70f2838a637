//! Revisits with and without the content of their originals.

use extract::{Capture, CaptureKind, Link, Original};

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::views::capture_row::{StoredCapture, text_hash};
use crate::views::{links, past, past_links, texts};

/// Returns a revisit with the content of a capture of an input; `None` if that leads to the
/// revisit's own key.
pub(crate) fn with_original(revisit: &Capture, input: InputId, mut original: Capture) -> Option<Capture> {
    let own_key = &revisit.url_key;
    let its_key = original.url_key.clone();
    if let Some(content) = original.content_mut() {
        content
            .links
            .retain(|link| link.url_key != its_key && link.url_key != *own_key);
    }
    let is_redirect = (300..400).contains(&original.status)
        && !matches!(original.kind, CaptureKind::Resource | CaptureKind::Wet);
    let mut now = Capture {
        original: Some(Box::new(Original::from_capture(&original, input.0))),
        ..revisit.clone()
    };
    if is_redirect {
        // The revisit's own header comes first.
        if now.redirect.is_none() {
            now.redirect = original.redirect.filter(|link| link.url_key != original.url_key);
        }
        if now.redirect.as_ref().is_some_and(|link| link.url_key == *own_key) {
            return None;
        }
    } else {
        (now.page, now.document) = (original.page, original.document);
    }
    Some(now)
}

/// Returns a revisit as in its record.
pub(crate) fn bare(stored: &StoredCapture) -> Capture {
    Capture {
        original: None,
        page: None,
        document: None,
        ..stored.capture.clone()
    }
}

/// Returns a stored capture with its text and links, as far as views show them.
pub(crate) fn read_capture(cut: &Cut, stored: &StoredCapture) -> Result<Capture, SnapshotError> {
    let mut capture = stored.capture.clone();
    let url_key = &stored.capture.url_key;
    let mut links = links_of(cut, stored)?;
    let Some(content) = capture.content_mut() else {
        if (300..400).contains(&capture.shown_status()) && capture.redirect.is_none() {
            capture.redirect = links.pop();
        }
        return Ok(capture);
    };
    let text = match stored.text {
        Some(name) => match past::read_text(cut, url_key, name)? {
            Some(text) => Some(text),
            None => texts::read(cut, url_key)?.filter(|text| text_hash(text) == name),
        },
        None => None,
    };
    content.text = text.unwrap_or_default();
    content.links = links;
    Ok(capture)
}

fn links_of(cut: &Cut, stored: &StoredCapture) -> Result<Vec<Link>, SnapshotError> {
    let Some(name) = stored.links else {
        return Ok(Vec::new());
    };
    let url_key = &stored.capture.url_key;
    match past_links::read_set(cut, url_key, name)? {
        Some(links) => Ok(links),
        None => links::read(cut, url_key, |_| true),
    }
}
