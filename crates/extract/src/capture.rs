//! Makes the capture of a record: decides which records are captures, and reads their row (target,
//! time, type, status, digest). `page` reads the content of a page.

use crate::html::{self, refresh};
use crate::http::{self, Head, chunked, coding};
use crate::page::{self, PageSource};
use crate::target::{self, Target, defect};
use crate::{
    Capture, CaptureKind, Extracted, LinkScope, RefersTo, Settings, Shortfall, charset, digest, document,
    mime, reason, redirect, segment,
};
use std::borrow::Cow;

/// Largest number of characters kept of `WARC-Truncated`. The words of the standard (section 5.13)
/// are shorter.
const TRUNCATED_CHARS_MAX: usize = 64;

/// The fields that every capture takes from the header of its record.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) url_key: String,
    pub(crate) url: String,
    pub(crate) fetch_time_ms: i64,
}

/// Returns the target and the time of a record, or the outcome if one of them is unusable.
pub(crate) fn facts_of(target: Option<&str>, date_text: Option<&str>) -> Result<Facts, Extracted> {
    let (url, url_key) = match target::read(target) {
        Target::Web { url, url_key } => (url, url_key),
        Target::Other => return Err(Extracted::Counted),
        Target::Unusable(defect) => return Err(Extracted::Unusable(defect)),
    };
    let Some(date_text) = date_text.filter(|text| !text.trim().is_empty()) else {
        return Err(Extracted::Unusable(defect(reason::MISSING_DATE, &url)));
    };
    match warc::parse_date(date_text) {
        Some(date) => Ok(Facts {
            url_key,
            url,
            fetch_time_ms: date.ms,
        }),
        None => Err(Extracted::Unusable(defect(reason::BAD_DATE, date_text))),
    }
}

/// Returns the target and the time in the header of a record.
pub(crate) fn facts_of_headers(headers: &warc::Headers) -> Result<Facts, Extracted> {
    facts_of(headers.get("WARC-Target-URI"), headers.get("WARC-Date"))
}

/// Extracts a `response` record or an ARC document.
pub(crate) fn extract_response(record: &warc::Record, settings: Option<&Settings>) -> Extracted {
    let facts = match facts_of_headers(&record.headers) {
        Ok(facts) => facts,
        Err(outcome) => return outcome,
    };
    let is_arc = matches!(record.format, warc::Format::Arc(_));
    let holds_http = http::begins_like_http(&record.body);
    if !holds_http && !is_arc {
        let found = String::from_utf8_lossy(&record.body[..record.body.len().min(40)]);
        return Extracted::Unusable(defect(
            reason::NOT_HTTP,
            &format!("{}: block begins {found:?}", facts.url),
        ));
    }
    // Early ARC files, and those of Alexa, contain documents without their HTTP header.
    let head = if holds_http {
        http::parse_head(&record.body)
    } else {
        Head::default()
    };
    let kind = if is_arc {
        CaptureKind::Arc
    } else {
        CaptureKind::Response
    };
    Answer {
        record,
        facts,
        kind,
        head,
    }
    .into_capture(settings)
}

/// Extracts a `resource` record, whose block is only the payload.
pub(crate) fn extract_resource(record: &warc::Record, settings: Option<&Settings>) -> Extracted {
    match facts_of_headers(&record.headers) {
        Ok(facts) => Answer {
            record,
            facts,
            kind: CaptureKind::Resource,
            head: Head::default(),
        }
        .into_capture(settings),
        Err(outcome) => outcome,
    }
}

/// Extracts a `revisit` record. It has no payload, but it may have the HTTP header.
pub(crate) fn extract_revisit(record: &warc::Record, settings: Option<&Settings>) -> Extracted {
    let facts = match facts_of_headers(&record.headers) {
        Ok(facts) => facts,
        Err(outcome) => return outcome,
    };
    let head = if http::begins_like_http(&record.body) {
        http::parse_head(&record.body)
    } else {
        Head::default()
    };
    // The redirect of this response, whatever its original was.
    let redirect = redirect::of(
        head.status,
        head.location.as_deref(),
        &facts.url,
        &facts.url_key,
        scope_of(settings),
    );
    Extracted::Capture(Box::new(Capture {
        url_key: facts.url_key,
        url: facts.url,
        fetch_time_ms: facts.fetch_time_ms,
        mime: "warc/revisit".to_owned(),
        status: head.status,
        digest: declared_digest(&record.headers).unwrap_or_else(|| digest::UNKNOWN.to_owned()),
        offset: record.span.offset,
        length: record.span.length,
        kind: CaptureKind::Revisit,
        redirect: redirect.link,
        redirects_to_itself: redirect.to_itself,
        refers_to: refers_to(&record.headers),
        truncated: truncated(record),
        ..Capture::default()
    }))
}

