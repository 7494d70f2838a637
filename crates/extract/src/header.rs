//! The part of a capture that comes from the header of its record. It is enough to check later,
//! before reading the block, whether a record is still the one that the capture was made from.

use crate::CaptureKind;
use crate::capture::{declared_digest, facts_of_headers};
use crate::target::{self, Target};
use crate::{attachment, mime, wet};

/// The data of a capture in the header of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderFacts {
    /// Kind of the capture.
    pub kind: CaptureKind,
    /// URL key and fetch time in milliseconds since 1970; `None` for WAT, which has both in its
    /// block. For an attachment it is the key of its page.
    pub key_and_time: Option<(String, i64)>,
    /// Payload digest, as in [`crate::Capture::digest`]; `None` if none is declared, and for WAT.
    pub digest: Option<String>,
}

/// Returns the key of a URL in the header of any record, even of one that makes no capture; `None`
/// if it is no web address.
pub fn named_url_key(target: &str) -> Option<String> {
    match target::read(Some(target)) {
        Target::Web { url_key, .. } => Some(url_key),
        Target::Other | Target::Unusable(_) => None,
    }
}

/// Returns the web address of the page that a record was derived from, if the record's own address
/// is that address after a scheme of a crawler: `urn:text:`, `urn:pageinfo:`, `urn:thumbnail:`,
/// `screenshot:`, `youtube-dl:00001:` and the like.
pub fn derived_from(target: &str) -> Option<&str> {
    let target = target.trim().trim_start_matches('<').trim_end_matches('>');
    let is_web = |rest: &str| {
        ["http://", "https://"].iter().any(|scheme| {
            rest.get(..scheme.len())
                .is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme))
        })
    };
    // Only schemes and numbers may come before the page's address: other addresses may contain one
    // in their path or query.
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
    let mut rest = target;
    while !is_web(rest) {
        let (scheme, behind) = rest.split_once(':')?;
        if scheme.is_empty() || !scheme.chars().all(is_scheme) {
            return None;
        }
        rest = behind;
    }
    (rest.len() < target.len()).then_some(rest)
}

/// Returns a web address in the format of [`crate::Capture::url`], and its key; `None` if it has
/// another scheme.
///
/// # Errors
/// The defect of an unusable web address.
pub fn web_target(target: &str) -> Result<Option<(String, String)>, warc::Defect> {
    match target::read(Some(target)) {
        Target::Web { url, url_key } => Ok(Some((url, url_key))),
        Target::Other => Ok(None),
        Target::Unusable(defect) => Err(defect),
    }
}

/// Returns the facts of a record with this header, or `None` if neither a capture nor an attachment
/// is made of such a record.
pub fn header_facts(format: warc::Format, kind: warc::Kind, headers: &warc::Headers) -> Option<HeaderFacts> {
    if let Some(attachment) = attachment::header_facts(kind, headers) {
        return Some(attachment);
    }
    let kind = match kind {
        warc::Kind::Response if matches!(format, warc::Format::Arc(_)) => CaptureKind::Arc,
        warc::Kind::Response => CaptureKind::Response,
        warc::Kind::Resource => CaptureKind::Resource,
        warc::Kind::Revisit => CaptureKind::Revisit,
        warc::Kind::Conversion => wet::kind(&mime::normalize(headers.get("Content-Type"))),
        warc::Kind::Metadata => {
            return Some(HeaderFacts {
                kind: CaptureKind::Wat,
                key_and_time: None,
                digest: None,
            });
        }
        _ => return None,
    };
    let facts = facts_of_headers(headers).ok()?;
    Some(HeaderFacts {
        kind,
        key_and_time: Some((facts.url_key, facts.fetch_time_ms)),
        digest: declared_digest(headers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, expected: Option<&str>) {
        assert_eq!(derived_from(target), expected, "{target}");
    }

    #[test]
    fn the_page_of_what_crawlers_derive_is_behind_schemes() {
        let page = Some("http://a.org/?b=urn:c:http://d.org/");
        check("urn:text:http://a.org/?b=urn:c:http://d.org/", page);
        check("<urn:pageinfo:http://a.org/?b=urn:c:http://d.org/>", page);
        check("screenshot:http://a.org/?b=urn:c:http://d.org/", page);
        check("youtube-dl:00001:HTTPS://a.org/x", Some("HTTPS://a.org/x"));
        for none in [
            "",
            ":",
            "http://a.org/",
            "https://a.org/urn:text:http://b.org/",
            "urn:uuid:1638e387-dda8-8ad6-c527-213b71693cb5",
            "dns:a.org",
            "file:///x:http://a.org/",
            "ftp://a.org/http://b.org/",
            "urn:text: http://a.org/",
            "::http://a.org/",
            "urn:text:http:/",
            "urn:t\u{e4}xt:http://a.org/",
        ] {
            check(none, None);
        }
    }
}
