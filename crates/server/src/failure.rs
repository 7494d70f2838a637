//! A failed request: its status, code and message. Internals of the server are not revealed.

use archive::{AskError, ErrorCode};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

/// A machine-readable code. The same kind of failure always has the same code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// The request itself is wrong.
    BadRequest,
    /// The requested item does not exist.
    NotFound,
    /// Not allowed from this client, or not on this server.
    Forbidden,
    /// The token of the request is not valid.
    Unauthorized,
    /// Not possible now. A later retry may succeed.
    Unavailable,
    /// Something failed in the server or the archive.
    Internal,
    /// The address does not support the method.
    MethodNotAllowed,
    /// The body has another media type than the one expected.
    UnsupportedMediaType,
    /// The body is too large.
    TooLarge,
    /// A value of the address is too long.
    TooLong,
    /// The record does not have these bytes.
    Range,
    /// The name in the request is not one of the server's.
    WrongHost,
    /// The input is no longer where it was loaded from.
    InputMissing,
    /// The input is not the one that was loaded.
    InputChanged,
    /// Content of this type is not shown.
    NotShown,
    /// Something with this name exists and differs.
    Conflict,
}

/// Heading for a capture that exists, and whose input is missing or changed.
pub(crate) const NOT_READABLE: &str = "Captured, but not readable";

/// The reason why a request failed. As a response it is JSON; pages turn it into a page.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) code: Code,
    /// Message for people.
    pub(crate) message: String,
}

/// A failure as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Failed<'a> {
    error: Reason<'a>,
}

/// The reason of a failure.
#[derive(Serialize, JsonSchema)]
struct Reason<'a> {
    code: Code,
    /// The reason as text for people.
    #[schemars(example = &"no capture of this URL")]
    message: &'a str,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Failure {
        Failure {
            status,
            code,
            message: message.into(),
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, Code::BadRequest, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, Code::NotFound, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
    }

    /// Returns whether a later retry may succeed.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.code == Code::Unavailable
    }

    pub(crate) fn internal() -> Failure {
        Failure::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "internal error; see the server's log",
        )
    }

    /// Returns the body of the JSON response.
    fn body(&self) -> Failed<'_> {
        let (code, message) = (self.code, &*self.message);
        Failed {
            error: Reason { code, message },
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        match error.code {
            ErrorCode::NotFound => Failure::not_found(error.message),
            ErrorCode::BadRequest => Failure::bad_request(error.message),
            ErrorCode::Forbidden => Failure::new(StatusCode::FORBIDDEN, Code::Forbidden, error.message),
            ErrorCode::Unavailable => Failure::unavailable(error.message),
            ErrorCode::Internal => {
                tracing::error!(
                    code = error.code.name(),
                    message = error.message,
                    "the archive failed to answer a query"
                );
                Failure::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, error.message)
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, axum::Json(self.body())).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the code after this one, so that every code is checked against the documentation.
    fn next(code: Code) -> Option<Code> {
        match code {
            Code::BadRequest => Some(Code::NotFound),
            Code::NotFound => Some(Code::Forbidden),
            Code::Forbidden => Some(Code::Unauthorized),
            Code::Unauthorized => Some(Code::Unavailable),
            Code::Unavailable => Some(Code::Internal),
            Code::Internal => Some(Code::MethodNotAllowed),
            Code::MethodNotAllowed => Some(Code::UnsupportedMediaType),
            Code::UnsupportedMediaType => Some(Code::TooLarge),
            Code::TooLarge => Some(Code::TooLong),
            Code::TooLong => Some(Code::Range),
            Code::Range => Some(Code::WrongHost),
            Code::WrongHost => Some(Code::InputMissing),
            Code::InputMissing => Some(Code::InputChanged),
            Code::InputChanged => Some(Code::NotShown),
            Code::NotShown => Some(Code::Conflict),
            Code::Conflict => None,
        }
    }

    #[test]
    fn every_code_is_in_the_documentation() {
        let documentation = include_str!("../../../docs/operations/scripts.md");
        for code in std::iter::successors(Some(Code::BadRequest), |code| next(*code)) {
            let name = serde_json::to_value(code).unwrap();
            let row = format!("| `{}` |", name.as_str().unwrap());
            assert!(documentation.contains(&row), "{row}");
        }
    }
}
