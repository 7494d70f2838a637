//! The page for a request that failed.

use axum::http::StatusCode;
use maud::html;

use super::html::Html;
use crate::failure::Failure;
use crate::present;
use ui::{Frame, Parts, Section, Viewer};

/// Shows `failure` as a page with its status. `parts` are those of the server's navigation.
pub(crate) fn page(failure: &Failure, parts: Parts, viewer: Option<Viewer>, can_sign_in: bool) -> Html {
    let is_signed_in = viewer.as_ref().is_some_and(|viewer| viewer.is_signed_in);
    let signs_in = can_sign_in
        && match failure.status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => !is_signed_in,
            _ => false,
        };
    let heading = match failure.status {
        StatusCode::UNAUTHORIZED => "Sign in again",
        StatusCode::FORBIDDEN => "Access denied",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::BAD_REQUEST => "Invalid request",
        StatusCode::SERVICE_UNAVAILABLE => "Temporarily unavailable",
        StatusCode::METHOD_NOT_ALLOWED => "Method not allowed",
        _ => "Something went wrong",
    };
    let frame = Frame {
        title: heading,
        section: Section::None,
        parts,
        viewer,
        query: "",
        epoch: None,
    };
    let content = html! {
        section.nothing {
            p.code { (failure.status.as_u16()) }
            h1 { (heading) }
            p dir="auto" { (present::clean(present::cut(&failure.message, 500).0)) }
            p.actions {
                @if signs_in { a.button href="/sign-in" { "Sign in" } }
                a.button.quiet[signs_in] href="/" { "Go to the start page" }
                a.button.quiet href="/captures" { "Look up captures of a URL" }
            }
        }
    };
    Html {
        status: failure.status,
        markup: frame.around(content),
    }
}
