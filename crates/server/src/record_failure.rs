//! The failure of a request whose record cannot be read.

use std::io::ErrorKind;

use archive::RecordError;
use archive::question::CdxRow;
use axum::http::StatusCode;
use warc::ReadError;

use crate::failure::{Code, Failure};

/// Returns the failure for a record that cannot be read from its input.
pub(crate) fn record_failure(capture: &CdxRow, error: &RecordError) -> Failure {
    tracing::warn!(%error, "cannot read a record");
    // The response names no folders, for any client. The log has them.
    let input = format::file_name::base_name(&capture.filename);
    match error {
        RecordError::Gone { .. } => missing(input),
        RecordError::Read(ReadError::Io { source, .. }) if is_gone(source.kind()) => missing(input),
        RecordError::Read(ReadError::Io { source, .. }) if source.kind() == ErrorKind::TimedOut => {
            Failure::unavailable("reading the record timed out")
        }
        // The disk or the store does not answer.
        RecordError::Read(ReadError::Io { .. }) => {
            Failure::unavailable("the input cannot be read at the moment; see the server's log")
        }
        RecordError::Read(ReadError::NoRecord { offset, .. }) => {
            changed(format!("{input} no longer has a record at offset {offset}"))
        }
        RecordError::Shorter { .. } => changed(format!("{input} is shorter than when it was loaded")),
        RecordError::Changed { offset, .. } => changed(format!(
            "{input} now has a different record at offset {offset} than when it was loaded"
        )),
        _ => Failure::internal(),
    }
}

/// Returns whether the error means that the input's file is missing.
fn is_gone(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory
    )
}

fn missing(input: &str) -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        Code::InputMissing,
        format!("the input {input} is no longer where it was loaded from"),
    )
}

fn changed(what: String) -> Failure {
    let message = format!("the input {what}; if it was changed, load it again");
    Failure::new(StatusCode::CONFLICT, Code::InputChanged, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input's file is missing, or a folder has its name, or a disk or the nodes of a store do
    /// not answer.
    #[test]
    fn an_input_that_cannot_be_read_now_is_no_fault_of_the_server() {
        for (kind, status, code) in [
            (ErrorKind::NotFound, StatusCode::NOT_FOUND, Code::InputMissing),
            (ErrorKind::IsADirectory, StatusCode::NOT_FOUND, Code::InputMissing),
            (
                ErrorKind::TimedOut,
                StatusCode::SERVICE_UNAVAILABLE,
                Code::Unavailable,
            ),
            (
                ErrorKind::Other,
                StatusCode::SERVICE_UNAVAILABLE,
                Code::Unavailable,
            ),
        ] {
            let error = RecordError::from(ReadError::Io {
                path: "store://crawls/a.warc.gz".to_owned(),
                offset: 7,
                source: kind.into(),
            });
            let failure = record_failure(&CdxRow::default(), &error);
            assert_eq!((failure.status, failure.code), (status, code), "{kind:?}");
        }
    }
}
