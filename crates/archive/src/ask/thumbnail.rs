//! Makes small copies of captured images, in a worker process.

use std::io::Read;
use std::time::Duration;

use extract::{CaptureKind, DocumentFailure, PayloadReader};

use super::basis::Basis;
use super::record;
use crate::question::{Record, RecordBody, ThumbnailBody, ThumbnailQuestion};
use crate::{AskError, Interrupt, open_record};

/// Longest image that is read, in bytes: what a worker accepts.
const IMAGE_BYTES_MAX: u64 = 16 << 20;

/// Longest drawing that is its own thumbnail, in bytes.
const DRAWING_BYTES_MAX: usize = 1 << 20;

/// Media type of drawings. Nothing here decodes them, and browsers show them in any size.
const DRAWING: &str = "image/svg+xml";

/// Time to read the record of an image.
const READ_TIME_MAX: Duration = Duration::from_secs(10);

pub(super) fn thumbnail(basis: &Basis<'_>, question: &ThumbnailQuestion) -> Result<ThumbnailBody, AskError> {
    // This checks the rights, also to a copy that was made for somebody else.
    let found = record::record(
        basis,
        &Record {
            url: question.url.clone(),
            at: question.at.clone(),
            ..Record::default()
        },
    )?;
    let open = basis.open;
    let record = content_of(found)?;
    let none = || AskError::not_found(format!("no thumbnail of {}", question.url));
    // One is made at a time, because each may need the memory of a whole worker.
    let _making = open.making_thumbnail.lock();
    let copy = match open.thumbnails.get(&record) {
        Some(kept) => kept.ok_or_else(none)?,
        None => {
            let made = made(basis, &record, &question.url)?;
            // A drawing is in the archive already.
            let is_drawing = made.as_ref().is_some_and(|copy| copy.mime == DRAWING);
            if !is_drawing
                && !open.files.is_read_only()
                && let Err(error) = open.thumbnails.put(&record, made.as_ref())
            {
                tracing::warn!(%error, "cannot keep a thumbnail");
            }
            made.ok_or_else(none)?
        }
    };
    Ok(ThumbnailBody {
        mime: copy.mime,
        data: data_encoding::BASE64.encode(&copy.data),
    })
}

/// Returns the record with the payload of a capture.
fn content_of(found: RecordBody) -> Result<RecordBody, AskError> {
    match (found.capture.kind, found.original) {
        (CaptureKind::Revisit, Some(original)) => Ok(*original),
        (CaptureKind::Revisit, None) => Err(AskError::not_found(
            "this capture is a revisit, and its content is not in the archive",
        )),
        (_, original) => Ok(RecordBody { original, ..found }),
    }
}

/// Makes the copy; `None` if it is not an image that can be decoded. A drawing is its own copy.
fn made(basis: &Basis<'_>, record: &RecordBody, url: &str) -> Result<Option<extract::Thumbnail>, AskError> {
    let open = basis.open;
    let Some(reader) = &open.document_reader else {
        return Err(AskError::unavailable("this process cannot decode images"));
    };
    let cannot_read = |error: &dyn std::fmt::Display| AskError::internal(format!("read {url}: {error}"));
    let interrupt = Interrupt::after(READ_TIME_MAX);
    let opened = open_record(&open.sources, record, &interrupt).map_err(|error| cannot_read(&error))?;
    let payload = PayloadReader::open(opened, IMAGE_BYTES_MAX).map_err(|error| cannot_read(&error))?;
    let mut bytes = Vec::new();
    payload
        .take(IMAGE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot_read(&error))?;
    if record.capture.mime == DRAWING && bytes.len() <= DRAWING_BYTES_MAX {
        let mime = DRAWING.to_owned();
        return Ok(Some(extract::Thumbnail { mime, data: bytes }));
    }
    match reader.thumbnail(&bytes) {
        Ok(copy) => Ok(Some(copy)),
        Err(DocumentFailure::Unreadable(_) | DocumentFailure::Crashed(_)) => Ok(None),
        Err(failure) => Err(AskError::unavailable(format!("no thumbnail of {url}: {failure}"))),
    }
}
