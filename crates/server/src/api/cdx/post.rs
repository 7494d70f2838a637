//! Captures posted in the OutbackCDX protocol: lines of CDX or CDXJ that are added or deleted.
//!
//! Responses have the texts of OutbackCDX. A separate setting says who may post ([`Posts`]),
//! because posted lines are listed together with loaded captures.

use archive::question::{Post, PostedBody, Unpost};
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::collection_of;
use crate::arguments::Arguments;
use crate::failure::{Code, Failure};
use crate::local_owner::is_from_here;
use crate::settings::Posts;
use crate::sites::is_cross_site;
use crate::state::State;

/// Operation of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostOperation {
    Add,
    Delete,
}

/// Maximum size of a body in bytes. The whole body is held in memory with its lines, so that it is
/// added completely or not at all.
pub(crate) const POST_BYTES_MAX: usize = 32 << 20;

/// Handles `POST /outbackcdx/<collection>` and `POST /outbackcdx/<collection>/delete`.
pub(in crate::api) async fn lines(
    state: &State,
    posting: PostOperation,
    arguments: &Arguments,
    request: Request,
) -> Result<Response, Failure> {
    // Before the body is read: a client that is refused must not make the server read it.
    allow(state, &request)?;
    let collection = collection_of(&arguments.required("collection")).unwrap_or_default();
    let skip_bad_lines = arguments.text("badLines") == Some("skip");
    let skip_loaded = arguments.text("loaded") == Some("skip");
    check_encoding(request.headers())?;
    let closed = |_| Failure::unavailable("the server is shutting down");
    let _place = state.posts.bodies.acquire().await.map_err(closed)?;
    let body = read_body(request).await?;
    let text = match text_of(body, skip_bad_lines && posting == PostOperation::Add) {
        Ok(text) => text,
        Err(line) => {
            let why = format!("At line {line}: the line is not valid UTF-8\n");
            return Ok((StatusCode::BAD_REQUEST, why).into_response());
        }
    };
    // The archive takes one post at a time. Others wait here, so that they do not use permits for
    // questions.
    let _turn = state.posts.turn.acquire().await.map_err(closed)?;
    // Permission to post comes from the settings and does not depend on what the client may see.
    // Hidden captures are still not reported.
    let owner = state.owner();
    let seen_by = Some(state.groups().clone());
    let answer = match posting {
        PostOperation::Add => {
            let post = Post {
                collection,
                text: text.text,
                skip_bad_lines,
                skip_loaded,
                seen_by,
            };
            owner.ask(post).await
        }
        PostOperation::Delete => {
            let unpost = Unpost {
                collection,
                text: text.text,
                skip_loaded,
                seen_by,
            };
            owner.ask(unpost).await
        }
    };
    match answer {
        Ok(answer) => Ok(result(posting, &answer.body, text.bad, skip_loaded)),
        // The text of OutbackCDX: programs print it unchanged.
        Err(failure) if failure.code == Code::BadRequest => {
            Ok((failure.status, format!("{}\n", failure.message)).into_response())
        }
        Err(failure) => Err(failure),
    }
}

fn allow(state: &State, request: &Request) -> Result<(), Failure> {
    let Posts { from_here, groups } = &state.settings.posts;
    if !from_here && groups.is_empty() {
        return Err(Failure::forbidden(
            "this server does not accept posts; weft serve --posts accepts them from its own machine, \
             --posts-group NAME from a group; weft load INDEX.cdx also adds captures",
        ));
    }
    if is_cross_site(request.headers()) {
        return Err(Failure::forbidden(
            "cross-site requests must not change the index",
        ));
    }
    let is_of_group = state.groups().has_any(groups);
    let is_permitted = state.sees_everything() || state.is_admin();
    if is_of_group || *from_here && is_permitted && is_from_here(request) {
        return Ok(());
    }
    Err(Failure::forbidden(if *from_here {
        "posts are accepted only from the server's own machine and from groups given with weft serve \
             --posts-group"
    } else {
        "posts are accepted only from groups given with weft serve --posts-group"
    }))
}

/// Accepts only unencoded bodies, as OutbackCDX does.
fn check_encoding(headers: &HeaderMap) -> Result<(), Failure> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::UnsupportedMediaType,
            "the body must not be compressed (Content-Encoding); weft load reads .cdx.gz files",
        )),
        _ => Ok(()),
    }
}

async fn read_body(request: Request) -> Result<Bytes, Failure> {
    to_bytes(request.into_body(), POST_BYTES_MAX).await.map_err(|error| {
        let is_too_long = std::error::Error::source(&error)
            .is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        if is_too_long { Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                Code::TooLarge,
                format!(
                    "the body exceeds {POST_BYTES_MAX} bytes: post it in parts, or load it as a file (weft \
                     load INDEX.cdx)"
                ),
            ) } else { Failure::bad_request("the body is incomplete") }
    })
}

/// A body as text, and the number of its lines that are not UTF-8.
struct Text {
    text: String,
    bad: u64,
}

/// Decodes a body. Returns the number of the first line that is not UTF-8 as the error, unless such
/// lines are skipped.
fn text_of(body: Bytes, skip_bad: bool) -> Result<Text, u64> {
    let body = match String::from_utf8(body.into()) {
        Ok(text) => return Ok(Text { text, bad: 0 }),
        Err(error) => error.into_bytes(),
    };
    let (mut text, mut bad) = (String::with_capacity(body.len()), 0);
    for (line, number) in body.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        match std::str::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(_) if skip_bad => bad += 1,
            Err(_) => return Err(number),
        }
    }
    Ok(Text { text, bad })
}

/// Returns the result in the words of OutbackCDX, followed by additional counts.
fn result(posting: PostOperation, posted: &PostedBody, bad: u64, skip_loaded: bool) -> Response {
    let mut text = match posting {
        PostOperation::Add => format!("Added {} records\n", posted.lines),
        PostOperation::Delete => format!("Deleted {} records\n", posted.lines),
    };
    let mut also = |count: u64, what: &str| {
        if count > 0 {
            text.push_str(&format!("{what}: {count}\n"));
        }
    };
    also(
        posted.bad + bad,
        "Lines that were skipped because they cannot be parsed",
    );
    also(
        posted.passed_over,
        "Lines that describe no capture (other schemes, such as dns:)",
    );
    also(
        posted.stay,
        match posting {
            PostOperation::Add => "Captures that would be listed in another collection",
            PostOperation::Delete => "Captures kept because their records or other indexes are loaded",
        },
    );
    let mut status = StatusCode::OK;
    if let Some(why) = &posted.why_it_stays {
        text.push_str(why);
        text.push_str(match posting {
            PostOperation::Add => "\nPost it to that collection, or load the file into this one\n",
            PostOperation::Delete => "\nUse weft forget to take down loaded captures\n",
        });
        if !skip_loaded {
            status = StatusCode::CONFLICT;
            text.push_str(match posting {
                PostOperation::Add => "Nothing was added; loaded=skip adds the others\n",
                PostOperation::Delete => "Nothing was deleted; loaded=skip deletes the others\n",
            });
        }
    }
    (status, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_text_are_named_or_left_out() {
        let body = || Bytes::from_static(b"a\n\xff\nb");
        assert_eq!(text_of(body(), false).err(), Some(2));
        let text = text_of(body(), true).unwrap_or_else(|_| panic!("left out"));
        assert_eq!((text.text.as_str(), text.bad), ("a\nb", 1));
    }
}
