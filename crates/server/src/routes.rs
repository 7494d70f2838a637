//! All routes, and the steps common to all requests: check of the host name, metrics, the time
//! limit, headers, entity tags and compression.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State as Shared};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use export::ExportFormat;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use ui::Parts;

use crate::admit::{admit, is_arrival};
use crate::api;
use crate::api::cdx::{ANY_INDEX, COLLECTION_INDEX, INDEX};
use crate::api::table::ENDPOINTS;
use crate::entity_tags;
use crate::failure::{Code, Failure};
use crate::health::{HEALTH_PATH, health, robots};
use crate::mcp_http::{self, MCP_PATH};
use crate::memento;
use crate::pages::{self, PageFailure};
use crate::sandbox;
use crate::sites;
use crate::sql;
use crate::state::{Common, State};

/// Paths whose failures are JSON. Failures of all other paths are pages.
const API_PREFIXES: [&str; 10] = [
    "/api",
    "/cdx",
    "/collinfo.json",
    "/outbackcdx",
    "/record",
    MCP_PATH,
    "/metrics",
    "/search.atom",
    "/timegate",
    "/timemap",
];

/// Navigation for a client that is not identified: the same as for one that sees nothing.
const ANONYMOUS_PARTS: Parts = Parts {
    archive: true,
    running: false,
    store: false,
    sql: false,
    files: false,
    cache: false,
};

/// Limit of a value in an address, in bytes: values must be shorter. URL keys have the same limit
/// (`docs/format-index.md`), and the HTTP library refuses all addresses above 65,534 bytes without
/// an explanation.
const VALUE_BYTES_MAX: usize = 60_000;

/// `Retry-After` of temporary failures, in seconds.
const RETRY_SECONDS: &str = "5";

/// Returns the whole server as one service.
pub(crate) fn router(state: Arc<Common>) -> Router {
    let mut router = pages::routes()
        .merge(sql::routes())
        .route("/api/v1/openapi.json", get(api::openapi))
        .route("/sandbox/content", get(sandbox::content))
        .route("/timegate/{*url}", get(memento::timegate))
        .route("/timemap/{*url}", get(memento::timemap))
        .route("/replay", get(crate::replay::redirect_to_address))
        .route("/replay/{*address}", get(crate::replay::bar))
        .route("/replay-check", get(crate::replay::check))
        .route(MCP_PATH, post(mcp_http::reply))
        .route(HEALTH_PATH, get(health))
        .route("/robots.txt", get(robots));
    for endpoint in ENDPOINTS {
        let path = match endpoint.path {
            COLLECTION_INDEX => ANY_INDEX,
            path => path,
        };
        router = router.route(path, api::handler(endpoint));
    }
    router
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        // A layer added later wraps the earlier ones. So `around` sees answers before they are
        // compressed, and its entity tags are those of the uncompressed bytes.
        .layer(DefaultBodyLimit::max(state.settings.body_bytes_max))
        .layer(from_fn_with_state(Arc::clone(&state), around))
        .layer(CompressionLayer::new().compress_when(compressible()))
        .with_state(state)
}

/// Selects the answers to compress. It excludes answers that fit into a packet or are already
/// compressed, and records, because their tags and ranges refer to the stored bytes.
fn compressible() -> impl Predicate {
    SizeAbove::new(1024)
        .and(NotForContentType::IMAGES)
        .and(|_, _, headers: &HeaderMap, _: &Extensions| !is_record(headers) && !is_parquet(headers))
}

fn is_parquet(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    media == Some(ExportFormat::Parquet.media_type().as_bytes())
}

fn is_record(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    warc::record_media_types().any(|record| media == Some(record.as_bytes()))
}

