//! `/sandbox/content`: shows archived content where it can do no harm.
//!
//! Content runs no script, submits no form, opens no window, reaches no network and has no origin,
//! so it has neither cookies nor storage. The headers alone guarantee this ([`POLICY`]), even if
//! the address is opened outside of the page's frame. There is one gap: for some references
//! (frames, `<link rel=preconnect>`) browsers open connections before they check the policy. So
//! HTML is rewritten without anything that a connection could be opened for
//! ([`replay::sandbox`]). The headers allow one thing: a click on a link may leave the frame, and
//! links lead to pages of this server. Only types that browsers display themselves are sent with
//! their type. Browsers must not guess types (`nosniff`), and all other content is a download.
//!
//! Content is read while it is sent (`content`), of at most [`crate::limits::CONTENTS_MAX`] records
//! at a time, because a few bytes may decode to any number.

mod content;
mod show;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use archive::Interrupt;
use archive::question::RecordBody;
use axum::Extension;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, html};

use crate::failure::{Code, Failure};
use crate::peer::Peer;
use crate::query::Query;
use crate::record::content_of;
use crate::state::{Context, State};
use crate::stream::{self, CancelOnDrop};
use crate::{present, record, record_failure};
use content::Content;
pub(crate) use show::worth_showing;
use show::{Show, can_show, shown};

/// The Content-Security-Policy: `sandbox` with one exception, and no fetching. Pictures in `data:`
/// URLs and the page's own styles are allowed. The last three directives are named because they do
/// not fall back to `default-src` (CSP Level 3).
const POLICY: &str = "sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
    form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/// Headers of every answer here, failures included.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Without this, browsers look up host names in links before a click.
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (header::CACHE_CONTROL, "no-cache"),
];

/// Handles `/sandbox/content?url=&at=&capture=`. Failures are shown in the frame too, under the
/// same policy.
pub(crate) async fn content(
    Context(state): Context,
    peer: Option<Extension<Peer>>,
    query: Query,
) -> Response {
    // Without a connection the request comes from this process.
    let client = peer.map_or(IpAddr::from(Ipv4Addr::LOCALHOST), |Extension(Peer(peer))| {
        peer.ip()
    });
    let mut response = match find(&state, &query, client).await {
        Ok(response) => response,
        Err(failure) => said(&failure),
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn find(state: &State, query: &Query, client: IpAddr) -> Result<Response, Failure> {
    let Some(url) = query.owned("url") else {
        return Err(Failure::bad_request("parameter url is missing"));
    };
    let (_, found) = record::locate(&state.archive, url, query.moment("at")?, query.owned("capture")).await?;
    let found = content_of(found)?;
    let kind = found.capture.kind;
    if !can_show(&found.capture.mime, kind) {
        return Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::NotShown,
            format!(
                "content of type {} cannot be shown here; download the record instead",
                found.capture.mime
            ),
        ));
    }
    let (show, media) = shown(&found.capture.mime, kind);
    // Acquired before the record is opened, because opening already reads and decodes its
    // beginning.
    let place = state.contents.take(client).await;
    let capture = found.capture.clone();
    let interrupt = Interrupt::after(state.settings.content_max);
    let cancel = CancelOnDrop(interrupt.clone());
    let content = state
        .archive
        .blocking(move |source| Content::open(&source.sources(), &found, show, &interrupt, place))
        .await?
        .map_err(|error| record_failure::record_failure(&capture, &error))?;
    let patience = Some(state.settings.content_max);
    let mut response = Response::new(stream::body(state.archive.clone(), content, cancel, patience));
    let media = HeaderValue::try_from(media).unwrap_or(HeaderValue::from_static("text/plain"));
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    Ok(response)
}

/// Time that a page waits for the title in its content.
const TITLE_TIME_MAX: Duration = Duration::from_secs(2);

/// Returns the title in a capture's own content, or `None` if the capture is not a page or cannot
/// be read in time.
pub(crate) async fn title(state: &State, record: RecordBody) -> Option<String> {
    let found = content_of(record).ok()?;
    if !matches!(shown(&found.capture.mime, found.capture.kind).0, Show::Html) {
        return None;
    }
    let place = state.contents.try_take()?;
    let interrupt = Interrupt::after(TITLE_TIME_MAX.min(state.settings.content_max));
    let title = state.archive.blocking(move |source| {
        let title = content::title(&source.sources(), &found, &interrupt);
        drop(place);
        title
    });
    title.await.ok()?
}

fn said(failure: &Failure) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Not shown" }
                style { "body{font:1rem/1.6 system-ui,sans-serif;margin:2rem;color:#1e2226;background:#fff}" }
            }
            body { p dir="auto" { (present::clean(&failure.message)) } }
        }
    };
    let mut response = (failure.status, page.into_string()).into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    response
}
