//! The page around an archived document that is opened directly on the replay origin, and the page
//! for a missing document.

use archive::question::CdxRow;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use replay::{Address, Modifier, Scripts};

use super::policy;
use super::request::CaptureRequest;
use crate::failure::{Code, Failure, NOT_READABLE};
use crate::present;

/// Policy of this page: it may contain only a frame of this origin, and no script in the frame can
/// navigate it elsewhere. The port adds the sites that may show this page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; form-action 'none'; base-uri 'none'";

/// Style of the archive's pages that replace captures.
pub(super) const STYLE: &str =
    "body{font:1rem/1.6 system-ui,sans-serif;margin:2rem;color:#1e2226;background:#fff}";

/// Header with the capture time of a response (RFC 7089, section 2.1.1).
const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// Returns whether a reader opens an address directly, or in a frame of another site. Addresses in
/// frames of the archive have a modifier or a key.
pub(super) fn is_alone(asked: &HeaderMap, address: &Address) -> bool {
    let value = |name: &str| asked.get(name).and_then(|value| value.to_str().ok());
    match value("sec-fetch-dest") {
        Some("document") => true,
        // The page around the document keeps it in the archive, which another site would not do.
        Some("iframe" | "frame" | "embed" | "object") => {
            address.modifier == Modifier::None && address.key.is_empty()
        }
        Some(_) => false,
        // Browsers send this header only over TLS and to this machine. Otherwise the address
        // decides, and whether the client is a browser.
        None => {
            address.modifier == Modifier::None
                && value("accept").is_some_and(|accept| accept.contains("text/html"))
        }
    }
}

/// Returns the frame that shows `address`.
pub(super) fn element(src: &str, title: &str, scripts: Scripts) -> Markup {
    html! {
        iframe.replay name=(replay::FRAME_NAME) title=(title) sandbox=(policy::sandbox(scripts)) src=(src) {}
    }
}

/// Returns the frame that shows `address` in the origin of its site. The script of the page loads it,
/// and shows `src` if the browser cannot.
pub(super) fn element_in_origin(address: &str, src: &str, title: &str, scripts: Scripts) -> Markup {
    html! {
        iframe.replay name=(replay::FRAME_NAME) title=(title) sandbox=(policy::sandbox(scripts)) data-address=(address) data-path=(src) {}
        noscript { (element(src, title, scripts)) }
    }
}

/// Returns a small frame that shows the archived page at `src` within a page of the archive. It has
/// the name that links of archived pages open in, but not the class by which the bar's script finds
/// its frame: a reader who follows a link stays on the page around this one.
pub(crate) fn preview(src: &str, scripts: Scripts) -> Markup {
    html! {
        iframe name=(replay::FRAME_NAME) title="Archived page" sandbox=(policy::sandbox(scripts)) loading="lazy" tabindex="0" src=(src) {}
    }
}

/// Returns a page that contains only the frame of an archived page.
pub(super) fn alone(address: &Address, key: &str, scripts: Scripts) -> Response {
    let framed = Address {
        key: key.to_owned(),
        modifier: Modifier::Page,
        ..address.clone()
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (present::clean(&address.url)) }
                style { "html,body,iframe{margin:0;border:0;width:100%;height:100%}body{overflow:hidden}" }
            }
            body { (element(&framed.to_string(), "Archived page", scripts)) }
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, page.into_string()).into_response()
}

/// Returns the title of the page for a missing document.
pub(super) fn title_of(failure: &Failure) -> &'static str {
    match failure.code {
        Code::NotFound => "Not captured",
        Code::InputMissing | Code::InputChanged => NOT_READABLE,
        _ => "Not shown",
    }
}

/// Returns the page for a missing document. Its text reveals nothing about the archive, because
/// scripts can read it.
pub(super) fn missing(failure: &Failure, address: Option<&Address>, scripts: Scripts) -> Response {
    let title = title_of(failure);
    let text = html! { p dir="auto" { (present::clean(&failure.message)) } };
    notice(
        failure.status,
        title,
        &text,
        shim(address.filter(|_| scripts == Scripts::On)),
    )
}

/// Returns the page for redirects without an end, with the captures on the way.
pub(super) fn endless(way: &[CdxRow], request: &CaptureRequest<'_>) -> Response {
    let text = html! {
        p { "These captures redirect to one another. The page itself was not captured near this time." }
        ol {
            @for capture in way {
                li dir="auto" { (capture.fetch_time) " " (capture.status) " " (present::clean(&capture.url)) }
            }
        }
    };
    let address = request.address;
    let head = match request.origins {
        Some(origins) => PreEscaped(origins.head_tags("", &address.url, &address.time)),
        None => shim(Some(address).filter(|_| request.scripts == Scripts::On)),
    };
    notice(StatusCode::LOOP_DETECTED, "Redirects without an end", &text, head)
}

/// Returns the element of the shim, which tells the bar the reader's location. The bar then shows
/// nearby captures.
fn shim(address: Option<&Address>) -> Markup {
    html! {
        @if let Some(address) = address {
            script src=(replay::SHIM_PATH) data-key="" data-time=(address.time) data-url=(address.url) {}
        }
    }
}

/// Returns a page of the archive that replaces a capture, with a script at its head.
pub(super) fn notice(status: StatusCode, title: &str, text: &Markup, script: Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                (script)
                title { (title) }
                style { (STYLE) }
            }
            body {
                h1 { (title) }
                (text)
            }
        }
    };
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (status, headers, page.into_string()).into_response()
}

/// Sets the headers that identify the capture of a response.
///
/// `first` is the origin of the TimeGate, if it is known.
pub(super) fn memento(headers: &mut HeaderMap, capture: &CdxRow, first: Option<&str>) {
    let digits: String = capture.timestamp.chars().take(14).collect();
    let date = format::date::http_date(format::date::ms_of_digits(&digits));
    if let Ok(date) = HeaderValue::from_str(&date) {
        headers.insert(MEMENTO_DATETIME, date);
    }
    let url = &capture.url;
    let mut links = format!("<{url}>; rel=\"original\"");
    if let Some(first) = first {
        links.push_str(&format!(
            ", <{first}/timegate/{url}>; rel=\"timegate\", <{first}/timemap/link/{url}>; rel=\"timemap\"; type=\"application/link-format\""
        ));
    }
    if let Ok(links) = HeaderValue::from_str(&links) {
        headers.append(header::LINK, links);
    }
}
