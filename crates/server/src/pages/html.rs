//! Input and output types of page handlers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::Markup;
use ui::PAGE_POLICY;

use crate::failure::Failure;

/// A page, or a part of one that the script inserts.
pub(crate) struct Html {
    pub(crate) status: StatusCode,
    pub(crate) markup: Markup,
}

impl Html {
    pub(crate) fn ok(markup: Markup) -> Html {
        Html {
            status: StatusCode::OK,
            markup,
        }
    }

    /// Returns the response with the page, which may contain frames of `origin`.
    pub(crate) fn with_frames_of(self, origin: &str) -> Response {
        let mut response = self.into_response();
        let policy = PAGE_POLICY.replace("frame-src 'self'", &format!("frame-src {origin}"));
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            response
                .headers_mut()
                .insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let headers = [
            (
                header::CONTENT_TYPE,
                HeaderValue::from_static("text/html; charset=utf-8"),
            ),
            (
                header::CONTENT_SECURITY_POLICY,
                HeaderValue::from_static(PAGE_POLICY),
            ),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        ];
        (self.status, headers, self.markup.into_string()).into_response()
    }
}

/// A failure to show as a page. The response carries it to the code that all responses pass
/// (`routes`), because the page's navigation depends on whether the server has a store.
pub(crate) struct PageFailure(Failure);

impl From<Failure> for PageFailure {
    fn from(failure: Failure) -> PageFailure {
        PageFailure(failure)
    }
}

impl From<archive::AskError> for PageFailure {
    fn from(error: archive::AskError) -> PageFailure {
        PageFailure(error.into())
    }
}

impl IntoResponse for PageFailure {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        response.extensions_mut().insert(self.0);
        response
    }
}

/// Result of a page handler.
pub(super) type PageResult = Result<Html, PageFailure>;

pub(super) use crate::state::Context;

/// Returns an answer that a page can do without. If it failed, returns `None`, and its part of the
/// page is left out.
pub(super) fn optional<A>(answer: crate::archive_client::Outcome<A>) -> Option<A> {
    match answer {
        Ok(answer) => Some(answer.body),
        Err(error) => {
            if error.code != archive::ErrorCode::NotFound {
                tracing::warn!(
                    code = error.code.name(),
                    message = error.message,
                    "cannot show part of a page"
                );
            }
            None
        }
    }
}
