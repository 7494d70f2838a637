//! The replay origin: the routes of its port, and the steps common to all its requests.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use archive::question::CdxRow;
use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use replay::origin::Origins;
use replay::{Address, Modifier, PREFIX, SHIM, SHIM_PATH, Scripts};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use super::answer;
use super::posted::RequestMatch;
use super::request::CaptureRequest;
use super::{find, frame, origin, policy, posted};
use crate::failure::Failure;
use crate::health::{health, robots};
use crate::peer::Peer;
use crate::state::{Common, State};

/// Header that says how the request of the capture differs from the request for it.
const OTHER_REQUEST: HeaderName = HeaderName::from_static("weft-request");

const METHODS_ONLY: &str = "only GET, HEAD, POST, PUT, PATCH and DELETE are supported";

/// Returns the whole port as one service.
pub(crate) fn router(state: Arc<Common>) -> Router {
    Router::new()
        .route(SHIM_PATH, get(shim))
        .route("/healthz", get(health))
        .route("/robots.txt", get(robots))
        .fallback(any(captured))
        .layer(from_fn_with_state(Arc::clone(&state), around))
        .layer(from_fn_with_state(Arc::clone(&state), by_host))
        .layer(
            CompressionLayer::new().compress_when(
                SizeAbove::new(1024)
                    .and(NotForContentType::IMAGES)
                    .and(NotForContentType::const_new("audio/"))
                    .and(NotForContentType::const_new("video/"))
                    .and(NotForContentType::const_new("application/octet-stream")),
            ),
        )
        .with_state(state)
}

async fn shim() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, SHIM).into_response()
}

/// Answers requests to the origins of archived sites. The routes of this port answer all others.
async fn by_host(Shared(state): Shared<Arc<Common>>, request: Request, next: Next) -> Response {
    match origin::Visit::of(&state, request.headers()) {
        Some(visit) => origin::respond(&state, &visit, request).await,
        None => next.run(request).await,
    }
}

/// Checks the host name, identifies the client, and confines every response.
async fn around(Shared(state): Shared<Arc<Common>>, mut request: Request, next: Next) -> Response {
    let asked = request.headers().clone();
    let begun = system::now();
    let host = host_of(&asked);
    let scripts = state
        .replay_origin()
        .map_or(Scripts::Off, |place| place.scripts());
    let key = state.replay_origin().map_or("", |place| &place.key).to_owned();
    let is_keyed =
        Address::parse(path(request.uri())).is_ok_and(|address| !key.is_empty() && address.key == key);
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = match admit(&state, &mut request).await {
        Err(failure) => frame::missing(&failure, None, scripts),
        Ok(()) if asked.contains_key("service-worker") => answer::no_service_worker(),
        Ok(()) if is_preflight => preflight(),
        Ok(()) => next.run(request).await,
    };
    let scripts = match response.extensions().get::<policy::WithoutShim>() {
        Some(_) => Scripts::Off,
        None => scripts,
    };
    let headers = response.headers_mut();
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        policy::confine(headers, &host, scripts);
    }
    // Other sites do not know the key. A keyed document must not have this directive, because it
    // would also refuse frames of archived documents, whose origin is opaque.
    if let Some(place) = state.replay_origin().filter(|_| !is_keyed) {
        policy::add_directive(headers, &policy::ancestors(place, &asked));
    }
    policy::share(&asked, is_keyed, headers);
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("private, no-cache"));
    let status = response.status().as_u16();
    state.counters.answered("replay", status, system::since(begun));
    response
}

fn host_of(asked: &HeaderMap) -> String {
    let host = asked.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or_default().to_owned()
}

/// Gives a request the archive as the public may see it, or the groups named by a proxy. The
/// reader's session is ignored, because the request may come from an archived script.
async fn admit(state: &Arc<Common>, request: &mut Request) -> Result<(), Failure> {
    match state.check_host(request) {
        Some(failure) => Err(failure),
        None => identify(state, request).await,
    }
}

