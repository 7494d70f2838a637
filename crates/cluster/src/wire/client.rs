//! Sends signed requests to other nodes under a layout. If the layouts differ, both sides adopt the
//! newer ones.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use placement::{Layouts, NodeRole};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};
use store::LayoutTag;
use store_protocol::{NodeId, OperationSpec};

use super::body::{self, Body};
use super::link::{Caller, Link, NoAnswer, OutgoingRequest};
use super::requests::NodeRequest;
use super::secure::{Http, Wire, http};
use super::tables::Tables;
use super::{ANSWER_BYTES_MAX, ASK_BYTES_MAX};
use crate::layout_log::LayoutLog;
use crate::trust::{Tls, Trust};

/// The connections of this process to all other nodes.
pub(crate) struct Peers {
    caller: Caller,
    tls: Tls,
    http: Http,
    /// Addresses that replace those of the layout: from beacons, and this node's own address.
    addresses: BTreeMap<NodeId, String>,
    links: Mutex<HashMap<(NodeId, String), Arc<Link>>>,
    layout_log: Arc<LayoutLog>,
    /// Block tables read recently.
    pub(crate) tables: Tables,
}

/// A node to which requests are sent under one layout.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) peers: Arc<Peers>,
    pub(crate) link: Arc<Link>,
    under: LayoutTag,
}

/// Why there is no usable response.
pub(crate) enum Failure<E> {
    /// No response came, or it cannot be parsed.
    Unreachable(String),
    /// The connection broke before a response began.
    Broken(String),
    /// The request was not sent: the connection was refused, or the node is known not to answer.
    NotSent(String),
    /// The node knows another layout, of this number.
    OtherLayout(u64),
    /// The node answered with this error.
    Said(E),
}

impl Peers {
    /// Makes the connections of a process with this name, whose layouts are in `layout_log`.
    pub(crate) fn new(
        name: &str,
        trust: Trust,
        addresses: BTreeMap<NodeId, String>,
        layout_log: Arc<LayoutLog>,
    ) -> Arc<Self> {
        let name = name.into();
        Arc::new(Self {
            http: http(&trust),
            tls: trust.tls,
            caller: Caller {
                name,
                secret: trust.secret,
            },
            addresses,
            links: Mutex::default(),
            layout_log,
            tables: Tables::default(),
        })
    }

    /// Returns a handle for sending requests to a node under a layout.
    pub(crate) fn peer(self: &Arc<Self>, under: LayoutTag, node: &NodeRole) -> Peer {
        let address = self.addresses.get(&node.id).unwrap_or(&node.address).clone();
        let link = self
            .links
            .lock()
            .entry((node.id.clone(), address.clone()))
            .or_insert_with(|| {
                let wire = Wire::new(self.tls, self.http.clone());
                Link::new(node.id.clone(), address, self.caller.clone(), wire)
            })
            .clone();
        Peer {
            peers: self.clone(),
            link,
            under,
        }
    }
}

impl Peer {
    /// Returns the node.
    pub(crate) fn node(&self) -> &NodeId {
        self.link.node()
    }

    /// Returns the number of the layout of its requests.
    pub(crate) fn layout(&self) -> u64 {
        self.under.number
    }

    /// Sends a JSON request and returns the JSON response.
    pub(crate) async fn ask<T: DeserializeOwned, E: DeserializeOwned>(
        &self,
        spec: OperationSpec,
        path: &str,
        ask: &impl Serialize,
    ) -> Result<T, Failure<E>> {
        let answer = self.ask_raw(spec, path, ask).await?;
        self.json(answer).await
    }

    /// Sends a JSON request and returns the response with its body unread.
    pub(crate) async fn ask_raw<E: DeserializeOwned>(
        &self,
        spec: OperationSpec,
        path: &str,
        ask: &impl Serialize,
    ) -> Result<Response<Incoming>, Failure<E>> {
        let ask =
            Bytes::from(serde_json::to_vec(ask).map_err(|error| Failure::Unreachable(error.to_string()))?);
        if ask.len() > ASK_BYTES_MAX {
            return Err(Failure::Unreachable(format!(
                "a request of {} bytes is too long",
                ask.len()
            )));
        }
        let first = self.send(spec, path, &ask, body::full(ask.clone())).await;
        match first {
            // The other side may have closed an idle connection. A read is retried once; a write
            // may have been carried out.
            Err(Failure::Broken(_) | Failure::NotSent(_)) if !spec.writes => {
                self.send(spec, path, &ask, body::full(ask.clone())).await
            }
            answer => answer,
        }
    }

