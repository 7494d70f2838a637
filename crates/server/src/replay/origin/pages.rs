//! Pages of the archive in the origin of a site. They contain no captures, because scripts of the
//! site can read them.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use replay::origin::{INSTALL_PATH, Origins};

use super::super::frame;
use super::policy::Kind;
use crate::failure::Failure;
use crate::present;

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

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
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Weft" }
                style { (frame::STYLE) }
            }
            body { (content) }
        }
    };
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
    let title = frame::title_of(failure);
    let text = html! { p dir="auto" { (present::clean(&failure.message)) } };
    let head = PreEscaped(origins.head_tags("", url, time));
    frame::notice(failure.status, title, &text, head)
}

/// Returns a failure as text.
pub(super) fn refused(failure: &Failure) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    let mut response = (failure.status, headers, failure.message.clone()).into_response();
    response.extensions_mut().insert(Kind::Small);
    response
}
