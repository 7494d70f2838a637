//! The pages for readers. They are rendered here and readable without script.
//!
//! Queries are read leniently: a reader who shortens or mistypes an address gets the best possible page and
//! not an error. Archived text passes only through `parts` or the escaping of `maud`.

mod about;
mod assets;
mod calendar;
mod captures;
mod chart;
mod dated;
mod domain;
pub(crate) mod failure;
mod home;
mod layout;
mod links;
mod loads;
mod page;
mod parts;
mod quarantine;
mod ranking;
mod results;
mod statistics;
pub(crate) mod store;
mod text;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::Markup;

use crate::failure::Failure;
use crate::state::State;

/// The Content-Security-Policy of pages: a page may use its own styles, script and images, ask this server,
/// and show archived content in a frame. Inline script and styles, and anything from other servers, are
/// forbidden.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Routes of all pages and their styles and script.
pub(crate) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/", get(home::show))
        .route("/search", get(results::show))
        .route("/page", get(page::show))
        .route("/page/inlinks", get(links::inlinks))
        .route("/page/outlinks", get(links::outlinks))
        .route("/domain", get(domain::show))
        .route("/domains", get(domain::list))
        .route("/ranking", get(ranking::show))
        .route("/captures", get(captures::show))
        .route("/loads", get(loads::show))
        .route("/loads/live", get(loads::live))
        .route("/quarantine", get(quarantine::show))
        .route("/statistics", get(statistics::show))
        .route("/statistics/live", get(statistics::live))
        .route("/store", get(store::show))
        .route("/store/live", get(store::live))
        .route("/about", get(about::show))
        .merge(assets::routes())
}

/// A page, or a part of one that the script inserts.
pub(crate) struct Html {
    pub(crate) status: StatusCode,
    pub(crate) markup: Markup,
}

impl Html {
    fn ok(markup: Markup) -> Html {
        Html {
            status: StatusCode::OK,
            markup,
        }
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

/// A failure to show as a page. The response carries it to the code that all answers pass (`routes`), because
/// the page's navigation depends on whether the server has a store.
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

/// What a page's handler returns.
type Shown = Result<Html, PageFailure>;

/// The shared state, as handlers get it.
type Context = axum::extract::State<Arc<State>>;

/// The query of a page's address.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn of(query: Option<&str>) -> Query {
        let pairs = url::form_urlencoded::parse(query.unwrap_or("").as_bytes());
        Query(pairs.into_owned().collect())
    }

    /// The first value of `name` that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().filter(|(n, _)| n == name);
        values
            .map(|(_, value)| value.trim())
            .find(|value| !value.is_empty())
    }

    pub(crate) fn owned(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.owned(name).unwrap_or_default()
    }

    /// A time to the millisecond, as digits or an ISO date. Anything else is refused, because the page shown
    /// would not be the one asked for.
    fn moment(&self, name: &str) -> Result<Option<String>, Failure> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let known = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | 'T' | 'Z' | '.' | ' ');
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        if !text.chars().all(known) || !(1..=17).contains(&digits.len()) {
            return Err(Failure::bad_request(format!(
                "{text:?} is no time: 1 to 17 digits are expected, or a date such as 2014-01-26"
            )));
        }
        Ok(Some(digits))
    }

    /// A time, if the text can be one: digits, and the dashes and colons of an ISO date.
    fn time(&self, name: &str) -> Option<String> {
        let digits: String = self
            .get(name)?
            .chars()
            .filter(char::is_ascii_digit)
            .take(14)
            .collect();
        (!digits.is_empty()).then_some(digits)
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query, Self::Rejection> {
        Ok(Query::of(parts.uri.query()))
    }
}

/// An answer that is shown beside another one. If it failed, only its part of the page is left out.
fn beside<A>(answer: crate::ask::Asked<A>) -> Option<A> {
    match answer {
        Ok(answer) => Some(answer.body),
        Err(error) => {
            if error.code != archive::ErrorCode::NotFound {
                tracing::warn!(
                    code = error.code.name(),
                    message = error.message,
                    "part of a page has no answer"
                );
            }
            None
        }
    }
}
