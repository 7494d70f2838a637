//! The connections to one node, and whether it makes sense to wait for it.
//!
//! Invariants:
//!  - no request waits longer than [`PING_AFTER`] plus [`PING_MAX`] for a process that does not
//!    answer pings, however long a living process may take to answer;
//!  - while a node is known not to answer in time, requests to it fail at once. It is pinged every
//!    [`RETRY_EVERY`] in the background, and used again once it answers.
//!
//! A refused connection does not count: another attempt costs nothing, and a restarted node is used
//! at once.

use std::error::Error;
use std::io;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use parking_lot::Mutex;
use store::LayoutTag;
use store_protocol::{ByteStream, NodeId, OperationSpec};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep, timeout};

use super::auth::Signed;
use super::body::{self, Body};
use super::link_error::{LinkError, PING_MAX};
use super::requests::PING;
use super::secure::{Wire, advice};
use super::{IDLE_MAX, PING_AFTER, RETRY_EVERY};
use crate::Secret;

/// The connections to one node.
pub(crate) struct Link {
    node: NodeId,
    address: String,
    caller: Caller,
    wire: Wire,
    /// Why the node gets no requests. `None` while it answers.
    down: watch::Sender<Option<LinkError>>,
    /// When it last answered any request.
    last_answer: Mutex<Option<Instant>>,
    /// Held during a ping, so that all requests that wait for the node share one ping.
    pinging: tokio::sync::Mutex<()>,
}

/// The sender of requests.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) name: Arc<str>,
    pub(crate) secret: Secret,
}

/// A request to be sent.
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) spec: OperationSpec,
    pub(crate) path: &'a str,
    pub(crate) under: LayoutTag,
    /// The JSON part of the body, which is signed.
    pub(crate) ask: &'a [u8],
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum NoAnswer {
    /// The connection broke. Another may work.
    Broken(LinkError),
    /// The request was not sent: the connection was refused, or the node is known not to answer.
    NotSent(LinkError),
    /// Waiting ended: a limit has passed, or the node does not answer pings.
    Waiting(LinkError),
}

impl Link {
    /// Makes the link to the node at this address. Sends nothing yet.
    pub(crate) fn new(node: NodeId, address: String, caller: Caller, wire: Wire) -> Arc<Self> {
        Arc::new(Self {
            node,
            address,
            caller,
            wire,
            down: watch::Sender::new(None),
            last_answer: Mutex::new(None),
            pinging: tokio::sync::Mutex::new(()),
        })
    }

