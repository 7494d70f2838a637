//! Answers a request: runs the checks that precede s3s, and completes every response.
//!
//! Every response carries the request id (`x-amz-request-id`, and `RequestId` in the XML of
//! errors). It carries `Connection: close` if the unread body is too long to be drained. Its XML is
//! well formed, even if a key contains characters that XML cannot express.

use std::convert::Infallible;
use std::sync::Arc;

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use listen::Connection;
use listen::{Hosts, Misaddressed};
use metrics::Operations;
use s3s::Body;
use s3s::service::S3Service;
use store::{Counters, Store};

use crate::access::Peer;
use crate::body::{Incoming, Outgoing};
use crate::chunks::Chunks;
use crate::correct_response;
use crate::cors;
use crate::exchange::Exchange;
use crate::gateway::FromUpstream;
use crate::log::{Entry, Log};
use crate::options::{Limits, XML_BYTES_MAX};
use crate::refusal::Refusal;
use crate::signature_checks::{self, Head};

/// Operation name under which CORS preflights are counted.
const PREFLIGHT: &str = "Preflight";

/// Header with the request id, which is also logged.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amz-request-id");

/// Characters of request ids.
const ID_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Shared state for answering requests.
pub(crate) struct Serving {
    pub(crate) service: S3Service,
    /// The store with the CORS rules of its buckets. `None` for a gateway: its upstream applies its
    /// own rules.
    pub(crate) store: Option<Store>,
    pub(crate) limits: Limits,
    pub(crate) hosts: Hosts,
    pub(crate) version_2: bool,
    pub(crate) requests: Arc<Operations>,
    pub(crate) node: Option<Arc<Counters>>,
    pub(crate) log: Option<Log>,
}

/// Answers one request on a connection.
pub(crate) async fn answer(
    request: Request<hyper::body::Incoming>,
    connection: Arc<Connection>,
    serving: Arc<Serving>,
) -> Result<Response<Outgoing>, Infallible> {
    let id = request_id();
    let entry = match &serving.log {
        None => Entry::default(),
        Some(_) => Entry {
            request_id: id.clone(),
            remote_ip: connection.peer().ip().to_string(),
            tls: connection.tls().cloned(),
            ..Entry::of(&request)
        },
    };
    let exchange = Exchange::begin(
        serving.requests.clone(),
        serving.node.as_ref(),
        serving.log.clone(),
        connection.clone(),
        entry,
    );
    let expects = request.headers().contains_key(header::EXPECT);
    // From here on the body is tracked: if a holder drops it unread, `finish` drains the rest.
    let request = receive(request, &serving, &exchange);
    let peer = Peer {
        address: connection.peer().ip(),
        secure: connection.tls().is_some(),
    };
    let mut response = respond(request, peer, &serving, &exchange).await;
    if expects && !exchange.has_received() {
        // The client asked (`Expect`) whether to send its body and got no reply, so it may or may
        // not send it. The next bytes on this connection could be the body or another request.
        close(&mut response);
    } else if !exchange.body.finish().await {
        connection.mark_body_unread();
        close(&mut response);
    }
    // Responses of a gateway's upstream are passed on uncorrected.
    let is_ours = response.extensions().get::<FromUpstream>().is_none();
    let is_xml = is_ours && correct_response::is_xml(&response);
    if is_ours {
        let (corrected, error) = correct_response::correct(response, &id);
        response = corrected;
        exchange.note(|entry| entry.error = error);
    }
    if let Ok(value) = HeaderValue::try_from(id) {
        // The upstream's own id is kept, because its log has the request under that id.
        response.headers_mut().entry(REQUEST_ID).or_insert(value);
    }
    exchange.note(|entry| entry.object_bytes = object_bytes(&response));
    exchange.answer(response.status().as_u16());
    Ok(response.map(|body| Outgoing::new(body, exchange, is_xml)))
}

/// Wraps the request's body, to count it and to enforce the limits.
fn receive(
    request: Request<hyper::body::Incoming>,
    serving: &Serving,
    exchange: &Arc<Exchange>,
) -> Request<Incoming> {
    let limits = &serving.limits;
    // Adds an allowance for the framing (chunks with signatures), which is not content.
    let bytes_max = limits
        .body_bytes_max
        .saturating_add(limits.body_bytes_max / 16)
        .saturating_add(64 * 1024);
    let payload = request.headers().get("x-amz-content-sha256");
    let chunked = payload.is_some_and(|payload| payload.as_bytes().starts_with(b"STREAMING-"));
    let signed = payload.is_some_and(|payload| !payload.as_bytes().starts_with(b"STREAMING-UNSIGNED-"));
    let chunks = chunked.then(|| Chunks::new(signed));
    let bounds = (limits.idle_time_max, bytes_max);
    request.map(|body| Incoming::new(body, exchange.clone(), bounds, chunks))
}

