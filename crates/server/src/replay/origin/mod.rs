//! Archived sites in their own origins: `https--www-example-com.20140126200624.replay.localhost`.
//!
//! | request | response |
//! |---|---|
//! | a frame | the small page. It installs the service worker of the origin, and loads the address again |
//! | a separate window | a redirect to the archive's page around the site |
//! | of the worker for the script, or for a capture ([`is_get`]) | it |
//! | a script of the archive, a redirect ([`TO_PATH`]) | it |
//! | anything else | 403, without content |
//!
//! Invariants:
//! - A capture becomes a document only through the worker. The worker requests it as data
//!   (`Sec-Fetch-Dest: empty`), which no frame and no element does. Pages cannot set this header.
//!   So every document has the worker, which answers its requests, also after a reload without the
//!   worker.
//! - A page reads no other site. The worker asks the host `web` for resources of other sites, so
//!   they have another origin, and the browser applies the rules of the live web (CORS).
//! - The origins accept no cookies and no tokens, like the rest of the port.

mod fetch;
mod pages;
mod policy;
mod resource;
mod visit;

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use replay::origin::{
    HEAD, HEAD_PATH, INSTALL, INSTALL_PATH, OWN_PREFIX, Site, TO_PATH, WORKER, WORKER_PATH, is_get,
};
use url::Url;

use self::fetch::Fetch;
pub(super) use self::visit::Visit;
use super::headers::set;
use super::port;
use crate::failure::Failure;
use crate::query::Query;
use crate::state::Common;

/// Header with the paths that a service worker may answer (Service Workers, section 4.4).
const SERVICE_WORKER_ALLOWED: HeaderName = HeaderName::from_static("service-worker-allowed");

/// Path of the page that deletes what the site stored.
const CLEAR_PATH: &str = "/__weft/clear";

/// Responds to a request to an origin.
pub(super) async fn respond(state: &Arc<Common>, visit: &Visit, mut request: Request) -> Response {
    let begun = system::now();
    let mut response = match port::identify(state, &mut request).await {
        Ok(()) => answered(state, visit, request).await,
        Err(failure) => pages::refused(&failure),
    };
    policy::confine(&mut response, visit);
    let status = response.status().as_u16();
    state.counters.answered("replay", status, system::since(begun));
    response
}

async fn answered(state: &Arc<Common>, visit: &Visit, request: Request) -> Response {
    if is_get(request.uri().path()) && Fetch::of(request.headers()).is_data(visit) {
        if request.method() == Method::OPTIONS {
            return resource::preflight(visit, request.headers());
        }
        return resource::respond(state, visit, request).await;
    }
    let fetch = Fetch::of(request.headers());
    let path = request.uri().path();
    match path {
        HEAD_PATH => script(HEAD.to_owned()),
        INSTALL_PATH => script(INSTALL.to_owned()),
        WORKER_PATH if fetch.is_for_a_worker() => worker(visit),
        TO_PATH if fetch.is_navigation() => to(state, visit, &Query::of(request.uri().query())),
        CLEAR_PATH if fetch.is_frame() => pages::install(),
        _ if path.starts_with(OWN_PREFIX) => pages::refused(&nothing_here()),
        _ if fetch.is_frame() && visit.site.is_some() => pages::install(),
        _ if fetch.is_window() => around(state, visit, &request),
        _ => pages::refused(&nothing_here()),
    }
}

fn nothing_here() -> Failure {
    Failure::forbidden(
        "this address belongs to an archived site, which a browser shows in a frame of the archive",
    )
}

fn script(text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

/// Returns the service worker.
fn worker(visit: &Visit) -> Response {
    let Some(site) = &visit.site else {
        return pages::refused(&Failure::not_found(
            "this site is not known; open the page again from the archive",
        ));
    };
    // A host may have quotation marks. It is ASCII, which Rust escapes as scripts do.
    let mut response = script(format!("const SITE = {:?};\n{WORKER}", site.as_str()));
    // Without it the worker would only get requests for paths next to its own.
    set(&mut response, SERVICE_WORKER_ALLOWED, "/");
    response.extensions_mut().insert(policy::Kind::Worker);
    response
}

/// Redirects to the address of a site, and remembers its digest.
fn to(state: &Common, visit: &Visit, query: &Query) -> Response {
    let url = query.get("url").and_then(|url| Url::parse(url).ok());
    let Some((site, url)) = url.and_then(|url| Some((Site::of(&url)?, url))) else {
        return pages::refused(&Failure::bad_request("parameter url is not a web URL"));
    };
    if let Some(place) = state.replay_origin() {
        place.digests.learn(&site);
    }
    let address = visit.origins.address(&url).unwrap_or_default();
    let mut response = StatusCode::FOUND.into_response();
    set(&mut response, header::LOCATION, &address);
    response
}

/// Redirects a window to the archive's page with this site in a frame.
fn around(state: &Common, visit: &Visit, request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let (Some(place), Some(site)) = (state.replay_origin(), &visit.site) else {
        return pages::refused(&nothing_here());
    };
    let archive = match &place.settings.url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => format!("http://localhost:{}", place.main_port),
    };
    let mut response = StatusCode::FOUND.into_response();
    set(
        &mut response,
        header::LOCATION,
        &format!("{archive}/replay/{}/{site}{path}", visit.time),
    );
    response
}