    /// Returns the node.
    pub(crate) fn node(&self) -> &NodeId {
        &self.node
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn send(
        self: &Arc<Self>,
        what: &OutgoingRequest<'_>,
        body: Body,
    ) -> Result<Response<Incoming>, NoAnswer> {
        if let Some(reason) = self.down.borrow().clone() {
            return Err(NoAnswer::NotSent(reason));
        }
        let sent = async {
            let scheme = self.scheme().await;
            let request = self.request(scheme, Method::POST, what, body)?;
            Ok::<_, LinkError>(self.wire.http.request(request).await)
        };
        let answer = self.guard(what.spec.limit, sent).await.and_then(|sent| sent);
        let answer = answer.map_err(NoAnswer::Waiting)?;
        let answer = answer.map_err(|error| {
            let failed = self.failed(&error);
            if error.is_connect() {
                NoAnswer::NotSent(failed)
            } else {
                NoAnswer::Broken(failed)
            }
        })?;
        *self.last_answer.lock() = Some(Instant::now());
        Ok(answer)
    }

    /// Returns the whole body of a response, of at most `max` bytes.
    pub(crate) async fn whole(self: &Arc<Self>, body: Incoming, max: usize) -> io::Result<Bytes> {
        let work = body::whole(body, max, IDLE_MAX);
        // No limit for the body as a whole: it may take as long as pieces keep arriving.
        self.guard(Duration::MAX, work).await.map_err(io::Error::other)?
    }

    /// Returns the body of a response as content.
    pub(crate) fn content(self: Arc<Self>, body: Incoming) -> ByteStream {
        Box::pin(stream::try_unfold((self, body), |(link, mut body)| async move {
            let piece = link.guard(IDLE_MAX, body::next(&mut body)).await;
            let piece = piece.map_err(|error| io::Error::new(io::ErrorKind::TimedOut, error))??;
            Ok(piece.map(|piece| (piece, (link, body))))
        }))
    }

    /// Runs `work` until it ends, the node is found dead, or `limit` has passed.
    async fn guard<T>(
        self: &Arc<Self>,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, LinkError> {
        if let Some(reason) = self.down.borrow().clone() {
            return Err(reason);
        }
        tokio::select! {
            // Finished work wins over a limit that passes at the same moment.
            biased;
            done = work => Ok(done),
            reason = self.watch(limit) => Err(reason),
        }
    }

    /// Returns the reason once waiting no longer makes sense.
    async fn watch(self: &Arc<Self>, limit: Duration) -> LinkError {
        let mut down = self.down.subscribe();
        let begun = Instant::now();
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            tokio::select! {
                biased;
                Ok(reason) = down.wait_for(Option::is_some) => {
                    if let Some(reason) = &*reason {
                        return reason.clone();
                    }
                }
                () = sleep(left.min(PING_AFTER)) => {}
            }
            if begun.elapsed() >= limit {
                return LinkError::Late(limit.as_secs());
            }
            if let Err(reason) = self.alive().await {
                return reason;
            }
        }
    }

    /// Checks whether the process answers at all. Simultaneous callers share one ping.
    async fn alive(self: &Arc<Self>) -> Result<(), LinkError> {
        let _one = self.pinging.lock().await;
        // Checked again, because another caller may have pinged while this one waited for the lock.
        if let Some(reason) = self.down.borrow().clone() {
            return Err(reason);
        }
        if self
            .last_answer
            .lock()
            .is_some_and(|last_answer| last_answer.elapsed() < PING_AFTER)
        {
            return Ok(());
        }
        self.ping().await
    }

    /// Sends one ping.
    async fn ping(self: &Arc<Self>) -> Result<(), LinkError> {
        let what = OutgoingRequest {
            spec: PING,
            path: "/v1/ping",
            under: LayoutTag::NONE,
            ask: b"",
        };
        let asked = async {
            let scheme = self.scheme().await;
            let request = self.request(scheme, Method::GET, &what, body::empty())?;
            Ok::<_, LinkError>(self.wire.http.request(request).await)
        };
        let asked = timeout(PING_MAX, asked).await;
        match asked.map(|asked| asked.map_err(Err).and_then(|asked| asked.map_err(Ok))) {
            Ok(Ok(_)) => {
                *self.last_answer.lock() = Some(Instant::now());
                Ok(())
            }
            Ok(Err(Ok(error))) => Err(self.failed(&error)),
            Ok(Err(Err(unsent))) => Err(unsent),
            Err(_) => Err(self.mark_down(LinkError::NoPing)),
        }
    }

    /// Returns `http` or `https`. If the node may speak either, a ping determines which.
    async fn scheme(&self) -> &'static str {
        let what = OutgoingRequest {
            spec: PING,
            path: "/v1/ping",
            under: LayoutTag::NONE,
            ask: b"",
        };
        self.wire
            .scheme(|scheme| self.request(scheme, Method::GET, &what, body::empty()))
            .await
    }

    fn request(
        &self,
        scheme: &str,
        method: Method,
        what: &OutgoingRequest<'_>,
        body: Body,
    ) -> Result<Request<Body>, LinkError> {
        let signed = Signed::now(&self.caller.name, what.under, what.ask);
        let headers = signed.headers(&self.caller.secret, &method, what.path);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{scheme}://{}{}", self.address, what.path))
            .body(body)
            .map_err(|error| LinkError::Request(format!("{}{}", self.address, what.path), Arc::new(error)))?;
        request.headers_mut().extend(headers);
        Ok(request)
    }

    /// Returns the meaning of an error. A connection that could not be made in time means that the
    /// node is away.
    fn failed(self: &Arc<Self>, error: &hyper_util::client::legacy::Error) -> LinkError {
        // The node may have been restarted with TLS instead of plain connections, or the other way
        // round.
        self.wire.forget();
        if let Some(advice) = advice(error) {
            return LinkError::Connection(self.address.clone(), advice.to_owned());
        }
        let mut detail = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            detail = format!("{detail}: {cause}");
            if cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
            {
                return self.mark_down(LinkError::Connection(self.address.clone(), detail));
            }
            source = cause.source();
        }
        LinkError::Connection(self.address.clone(), detail)
    }

    /// Stops using the node until it answers a ping.
    fn mark_down(self: &Arc<Self>, reason: LinkError) -> LinkError {
        let first = self.down.send_if_modified(|down| {
            let first = down.is_none();
            *down = Some(reason.clone());
            first
        });
        if first {
            tracing::warn!(node = %self.node, address = %self.address, %reason, "node does not answer");
            tokio::spawn(ping_until_up(Arc::downgrade(self)));
        }
        reason
    }
}

/// Pings a node until it answers.
async fn ping_until_up(link: Weak<Link>) {
    loop {
        sleep(RETRY_EVERY).await;
        let Some(link) = link.upgrade() else {
            return;
        };
        if link.ping().await.is_ok() {
            tracing::info!(node = %link.node, address = %link.address, "node answers again");
            link.down.send_replace(None);
            return;
        }
    }
}
