//! The Model Context Protocol over HTTP: `POST /mcp` with one message. Tools see what the client of
//! the request may see.

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mcp::{MESSAGE_BYTES_MAX, RoutingHeaders};

use crate::failure::{Code, Failure};
use crate::sites::is_cross_site;
use crate::state::Context;

/// Route of the protocol.
pub(crate) const MCP_PATH: &str = "/mcp";

/// Handles `POST /mcp`.
pub(crate) async fn reply(state: Context, request: Request) -> Result<Response, Failure> {
    // A page of another site must not use the rights of a reader who has signed in.
    if is_cross_site(request.headers()) {
        return Err(Failure::forbidden("cross-site requests must not call tools"));
    }
    let headers = routing_headers(request.headers());
    let message = to_bytes(request.into_body(), MESSAGE_BYTES_MAX)
        .await
        .map_err(|_| {
            Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                Code::TooLarge,
                format!("a message has at most {MESSAGE_BYTES_MAX} bytes"),
            )
        })?;
    let replied = state
        .archive
        .blocking(move |source| mcp::answer_http(&message, &headers, &|question| source.ask(&question)));
    Ok(match replied.await? {
        None => StatusCode::ACCEPTED.into_response(),
        Some(reply) => {
            let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, [(header::CONTENT_TYPE, "application/json")], reply.text).into_response()
        }
    })
}

fn routing_headers(headers: &HeaderMap) -> RoutingHeaders {
    let text = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.map(str::to_owned)
    };
    RoutingHeaders {
        protocol_version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
    }
}
