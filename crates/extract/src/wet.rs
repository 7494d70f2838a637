//! Reads `conversion` records: WET, the extracted text of a page, and others, whose content is not
//! read.

use crate::capture::{digest_for, facts_of_headers};
use crate::html::{TEXT_BYTES_MAX, TITLE_CHARS_MAX};
use crate::text::Collapser;
use crate::{Capture, CaptureKind, Extracted, Page, Settings, Shortfall, language, mime};

/// Extracts the capture of a `conversion` record.
pub(crate) fn extract(record: &warc::Record, settings: Option<&Settings>) -> Extracted {
    let facts = match facts_of_headers(&record.headers) {
        Ok(facts) => facts,
        Err(outcome) => return outcome,
    };
    let mime = mime::normalize(record.headers.get("Content-Type"));
    let kind = kind(&mime);
    let is_text = kind == CaptureKind::Wet;
    Extracted::Capture(Box::new(Capture {
        url_key: facts.url_key,
        url: facts.url,
        fetch_time_ms: facts.fetch_time_ms,
        mime,
        status: 0,
        shortfall: if record.body.is_empty() {
            Shortfall::Empty
        } else {
            Shortfall::None
        },
        digest: digest_for(record, settings),
        offset: record.span.offset,
        length: record.span.length,
        kind,
        page: is_text.then(|| match settings {
            Some(settings) => page(record, settings),
            None => Page::default(),
        }),
        truncated: crate::capture::truncated(record),
        ..Capture::default()
    }))
}

/// Returns the kind of a conversion. Only `text/plain` is text: there are also conversions to PDF,
/// PNG or WARC.
pub(crate) fn kind(mime: &str) -> CaptureKind {
    match mime {
        "text/plain" => CaptureKind::Wet,
        _ => CaptureKind::Conversion,
    }
}

fn page(record: &warc::Record, settings: &Settings) -> Page {
    let decoded = String::from_utf8_lossy(&record.body);
    let declared = record
        .headers
        .get("WARC-Identified-Content-Language")
        .and_then(language::declared);
    let mut page = Page {
        title: first_line(&decoded),
        ..Page::default()
    };
    page.language = declared
        .or_else(|| language::detect(&decoded))
        .unwrap_or_default();
    if settings.text {
        let mut text = Collapser::lines(TEXT_BYTES_MAX);
        for line in decoded.lines() {
            text.push(line.as_bytes());
            text.break_line();
        }
        (page.text, page.text_truncated) = text.finish();
        page.text_truncated |= !record.body_is_whole() || crate::segment::is_first(record);
    }
    page
}

/// Returns the first non-blank line. WET has no field for the title; its writer puts the title
/// first.
fn first_line(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let mut title = Collapser::line(TITLE_CHARS_MAX);
    title.push(line.as_bytes());
    title.finish().0
}
