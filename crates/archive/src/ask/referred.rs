//! Finds the capture that a revisit of another URL refers to.
//!
//! Crawlers that deduplicate across URLs write `WARC-Refers-To-Target-URI` and
//! `WARC-Refers-To-Date` (WARC 1.1, section 6.7) into the record. If the original may be current,
//! the index knows it, and this module is not used. Otherwise, as for an error page, the header is
//! read.

use extract::CaptureKind;
use index::CaptureRow;
use urlkey::url_key;
use warc::ReaderSettings;

use super::basis::LookUps;
use super::limit::CAPTURES_OF_KEY_MAX;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// End of the profile of a revisit whose payload was not sent again, so that it has no digest (WARC
/// 1.1, section 6.7.3).
const NOT_MODIFIED: &str = "server-not-modified";

/// The reference of a revisit.
struct RevisitReference {
    url_key: String,
    date_ms: Option<i64>,
    has_digest: bool,
}

/// Returns the capture that has the content of a revisit according to its record. Returns `None` if
/// the record has no reference to a capture in the archive, or cannot be read.
pub(super) fn referred(
    basis: &LookUps<'_>,
    visible: &VisibleSnapshot<'_>,
    revisit: &CaptureRow,
) -> Result<Option<CaptureRow>, AskError> {
    let Some(referred) = header_of(basis, revisit) else {
        return Ok(None);
    };
    let mut found: Option<(i64, CaptureRow)> = None;
    for capture in visible.captures(&referred.url_key).take(CAPTURES_OF_KEY_MAX) {
        let capture = capture?;
        let is_same = if referred.has_digest {
            capture.digest == revisit.digest
        } else {
            // The content that was not sent again is that of the given date, to the second.
            referred
                .date_ms
                .is_some_and(|ms| ms.div_euclid(1000) == capture.fetch_time_ms.div_euclid(1000))
        };
        if capture.kind == CaptureKind::Revisit || !is_same {
            continue;
        }
        let wanted_ms = referred.date_ms.unwrap_or(revisit.fetch_time_ms);
        let distance = (capture.fetch_time_ms - wanted_ms).abs();
        if found.as_ref().is_none_or(|(least, _)| distance < *least) {
            found = Some((distance, capture));
        }
    }
    Ok(found.map(|(_, capture)| capture))
}

fn header_of(basis: &LookUps<'_>, revisit: &CaptureRow) -> Option<RevisitReference> {
    let input = basis.sources.open(&revisit.location).ok()?;
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = 0;
    let (offset, length) = (revisit.offset, revisit.length);
    let record = warc::read_from(input, &revisit.location, offset, length, settings).ok()?;
    // If the input was replaced, its record says nothing about this capture.
    let is_its_own = record.target().and_then(|url| url_key(url).ok()) == Some(revisit.url_key.clone());
    let field = |name: &str| record.headers.get(name).map(|value| value.trim());
    let url = field("WARC-Refers-To-Target-URI").filter(|_| is_its_own)?;
    let url = url.trim_start_matches('<').trim_end_matches('>');
    Some(RevisitReference {
        url_key: url_key(url).ok()?,
        date_ms: field("WARC-Refers-To-Date")
            .and_then(warc::parse_date)
            .map(|date| date.ms),
        has_digest: field("WARC-Payload-Digest").is_some_and(|digest| !digest.is_empty())
            && !field("WARC-Profile").is_some_and(|profile| profile.ends_with(NOT_MODIFIED)),
    })
}
