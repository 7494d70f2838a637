//! View `captures`: every capture once.
//!
//! Definition: all captures by input and offset. Row keys are in
//! [`capture_key`](crate::views::capture_key), rows in [`capture_row`](crate::views::capture_row).

use extract::{Capture, CaptureKind};

use crate::codec::Corrupt;
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::capture_key::{CapturePosition, is_of_key, key_prefix, row_key};
use crate::views::capture_row::{self, StoredCapture};
use crate::views::version_row::{TextOrigin, VersionRow};
use crate::write::Write;

/// Sorts a batch, drops known captures, writes the others and returns them in key order.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    mut batch: Vec<(InputId, Capture)>,
) -> Result<Vec<(InputId, Capture)>, SnapshotError> {
    // In key order, look-ups of neighbours hit the same blocks, and the captures of one key are
    // adjacent for `versions`.
    batch.sort_unstable_by(|(a_input, a), (b_input, b)| {
        (a.url_key.as_bytes(), a.fetch_time_ms, a_input, a.offset).cmp(&(
            b.url_key.as_bytes(),
            b.fetch_time_ms,
            b_input,
            b.offset,
        ))
    });
    let mut new = Vec::with_capacity(batch.len());
    let mut previous = Vec::new();
    for (input, capture) in batch {
        let key = row_key(&capture.url_key, capture.fetch_time_ms, input, capture.offset);
        // The batch may hold a capture twice (read again after a crash), or the index may already
        // have it.
        if key == previous || cut.contains(Table::Captures, &key)? {
            continue;
        }
        // `originals` writes the rows of revisits, with the content of their originals.
        if capture.kind != CaptureKind::Revisit {
            write.put(Table::Captures, key.as_slice(), capture_row::encode(&capture));
        }
        previous = key;
        new.push((input, capture));
    }
    Ok(new)
}

/// Decodes a row.
pub(crate) fn read_row(cut: &Cut, key: &[u8], value: &[u8]) -> Result<StoredCapture, SnapshotError> {
    cut.decode(Table::Captures, key, capture_row::decode(key, value))
}

/// Returns the capture of a URL key at a position; `None` if there is no such capture.
pub(crate) fn at(
    cut: &Cut,
    url_key: &str,
    position: &CapturePosition,
) -> Result<Option<StoredCapture>, SnapshotError> {
    let key = row_key(url_key, position.fetch_time_ms, position.input, position.offset);
    let value = cut.get(Table::Captures, &key)?;
    value.map(|value| read_row(cut, &key, &value)).transpose()
}

/// Returns the captures of a URL key in order of time.
pub(crate) fn of_key(cut: &Cut, url_key: &str) -> Result<Vec<StoredCapture>, SnapshotError> {
    let mut captures = Vec::new();
    for row in cut.prefix(Table::Captures, &key_prefix(url_key)) {
        let (key, value) = row?;
        if is_of_key(&key, url_key) {
            captures.push(read_row(cut, &key, &value)?);
        }
    }
    Ok(captures)
}

/// Returns the media type of the capture that the text of a version comes from. Rows of versions do
/// not store it, but that capture always exists.
pub(crate) fn text_mime(
    cut: &Cut,
    url_key: &str,
    row: &VersionRow,
    text: &TextOrigin,
) -> Result<String, SnapshotError> {
    let position = CapturePosition {
        fetch_time_ms: row.fetch_time_ms,
        input: text.input,
        offset: text.offset,
    };
    // Without the capture, the access rules of the text would be unknown.
    let missing = Corrupt("the capture of its text is missing");
    let origin = at(cut, url_key, &position)?.ok_or(missing);
    let mime = origin.map(|origin| origin.capture.shown_mime().to_owned());
    cut.decode(Table::Versions, url_key.as_bytes(), mime)
}
