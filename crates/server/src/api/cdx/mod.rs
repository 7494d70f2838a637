//! CDX queries in the protocols of other servers, streamed. Each endpoint imitates one server.
//!
//! | endpoint | imitates |
//! |---|---|
//! | `/cdx`, `/<collection>/cdx`, `/api/v1/cdx` | pywb's CDXJ server |
//! | `/<collection>-index` | Common Crawl's index server, a pywb with status 404 for no captures |
//! | `/cdx/search/cdx` | the Internet Archive's wayback-cdx-server |
//! | `/outbackcdx/<collection>` | OutbackCDX |
//!
//! docs/cdx.md lists what each parameter means for each of them. If there is no capture, all except
//! Common Crawl's return an empty response with status 200: every known client accepts that, and
//! some treat 404 as a failure.
//!
//! The archive is asked for [`send::ROWS_AT_ONCE`] rows at a time, by cursor. So memory is bounded,
//! and no thread waits for a slow reader. A response that fits into the first answer is sent whole.

pub(super) mod collections;
mod links;
mod paged_index;
pub(crate) mod post;
mod request;
mod send;
mod stage;
mod xml;

use archive::question::{CdxQuestion, Record};
use axum::Json;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cdx::{Dialect, Order};
use serde_json::json;

use crate::arguments::{Arguments, Parameter};
use crate::failure::{Code, Failure};
use crate::pages::PageFailure;
use crate::replay::FUZZY;
use crate::state::State;
use request::CdxRequest;
pub(super) use request::{LAST_MAX, RANGE};

/// The server that an endpoint imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Pywb,
    CommonCrawl,
    WaybackMachine,
    OutbackCdx,
}

impl Server {
    fn dialect(self) -> Dialect {
        match self {
            Server::Pywb | Server::CommonCrawl => Dialect::Pywb,
            Server::WaybackMachine => Dialect::WaybackMachine,
            Server::OutbackCdx => Dialect::OutbackCdx,
        }
    }
}

/// Name of the collection of all captures, as in pywb.
const ALL: &str = "all";

/// Suffix of a collection's address as in Common Crawl's server.
pub(crate) const INDEX: &str = "-index";

/// The address of a collection's index in the API document.
pub(crate) const COLLECTION_INDEX: &str = "/{collection}-index";

/// Its route, because the router does not support a parameter in part of a segment. It matches
/// every address with one segment that has no other route.
pub(crate) const ANY_INDEX: &str = "/{index}";

/// Returns the collection of an address, or `None` for all.
fn collection_of(name: &str) -> Option<String> {
    (name != ALL).then(|| name.to_owned())
}

/// Handles a CDX request.
pub(super) async fn lines(
    state: &State,
    server: Server,
    parameters: &'static [Parameter],
    path: &[(&str, &str)],
    request: &Parts,
) -> Result<Response, Failure> {
    let query = request.uri.query().unwrap_or("");
    let named = match path {
        [("index", name)] => match name.strip_suffix(INDEX).filter(|name| !name.is_empty()) {
            Some(name) => Some(name),
            None => return Ok(unknown_address()),
        },
        [(_, name)] => Some(*name),
        _ => None,
    };
    let path = named.map(|name| ("collection", name));
    let arguments = Arguments::parse_known(parameters, query, path.as_slice())?;
    let collection = match named {
        Some(name) => collection_of(name),
        None => arguments.owned("collection"),
    };
    if server == Server::OutbackCdx && arguments.text("q").is_some() {
        return xml::answer(&state.archive, &arguments, collection).await;
    }
    let mut cdx_request = CdxRequest::parse(&arguments, server.dialect(), collection)?;
    let fuzzy_rule = if cdx_request.allow_fuzzy {
        similar_url(state, &mut cdx_request.question).await?
    } else {
        None
    };
    let compress = cdx_request.compress;
    let mut response = if cdx_request.page_count {
        page_count(state, &cdx_request).await?
    } else if cdx_request.paged_index {
        paged_index::lines(state, &cdx_request).await?
    } else if find_page(state, &mut cdx_request).await? {
        match send::captures(state, cdx_request, request).await? {
            sent if sent.is_empty && server == Server::CommonCrawl => {
                let url = arguments.text("url").unwrap_or_default();
                return Err(Failure::not_found(format!("No Captures found for: {url}")));
            }
            sent => sent.response,
        }
    } else {
        beyond_last_page(server.dialect())
    };
    if let Some(rule) = fuzzy_rule {
        response.headers_mut().insert(FUZZY, rule);
    }
    if !compress {
        // With an explicit encoding, no other layer encodes the response again.
        let identity = HeaderValue::from_static("identity");
        response.headers_mut().insert(header::CONTENT_ENCODING, identity);
    }
    Ok(response)
}

