//! The head of a request, interpreted as s3s interprets it.

use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use crate::operation::{self, About, Named};
use crate::query::Query;
use crate::refusal::Refusal;

/// The head of a request.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

impl<'a> Head<'a> {
    /// Returns the head of `request`.
    pub(crate) fn of<B>(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
        }
    }

    /// Returns names and values of the query, decoded as s3s decodes them.
    pub(super) fn query(
        self,
    ) -> impl Iterator<Item = (std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)> {
        form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes())
    }

    pub(super) fn asks(self, name: &str) -> bool {
        self.query().any(|(found, _)| found == name)
    }

    /// Returns the requested operation; `None` for a request without a bucket, or a preflight.
    pub(crate) fn operation(self) -> Option<Result<Named, Refusal>> {
        let path = percent_decode_str(self.uri.path()).decode_utf8_lossy();
        let path = path.strip_prefix('/').unwrap_or(&path);
        if path.is_empty() || *self.method == Method::OPTIONS {
            return None;
        }
        let about = match path.split_once('/') {
            None | Some((_, "")) => About::Bucket,
            Some(_) => About::Object,
        };
        Some(operation::named(&operation::Request {
            method: self.method,
            about,
            query: &Query::of(self.uri),
            headers: self.headers,
            is_form: self.is_form(),
        }))
    }

    /// Reports whether s3s may take the request for a browser's form. This covers more than real
    /// forms, because s3s parses the content type in its own way.
    pub(crate) fn is_form(self) -> bool {
        let is_multipart = |value: &http::HeaderValue| {
            let start = value.as_bytes().trim_ascii_start().get(..10);
            start.is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/"))
        };
        let mut types = self.headers.get_all(http::header::CONTENT_TYPE).iter();
        *self.method == Method::POST && types.any(is_multipart)
    }
}
