//! Failures of requests: temporary or final.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A temporary failure, such as a broken connection or an overloaded server. The duration is
    /// the server's `Retry-After`.
    Passing(String, Option<Duration>),
    /// A retry would fail in the same way.
    Final(io::Error),
}

impl Failure {
    pub(crate) fn passing(what: impl Display) -> Failure {
        Failure::Passing(what.to_string(), None)
    }

    pub(crate) fn lasting(kind: ErrorKind, what: impl Into<String>) -> Failure {
        Failure::Final(io::Error::new(kind, what.into()))
    }

    /// Returns the failure for an input that was replaced by another version.
    pub(crate) fn changed(what: impl Display) -> Failure {
        Failure::lasting(
            ErrorKind::InvalidData,
            format!("it was changed since it was opened ({what}); load it again"),
        )
    }
}

/// Returns the text of an error and its causes, without repetitions.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