/// Does the same after the host name was checked.
pub(super) async fn identify(state: &Arc<Common>, request: &mut Request) -> Result<(), Failure> {
    request.headers_mut().remove(header::COOKIE);
    request.headers_mut().remove(header::AUTHORIZATION);
    let asking = state.authenticator.identify(request)?;
    let sight = state.sight(&asking).await?;
    request.extensions_mut().insert(state.seen_by(asking, sight));
    Ok(())
}

fn preflight() -> Response {
    let headers = [
        (
            header::ACCESS_CONTROL_ALLOW_METHODS,
            "GET, HEAD, POST, PUT, PATCH, DELETE",
        ),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "*"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Responds with the capture that the address names.
async fn captured(Shared(common): Shared<Arc<Common>>, request: Request) -> Response {
    let scripts = common
        .replay_origin()
        .map_or(Scripts::Off, |place| place.scripts());
    let Some(state) = request.extensions().get::<Arc<State>>().cloned() else {
        return Failure::internal().into_response();
    };
    let address = match Address::parse(path(request.uri())) {
        Ok(address) => address,
        Err(error) if path(request.uri()).starts_with(PREFIX) => {
            return frame::missing(&Failure::bad_request(error.to_string()), None, scripts);
        }
        Err(error) => return frame::missing(&Failure::not_found(error.to_string()), None, scripts),
    };
    if request.method() == Method::GET
        && frame::is_alone(request.headers(), &address)
        && address.modifier != Modifier::Raw
    {
        let key = common.replay_origin().map_or("", |place| &place.key);
        return frame::alone(&address, key, scripts);
    }
    match answered(&state, &address, request, scripts).await {
        Ok(response) => response,
        Err(failure) => frame::missing(&failure, Some(&address), scripts),
    }
}

/// Responds with a capture. A request to the origin of an archived site has [`Origins`] as an
/// extension.
pub(super) async fn answered(
    state: &State,
    address: &Address,
    request: Request,
    scripts: Scripts,
) -> Result<Response, Failure> {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or(IpAddr::from(Ipv4Addr::LOCALHOST), |Peer(peer)| peer.ip());
    let (parts, body) = request.into_parts();
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    let origins = parts.extensions.get::<Origins>();
    let (found, opened, compared) = match parts.method {
        Method::GET | Method::HEAD => {
            let asked = address.clone();
            let in_origin = origins.is_some();
            let is_wanted = move |capture: &CdxRow| in_origin || is_exact(&asked, capture);
            let (found, opened) =
                find::nearest_opened(&state.archive, &address.url, &address.time, is_wanted).await?;
            let compared = RequestMatch::of(&found.capture, &parts.method);
            (found, opened, compared)
        }
        Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {
            let request = (&parts.method, &parts.headers);
            let (found, compared) = posted::find(&state.archive, address, request, body).await?;
            (found, None, compared)
        }
        _ => return Err(Failure::bad_request(METHODS_ONLY)),
    };
    let capture = &found.capture;
    // The host of the origin of a site has the time of all its pages.
    if origins.is_none() && is_read && !is_exact(address, capture) {
        let exact = Address {
            time: capture.timestamp.clone(),
            ..address.clone()
        };
        return Ok(found_at(&exact.to_string()));
    }
    let request = CaptureRequest {
        address,
        key: state.replay_origin().map_or("", |place| &place.key),
        headers: &parts.headers,
        peer,
        scripts,
        origins,
    };
    let mut response = answer::respond(state, &request, found, opened).await?;
    if let Some(name) = compared.name() {
        let headers = response.headers_mut();
        headers.insert(OTHER_REQUEST, HeaderValue::from_static(name));
    }
    Ok(response)
}

/// Returns whether an address needs no redirect. The time of a page decides which captures its
/// references lead to, so its address must contain the exact time.
fn is_exact(address: &Address, capture: &CdxRow) -> bool {
    let is_page = matches!(address.modifier, Modifier::None | Modifier::Page | Modifier::Raw);
    !is_page || address.time.starts_with(&capture.timestamp)
}

fn found_at(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(location) => (StatusCode::FOUND, [(header::LOCATION, location)]).into_response(),
        Err(_) => Failure::bad_request("this address cannot be sent in a header").into_response(),
    }
}

/// Returns path and query of an address on this port, for the main port.
pub(super) fn path(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}
