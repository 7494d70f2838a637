//! Answers requests to a node.

use std::sync::Arc;

use http::{Response, StatusCode};
use serde::Serialize;
use store_protocol::{Node as _, NodeError};
use tracing::Instrument as _;

use super::body::Body;
use super::requests::NodeRequest;
use super::server::{Admitted, Service, json, plain, read_ask, refused, unknown};

impl Service {
    /// Answers `POST /v1/node/OPERATION`.
    pub(super) async fn answer_node(self: Arc<Self>, admitted: Admitted) -> Response<Body> {
        let ask: NodeRequest = match read_ask(admitted.body, &admitted.signed).await {
            Ok(ask) => ask,
            Err(answer) => return answer,
        };
        let spec = ask.spec();
        if spec.operation != admitted.rest {
            return unknown(&admitted.rest);
        }
        if spec.writes && !self.gate.admit(&admitted.signed) {
            return refused();
        }
        if ask.needs_layout()
            && let Some(answer) = self.other_layout(&admitted.signed).await
        {
            return answer;
        }
        let counted = self.node.counters.begin(spec.operation);
        // Runs in a separate task: a decision that was begun must be completed even if the caller
        // goes away.
        let done = tokio::spawn(async move { self.dispatch(ask).await }.in_current_span()).await;
        let answer = done.unwrap_or_else(|error| plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()));
        if answer.status().is_server_error() {
            counted.failed();
        }
        answer
    }

    async fn dispatch(&self, ask: NodeRequest) -> Response<Body> {
        let node = &self.node;
        match ask {
            NodeRequest::Decide(request) => response(node.decide(*request).await),
            NodeRequest::Promise { claims } => response(node.promise(&claims).await),
            NodeRequest::Layouts => response(node.layouts().await),
            NodeRequest::Propose(layout) => response(node.propose(&layout).await),
            NodeRequest::Accepted => response(node.accepted().await),
            NodeRequest::Adopt(layouts) => response(node.adopt(&layouts).await),
            NodeRequest::Status => response(node.status().await),
        }
    }
}

fn response<T: Serialize>(result: Result<T, NodeError>) -> Response<Body> {
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
