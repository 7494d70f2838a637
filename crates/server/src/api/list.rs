//! All rows of a list as a file, streamed.

use std::io;
use std::sync::Arc;

use archive::Interrupt;
use archive::question::Question;
use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use export::{ExportFormat, ListExport};

use crate::answers::Answers;
use crate::archive_client::ArchiveClient;
use crate::failure::Failure;
use crate::stream::{self, BodySource, CancelOnDrop};

/// Returns a file with all rows of a question.
pub(super) async fn file(
    archive: &ArchiveClient,
    question: Question,
    format: &str,
) -> Result<Response, Failure> {
    let format: Result<ExportFormat, _> = format.parse();
    let format = format.map_err(|error| Failure::bad_request(error.to_string()))?;
    let mut export = ListExport::new(question, format)
        .ok_or_else(|| Failure::bad_request("this list cannot be returned as a file"))?;
    // A wrong question gets its error. Once the file has begun, an error can only cut it off.
    let first = archive.ask(export.first_row()).await?;
    export.take_first(first.body);
    let name = format!(
        "attachment; filename=\"{}.{}\"",
        export.list().file_name(),
        format.extension()
    );
    let rows = Rows {
        export,
        source: archive.source(),
    };
    let cancel = CancelOnDrop(Interrupt::new());
    let body = stream::body(archive.clone(), rows, cancel, None);
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, body).into_response())
}

struct Rows {
    export: ListExport,
    source: Arc<dyn Answers>,
}

impl BodySource for Rows {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        if self.export.is_written() {
            return Ok(None);
        }
        let mut piece = Vec::new();
        let ask = |question| self.source.ask(&question);
        self.export.next(&ask, &mut piece).map_err(io::Error::other)?;
        Ok(Some(piece.into()))
    }
}
