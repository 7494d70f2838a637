//! All results of a search, streamed.
//!
//! WARC records are not among the formats: a record may be larger than the memory that a server may
//! use for one client. `weft search --export warc` writes them.

use std::sync::Arc;

use archive::Interrupt;
use archive::question::SearchQuestion;
use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use export::{ExportFormat, ResultExport};

use super::parameters::search_order;
use crate::answers::Answers;
use crate::archive_client::ArchiveClient;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::stream::{self, BodySource, CancelOnDrop};

/// Formats that can be streamed.
pub(super) const FORMATS: [&str; 4] = ["jsonl", "csv", "parquet", "cdxj"];

/// Returns a file of all results.
pub(super) fn file(archive: &ArchiveClient, arguments: &Arguments) -> Result<Response, Failure> {
    let format = arguments.text("format").unwrap_or(FORMATS[0]);
    let format: Result<ExportFormat, _> = format.parse();
    let format = format.map_err(|error| Failure::bad_request(error.to_string()))?;
    let question = SearchQuestion {
        query: arguments.required("q"),
        all_versions: arguments.flag("all_versions"),
        order: search_order(arguments.text("sort")),
        per_site: usize::try_from(arguments.number("per_site")).unwrap_or(usize::MAX),
        distinct: arguments.flag("distinct"),
        near: arguments.flag("near"),
        ..SearchQuestion::default()
    };
    let results = Results {
        export: ResultExport::new(&question, format),
        source: archive.source(),
    };
    let cancel = CancelOnDrop(Interrupt::new());
    let body = stream::body(archive.clone(), results, cancel, None);
    let name = format!("attachment; filename=\"results.{}\"", format.extension());
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, body).into_response())
}

struct Results {
    export: ResultExport,
    source: Arc<dyn Answers>,
}

impl BodySource for Results {
    fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        let mut piece = Vec::new();
        let source = &self.source;
        let ask = |question| source.ask(&question);
        let is_more = self.export.next(&ask, &source.sources(), &mut piece);
        match is_more.map_err(std::io::Error::other)? {
            // The list would lack a result whose capture is missing, so the response must fail.
            _ if !self.export.exported.left_out.is_empty() => Err(std::io::Error::other(format!(
                "cannot export {}: {}",
                self.export.exported.left_out[0].url, self.export.exported.left_out[0].why
            ))),
            true => Ok(Some(piece.into())),
            false => Ok(None),
        }
    }
}
