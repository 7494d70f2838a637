//! A capture, as the worker of an archived site asks for it: `/__weft/get?for=image&url=...`.
//! What a path says after that (`/__weft/get/https/cdn.example/a/b.css?...`) is for the browser, which
//! resolves the references of a style against it.
//!
//! | parameter | meaning |
//! |---|---|
//! | `url` | the path and query of the site's own URL, or the URL of another site |
//! | `for` | what the browser uses it for: the destination of the request, or `fetch` |
//! | `loaded` | a resource of another site that a page loads and cannot read |
//! | `range`, `type` | headers that the worker cannot send |

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use replay::origin::{IN_WORKER, Label, Origins, Site, parse_host};
use replay::{Address, Modifier, Scripts};
use url::Url;
use url::form_urlencoded::Serializer;

use super::super::headers::set;
use super::super::policy::WithoutShim;
use super::super::port;
use super::{Visit, pages};
use crate::failure::Failure;
use crate::query::Query;
use crate::state::{Common, State};
use crate::stream::{self, Cut};

/// Headers of the capture, as the response has them.
const CAPTURED_ALLOW_ORIGIN: &str = "x-archive-orig-access-control-allow-origin";
const CAPTURED_NO_SNIFF: &str = "x-archive-orig-x-content-type-options";

/// What a browser uses a response for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Frame,
    /// The script of a worker of the page.
    Worker,
    Resource,
}

/// Responds with a capture.
pub(super) async fn respond(state: &Common, visit: &Visit, request: Request) -> Response {
    let query = Query::of(request.uri().query());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let purpose = match query.get("for") {
        Some("iframe" | "frame") => Purpose::Frame,
        Some("worker" | "sharedworker") => Purpose::Worker,
        _ => Purpose::Resource,
    };
    let Some(url) = url_of(state, visit, &query) else {
        return pages::refused(&Failure::bad_request("parameter url is not a web URL"));
    };
    let mut response = match captured(visit, purpose, &url, &query, request).await {
        Ok(response) => response,
        Err(failure) if purpose == Purpose::Frame => {
            pages::missing(&failure, &visit.origins, &url, &visit.time)
        }
        Err(failure) => pages::refused(&failure),
    };
    if purpose == Purpose::Worker && response.status() == StatusCode::OK {
        response = prepared_worker(response);
    }
    if purpose != Purpose::Frame {
        // Only a document without the script at its head must not run others.
        response.extensions_mut().remove::<WithoutShim>();
    }
    let is_checked = response.headers().contains_key(CAPTURED_NO_SNIFF);
    if purpose == Purpose::Frame || is_checked {
        set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    }
    if visit.label == Label::Others {
        share(
            state,
            &mut response,
            origin.as_ref(),
            query.get("loaded").is_some(),
        );
    }
    response
}

/// Returns the captured URL that a request is for. A page may also know the address of a site here.
fn url_of(state: &Common, visit: &Visit, query: &Query) -> Option<String> {
    let asked = query.get("url")?;
    if asked.starts_with('/') {
        return visit.site.as_ref().map(|site| format!("{site}{asked}"));
    }
    // Scripts of a site can read all responses of its own origin.
    if visit.label != Label::Others {
        return None;
    }
    let url = Url::parse(asked).ok()?;
    let place = state.replay_origin()?;
    let host = url.host_str().and_then(|host| parse_host(host, place.domain()?));
    match host.and_then(|host| place.digests.site(&host.label)) {
        Some(site) => Some(format!(
            "{site}{}",
            &url[url::Position::BeforePath..url::Position::AfterQuery]
        )),
        None => Site::of(&url).map(|_| asked.to_owned()),
    }
}

async fn captured(
    visit: &Visit,
    purpose: Purpose,
    url: &str,
    query: &Query,
    mut request: Request,
) -> Result<Response, Failure> {
    let state = request.extensions().get::<Arc<State>>().cloned();
    let state = state.ok_or_else(Failure::internal)?;
    let address = Address {
        key: String::new(),
        time: visit.time.clone(),
        modifier: match purpose {
            Purpose::Frame => Modifier::Page,
            Purpose::Worker | Purpose::Resource => Modifier::Raw,
        },
        url: url.to_owned(),
    };
    let headers = request.headers_mut();
    // What the browser says is about the worker's request, not the page's.
    headers.remove("sec-fetch-dest");
    for (parameter, name) in [("range", header::RANGE), ("type", header::CONTENT_TYPE)] {
        if let Some(value) = query
            .get(parameter)
            .and_then(|value| HeaderValue::from_str(value).ok())
        {
            headers.insert(name, value);
        }
    }
    let origins = match purpose {
        Purpose::Frame => visit.origins.clone(),
        Purpose::Worker | Purpose::Resource => visit.origins.clone().of_resource(parameters(query)),
    };
    request.extensions_mut().insert::<Origins>(origins);
    port::answered(&state, &address, request, Scripts::On).await
}

/// Returns the parameters that a redirect repeats.
fn parameters(query: &Query) -> String {
    let mut parameters = Serializer::new(String::new());
    for name in ["for", "loaded", "range", "type"] {
        if let Some(value) = query.get(name) {
            parameters.append_pair(name, value);
        }
    }
    parameters.finish()
}

/// Puts a script before that of a worker. A byte order mark after it is white space for a browser.
fn prepared_worker(response: Response) -> Response {
    let (mut parts, mut body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let (sender, prepared) = stream::channel();
    tokio::spawn(async move {
        let mut before = Some(IN_WORKER);
        loop {
            let piece = match body.frame().await {
                Some(Ok(frame)) => {
                    let data = frame.into_data().unwrap_or_default();
                    Ok(match before.take() {
                        Some(before) => Bytes::from([before.as_bytes(), &data].concat()),
                        None => data,
                    })
                }
                Some(Err(error)) => Err(Cut(error.to_string())),
                None => return,
            };
            // Sending fails when the client has gone.
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
    Response::from_parts(parts, prepared)
}

/// Lets the page of `origin` read a resource of another site, if the capture allows it.
fn share(state: &Common, response: &mut Response, origin: Option<&HeaderValue>, is_loaded: bool) {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let (Some(origin), Some(site)) = (origin, origin.and_then(|origin| site_of(state, origin))) else {
        return;
    };
    let allowed = headers
        .get_all(CAPTURED_ALLOW_ORIGIN)
        .iter()
        .any(|value| value == "*" || value == site.as_str());
    // A redirect is followed to what may be read.
    let redirects = is_redirect && headers.contains_key(header::LOCATION);
    if allowed || is_loaded || redirects {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("*"),
        );
    }
}

/// Returns the archived site of an origin here.
fn site_of(state: &Common, origin: &HeaderValue) -> Option<Site> {
    let place = state.replay_origin()?;
    let (_, host) = origin.to_str().ok()?.split_once("://")?;
    place.digests.site(&parse_host(host, place.domain()?)?.label)
}

/// Responds to the question whether a page may send a request to another site. The response to the
/// request itself decides what the page may read.
pub(super) fn preflight(visit: &Visit, headers: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(origin) = headers
        .get(header::ORIGIN)
        .filter(|_| visit.label == Label::Others)
    {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        for name in [
            header::ACCESS_CONTROL_ALLOW_METHODS,
            header::ACCESS_CONTROL_ALLOW_HEADERS,
        ] {
            headers.insert(name, HeaderValue::from_static("*"));
        }
    }
    response
}
