//! Captures as links (`output=link`), in the format of TimeMaps (RFC 7089, section 5; RFC 6690).
//!
//! pywb writes only the captures. The Internet Archive writes the original and the TimeGate before
//! them, marks the first and the last capture, and links to the rest if `limit` cut the list. Links
//! lead to the archived pages, or to the original URLs if this server has no replay, as in pywb.

use archive::question::CdxRow;
use axum::http::request::Parts;
use cdx::Dialect;

use super::request::CdxRequest;
use crate::memento::{self, MementoAddresses, date};
use crate::state::State;

/// Media type of a response.
pub(super) const LINK_FORMAT: &str = "application/link-format";

/// Writes links.
pub(super) struct Links {
    dialect: Dialect,
    /// Addresses of archived pages, if replay is enabled.
    addresses: Option<MementoAddresses>,
    /// Address of this request, without a resumption key.
    itself: String,
    /// Whether the list continues an earlier one.
    is_continued: bool,
    /// The last capture so far, which may be the last of all.
    held: Option<CdxRow>,
    begun: bool,
}

impl Links {
    pub(super) fn of(state: &State, asked: &CdxRequest, request: &Parts) -> Links {
        let query = request.uri.query().unwrap_or("");
        let kept = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != RESUME_KEY);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(kept)
            .finish();
        let origin = memento::origin(&request.headers);
        Links {
            dialect: asked.dialect,
            addresses: MementoAddresses::of(state, &request.headers).ok(),
            itself: format!("{origin}{}?{query}", request.uri.path()),
            is_continued: asked.question.after.is_some(),
            held: None,
            begun: false,
        }
    }

    /// Adds captures. The last one is held back until more rows or the end.
    pub(super) fn rows(&mut self, rows: &[CdxRow]) -> String {
        let mut text = String::new();
        for row in rows {
            if let Some(held) = self.held.replace(row.clone()) {
                self.push(&mut text, &held, false);
                text.push_str(",\n");
            }
        }
        text
    }

    /// Writes the last capture, and where the list continues.
    pub(super) fn end(&mut self, resume_key: Option<&str>) -> String {
        let mut text = String::new();
        let Some(held) = self.held.take() else {
            return text;
        };
        self.push(&mut text, &held, resume_key.is_none());
        if let Some(key) = resume_key {
            let address = format!("{}&{RESUME_KEY}={key}", self.itself);
            text.push_str(&format!(
                ",\n<{address}>; rel=\"timemap\"; type=\"{LINK_FORMAT}\"; from=\"{}\"",
                date(&held)
            ));
        }
        text.push('\n');
        text
    }

    fn push(&mut self, text: &mut String, row: &CdxRow, is_last: bool) {
        let is_first = !self.begun;
        self.begun = true;
        let url = memento::web_url(&row.url).unwrap_or_else(|_| escaped(&row.url));
        let rel = match self.dialect {
            Dialect::WaybackMachine => {
                if is_first {
                    text.push_str(&self.head(row, &url));
                }
                match (is_first && !self.is_continued, is_last) {
                    (true, true) => "first last memento",
                    (true, false) => "first memento",
                    (false, true) => "last memento",
                    (false, false) => "memento",
                }
            }
            Dialect::Pywb | Dialect::OutbackCdx => "memento",
        };
        let address = match &self.addresses {
            Some(addresses) => addresses.memento(&row.timestamp, &url),
            None => url,
        };
        text.push_str(&format!("<{address}>; rel=\"{rel}\"; datetime=\"{}\"", date(row)));
        if self.dialect == Dialect::Pywb && !row.collection.is_empty() {
            text.push_str(&format!("; collection=\"{}\"", escaped(&row.collection)));
        }
    }

    /// Returns the links before the first capture, as in the Internet Archive.
    fn head(&self, first: &CdxRow, url: &str) -> String {
        let timegate = self
            .addresses
            .as_ref()
            .map(|addresses| format!("<{}>; rel=\"timegate\",\n", addresses.timegate(url)));
        format!(
            "<{url}>; rel=\"original\",\n<{}>; rel=\"self\"; type=\"{LINK_FORMAT}\"; from=\"{}\",\n{}",
            self.itself,
            date(first),
            timegate.unwrap_or_default()
        )
    }
}

const RESUME_KEY: &str = "resumeKey";

/// Escapes characters that would end an address or a value in a link.
fn escaped(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"<>\"\\".contains(c);
    let escape = |c: char| -> String {
        url::form_urlencoded::byte_serialize(c.encode_utf8(&mut [0; 4]).as_bytes()).collect()
    };
    text.chars()
        .map(|c| if is_plain(c) { c.to_string() } else { escape(c) })
        .collect()
}