async fn around(Shared(state): Shared<Arc<Common>>, mut request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let known = entity_tags::conditional_headers(request.headers());
    let _in_flight = state.counters.begin();
    let begun = system::now();
    let route = route_of(&request);
    let wants_json = is_for_programs(request.uri().path());
    let path = request.uri().path();
    let time_max = sql::time_max(path).or_else(|| api::upload::time_max(path));
    let time_max = time_max.unwrap_or(state.settings.request_timeout);
    let admitted = match refusal(&state, &request) {
        Some(failure) => Err(failure),
        None => admit(&state, route.as_ref(), &mut request).await,
    };
    let seen = request.extensions().get::<Arc<State>>().cloned();
    let vary = state.authenticator.vary();
    let is_for_all = vary.is_none()
        && seen
            .as_ref()
            .is_some_and(|seen| seen.sees_everything() && !seen.is_admin());
    let mut response = match admitted {
        Err(failure) => failed(failure, wants_json),
        Ok(()) if !wants_json && is_arrival(&state, route.as_ref(), &request) => {
            sites::arrival(request.uri())
        }
        Ok(()) => match tokio::time::timeout(time_max, next.run(request)).await {
            Ok(response) => response,
            Err(_) => failed(
                Failure::unavailable("the request timed out; the server may be busy"),
                wants_json,
            ),
        },
    };
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        let parts = seen.as_ref().map_or(ANONYMOUS_PARTS, |seen| seen.parts());
        let viewer = seen.and_then(|seen| seen.viewer());
        let can_sign_in = state.authenticator.accepts_tokens();
        response = pages::failure::page(&failure, parts, viewer, can_sign_in).into_response();
    }
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        let soon = HeaderValue::from_static(RETRY_SECONDS);
        response.headers_mut().insert(header::RETRY_AFTER, soon);
    }
    if !is_for_all {
        keep_private(response.headers_mut());
    }
    if let Some(vary) = vary {
        response.headers_mut().append(header::VARY, vary);
    }
    // A header set by the handler takes precedence.
    for (name, value) in ui::HEADERS {
        response
            .headers_mut()
            .entry(HeaderName::from_static(name))
            .or_insert(HeaderValue::from_static(value));
    }
    let response = entity_tags::add_tag(&method, &known, response).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let took = system::since(begun);
    state.counters.answered(route, response.status().as_u16(), took);
    tracing::debug!(
        route,
        status = response.status().as_u16(),
        ms = took.as_secs_f64() * 1e3,
        "answered"
    );
    response
}

/// Keeps an answer that depends on the client out of shared caches. Answers with a long lifetime
/// (styles and scripts) are the same for all clients and are not changed.
fn keep_private(headers: &mut HeaderMap) {
    let known = headers.get(header::CACHE_CONTROL);
    if known.is_none_or(|known| known == "no-cache") {
        let private = HeaderValue::from_static("private, no-cache");
        headers.insert(header::CACHE_CONTROL, private);
    }
}

/// Returns why a request is refused before it reaches its handler.
fn refusal(state: &Common, request: &Request) -> Option<Failure> {
    let uri = request.uri();
    match state.check_host(request) {
        // A monitor may use any name for the server: this path reveals nothing.
        Some(failure) if failure.code != Code::WrongHost || uri.path() != HEALTH_PATH => {
            return Some(failure);
        }
        _ => {}
    }
    let query = uri.query().unwrap_or("");
    // A shorter query cannot contain a value that is too long, so most queries are not parsed.
    let too_long = query.len() >= VALUE_BYTES_MAX
        && url::form_urlencoded::parse(query.as_bytes()).any(|(_, value)| value.len() >= VALUE_BYTES_MAX);
    too_long.then(|| {
        Failure::new(
            StatusCode::URI_TOO_LONG,
            Code::TooLong,
            format!(
                "a value in the address has {VALUE_BYTES_MAX} bytes or more; no archived URL is that long"
            ),
        )
    })
}

async fn unknown(request: Request) -> Response {
    failed(
        Failure::not_found("there is nothing at this address"),
        is_for_programs(request.uri().path()),
    )
}

/// Returns the route of a request. Returns `None` if the path only matches the pattern of a
/// collection's index.
fn route_of(request: &Request) -> Option<MatchedPath> {
    let route = request.extensions().get::<MatchedPath>().cloned();
    route.filter(|route| route.as_str() != ANY_INDEX || is_of_a_collection(request.uri().path()))
}

async fn wrong_method(request: Request) -> Response {
    if request.extensions().get::<MatchedPath>().is_some() && route_of(&request).is_none() {
        return unknown(request).await;
    }
    let failure = Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        Code::MethodNotAllowed,
        "this address does not support that method",
    );
    failed(failure, is_for_programs(request.uri().path()))
}

fn failed(failure: Failure, wants_json: bool) -> Response {
    if wants_json {
        failure.into_response()
    } else {
        PageFailure::from(failure).into_response()
    }
}

fn is_for_programs(path: &str) -> bool {
    let is_below_one = API_PREFIXES.iter().any(|prefix| {
        path.strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    is_below_one || is_of_a_collection(path)
}

/// Returns whether the path is `/COLLECTION/cdx` or `/COLLECTION-index`.
fn is_of_a_collection(path: &str) -> bool {
    let name = |end: &str| path.strip_prefix('/').and_then(|path| path.strip_suffix(end));
    let named = [name("/cdx"), name(INDEX)].into_iter().flatten();
    named
        .into_iter()
        .any(|name| !name.is_empty() && !name.contains('/'))
}
