//! The part of a capture that comes from the header of its record alone. It is enough to see later, before
//! any of the block is read, whether a record is still the one that the capture was made from.

use crate::CaptureKind;
use crate::capture::{declared_digest, facts_of_headers};
use crate::target::{self, Target};
use crate::{mime, wet};

/// What the header of a record says about its capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderFacts {
    /// Kind of the capture.
    pub kind: CaptureKind,
    /// URL key and fetch time in milliseconds since 1970; `None` for WAT, which has both in its block.
    pub key_and_time: Option<(String, i64)>,
    /// Payload digest, as in [`crate::Capture::digest`]; `None` if none is declared, and for WAT.
    pub digest: Option<String>,
}

/// The key of a URL as the header of any record names it, also of one that no capture is made of; `None` where it is no web
/// address.
pub fn named_url_key(target: &str) -> Option<String> {
    match target::read(Some(target)) {
        Target::Web { url_key, .. } => Some(url_key),
        Target::Other | Target::Unusable(_) => None,
    }
}

/// A web address as [`crate::Capture::url`] has it, and its key; `None` where it is of another scheme.
///
/// # Errors
/// What is wrong with a web address that cannot be used.
pub fn web_target(target: &str) -> Result<Option<(String, String)>, warc::Defect> {
    match target::read(Some(target)) {
        Target::Web { url, url_key } => Ok(Some((url, url_key))),
        Target::Other => Ok(None),
        Target::Unusable(defect) => Err(defect),
    }
}

/// Returns the facts of a record with this header, or `None` if no capture is made of such a record.
pub fn header_facts(format: warc::Format, kind: warc::Kind, headers: &warc::Headers) -> Option<HeaderFacts> {
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
