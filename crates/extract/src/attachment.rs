//! What crawlers add to a page: its rendered text, screenshots, lists of its requests.
//!
//! Crawlers write these as records whose address is that of the page behind a scheme
//! (`urn:text:http://...`, Browsertrix and others), or whose header names the page (Scoop:
//! `file:///screenshot.png` with `WARC-Refers-To-Target-URI`). They are attachments of the page and
//! make no captures.

use serde::{Deserialize, Serialize};

use crate::capture::{Facts, declared_digest, digest_of};
use crate::header::{HeaderFacts, derived_from, named_url_key};
use crate::{CaptureKind, IndexLine, Settings, document, http, mime, target};

/// What an attachment contains, by the name that crawlers give it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttachmentKind {
    /// The text of the page as a browser rendered it (`urn:text:`).
    Text,
    /// The requests of the page and their status (`urn:pageinfo:`).
    PageInfo,
    /// A picture of the visible part (`urn:view:`).
    View,
    /// A picture of the whole page (`urn:fullPage:`).
    FullPage,
    /// A small picture (`urn:thumbnail:`, `thumbnail:`).
    Thumbnail,
    /// A picture of which nothing else is known (`urn:screenshot:`, `file:///screenshot.png`).
    Screenshot,
    /// How the page was captured (`file:///provenance-summary.html`).
    Provenance,
    /// Anything else.
    #[default]
    Other,
}

impl AttachmentKind {
    /// Returns the kind that the address of an attachment names.
    pub fn of(url: &str) -> AttachmentKind {
        let name = match derived_from(url).and_then(|page| url.strip_suffix(page)) {
            Some(schemes) => schemes.trim_end_matches(':').rsplit(':').next(),
            None => url.rsplit('/').next(),
        };
        let word = name.and_then(|name| name.split(['-', '.', '_']).next());
        match word.unwrap_or_default().to_ascii_lowercase().as_str() {
            "text" | "textfinal" => AttachmentKind::Text,
            "pageinfo" => AttachmentKind::PageInfo,
            "view" => AttachmentKind::View,
            "fullpage" | "fullpagefinal" => AttachmentKind::FullPage,
            "thumbnail" => AttachmentKind::Thumbnail,
            "screenshot" => AttachmentKind::Screenshot,
            "provenance" => AttachmentKind::Provenance,
            _ => AttachmentKind::Other,
        }
    }

    /// Returns its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            AttachmentKind::Text => "text",
            AttachmentKind::PageInfo => "page-info",
            AttachmentKind::View => "view",
            AttachmentKind::FullPage => "full-page",
            AttachmentKind::Thumbnail => "thumbnail",
            AttachmentKind::Screenshot => "screenshot",
            AttachmentKind::Provenance => "provenance",
            AttachmentKind::Other => "other",
        }
    }
}

/// Returns the attachment that a record is; `None` for any other record.
pub(crate) fn of(record: &warc::Record, settings: Option<&Settings>) -> Option<IndexLine> {
    let facts = facts_of(record.kind, &record.headers)?;
    let span = record.span;
    let mut attachment = IndexLine {
        text: rendered_text(record, &facts.url, settings),
        url_key: facts.url_key,
        fetch_time_ms: facts.fetch_time_ms,
        url: facts.url,
        mime: mime::normalize(record.headers.get("Content-Type")),
        status: 0,
        digest: digest_of(record),
        // It is in the input itself.
        filename: String::new(),
        record_offset: span.offset,
        record_length: span.length,
        offset: span.offset,
        length: span.length,
        alias_of: None,
    };
    if record.kind == warc::Kind::Response && http::begins_like_http(&record.body) {
        let head = http::parse_head(&record.body);
        attachment.status = head.status;
        attachment.mime = mime::normalize(head.content_type.as_deref());
    }
    Some(attachment)
}

/// Returns the text of the page as a browser rendered it, if that is what the attachment has.
fn rendered_text(record: &warc::Record, url: &str, settings: Option<&Settings>) -> Option<String> {
    let is_text = settings.is_some_and(|settings| settings.text)
        && record.kind == warc::Kind::Resource
        && derived_from(url).is_some()
        && AttachmentKind::of(url) == AttachmentKind::Text;
    let (text, _) = is_text.then(|| document::lines(&String::from_utf8_lossy(&record.body)))?;
    (!text.is_empty()).then_some(text)
}

/// Returns the part of an attachment that comes from the header of its record.
pub(crate) fn header_facts(kind: warc::Kind, headers: &warc::Headers) -> Option<HeaderFacts> {
    let facts = facts_of(kind, headers)?;
    Some(HeaderFacts {
        kind: CaptureKind::Conversion,
        key_and_time: Some((facts.url_key, facts.fetch_time_ms)),
        digest: declared_digest(headers),
    })
}

