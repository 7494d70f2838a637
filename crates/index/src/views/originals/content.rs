//! Revisits with and without the content of their originals.

use extract::{Capture, CaptureKind, Link, LinkKind, Original, Page};

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::views::captures::{self, Stored};
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
        original: Some(Box::new(Original {
            url_key: original.url_key.clone(),
            fetch_time_ms: original.fetch_time_ms,
            input: input.0,
            offset: original.offset,
            mime: original.mime.clone(),
            status: original.status,
            kind: original.kind,
            digest: original.digest.clone(),
        })),
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
pub(crate) fn bare(stored: &Stored) -> Result<Capture, SnapshotError> {
    Ok(Capture {
        original: None,
        ..without_content(stored)
    })
}

fn without_content(stored: &Stored) -> Capture {
    let location = stored.location.as_ref().and_then(|url| {
        Some(Link {
            url_key: urlkey::url_key(url).ok()?,
            url: url.clone(),
            anchor: String::new(),
            nofollow: false,
            kind: LinkKind::Location,
        })
    });
    Capture {
        url_key: stored.url_key.clone(),
        url: stored.url.clone(),
        fetch_time_ms: stored.fetch_time_ms,
        mime: stored.mime.clone(),
        status: stored.status,
        method: stored.method.clone(),
        shortfall: stored.shortfall,
        digest: stored.digest.clone(),
        offset: stored.offset,
        length: stored.length,
        kind: stored.kind,
        redirect: location,
        redirects_to_itself: stored.redirects_to_itself,
        refers_to: stored.refers_to.clone(),
        original: stored.original.clone(),
        ..Capture::default()
    }
}

/// Returns a stored capture with its text and links, as far as views show them.
pub(crate) fn read_capture(cut: &Cut, stored: &Stored) -> Result<Capture, SnapshotError> {
    let mut capture = without_content(stored);
    let mut links = links_of(cut, stored)?;
    let Some(content) = &stored.content else {
        if (300..400).contains(&capture.shown_status()) && capture.redirect.is_none() {
            capture.redirect = links.pop();
        }
        return Ok(capture);
    };
    let text = match content.text {
        Some(name) => match past::read_text(cut, &stored.url_key, name)? {
            Some(text) => Some(text),
            None => texts::read(cut, &stored.url_key)?.filter(|text| captures::text_hash(text) == name),
        },
        None => None,
    };
    let details = &stored.details;
    let page = Page {
        title: content.title.clone(),
        language: content.language.clone(),
        text: text.unwrap_or_default(),
        text_truncated: details.text_truncated,
        canonical: details.canonical.clone(),
        robots: details.robots.clone(),
        links_dropped: details.links_dropped,
        links,
        ..Page::default()
    };
    if content.is_document {
        capture.document = Some(Box::new(page))
    } else {
        capture.page = Some(page)
    }
    Ok(capture)
}

fn links_of(cut: &Cut, stored: &Stored) -> Result<Vec<Link>, SnapshotError> {
    let Some(name) = stored.links else {
        return Ok(Vec::new());
    };
    match past_links::read_set(cut, &stored.url_key, name)? {
        Some(links) => Ok(links),
        None => links::read(cut, &stored.url_key, |_| true),
    }
}