/// Replaces the URL of the question with the similar URL that replay would show instead, and
/// returns the rule that matched. Changes nothing if there is none.
async fn similar_url(state: &State, question: &mut CdxQuestion) -> Result<Option<HeaderValue>, Failure> {
    let at = match &question.order {
        Order::Closest(time) => Some(time.clone()),
        _ => None,
    };
    let record = Record {
        url: question.url.clone(),
        at,
        capture: None,
        fuzzy: true,
        with_content: false,
    };
    let found = match state.archive.ask(record).await {
        Ok(found) => found.body,
        // Errors of the question are reported when it is answered.
        Err(failure) if matches!(failure.code, Code::NotFound | Code::BadRequest) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let Some(rule) = found.fuzzy else { return Ok(None) };
    question.url = found.capture.url_key;
    question.as_key = true;
    Ok(HeaderValue::from_str(&rule).ok())
}

/// Returns the same response as for an unknown address.
fn unknown_address() -> Response {
    PageFailure::from(Failure::not_found("there is nothing at this address")).into_response()
}

/// Narrows the question to the requested page. Returns false if there are fewer pages.
async fn find_page(state: &State, cdx_request: &mut CdxRequest) -> Result<bool, Failure> {
    let Some(page) = cdx_request.page else {
        return Ok(true);
    };
    let list = state
        .cdx_pages
        .get(&cdx_request.question, state.sees_everything())
        .await;
    let mut list = list.lock().await;
    let Some((after, until)) = list.page(&state.archive, page, cdx_request.page_size).await? else {
        return Ok(false);
    };
    // A resumption key points into the page, so it takes precedence over the page's beginning.
    cdx_request.question.after = cdx_request.question.after.take().or(after);
    cdx_request.question.until = until;
    Ok(true)
}

/// Returns the response for a page after the last: an error from pywb, an empty response from the
/// Internet Archive.
fn beyond_last_page(dialect: Dialect) -> Response {
    match dialect {
        Dialect::WaybackMachine => StatusCode::OK.into_response(),
        Dialect::Pywb | Dialect::OutbackCdx => {
            Failure::bad_request("`page` is beyond the last page; showNumPages=true returns their number")
                .into_response()
        }
    }
}

/// Returns the number of pages, at least one. For pywb the number of blocks is included.
async fn page_count(state: &State, cdx_request: &CdxRequest) -> Result<Response, Failure> {
    let list = state
        .cdx_pages
        .get(&cdx_request.question, state.sees_everything())
        .await;
    let (blocks, pages) = {
        let mut list = list.lock().await;
        let blocks = list.all(&state.archive).await?;
        (blocks.len(), blocks.pages(cdx_request.page_size))
    };
    Ok(match cdx_request.dialect {
        Dialect::WaybackMachine => format!("{pages}\n").into_response(),
        Dialect::Pywb | Dialect::OutbackCdx => {
            Json(json!({ "blocks": blocks, "pages": pages, "pageSize": cdx_request.page_size }))
                .into_response()
        }
    })
}