/// Returns address and time of an attachment, and the key of its page.
fn facts_of(kind: warc::Kind, headers: &warc::Headers) -> Option<Facts> {
    if !matches!(kind, warc::Kind::Response | warc::Kind::Resource) {
        return None;
    }
    let raw = headers.get("WARC-Target-URI")?;
    let url = target::of_other_scheme(raw)?;
    let page = derived_from(raw).or_else(|| headers.get("WARC-Refers-To-Target-URI"))?;
    Some(Facts {
        url_key: named_url_key(page)?,
        url,
        fetch_time_ms: warc::parse_date(headers.get("WARC-Date")?)?.ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::record;
    use crate::{Documents, Extracted, LinkScope, Settings};

    #[test]
    fn kinds_are_named_by_the_address() {
        for (url, kind) in [
            ("urn:text:http://a.org/", "text"),
            ("urn:pageinfo:http://a.org/", "page-info"),
            ("urn:view:http://a.org/", "view"),
            ("urn:fullPage:http://a.org/text", "full-page"),
            ("urn:fullPageFinal:http://a.org/", "full-page"),
            ("urn:thumbnail:http://a.org/", "thumbnail"),
            ("screenshot:http://a.org/", "screenshot"),
            ("file:///screenshot.png", "screenshot"),
            ("file:///provenance-summary.html", "provenance"),
            ("file:///pdf-snapshot.pdf", "other"),
            ("youtube-dl:00001:http://a.org/", "other"),
            ("onreadydom:http://a.org/", "other"),
            ("", "other"),
        ] {
            let found = AttachmentKind::of(url);
            assert_eq!(found.name(), kind, "{url}");
            assert_eq!(serde_json::to_value(found).unwrap(), kind, "{url}");
        }
    }

    fn extracted(kind: warc::Kind, target: &str, refers_to: Option<&str>, body: &str) -> Option<IndexLine> {
        extracted_with(true, kind, target, refers_to, body)
    }

    fn extracted_with(
        text: bool,
        kind: warc::Kind,
        target: &str,
        refers_to: Option<&str>,
        body: &str,
    ) -> Option<IndexLine> {
        let mut headers = vec![
            ("WARC-Target-URI", target),
            ("WARC-Date", "2020-06-01T12:00:01Z"),
            ("Content-Type", "Text/Plain; charset=utf-8"),
        ];
        headers.extend(refers_to.map(|page| ("WARC-Refers-To-Target-URI", page)));
        let settings = Settings {
            links: LinkScope::All,
            text,
            documents: Documents::NONE,
        };
        match crate::extract(&record(kind, &headers, body), &settings) {
            Extracted::Attachment(attachment) => Some(*attachment),
            _ => None,
        }
    }

    #[test]
    fn records_behind_a_scheme_are_attached_to_their_page() {
        let text = extracted(
            warc::Kind::Resource,
            "<urn:text:https://www.a.org/b c>",
            None,
            "words",
        );
        let text = text.unwrap();
        assert_eq!(
            (text.url_key.as_str(), text.url.as_str(), text.mime.as_str()),
            ("org,a)/b%20c", "urn:text:https://www.a.org/b%20c", "text/plain")
        );
        assert_eq!((text.offset, text.record_offset, text.length), (7, 7, 11));
        assert!(text.is_attachment());
        assert_eq!(text.kind(), CaptureKind::Conversion);
    }

    #[test]
    fn records_that_name_their_page_are_attached_to_it() {
        let page = Some("http://a.org/");
        let block = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\npng";
        let picture = extracted(warc::Kind::Response, "file:///screenshot.png", page, block).unwrap();
        assert_eq!(
            (picture.url_key.as_str(), picture.mime.as_str(), picture.status),
            ("org,a)/", "image/png", 200)
        );
        // It is of no known page.
        assert_eq!(
            extracted(warc::Kind::Response, "file:///screenshot.png", None, block),
            None
        );
    }

    #[test]
    fn only_the_rendered_text_is_kept_as_text() {
        let page = Some("http://a.org/");
        let (resource, response) = (warc::Kind::Resource, warc::Kind::Response);
        for (kind, target, refers_to, body, expected) in [
            (
                resource,
                "urn:text:http://a.org/",
                None,
                " some\r\n\r\n  words ",
                Some("some\nwords"),
            ),
            (
                resource,
                "urn:textFinal:http://a.org/",
                None,
                "words",
                Some("words"),
            ),
            (resource, "urn:text:http://a.org/", None, " \n", None),
            (resource, "urn:view:http://a.org/", None, "words", None),
            (resource, "file:///text.txt", page, "words", None),
            (response, "urn:text:http://a.org/", None, "words", None),
        ] {
            let attachment = extracted(kind, target, refers_to, body).unwrap();
            assert_eq!(attachment.text.as_deref(), expected, "{target} {body:?}");
        }
        let attachment = extracted_with(false, resource, "urn:text:http://a.org/", None, "words").unwrap();
        assert_eq!(attachment.text, None);
        let long = extracted(resource, "urn:text:http://a.org/", None, &"word ".repeat(1 << 19)).unwrap();
        assert!(long.text.is_some_and(|text| text.len() <= crate::TEXT_BYTES_MAX));
    }

    #[test]
    fn other_records_are_not_attachments() {
        let page = Some("http://a.org/");
        for (kind, target, refers_to) in [
            (warc::Kind::Resource, "http://a.org/urn:text:http://b.org/", None),
            (warc::Kind::Resource, "http://b.org/", page),
            (warc::Kind::Response, "dns:a.org", None),
            (warc::Kind::Request, "urn:text:http://a.org/", None),
            (warc::Kind::Metadata, "urn:text:http://a.org/", None),
            (warc::Kind::Resource, "urn:text:http://", None),
        ] {
            assert_eq!(extracted(kind, target, refers_to, "x"), None, "{target}");
        }
    }
}