async fn respond(
    request: Request<Incoming>,
    peer: Peer,
    serving: &Serving,
    exchange: &Arc<Exchange>,
) -> Response<Body> {
    let head = Head::of(&request);
    let signing_method = match signature_checks::check(head, serving.version_2) {
        Ok(signing_method) => signing_method,
        Err(refusal) => return refusal.response(),
    };
    exchange.note(|entry| entry.signing_method = signing_method);
    // After DNS rebinding a web page sends requests here under its own host name. It has no key to
    // sign with, and over TLS no certificate for that name.
    if signing_method.version.is_none()
        && !peer.secure
        && let Err(why) = serving.hosts.admit(request.version(), head.uri, head.headers)
    {
        return misaddressed(why).response();
    }
    let mut cors_headers = HeaderMap::new();
    if let Some(store) = &serving.store {
        if let Some(response) = cors::preflight(store, &request).await {
            exchange.name(PREFLIGHT);
            return response;
        }
        cors_headers = cors::response_headers(store, &request).await;
    }
    let mut response = match operation_of(Head::of(&request)) {
        Ok(()) => dispatch(request, peer, serving, exchange).await,
        Err(refusal) => refusal.response(),
    };
    // s3s reports a body that it cannot read as an internal error.
    if let Some(refusal) = exchange.body.refusal() {
        response = refusal.response();
    } else if exchange.too_large() && response.status() == StatusCode::INTERNAL_SERVER_ERROR {
        response = Refusal::bad("EntityTooLarge", "the body is longer than allowed").response();
    } else if exchange.timed_out() && response.status() == StatusCode::INTERNAL_SERVER_ERROR {
        let message = "no data was received on the connection for too long";
        response = Refusal::bad("RequestTimeout", message).response();
    }
    response.headers_mut().extend(cors_headers);
    response
}

/// Refuses an operation that is not implemented, before s3s parses the request as a different one.
/// Also refuses an XML body that is too long.
fn operation_of(head: Head<'_>) -> Result<(), Refusal> {
    let Some(named) = head.operation() else {
        return Ok(());
    };
    let carries_content = matches!(named?.name, "PutObject" | "UploadPart" | "PostObject");
    let length = head.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // s3s reports an XML body that is too long as an internal error.
    if !carries_content && length > Some(XML_BYTES_MAX as u64) {
        Err(Refusal::bad(
            "MaxMessageLengthExceeded",
            format!("the XML body is longer than {XML_BYTES_MAX} bytes"),
        ))
    } else {
        Ok(())
    }
}

async fn dispatch(
    request: Request<Incoming>,
    peer: Peer,
    serving: &Serving,
    exchange: &Arc<Exchange>,
) -> Response<Body> {
    let mut request = request.map(Body::http_body);
    request.extensions_mut().insert(exchange.clone());
    request.extensions_mut().insert(peer);
    serving.service.call(request).await.unwrap_or_else(|error| {
        let error: s3s::StdError = error.into();
        tracing::error!(%error, "a request could not be answered");
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

fn misaddressed(why: Misaddressed) -> Refusal {
    match why {
        Misaddressed::Malformed => Refusal::bad(
            "InvalidRequest",
            "a request must have exactly one Host (RFC 9112, section 3.2)",
        ),
        Misaddressed::NotOurs => {
            let message =
                "the request is for another host: add --s3-host NAME if this is a name of the server";
            Refusal::new(StatusCode::MISDIRECTED_REQUEST, "MisdirectedRequest", message)
        }
    }
}

fn request_id() -> String {
    let character = |_| char::from(ID_ALPHABET[system::random_range(0..ID_ALPHABET.len())]);
    (0..16).map(character).collect()
}

fn close(response: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
}

/// Returns the size in bytes of the whole object that a response is about.
fn object_bytes(response: &Response<Body>) -> Option<u64> {
    let headers = response.headers();
    // Only responses about objects carry this header.
    headers.get(header::ACCEPT_RANGES)?;
    let text = |name| headers.get(name)?.to_str().ok();
    match text(header::CONTENT_RANGE) {
        Some(range) => range.rsplit_once('/')?.1.parse().ok(),
        None => text(header::CONTENT_LENGTH)?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_names_of_their_own() {
        assert_eq!(request_id().len(), 16);
        assert_ne!(request_id(), request_id());
    }
}
