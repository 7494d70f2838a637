//! Has a change decided: sends it to the key's deciders in their order until one has decided it
//! ([`super::decide`]).

use std::sync::Arc;

use store_protocol::{
    Change, ChangeRequest, Condition, Key, Meta, NewestVersion, Node, NodeError, NodeId, VolumeId, WriteId,
};
use tokio::time::Instant;

use super::error::{StoreError, unavailable};
use super::key_state::KeyState;
use super::promised_terms::back_off;
use super::staging::{ContentSource, Expected, Staging};
use super::store::Store;
use super::uploads::Uploads;
use crate::cluster::Topology;

/// A change of a key, with everything needed to request it.
pub(super) struct Proposal {
    request: ChangeRequest,
    content: ContentSource,
    /// The uploads of the content.
    uploads: Uploads,
    /// Volumes that did not answer when the key was looked up.
    failed: Vec<VolumeId>,
    /// It was requested before, with an unknown outcome.
    is_repeated: bool,
}

impl Proposal {
    pub(super) fn new(
        store: &Store,
        key: &Key,
        change: Change,
        content: ContentSource,
        state: &KeyState,
    ) -> Self {
        Self {
            request: ChangeRequest {
                key: key.clone(),
                change,
                write: WriteId::random(),
                expected_newest: state.certain_newest(),
                relayed: false,
            },
            content,
            uploads: Uploads::new(store),
            failed: state.failed.clone(),
            is_repeated: false,
        }
    }

    /// Adds content that is already uploaded.
    pub(super) fn with_uploads(mut self, uploads: &mut Uploads) -> Self {
        for (volume, upload) in uploads.take() {
            self.uploads.push(volume, upload);
        }
        self
    }

    /// Prepares the proposal for another try under another condition, after a refusal. Deciders see
    /// a new request.
    pub(super) fn renew(&mut self, condition: Condition, current: Option<&Meta>) {
        self.request.write = WriteId::random();
        // The number of a current version is known; for a deleted one, the decider reports it.
        self.request.expected_newest = current.map(|meta| NewestVersion {
            version: Some(meta.version),
        });
        if let Some(place) = self.request.change.condition_mut() {
            *place = condition;
        }
    }

    /// Takes the condition out, to be replaced with [`Proposal::renew`].
    pub(super) fn take_condition(&mut self) -> Condition {
        let condition = self.request.change.condition_mut();
        condition.map(std::mem::take).unwrap_or_default()
    }

    /// Returns whether it was requested before, with an unknown outcome.
    pub(super) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Ends the proposal and discards uploads that are no longer needed.
    pub(super) async fn close(&mut self, is_written: bool) {
        if is_written && !self.is_repeated {
            self.uploads.take();
        } else {
            self.uploads.abort().await;
        }
    }

    /// Returns the request for a decider.
    fn to_request(&self) -> ChangeRequest {
        let mut request = self.request.clone();
        if let Some(uploads) = request.change.uploads_mut() {
            *uploads = self.uploads.list().to_vec();
        }
        request
    }

    /// Returns the length and digest that the content must have, if there is content.
    fn expected(&self) -> Option<Expected> {
        self.request.change.draft().map(|draft| Expected {
            size: draft.size,
            blake3: draft.digests.blake3,
        })
    }
}

impl Store {
    /// Finishes an interrupted write of a key and returns the key's newest version.
    pub(super) async fn finish_in_doubt(&self, key: &Key) -> Result<Option<Meta>, StoreError> {
        let request = ChangeRequest {
            key: key.clone(),
            change: Change::FinishInDoubt,
            write: WriteId::random(),
            expected_newest: None,
            relayed: false,
        };
        let mut proposal = Proposal {
            request,
            content: ContentSource::None,
            uploads: Uploads::new(self),
            failed: Vec::new(),
            is_repeated: false,
        };
        let ended = self.propose(&mut proposal).await;
        proposal.close(ended.is_ok()).await;
        ended
    }

