//! A refusal: a response made before s3s sees the request, or in place of the one that s3s made.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use s3s::{Body, S3Error};

use crate::error::fault;
use crate::xml;

/// An S3 error as sent to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// S3's name of the error.
    pub(crate) code: &'static str,
    /// Text for people.
    pub(crate) message: String,
    /// An additional element: its name and text.
    pub(crate) more: Option<(&'static str, String)>,
}

impl Refusal {
    /// A refusal without an additional element.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            more: None,
        }
    }

    /// A refusal with status 400.
    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A refusal with status 403.
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "AccessDenied", message)
    }

    /// Adds an element.
    pub(crate) fn and(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.more = Some((name, text.into()));
        self
    }

    /// The error as XML.
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

    /// The error for s3s, without its additional element.
    pub(crate) fn into_error(self) -> S3Error {
        let mut error = fault(self.code, self.message);
        error.set_status_code(self.status);
        error
    }

    /// The HTTP response.
    pub(crate) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.document()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        response
    }
}
