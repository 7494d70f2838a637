//! A response that refuses a request, made before s3s sees the request or in place of s3s's
//! response.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use s3s::{Body, S3Error};

use crate::error::fault;
use crate::xml;

/// An S3 error as sent to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// S3's error code.
    pub(crate) code: &'static str,
    /// Human-readable message.
    pub(crate) message: String,
    /// An additional element of the document: its name and text.
    pub(crate) more: Option<(&'static str, String)>,
}

impl Refusal {
    /// Creates a refusal without an additional element.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            more: None,
        }
    }

    /// Creates a refusal with status 400.
    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Creates a refusal with status 403.
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "AccessDenied", message)
    }

    /// Adds an element to the document.
    pub(crate) fn and(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.more = Some((name, text.into()));
        self
    }

    /// Returns the error as XML.
    pub(crate) fn document(&self) -> String {
        let more = self.more.as_ref();
        let more = more.map(|(name, text)| format!("<{name}>{}</{name}>", xml::escape(text)));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>{}</Error>",
            self.code,
            xml::escape(&self.message),
            more.unwrap_or_default(),
        )
    }

    /// Converts to an error for s3s, without the additional element.
    pub(crate) fn into_error(self) -> S3Error {
        let mut error = fault(self.code, self.message);
        error.set_status_code(self.status);
        error
    }

    /// Returns the HTTP response.
    pub(crate) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.document()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        response
    }
}
