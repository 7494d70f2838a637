//! Finds the request of a capture, if its record follows that of the capture in the file.
//!
//! Requests are in no index. Crawlers write the record of a request next to that of its response.
//! Most write it after the response; some write it before, where it is not found here.

use std::time::Duration;

use inputs::Sources;
use warc::{Entry, Kind, Reader, ReaderSettings, Record};

use crate::question::RecordBody;
use crate::record::{Interrupt, RecordError, input_at, open_record};

/// Limit of records read after a capture: its request, and notes about both.
const BEHIND_MAX: usize = 3;

/// Limit of the size of a request in bytes: a body of 1 MiB, and its header.
const REQUEST_BYTES_MAX: u64 = (1 << 20) + (64 << 10);

/// Time limit of one search.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// An HTTP request, as sent to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Method of the request.
    pub method: String,
    /// Media type of its body with parameters, if any.
    pub content_type: String,
    /// Body of the request.
    pub body: Vec<u8>,
}

/// Returns the request of a capture; `None` if it is not among the next records, or longer than 1
/// MiB.
///
/// # Errors
/// [`RecordError`] if the record of the capture cannot be read. Bytes after it need not be records,
/// so they cause no error.
pub fn request_record(sources: &Sources, record: &RecordBody) -> Result<Option<RequestRecord>, RecordError> {
    let interrupt = Interrupt::after(LOOK_MAX);
    let answer = open_record(sources, record, &interrupt)?;
    let id = answer
        .headers()
        .get("WARC-Record-ID")
        .unwrap_or_default()
        .trim()
        .to_owned();
    let concurrent = answer
        .headers()
        .get("WARC-Concurrent-To")
        .unwrap_or_default()
        .trim()
        .to_owned();
    let input = input_at(sources, &record.location, record.capture.offset, &interrupt)?;
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = REQUEST_BYTES_MAX;
    settings.start_offset = record.capture.offset.saturating_add(record.capture.length);
    let Ok(mut reader) = Reader::from_input(Box::new(input), &record.location, settings) else {
        return Ok(None);
    };
    for _ in 0..BEHIND_MAX {
        let Ok(Some(Entry::Record(behind))) = reader.next_entry() else {
            break;
        };
        match behind.kind {
            Kind::Request if belongs(&behind, &record.capture.url, &id, &concurrent) => {
                return Ok(sent(&behind));
            }
            Kind::Request | Kind::Metadata => {}
            _ => break,
        }
    }
    Ok(None)
}

/// Returns whether a request belongs to a capture of `url`: one of them names the other, or neither
/// names any.
fn belongs(request: &Record, url: &str, id: &str, concurrent: &str) -> bool {
    let field = |name| request.headers.get(name).unwrap_or_default().trim();
    let is_named = match (field("WARC-Concurrent-To"), concurrent) {
        ("", "") => true,
        (named, _) if !named.is_empty() && named == id => true,
        (_, named) => !named.is_empty() && named == field("WARC-Record-ID"),
    };
    is_named && request.target() == Some(url)
}

/// Parses the block of a request.
fn sent(request: &Record) -> Option<RequestRecord> {
    if !request.body_is_whole() {
        return None;
    }
    let (head, body) = request.body.split_at(warc::http_header_length(&request.body)?);
    let head = String::from_utf8_lossy(head);
    let content_type = head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim()
            .eq_ignore_ascii_case("content-type")
            .then(|| value.trim().to_owned())
    });
    Some(RequestRecord {
        method: head.split_whitespace().next()?.to_owned(),
        content_type: content_type.unwrap_or_default(),
        body: body.to_vec(),
    })
}
