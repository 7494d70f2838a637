//! Pages of the archive in the origin of a site. They contain no captures, because scripts of the
//! site can read them.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use replay::origin::{INSTALL_PATH, Origins};

use super::policy::Kind;
use crate::failure::Failure;
use crate::present;

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

const STYLE: &str = "body{font:1rem/1.6 system-ui,sans-serif;margin:2rem;color:#1e2226;background:#fff}";

/// Returns the page that installs the worker.
pub(super) fn install() -> Response {
    small(html! {
        p id="state" role="status" {}
        script src=(INSTALL_PATH) {}
    })
}

/// Returns the page that deletes what a site stored in the browser, and the worker.
pub(super) fn clear() -> Response {
    let mut response = small(html! { p { "What this site stored in the browser is deleted." } });
    // The second value contains the registration of the worker (Clear Site Data, section 3.1).
    let values = HeaderValue::from_static("\"cache\", \"cookies\", \"storage\"");
    response.headers_mut().insert(CLEAR_SITE_DATA, values);
    response
}

fn small(content: Markup) -> Response {
    let page = page("Weft", html! {}, content);
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let mut response = (headers, page.into_string()).into_response();
    response.extensions_mut().insert(Kind::Small);
    response
}

/// Returns the page of a frame whose URL has no capture. The script at its head tells the archive's
/// page where the reader is.
pub(super) fn missing(failure: &Failure, origins: &Origins, url: &str, time: &str) -> Response {
    let title = if failure.status == StatusCode::NOT_FOUND {
        "Not captured"
    } else {
        "Not shown"
    };
    let content = html! {
        h1 { (title) }
        p dir="auto" { (present::clean(&failure.message)) }
    };
    let page = page(title, PreEscaped(origins.head_tags("", url, time)), content);
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (failure.status, headers, page.into_string()).into_response()
}

/// Returns a failure as text.
pub(super) fn refused(failure: &Failure) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    let mut response = (failure.status, headers, failure.message.clone()).into_response();
    response.extensions_mut().insert(Kind::Small);
    response
}

/// Returns a page with an element at its head.
fn page(title: &str, head: Markup, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head)
                meta charset="utf-8";
                title { (title) }
                style { (STYLE) }
            }
            body { (content) }
        }
    }
}
