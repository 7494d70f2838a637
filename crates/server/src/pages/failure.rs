//! The page for a request that failed.

use axum::http::StatusCode;
use maud::html;

use super::html::Html;
use crate::failure::{Code, Failure, NOT_READABLE};
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
        _ if matches!(failure.code, Code::InputMissing | Code::InputChanged) => NOT_READABLE,
        StatusCode::UNAUTHORIZED => "Sign in again",
        StatusCode::FORBIDDEN => "You do not have access to this page",
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
            @if signs_in { p { "Sign in with a token that has access. The administrator of the archive issues tokens." } }
            p dir="auto" { (present::clean(&sentence(present::cut(&failure.message, 500).0))) }
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

/// Formats a message as a sentence. Messages begin in lower case, as in the API. A URL or the name
/// of a file at the beginning is not changed.
fn sentence(message: &str) -> String {
    let mut rest = message.chars();
    let first_word = message.split(' ').next().unwrap_or_default();
    let is_name = first_word.contains("://") || first_word.trim_end_matches('.').contains('.');
    let Some(first) = rest.next() else {
        return String::new();
    };
    let end = if message.ends_with(['.', '!', '?', '\u{2026}']) {
        ""
    } else {
        "."
    };
    if is_name {
        return format!("{message}{end}");
    }
    format!("{}{}{end}", first.to_uppercase(), rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_sentences_on_pages() {
        assert_eq!(sentence("no such page"), "No such page.");
        assert_eq!(sentence("Try again?"), "Try again?");
        assert_eq!(sentence(""), "");
        assert_eq!(
            sentence("http://a.org/: it is gone"),
            "http://a.org/: it is gone."
        );
        assert_eq!(sentence("iana.warc.gz is gone"), "iana.warc.gz is gone.");
    }

    #[test]
    fn a_capture_that_cannot_be_read_is_not_called_not_found() {
        for (status, code, heading) in [
            (StatusCode::NOT_FOUND, Code::NotFound, "Not found"),
            (StatusCode::NOT_FOUND, Code::InputMissing, NOT_READABLE),
            (StatusCode::CONFLICT, Code::InputChanged, NOT_READABLE),
        ] {
            let failure = Failure::new(status, code, "no");
            let shown = page(&failure, Parts::default(), None, false).markup.into_string();
            assert!(shown.contains(&format!("<h1>{heading}</h1>")), "{shown}");
        }
    }

    #[test]
    fn a_refused_reader_is_asked_to_sign_in() {
        let failure = Failure::forbidden("only administrators may do this");
        let shown = |viewer: Option<Viewer>, can_sign_in: bool| {
            page(&failure, Parts::default(), viewer, can_sign_in)
                .markup
                .into_string()
        };
        let stranger = shown(None, true);
        for part in [
            "<h1>You do not have access to this page</h1>",
            "Sign in with a token",
            "href=\"/sign-in\">Sign in<",
            "Only administrators may do this.",
        ] {
            assert!(stranger.contains(part), "{part} is not in {stranger}");
        }
        let signed_in = Viewer {
            name: "readers".into(),
            can_sign_in: true,
            is_signed_in: true,
        };
        let known = shown(Some(signed_in), true);
        assert!(!known.contains("Sign in with"), "{known}");
        assert!(!shown(None, false).contains("Sign in"), "no sign-in page");
    }
}
