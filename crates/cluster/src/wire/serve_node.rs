//! Answers requests to a node.

use std::sync::Arc;

use http::{Response, StatusCode};
use serde::Serialize;
use store_protocol::{Node as _, NodeError};
use tracing::Instrument as _;

use super::ask::NodeAsk;
use super::body::Body;
use super::server::{Admitted, Service, json, plain, read_ask, refused, unknown};

impl Service {
    /// Answers `POST /v1/node/OPERATION`.
    pub(super) async fn answer_node(self: Arc<Self>, admitted: Admitted) -> Response<Body> {
        let ask: NodeAsk = match read_ask(admitted.body, &admitted.signed).await {
            Ok(ask) => ask,
            Err(answer) => return answer,
        };
        let manner = ask.manner();
        if manner.operation != admitted.rest {
            return unknown(&admitted.rest);
        }
        if manner.writes && !self.gate.admit(&admitted.signed) {
            return refused();
        }
        if ask.needs_layout()
            && let Some(answer) = self.other_layout(&admitted.signed).await
        {
            return answer;
        }
        let counted = self.node.counters.begin(manner.operation);
        // Runs in a separate task: a decision that was begun must be completed even if the caller
        // goes away.
        let done = tokio::spawn(async move { self.do_node(ask).await }.in_current_span()).await;
        let answer = done.unwrap_or_else(|error| plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()));
        if answer.status().is_server_error() {
            counted.failed();
        }
        answer
    }

    async fn do_node(&self, ask: NodeAsk) -> Response<Body> {
        let node = &self.node;
        match ask {
            NodeAsk::Finish(finish) => said(node.finish(*finish).await),
            NodeAsk::Promise { claims } => said(node.promise(&claims).await),
            NodeAsk::Layouts => said(node.layouts().await),
            NodeAsk::Propose(layout) => said(node.propose(&layout).await),
            NodeAsk::Accepted => said(node.accepted().await),
            NodeAsk::Adopt(layouts) => said(node.adopt(&layouts).await),
            NodeAsk::Status => said(node.status().await),
        }
    }
}

fn said<T: Serialize>(result: Result<T, NodeError>) -> Response<Body> {
    match result {
        Ok(value) => json(StatusCode::OK, &value),
        Err(error) => json(status_of(&error), &error),
    }
}

fn status_of(error: &NodeError) -> StatusCode {
    match error {
        NodeError::Unreachable { .. } => StatusCode::BAD_GATEWAY,
        // 409 is reserved for a response that carries the layouts.
        NodeError::OtherLayout { .. } | NodeError::Superseded { .. } | NodeError::Undecided { .. } => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        NodeError::Condition { .. } | NodeError::Changed { .. } => StatusCode::PRECONDITION_FAILED,
        NodeError::LayoutRefused { .. } | NodeError::Protected(_) => StatusCode::FORBIDDEN,
        NodeError::Full(_) => StatusCode::INSUFFICIENT_STORAGE,
        NodeError::Failed(_) | NodeError::Unknown(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
