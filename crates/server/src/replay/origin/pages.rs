//! Pages of the archive in the origin of a site. They contain no captures, because scripts of the
//! site can read them.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use replay::origin::{INSTALL_PATH, Origins};

use super::super::frame;
use super::policy::Kind;
use crate::failure::Failure;
use crate::present;

/// Returns the page that installs the worker. At the path that clears a site, its script deletes what
/// the site stored instead. `Clear-Site-Data` would also remove the worker, and documents that are
/// open would send requests to the live web.
pub(super) fn install() -> Response {
    small(html! {
        p id="state" role="status" {}
        script src=(INSTALL_PATH) {}
    })
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
