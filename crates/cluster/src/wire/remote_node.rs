//! A node in another process.

use async_trait::async_trait;
use placement::{Layout, Layouts};
use serde::de::DeserializeOwned;
use store_protocol::{ChangeRequest, Claim, Meta, Node, NodeError, NodeId, NodeStatus};

use super::client::{Failure, Peer};
use super::requests::NodeRequest;

/// A node reached over HTTP.
pub(crate) struct RemoteNode(pub(crate) Peer);

impl RemoteNode {
    async fn ask<T: DeserializeOwned>(&self, ask: NodeRequest) -> Result<T, NodeError> {
        let spec = ask.spec();
        let path = format!("/v1/node/{}", spec.operation);
        self.0
            .ask(spec, &path, &ask)
            .await
            .map_err(|failure| match failure {
                Failure::Said(error) => error,
                Failure::Unreachable(detail) | Failure::Broken(detail) => NodeError::Unreachable {
                    node: self.0.node().clone(),
                    detail,
                    asked: true,
                },
                Failure::NotSent(detail) => NodeError::Unreachable {
                    node: self.0.node().clone(),
                    detail,
                    asked: false,
                },
                Failure::OtherLayout(theirs) => NodeError::OtherLayout {
                    node: self.0.node().clone(),
                    ours: self.0.layout(),
                    theirs,
                },
            })
    }
}

#[async_trait]
impl Node for RemoteNode {
    fn id(&self) -> &NodeId {
        self.0.node()
    }

    async fn decide(&self, request: ChangeRequest) -> Result<Option<Meta>, NodeError> {
        self.ask(NodeRequest::Decide(Box::new(request))).await
    }

    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        let claims = claims.to_vec();
        self.ask(NodeRequest::Promise { claims }).await
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        self.ask(NodeRequest::Layouts).await
    }

    async fn propose(&self, layout: &Layout) -> Result<(), NodeError> {
        self.ask(NodeRequest::Propose(Box::new(layout.clone()))).await
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        self.ask(NodeRequest::Accepted).await
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        self.ask(NodeRequest::Adopt(Box::new(layouts.clone()))).await
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        self.ask(NodeRequest::Status).await
    }
}
