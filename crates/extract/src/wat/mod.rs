//! Reads WAT, the metadata of a capture as JSON, for its row and its links.
//!
//! Both layouts of Common Crawl are read: that of 2015 (`Envelope` before `Container`) and the
//! present one (the header metadata after those of the payload), with the fields in any order.
//! Until June 2019 the writer did not decode the character references of HTML in URLs and texts;
//! they are decoded here.

mod entities;
mod envelope;
mod json;

use crate::capture::{Facts, facts_of};
use crate::exchange::{ExchangeNames, checked_method};
use crate::links::LinkSet;
use crate::resolve::Resolver;
use crate::text::Collapser;
use crate::{
    Capture, CaptureKind, Extracted, LinkKind, LinkScope, Page, Settings, Shortfall, digest, html, http,
    language, mime, page, reason, redirect,
};
use entities::References;
use envelope::{Envelope, LinkEntry};
use json::Text;

/// 2019-07-01 in milliseconds since 1970: the WAT of earlier captures has undecoded character
/// references.
const REFERENCES_DECODED_SINCE_MS: i64 = 1_561_939_200_000;

/// Extracts the capture that a `metadata` record describes, if it is the WAT of a response.
pub(crate) fn extract(record: &warc::Record, settings: Option<&Settings>) -> Extracted {
    if !begins_like_wat(&record.body) {
        return Extracted::Counted;
    }
    let envelope = match Envelope::parse(&record.body) {
        Ok(envelope) => envelope,
        Err(malformed) => {
            let detail = format!("no JSON at byte {} of {}", malformed.at, record.body.len());
            return Extracted::Unusable(warc::Defect {
                reason: reason::BAD_WAT_JSON,
                detail,
            });
        }
    };
    if !envelope.is_response() {
        return Extracted::Counted;
    }
    let target = envelope.target_uri.map(Text::decode);
    let date = envelope.date.map(Text::decode);
    match facts_of(target.as_deref(), date.as_deref()) {
        Ok(facts) => Extracted::Capture(Box::new(capture(record, &envelope, facts, settings))),
        Err(outcome) => outcome,
    }
}

/// A field that only the WAT of a request has.
const REQUEST: &[u8] = b"\"HTTP-Request-Metadata\"";

/// Returns the method and the names of the request that this WAT describes; `None` for another
/// record.
pub(crate) fn request(record: &warc::Record) -> Option<(String, ExchangeNames)> {
    if !begins_like_wat(&record.body) || memchr::memmem::find(&record.body, REQUEST).is_none() {
        return None;
    }
    let envelope = Envelope::parse(&record.body).ok()?;
    let method = envelope.method.filter(|_| envelope.is_request())?;
    Some((checked_method(&method.decode())?, names(record, &envelope)))
}

/// Returns the names of the response that this WAT describes; `None` for another record.
pub(crate) fn response_names(record: &warc::Record) -> Option<ExchangeNames> {
    let envelope = Envelope::parse(&record.body).ok()?;
    envelope.is_response().then(|| names(record, &envelope))
}

/// Returns the names of the described record. The WAT's own record refers to it, which helps if the
/// envelope has no id.
fn names(record: &warc::Record, envelope: &Envelope) -> ExchangeNames {
    let text = |text: Option<Text>| text.map(|text| text.decode().trim().to_owned());
    let referred = record.headers.get("WARC-Refers-To").unwrap_or_default();
    let date = text(envelope.date);
    ExchangeNames {
        id: text(envelope.id).unwrap_or_else(|| referred.trim().to_owned()),
        concurrent: text(envelope.concurrent).into_iter().collect(),
        url: text(envelope.target_uri).unwrap_or_default(),
        time_ms: date.and_then(|date| warc::parse_date(&date)).map(|date| date.ms),
    }
}

/// Returns what the response lacks according to WAT. If WAT has no length of the payload, an empty
/// payload is not detected.
fn shortfall(envelope: &Envelope, status: u16, redirect: &redirect::Redirect) -> Shortfall {
    let content_range = envelope.content_range.map(Text::decode);
    match status {
        200..=299 if envelope.is_empty() => Shortfall::Empty,
        206 if !http::is_whole_range(content_range.as_deref()) => Shortfall::Part,
        _ => redirect.shortfall(status),
    }
}

/// Returns whether a block begins like the JSON of WAT: other metadata records contain
/// `name: value` lines.
pub(crate) fn begins_like_wat(block: &[u8]) -> bool {
    let start = block.trim_ascii_start();
    let Some(name) = start.strip_prefix(b"{") else {
        return false;
    };
    let name = name.trim_ascii_start();
    name.starts_with(b"\"Envelope\"") || name.starts_with(b"\"Container\"")
}

