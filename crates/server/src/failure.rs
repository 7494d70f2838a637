//! A request that cannot be answered: status, code and message, and nothing of the inside.

use archive::AskError;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request has no answer. As a response it is JSON; pages turn it into a page.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// A short word for programs, the same for one kind of failure always.
    pub(crate) code: &'static str,
    /// For people.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Failure {
        Failure {
            status,
            code,
            message: message.into(),
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Failure {
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    pub(crate) fn internal() -> Failure {
        Failure::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong here; the server's log says what",
        )
    }

    /// The body of the JSON answer.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({ "error": { "code": self.code, "message": self.message } })
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        match error.code.as_str() {
            "not_found" => Failure::not_found(error.message),
            "bad_request" => Failure::bad_request(error.message),
            "unavailable" => Failure::unavailable(error.message),
            _ => {
                tracing::error!(
                    code = error.code,
                    message = error.message,
                    "the archive failed to answer"
                );
                Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.message)
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, axum::Json(self.to_json())).into_response()
    }
}