    /// Has a change decided by the key's decider. Waits up to
    /// [`Timeouts::decide`](super::Timeouts::decide) for a node that can decide. The caller then
    /// closes the proposal ([`Proposal::close`]).
    pub(super) async fn propose(&self, proposal: &mut Proposal) -> Result<Option<Meta>, StoreError> {
        let key = proposal.request.key.clone();
        let deadline = Instant::now() + self.timeouts().decide;
        let mut rounds = 0;
        loop {
            let topology = self.cluster().topology();
            let (mut reasons, mut was_changed) = (Vec::new(), false);
            proposal.request.relayed = false;
            for node in topology.deciders(key.partition()) {
                let answer = self.ask_decider(&topology, &node, proposal).await?;
                let error = match answer {
                    Ok(ended) => return Ok(ended),
                    Err(error) => error,
                };
                reasons.push(error.to_string());
                match error {
                    NodeError::Unreachable { asked, .. } => proposal.is_repeated |= asked,
                    NodeError::Changed { newest } if !proposal.is_repeated => {
                        proposal.request.expected_newest = Some(newest);
                        was_changed = true;
                        break;
                    }
                    NodeError::Changed { .. } => {
                        let detail =
                            "the response of the deciding node was lost, and the object was changed since";
                        return Err(unavailable(&key, detail));
                    }
                    // This node answers but cannot decide: try the next one without waiting.
                    NodeError::Undecided { begun, .. } => {
                        proposal.request.relayed = true;
                        proposal.is_repeated |= begun;
                    }
                    NodeError::OtherLayout { .. } => break,
                    NodeError::Superseded { .. } => {
                        proposal.is_repeated = true;
                        break;
                    }
                    error => return Err(refused(&key, error)),
                }
            }
            rounds += 1;
            if Instant::now() >= deadline || reasons.is_empty() {
                let none = "the layout has no nodes".to_owned();
                return Err(unavailable(
                    &key,
                    if reasons.is_empty() {
                        none
                    } else {
                        reasons.join("; ")
                    },
                ));
            }
            if !was_changed {
                back_off(rounds).await;
            }
        }
    }

    /// Asks one node, or decides in this process. Content for another node is uploaded first.
    ///
    /// # Errors
    /// The reason why the content could not be uploaded.
    async fn ask_decider(
        &self,
        topology: &Arc<Topology>,
        id: &NodeId,
        proposal: &mut Proposal,
    ) -> Result<Result<Option<Meta>, NodeError>, StoreError> {
        if proposal.is_repeated
            && proposal.request.expected_newest.is_none()
            && !matches!(proposal.request.change, Change::FinishInDoubt)
        {
            let detail = "a response was lost, and the version before the write is uncertain".to_owned();
            return Ok(Err(NodeError::Unknown(detail)));
        }
        if Some(id) == self.cluster().me() {
            let mut request = proposal.to_request();
            // A request within the process arrives at once and exactly once, so the version seen
            // matters only for a repeated one.
            request.expected_newest = request.expected_newest.filter(|_| proposal.is_repeated);
            return Ok(self.decide(request, proposal.content.clone()).await);
        }
        let Some(node) = topology.nodes.get(id) else {
            return Ok(Err(NodeError::Unreachable {
                node: id.clone(),
                detail: "no layout in force contains it".to_owned(),
                asked: false,
            }));
        };
        if let (Some(expected), ContentSource::Memory(_)) = (proposal.expected(), &proposal.content)
            && proposal.uploads.list().is_empty()
        {
            let content = proposal.content.clone();
            let mut staging = Staging::new(self, &proposal.request.key, expected, content, &proposal.failed);
            staging
                .fill()
                .await
                .map_err(|error| error.into_store_error(&proposal.request.key))?;
            proposal.uploads = Uploads::of(self, staging.uploads().take());
        }
        if proposal.request.expected_newest.is_none()
            && !matches!(proposal.request.change, Change::FinishInDoubt)
        {
            match newest_version(node.as_ref(), &proposal.request).await {
                Ok(newest) => proposal.request.expected_newest = Some(newest),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(node.decide(proposal.to_request()).await)
    }
}

/// Converts the error of a node that ends the change.
fn refused(key: &Key, error: NodeError) -> StoreError {
    let name = key.to_string();
    match error {
        NodeError::Condition { current } => StoreError::Condition { key: name, current },
        NodeError::Protected(protection) => StoreError::Protected {
            key: name,
            protection,
        },
        NodeError::Full(detail) => StoreError::Full { key: name, detail },
        error => unavailable(key, error),
    }
}

/// Asks `node` to finish writes in doubt, and returns the newest version. The change itself
/// has not begun, whatever the outcome.
async fn newest_version(node: &dyn Node, request: &ChangeRequest) -> Result<NewestVersion, NodeError> {
    let finish = ChangeRequest {
        change: Change::FinishInDoubt,
        ..request.clone()
    };
    match node.decide(finish).await {
        Ok(newest) => Ok(NewestVersion {
            version: newest.map(|meta| meta.version),
        }),
        Err(NodeError::Unreachable { node, detail, .. }) => Err(NodeError::Unreachable {
            node,
            detail,
            asked: false,
        }),
        Err(error @ (NodeError::Undecided { .. } | NodeError::Superseded { .. })) => {
            let (detail, begun) = (error.to_string(), false);
            Err(NodeError::Undecided { detail, begun })
        }
        Err(error) => Err(error),
    }
}