fn capture(record: &warc::Record, envelope: &Envelope, facts: Facts, settings: Option<&Settings>) -> Capture {
    let scope = settings.map_or(LinkScope::All, |settings| settings.links);
    let mime = mime::normalize(envelope.content_type.map(Text::decode).as_deref());
    let status = envelope.status();
    let digests = [envelope.payload_digest, envelope.entity_digest];
    let digest = digests
        .into_iter()
        .flatten()
        .find_map(|text| digest::declared(&text.decode()));
    let is_html = mime::may_be_html(&mime) && (mime != mime::UNKNOWN || envelope.has_html);
    let page = (matches!(status, 200..=299) && is_html).then(|| match settings {
        Some(_) => page_of(envelope, &facts, scope),
        None => Page::default(),
    });
    let refresh = envelope.refresh_header.map(Text::decode);
    let refreshes_elsewhere = page.is_some()
        && refresh.is_some_and(|value| html::refresh::leads_elsewhere(&value, &facts.url, &facts.url_key));
    let location = envelope.location.map(Text::decode);
    let redirect = redirect::of(status, location.as_deref(), &facts.url, &facts.url_key, scope);
    Capture {
        url_key: facts.url_key,
        url: facts.url,
        fetch_time_ms: facts.fetch_time_ms,
        mime,
        status,
        shortfall: match shortfall(envelope, status, &redirect) {
            Shortfall::Empty if refreshes_elsewhere => Shortfall::None,
            shortfall => shortfall,
        },
        digest: digest.unwrap_or_else(|| digest::UNKNOWN.to_owned()),
        offset: record.span.offset,
        length: record.span.length,
        kind: CaptureKind::Wat,
        page,
        redirect: redirect.link,
        redirects_to_itself: redirect.to_itself,
        truncated: envelope.truncated.map(Text::decode).unwrap_or_default().into(),
        ..Capture::default()
    }
}

fn page_of(envelope: &Envelope, facts: &Facts, scope: LinkScope) -> Page {
    let references = if facts.fetch_time_ms < REFERENCES_DECODED_SINCE_MS {
        References::Decode
    } else {
        References::Keep
    };
    let mut page = Page {
        title: title(envelope, references),
        ..Page::default()
    };
    let base = envelope.base.map(|base| references.text(base));
    if let Some(resolver) = Resolver::new(&facts.url, base.as_deref()) {
        let mut set = LinkSet::new(&resolver, &facts.url_key, scope);
        let header = envelope.refresh_header.map(Text::decode);
        if let Some(url) = header.and_then(|value| html::refresh::header_target(&value, &facts.url)) {
            set.add(page::refresh_link(&url));
        }
        if let Some(content) = envelope.refresh.map(|content| references.text(content))
            && let Some(reference) = html::refresh::target(&content)
            && let Some(target) = set.target_of(reference)
        {
            set.insert(target, "", false, LinkKind::Refresh);
        }
        for link in &envelope.links {
            add_link(&mut set, link, references);
        }
        (page.links, page.links_dropped) = set.finish();
        let canonical = envelope.canonical.map(|reference| references.text(reference));
        page.canonical = canonical.and_then(|reference| resolver.resolve(&reference));
    }
    page.robots = envelope
        .robots
        .and_then(|content| page::robots(&content.decode()));
    let declared = [
        envelope.html_language,
        envelope.meta_language,
        envelope.content_language,
    ];
    page.language = declared
        .into_iter()
        .flatten()
        .find_map(|text| language::declared(&text.decode()))
        .unwrap_or_default();
    page
}

fn add_link(set: &mut LinkSet, link: &LinkEntry, references: References) {
    let Some(target) = set.target_of(&references.text(link.reference)) else {
        return;
    };
    let texts = [link.text, link.title, link.alt];
    let anchor = texts.into_iter().flatten().map(|text| references.text(text));
    let anchor = anchor
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default();
    set.insert(target, &anchor, link.is_nofollow(), link.kind());
}

fn title(envelope: &Envelope, references: References) -> String {
    let Some(title) = envelope.title else {
        return String::new();
    };
    let mut collapser = Collapser::line(html::TITLE_CHARS_MAX);
    collapser.push(references.text(title).as_bytes());
    collapser.finish().0
}

#[cfg(test)]
mod tests;