/// Returns the reference of a revisit, if its URL has a key.
fn refers_to(headers: &warc::Headers) -> Option<Box<RefersTo>> {
    let url = headers.get("WARC-Refers-To-Target-URI")?.trim();
    let url = url.trim_start_matches('<').trim_end_matches('>');
    let date = headers.get("WARC-Refers-To-Date").and_then(warc::parse_date);
    Some(Box::new(RefersTo {
        url_key: urlkey::url_key(url).ok()?,
        time_ms: date.map(|date| date.ms),
    }))
}

/// Returns the defect of the HTTP header of a record that is still a capture.
pub(crate) fn http_defect(record: &warc::Record) -> Option<warc::Defect> {
    let may_be_http = record.kind == warc::Kind::Response && http::begins_like_http(&record.body);
    let head = may_be_http.then(|| http::parse_head(&record.body))?;
    let coding = head.unknown_transfer_coding()?;
    let detail = format!("Transfer-Encoding: {coding}");
    Some(defect(reason::TRANSFER_CODING_UNKNOWN, &detail))
}

/// Returns why the content of the record is incomplete, if it says so: the crawler's reason for
/// truncating it, or that it is a segment.
pub(crate) fn truncated(record: &warc::Record) -> String {
    match record.headers.get("WARC-Truncated").unwrap_or_default().trim() {
        "" if segment::is_first(record) => reason::SEGMENT.to_owned(),
        reason => reason.chars().take(TRUNCATED_CHARS_MAX).collect(),
    }
}

pub(crate) fn declared_digest(headers: &warc::Headers) -> Option<String> {
    headers.get("WARC-Payload-Digest").and_then(digest::declared)
}

/// Returns the payload digest: the declared one, or else a computed one.
pub(crate) fn digest_of(record: &warc::Record) -> String {
    declared_digest(&record.headers).unwrap_or_else(|| warc::payload_digest(record))
}

/// Returns the payload digest. Without settings none is computed.
pub(crate) fn digest_for(record: &warc::Record, settings: Option<&Settings>) -> String {
    match settings {
        Some(_) => digest_of(record),
        None => declared_digest(&record.headers).unwrap_or_default(),
    }
}

/// Returns which links are kept.
fn scope_of(settings: Option<&Settings>) -> LinkScope {
    settings.map_or(LinkScope::All, |settings| settings.links)
}

/// A payload as a page or a document.
#[derive(Default)]
struct Content {
    page: Option<crate::Page>,
    document: Option<Box<crate::Page>>,
    document_defect: Option<warc::Defect>,
}

/// A record whose block contains a payload, perhaps after an HTTP header.
struct Answer<'a> {
    record: &'a warc::Record,
    facts: Facts,
    kind: CaptureKind,
    head: Head,
}