    /// Sends a body that begins with this JSON request.
    pub(crate) async fn send<E: DeserializeOwned>(
        &self,
        spec: OperationSpec,
        path: &str,
        ask: &[u8],
        body: Body,
    ) -> Result<Response<Incoming>, Failure<E>> {
        let what = OutgoingRequest {
            spec,
            path,
            under: self.under,
            ask,
        };
        let answer = self.link.send(&what, body).await.map_err(|none| match none {
            NoAnswer::Broken(error) => Failure::Broken(error.to_string()),
            NoAnswer::NotSent(error) => Failure::NotSent(error.to_string()),
            NoAnswer::Waiting(error) => Failure::Unreachable(error.to_string()),
        })?;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            StatusCode::CONFLICT => Err(self.handle_other_layouts(answer).await),
            StatusCode::UNAUTHORIZED => Err(Failure::Unreachable(format!(
                "{} rejected the request signature: the secrets differ, or the clocks differ by more than five minutes",
                self.node()
            ))),
            status => Err(self.failure(status, answer).await),
        }
    }

    /// Parses a JSON response.
    pub(crate) async fn json<T: DeserializeOwned, E>(
        &self,
        answer: Response<Incoming>,
    ) -> Result<T, Failure<E>> {
        self.json_as(PhantomData, answer).await
    }

    /// Parses a JSON response with `seed`.
    pub(crate) async fn json_as<T, E>(
        &self,
        seed: impl for<'de> DeserializeSeed<'de, Value = T>,
        answer: Response<Incoming>,
    ) -> Result<T, Failure<E>> {
        let text = self.link.whole(answer.into_body(), ANSWER_BYTES_MAX).await;
        let text = text.map_err(|error| Failure::Unreachable(error.to_string()))?;
        let mut json = serde_json::Deserializer::from_slice(&text);
        let answer = seed.deserialize(&mut json);
        // Fails if anything follows the value.
        let answer = answer.and_then(|answer| json.end().map(|()| answer));
        answer.map_err(|error| Failure::Unreachable(format!("cannot parse the response: {error}")))
    }

    /// Reads the error that the node sent instead of a response.
    async fn failure<E: DeserializeOwned>(
        &self,
        status: StatusCode,
        answer: Response<Incoming>,
    ) -> Failure<E> {
        let text = match self.link.whole(answer.into_body(), ASK_BYTES_MAX).await {
            Ok(text) => text,
            Err(error) => return Failure::Unreachable(error.to_string()),
        };
        match serde_json::from_slice(&text) {
            Ok(error) => Failure::Said(error),
            Err(_) => Failure::Unreachable(format!(
                "unexpected status {status}: {}",
                String::from_utf8_lossy(&text)
            )),
        }
    }

    /// Handles a node that knows other layouts: the newer ones win on both sides.
    async fn handle_other_layouts<E>(&self, answer: Response<Incoming>) -> Failure<E> {
        let theirs: Layouts = match self.json::<_, E>(answer).await {
            Ok(theirs) => theirs,
            Err(failure) => return failure,
        };
        let number = theirs.current.number;
        let layout_log = &self.peers.layout_log;
        let (ours, tag) = (layout_log.tag(), LayoutTag::of(&theirs.current));
        if ours.number == number && ours != tag {
            // Only layout 1 can exist twice: each node makes it itself, without a majority.
            tracing::error!(
                node = %self.node(),
                layout = number,
                "node has another layout with this number: it was first started with another cluster file"
            );
        }
        layout_log.adopt(theirs).await;
        let ours = layout_log.layouts().await;
        if ours.current.number > number {
            let adopt = NodeRequest::Adopt(Box::new(ours));
            self.push(&adopt).await;
        }
        Failure::OtherLayout(number)
    }

    /// Sends our newer layouts to the node. If that fails, the next request meets the same
    /// difference again.
    async fn push(&self, adopt: &NodeRequest) {
        let Ok(ask) = serde_json::to_vec(adopt) else {
            return;
        };
        let what = OutgoingRequest {
            spec: adopt.spec(),
            path: "/v1/node/adopt",
            under: self.under,
            ask: &ask,
        };
        match self.link.send(&what, body::full(ask.clone())).await {
            Ok(answer) if answer.status() == StatusCode::OK => {}
            Ok(answer) => {
                tracing::warn!(node = %self.node(), status = %answer.status(), "node refused newer layouts");
            }
            Err(error) => {
                let detail = error.to_string();
                tracing::debug!(node = %self.node(), detail, "newer layouts could not be sent");
            }
        }
    }
}
