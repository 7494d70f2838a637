//! A node in another process.

use async_trait::async_trait;
use placement::{Layout, Layouts};
use serde::de::DeserializeOwned;
use store_protocol::{Claim, Finish, Meta, Node, NodeError, NodeId, NodeStatus};

use super::ask::NodeAsk;
use super::client::{Failure, Peer};

/// A node reached over HTTP.
pub(crate) struct RemoteNode(pub(crate) Peer);

impl RemoteNode {
    async fn ask<T: DeserializeOwned>(&self, ask: NodeAsk) -> Result<T, NodeError> {
        let manner = ask.manner();
        let path = format!("/v1/node/{}", manner.operation);
        self.0
            .ask(manner, &path, &ask)
            .await
            .map_err(|failure| match failure {
                Failure::Said(error) => error,
                Failure::Unreachable(detail) | Failure::Broken(detail) => NodeError::Unreachable {
                    node: self.0.node().clone(),
                    detail,
                    asked: true,
                },
                Failure::NotAsked(detail) => NodeError::Unreachable {
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

    async fn finish(&self, finish: Finish) -> Result<Option<Meta>, NodeError> {
        self.ask(NodeAsk::Finish(Box::new(finish))).await
    }

    async fn promise(&self, claims: &[Claim]) -> Result<Vec<Claim>, NodeError> {
        let claims = claims.to_vec();
        self.ask(NodeAsk::Promise { claims }).await
    }

    async fn layouts(&self) -> Result<Layouts, NodeError> {
        self.ask(NodeAsk::Layouts).await
    }

    async fn propose(&self, layout: &Layout) -> Result<(), NodeError> {
        self.ask(NodeAsk::Propose(Box::new(layout.clone()))).await
    }

    async fn accepted(&self) -> Result<Vec<Layout>, NodeError> {
        self.ask(NodeAsk::Accepted).await
    }

    async fn adopt(&self, layouts: &Layouts) -> Result<(), NodeError> {
        self.ask(NodeAsk::Adopt(Box::new(layouts.clone()))).await
    }

    async fn status(&self) -> Result<NodeStatus, NodeError> {
        self.ask(NodeAsk::Status).await
    }
}
