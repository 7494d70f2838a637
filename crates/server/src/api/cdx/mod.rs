//! Captures for clients written for other servers, streamed: each address answers as the server does whose clients ask there.
//!
//! | address | as |
//! |---|---|
//! | `/cdx`, `/<collection>/cdx`, `/api/v1/cdx` | pywb's CDXJ server |
//! | `/<collection>-index` | Common Crawl's index server, a pywb that answers 404 where nothing was captured |
//! | `/cdx/search/cdx` | the Internet Archive's wayback-cdx-server |
//! | `/outbackcdx/<collection>` | OutbackCDX |
//!
//! docs/cdx.md lists what each parameter means at each of them. But for Common Crawl's, all return an empty answer with status 200
//! if nothing was captured: every known client accepts that, and some treat 404 as a failure.
//!
//! The archive is asked for [`send::ROWS_AT_ONCE`] rows at a time, by cursor. So memory is bounded however
//! many captures match, and no thread waits for a slow reader. What fits into the first answer is sent whole.

mod asked;
pub(super) mod collections;
mod links;
mod paged_index;
pub(crate) mod post;
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

use super::table::Endpoint;
use crate::arguments::Arguments;
use crate::failure::{Code, Failure};
use crate::pages::PageFailure;
use crate::replay::FUZZY;
use crate::state::State;
use asked::Asked;
pub(super) use asked::{LAST_MAX, RANGE};

/// Whose clients ask at an address.
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

/// The collection in which all are, as in pywb.
const ALL: &str = "all";

/// What the address of a collection ends with where it is asked as Common Crawl's server.
pub(crate) const INDEX: &str = "-index";

/// These addresses, as the document of the API has them.
pub(crate) const COLLECTION_INDEX: &str = "/{collection}-index";

/// Their route, since a part of a segment is no parameter for the router. Every address with one segment that has no route of its own
/// comes there.
pub(crate) const ANY_INDEX: &str = "/{index}";

/// The collection of an address; `None` for all.
fn collection_of(name: &str) -> Option<String> {
    (name != ALL).then(|| name.to_owned())
}

/// Handles an address.
pub(super) async fn lines(
    state: &State,
    server: Server,
    endpoint: &Endpoint,
    path: &[(&str, &str)],
    request: &Parts,
) -> Result<Response, Failure> {
    let query = request.uri.query().unwrap_or("");
    let named = match path {
        [("index", name)] => match name.strip_suffix(INDEX).filter(|name| !name.is_empty()) {
            Some(name) => Some(name),
            None => return Ok(nothing_here()),
        },
        [(_, name)] => Some(*name),
        _ => None,
    };
    let path = named.map(|name| ("collection", name));
    let arguments = Arguments::parse_known(endpoint.parameters, query, path.as_slice())?;
    let collection = match named {
        Some(name) => collection_of(name),
        None => arguments.owned("collection"),
    };
    if server == Server::OutbackCdx && arguments.text("q").is_some() {
        return xml::answer(&state.asker, &arguments, collection).await;
    }
    let mut asked = Asked::of(&arguments, server.dialect(), collection)?;
    let stands_in = match asked.allow_fuzzy {
        true => stand_in(state, &mut asked.question).await?,
        false => None,
    };
    let compress = asked.compress;
    let mut response = if asked.page_count {
        page_count(state, &asked).await?
    } else if asked.paged_index {
        paged_index::lines(state, &asked).await?
    } else if find_page(state, &mut asked).await? {
        match send::captures(state, asked, request).await? {
            sent if sent.is_empty && server == Server::CommonCrawl => {
                let url = arguments.text("url").unwrap_or_default();
                return Err(Failure::not_found(format!("No Captures found for: {url}")));
            }
            sent => sent.response,
        }
    } else {
        after_the_last(server.dialect())
    };
    if let Some(rule) = stands_in {
        response.headers_mut().insert(FUZZY, rule);
    }
    if !compress {
        // The encoding is named here, so that no other layer encodes the answer again.
        let identity = HeaderValue::from_static("identity");
        response.headers_mut().insert(header::CONTENT_ENCODING, identity);
    }
    Ok(response)
}

/// Puts the URL whose capture replay shows in the place of the one that was not captured, and returns the rule by which.
async fn stand_in(state: &State, question: &mut CdxQuestion) -> Result<Option<HeaderValue>, Failure> {
    let at = match &question.order {
        Order::Closest(time) => Some(time.clone()),
        _ => None,
    };
    let record = Record {
        url: question.url.clone(),
        at,
        capture: None,
        fuzzy: true,
    };
    let found = match state.asker.ask(record).await {
        Ok(found) => found.body,
        // What is wrong with the question is said where it is answered.
        Err(failure) if matches!(failure.code, Code::NotFound | Code::BadRequest) => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let Some(rule) = found.fuzzy else { return Ok(None) };
    question.url = found.capture.url_key;
    question.as_key = true;
    Ok(HeaderValue::from_str(&rule).ok())
}

/// As for any other address at which there is nothing.
fn nothing_here() -> Response {
    PageFailure::from(Failure::not_found("there is nothing at this address")).into_response()
}

/// Narrows the question to the page asked for. Returns false if there are fewer pages.
async fn find_page(state: &State, asked: &mut Asked) -> Result<bool, Failure> {
    let Some(page) = asked.page else { return Ok(true) };
    let list = state.cdx_pages.of(&asked.question, state.sees_everything()).await;
    let mut list = list.lock().await;
    let Some((after, until)) = list.page(&state.asker, page, asked.page_size).await? else {
        return Ok(false);
    };
    // A resumption key points into the page, so it takes precedence over the page's beginning.
    asked.question.after = asked.question.after.take().or(after);
    asked.question.until = until;
    Ok(true)
}

/// The answer for a page after the last: an error from pywb, an empty answer from the Internet Archive.
fn after_the_last(dialect: Dialect) -> Response {
    match dialect {
        Dialect::WaybackMachine => StatusCode::OK.into_response(),
        Dialect::Pywb | Dialect::OutbackCdx => {
            Failure::bad_request("there are not so many pages; showNumPages=true counts them").into_response()
        }
    }
}

/// The number of pages, at least one. For pywb the blocks that they consist of are included.
async fn page_count(state: &State, asked: &Asked) -> Result<Response, Failure> {
    let list = state.cdx_pages.of(&asked.question, state.sees_everything()).await;
    let (blocks, pages) = {
        let mut list = list.lock().await;
        let blocks = list.all(&state.asker).await?;
        (blocks.len(), blocks.pages(asked.page_size))
    };
    Ok(match asked.dialect {
        Dialect::WaybackMachine => format!("{pages}\n").into_response(),
        Dialect::Pywb | Dialect::OutbackCdx => {
            Json(json!({ "blocks": blocks, "pages": pages, "pageSize": asked.page_size })).into_response()
        }
    })
}
