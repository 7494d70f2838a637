//! `/cdx` and `/cdx/search/cdx`: streams captures to clients written for other servers.
//!
//! `/cdx` behaves like pywb's CDXJ server and OutbackCDX, `/cdx/search/cdx` like the Internet Archive's
//! wayback-cdx-server; docs/cdx.md lists where they differ. Both return an empty body with status 200 if
//! nothing was captured: every known client accepts that, and some treat 404 as a failure.
//!
//! The archive is asked for [`send::ROWS_AT_ONCE`] rows at a time, by cursor. So memory is bounded however
//! many captures match, and no thread waits for a slow reader.

mod asked;
mod send;

use archive::cdx::Dialect;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::state::State;
use asked::Asked;
pub(super) use asked::LAST_MAX;

/// Handles both addresses.
pub(crate) async fn lines(
    state: &State,
    dialect: Dialect,
    arguments: &Arguments,
) -> Result<Response, Failure> {
    let mut asked = Asked::of(arguments, dialect)?;
    let mut response = if asked.page_count {
        page_count(state, &asked).await?
    } else if find_page(state, &mut asked).await? {
        send::captures(&state.asker, asked.clone()).await?
    } else {
        after_the_last(dialect)
    };
    if !asked.compress {
        // The encoding is named here, so that no other layer encodes the answer again.
        let identity = HeaderValue::from_static("identity");
        response.headers_mut().insert(header::CONTENT_ENCODING, identity);
    }
    Ok(response)
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
        Dialect::Pywb => {
            Failure::bad_request("there are not so many pages; showNumPages=true counts them").into_response()
        }
        Dialect::WaybackMachine => StatusCode::OK.into_response(),
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
        Dialect::Pywb => {
            Json(json!({ "blocks": blocks, "pages": pages, "pageSize": asked.page_size })).into_response()
        }
        Dialect::WaybackMachine => format!("{pages}\n").into_response(),
    })
}