impl Answer<'_> {
    fn into_capture(self, settings: Option<&Settings>) -> Extracted {
        let raw = &self.record.body[self.head.length..];
        let payload = if self.head.chunked {
            chunked::decode(raw)
        } else {
            Cow::Borrowed(raw)
        };
        let digest = digest_for(self.record, settings);
        let mime = mime::normalize(self.content_type());
        let payload_shortfall = self.payload_shortfall(&payload);
        let is_page_status = matches!(self.head.status, 200..=299) || self.kind == CaptureKind::Resource;
        let content = match settings {
            _ if !is_page_status => Content::default(),
            Some(settings) => self.content(payload, &mime, settings),
            None => Content {
                page: self.is_page(payload, &mime).then(crate::Page::default),
                ..Content::default()
            },
        };
        let redirect = redirect::of(
            self.head.status,
            self.head.location.as_deref(),
            &self.facts.url,
            &self.facts.url_key,
            scope_of(settings),
        );
        let shortfall = match payload_shortfall {
            Shortfall::None => redirect.shortfall(self.head.status),
            // It is empty because it is a redirect.
            Shortfall::Empty if content.page.is_some() && self.refreshes_elsewhere() => Shortfall::None,
            shortfall => shortfall,
        };
        Extracted::Capture(Box::new(Capture {
            url_key: self.facts.url_key,
            url: self.facts.url,
            fetch_time_ms: self.facts.fetch_time_ms,
            mime,
            status: self.head.status,
            shortfall,
            digest,
            offset: self.record.span.offset,
            length: self.record.span.length,
            kind: self.kind,
            page: content.page,
            document: content.document,
            document_defect: content.document_defect,
            redirect: redirect.link,
            redirects_to_itself: redirect.to_itself,
            truncated: truncated(self.record),
            ..Capture::default()
        }))
    }

    /// Returns whether the `Refresh` of the HTTP header leads to another key.
    fn refreshes_elsewhere(&self) -> bool {
        let value = self.head.refresh.as_deref();
        value.is_some_and(|value| refresh::leads_elsewhere(value, &self.facts.url, &self.facts.url_key))
    }

    /// Returns what the payload of a successful response lacks. A payload that the crawler
    /// truncated, or that ends with its file, counts as the page of that time.
    fn payload_shortfall(&self, payload: &[u8]) -> Shortfall {
        if !matches!(self.head.status, 200..=299) && self.kind != CaptureKind::Resource {
            return Shortfall::None;
        }
        let codings = self.head.all_codings();
        let is_empty = payload.is_empty()
            || coding::decode(Cow::Borrowed(payload), &codings, 1)
                .bytes
                .is_empty();
        match self.head.status {
            _ if is_empty => Shortfall::Empty,
            206 if !http::is_whole_range(self.head.content_range.as_deref()) => Shortfall::Part,
            _ => Shortfall::None,
        }
    }

    /// Returns the media type in the HTTP header. For a payload without an HTTP header, and for
    /// ARC, returns the type in the record header.
    fn content_type(&self) -> Option<&str> {
        let of_record = || self.record.headers.get("Content-Type");
        match self.kind {
            CaptureKind::Response => self.head.content_type.as_deref(),
            CaptureKind::Arc => self.head.content_type.as_deref().or_else(of_record),
            _ => of_record(),
        }
    }

    /// Decodes the payload and reads it, as a page or a document.
    fn content(&self, payload: Cow<'_, [u8]>, mime: &str, settings: &Settings) -> Content {
        let scope = settings.documents.scope;
        let may_be_document = settings.text && document::may_be(mime, scope);
        if !mime::may_be_html(mime) && !may_be_document {
            return Content::default();
        }
        let decoded = coding::decode(payload, &self.head.all_codings(), coding::DECODED_BYTES_MAX);
        if mime::is_html(mime, &decoded.bytes) {
            return Content {
                page: self.page(&decoded, mime, settings),
                ..Content::default()
            };
        }
        // Bytes that are still encoded are not text.
        if !may_be_document || self.head.unknown_transfer_coding().is_some() {
            return Content::default();
        }
        let host = urlkey::host_of_key(&self.facts.url_key);
        let source = document::Source {
            mime,
            bytes: &decoded.bytes,
            charset: self.content_type().and_then(mime::charset),
            top_level: host.rsplit('.').next(),
            content_language: self.head.content_language.as_deref(),
            is_cut: decoded.truncated || self.is_cut(),
        };
        match document::read(&source, &settings.documents) {
            Some((page, defect)) => Content {
                page: None,
                document: Some(Box::new(page)),
                document_defect: defect,
            },
            None => Content::default(),
        }
    }

    /// Returns whether the payload is a page, and decodes it only if its bytes decide that.
    fn is_page(&self, payload: Cow<'_, [u8]>, mime: &str) -> bool {
        if !mime::may_be_html(mime) {
            return false;
        }
        if mime != mime::UNKNOWN && self.head.unknown_transfer_coding().is_none() {
            return true;
        }
        let decoded = coding::decode(payload, &self.head.all_codings(), coding::DECODED_BYTES_MAX);
        mime::is_html(mime, &decoded.bytes) && self.is_text(&decoded)
    }

    /// Returns whether no coding is left. Bytes that are still encoded are not text. But servers
    /// name codings that they did not apply, so the bytes decide.
    fn is_text(&self, decoded: &coding::Decoded<'_>) -> bool {
        self.head.unknown_transfer_coding().is_none() || mime::sniff_html(&decoded.bytes)
    }

    fn page(&self, decoded: &coding::Decoded<'_>, mime: &str, settings: &Settings) -> Option<crate::Page> {
        if !self.is_text(decoded) {
            return None;
        }
        let host = urlkey::host_of_key(&self.facts.url_key);
        let declared = self.content_type().and_then(mime::charset);
        let (text, encoding) = charset::decode(&decoded.bytes, declared, host.rsplit('.').next());
        let document = html::read(&text, mime::markup(mime), settings.text);
        let refresh = self.head.refresh.as_deref();
        let refresh = refresh.and_then(|value| refresh::header_target(value, &self.facts.url));
        let mut page = page::assemble(PageSource {
            document,
            url: &self.facts.url,
            url_key: &self.facts.url_key,
            content_language: self.head.content_language.as_deref(),
            refresh: refresh.as_deref(),
            scope: settings.links,
        });
        page.charset = encoding.name().to_owned();
        // The text can be incomplete although it is below its own limit.
        page.text_truncated |= settings.text && (decoded.truncated || self.is_cut());
        Some(page)
    }

    /// Returns whether the record has more content than its kept body.
    fn is_cut(&self) -> bool {
        !self.record.body_is_whole() || segment::is_first(self.record)
    }
}
