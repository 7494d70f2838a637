//! `showPagedIndex=true`: the secondary index, a line for each block of captures.
//!
//! In a ZipNum cluster it names the place of each block in the cluster's files. Here captures are
//! not in such files, so part, offset and length count captures: the list itself, the captures
//! before the block, and those in it.

use archive::question::CdxQuestion;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cdx::{BLOCK_ROWS, Dialect, text_line};
use serde_json::json;

use super::beyond_last_page;
use super::request::{CdxRequest, Output};
use crate::failure::Failure;
use crate::state::State;

/// Name of the only part.
const PART: &str = "captures";

/// Returns the lines of the requested page, or of the first.
pub(super) async fn lines(state: &State, asked: &CdxRequest) -> Result<Response, Failure> {
    let page = asked.page.unwrap_or(0);
    let list = state
        .cdx_pages
        .get(&asked.question, state.sees_everything())
        .await;
    let mut blocks = Vec::new();
    {
        let mut list = list.lock().await;
        let begin = page.saturating_mul(asked.page_size);
        for number in begin..begin.saturating_add(asked.page_size) {
            match list.page(&state.archive, number, 1).await? {
                Some((after, until)) => blocks.push((number, after, until.is_none())),
                None => break,
            }
        }
    }
    if blocks.is_empty() {
        return Ok(beyond_last_page(asked.dialect));
    }
    let mut text = String::new();
    for (number, after, is_last) in blocks {
        let question = CdxQuestion {
            url: asked.question.url.clone(),
            match_type: asked.question.match_type,
            after,
            limit: if is_last { BLOCK_ROWS } else { 1 },
            ..CdxQuestion::default()
        };
        let rows = state.archive.ask(question).await?.body.rows;
        // A list without captures still has a first page.
        let Some(first) = rows.first() else { break };
        let length = if is_last { rows.len() } else { BLOCK_ROWS };
        let key = text_line(&cdx::Field::PUBLIC[..2], first);
        let offset = number * BLOCK_ROWS;
        match asked.output {
            Output::Rows(form) if is_json(asked, form.media()) => {
                let line = json!({
                    "urlkey": key, "part": PART, "offset": offset, "length": length, "lineno": number + 1,
                });
                text.push_str(&format!("{line}\n"));
            }
            _ => text.push_str(&format!("{key}\t{PART}\t{offset}\t{length}\t{}\n", number + 1)),
        }
    }
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, plain)], text).into_response())
}

/// Returns whether lines are JSON. pywb writes objects if JSON is requested; the Internet Archive
/// always writes text.
fn is_json(asked: &CdxRequest, media: &str) -> bool {
    asked.dialect == Dialect::Pywb && media.contains("ndjson")
}
