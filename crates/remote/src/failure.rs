//! Why a request came to nothing, and whether asking again may help.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// Why a request came to nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may pass: the connection, an overloaded server. With the time the server wants to be left alone.
    Passing(String, Option<Duration>),
    /// Asking again would give the same.
    Final(io::Error),
}

impl Failure {
    pub(crate) fn passing(what: impl Display) -> Failure {
        Failure::Passing(what.to_string(), None)
    }

    pub(crate) fn lasting(kind: ErrorKind, what: impl Into<String>) -> Failure {
        Failure::Final(io::Error::new(kind, what.into()))
    }

    /// Another version has taken the place of the one that was seen.
    pub(crate) fn changed(what: impl Display) -> Failure {
        Failure::lasting(
            ErrorKind::InvalidData,
            format!("it was changed since it was opened ({what}); load it again"),
        )
    }
}

/// An error and its causes, each said once.
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
