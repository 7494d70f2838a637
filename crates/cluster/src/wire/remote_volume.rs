//! A volume of another node.

use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use contract::{
    Abandon, BLOCK_BYTES, BlockTable, ByteStream, Cause, FixityEvent, Head, Held, Key, ListQuery, Meta,
    Partition, Purpose, ReplicaRead, StageId, Staged, StagedRead, Surveyed, Unsettled, Verdict, Version,
    Volume, VolumeError, VolumeId, VolumeStatus,
};
use futures_util::future::{Either, select};
use futures_util::{StreamExt as _, stream};
use http::Response;
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::ask::{Manner, ReadHead, StagedHead, VolumeAsk, WholeHead};
use super::body;
use super::client::{Failure, Peer};
use super::frame::{self, Pieces};
use super::{IDLE_MAX, STAGED_MAX, TABLE_BYTES_MAX, WHOLE_BYTES_MAX};

/// A volume, asked over HTTP.
pub(crate) struct RemoteVolume {
    id: VolumeId,
    peer: Peer,
}

impl RemoteVolume {
    /// A volume of this node.
    pub(crate) fn new(id: VolumeId, peer: Peer) -> Self {
        Self { id, peer }
    }

    async fn ask<T: DeserializeOwned>(&self, ask: VolumeAsk) -> Result<T, VolumeError> {
        let manner = ask.manner();
        let answer = self.peer.ask(manner, &self.path(manner), &ask).await;
        answer.map_err(|failure| self.error(failure))
    }

    fn path(&self, manner: Manner) -> String {
        format!("/v1/volume/{}/{}", self.id, manner.operation)
    }

    fn error(&self, failure: Failure<VolumeError>) -> VolumeError {
        match failure {
            Failure::Said(error) => error,
            Failure::Unreachable(detail) | Failure::Broken(detail) | Failure::NotAsked(detail) => {
                self.unreachable(detail)
            }
            Failure::OtherLayout(theirs) => VolumeError::OtherLayout {
                volume: self.id.clone(),
                ours: self.peer.layout(),
                theirs,
            },
        }
    }

    fn unreachable(&self, detail: impl ToString) -> VolumeError {
        VolumeError::Unreachable {
            volume: self.id.clone(),
            detail: detail.to_string(),
        }
    }

    /// The answer to a `read-staged`: head, content.
    async fn opened_stage(&self, answer: Response<Incoming>) -> io::Result<StagedRead> {
        let mut pieces = Pieces::new(self.peer.link.clone().content(answer.into_body()));
        let head: StagedHead = serde_json::from_slice(&pieces.head().await?)?;
        Ok(StagedRead {
            size: head.size,
            bytes: pieces.rest(head.size),
        })
    }

    /// The answer to a `read`: head, table unless it is known, blocks.
    async fn opened(
        &self,
        answer: Response<Incoming>,
        blocks: Range<u64>,
        known: Option<Arc<BlockTable>>,
    ) -> io::Result<ReplicaRead> {
        let mut pieces = Pieces::new(self.peer.link.clone().content(answer.into_body()));
        let head: ReadHead = serde_json::from_slice(&pieces.head().await?)?;
        if head.table_bytes > TABLE_BYTES_MAX {
            let detail = format!("a table of {} bytes is too long", head.table_bytes);
            return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
        }
        let table = pieces.take(head.table_bytes as usize).await?;
        let table = known.unwrap_or_else(|| Arc::new(table_of(&table)));
        self.peer.peers.tables.put(&head.meta, &table);
        let length = span(&blocks, head.meta.size);
        Ok(ReplicaRead {
            meta: head.meta,
            table,
            bytes: pieces.rest(length),
        })
    }
}

/// Bytes in some blocks of an object of this size.
fn span(blocks: &Range<u64>, size: u64) -> u64 {
    let at = |block: u64| block.saturating_mul(BLOCK_BYTES).min(size);
    at(blocks.end).saturating_sub(at(blocks.start))
}

fn table_of(bytes: &[u8]) -> BlockTable {
    let (values, _) = bytes.as_chunks::<32>();
    BlockTable::from_values(values.to_vec())
}

/// Content whose own failure is remembered, to tell it from a failure of the way.
#[derive(Clone, Default)]
struct Source(Arc<Mutex<Option<String>>>);

impl Source {
    fn watch(&self, content: ByteStream) -> ByteStream {
        let failure = self.0.clone();
        Box::pin(content.map(move |piece| {
            if let Err(error) = &piece {
                *failure.lock() = Some(error.to_string());
            }
            piece
        }))
    }

    /// The error to report: the source's own if it failed.
    fn or(&self, error: VolumeError) -> VolumeError {
        self.0.lock().take().map_or(error, VolumeError::Body)
    }
}

#[async_trait]
impl Volume for RemoteVolume {
    fn id(&self) -> &VolumeId {
        &self.id
    }

    async fn stage(&self, stage: StageId, content: ByteStream) -> Result<Staged, VolumeError> {
        let source = Source::default();
        let path = format!("{}?upload={stage}", self.path(Manner::STAGE));
        let (body, handing) = body::handed(source.watch(content), IDLE_MAX);
        let asking = async {
            let answer = self.peer.send(Manner::STAGE, &path, b"", body).await?;
            self.peer.json(answer).await
        };
        let asked = match select(pin!(asking), pin!(handing)).await {
            Either::Left((asked, _)) => asked,
            Either::Right((Err(stalled), _)) => Err(Failure::Unreachable(stalled.to_string())),
            // All of it was sent: now it is an answer like any other.
            Either::Right((Ok(()), asking)) => timeout(STAGED_MAX, asking).await.unwrap_or_else(|_| {
                let detail = format!("no answer within {} s after the content", STAGED_MAX.as_secs());
                Err(Failure::Unreachable(detail))
            }),
        };
        asked.map_err(|failure| source.or(self.error(failure)))
    }

    async fn prepare(&self, stage: StageId, meta: &Meta, purpose: Purpose) -> Result<(), VolumeError> {
        let meta = meta.clone();
        let ask = VolumeAsk::Prepare { stage, meta, purpose };
        self.ask(ask).await
    }

    async fn stage_whole(&self, stage: StageId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        if content.len() > WHOLE_BYTES_MAX {
            self.stage(stage, Box::pin(stream::iter([Ok(content)]))).await?;
            return self.prepare(stage, meta, Purpose::Write).await;
        }
        let meta = meta.clone();
        let head = serde_json::to_vec(&WholeHead { stage, meta }).map_err(|error| self.unreachable(error))?;
        let frame = frame::head(&head).map_err(|error| self.unreachable(error))?;
        let body = body::headed(vec![frame, content], Box::pin(stream::empty()));
        let manner = Manner::STAGE_WHOLE;
        let work = async {
            let answer = self.peer.send(manner, &self.path(manner), &head, body).await?;
            self.peer.json(answer).await
        };
        work.await.map_err(|failure| self.error(failure))
    }

    async fn read_staged(&self, stage: StageId) -> Result<StagedRead, VolumeError> {
        let ask = VolumeAsk::ReadStaged { stage };
        let manner = ask.manner();
        let answer = self.peer.ask_raw(manner, &self.path(manner), &ask).await;
        let answer = answer.map_err(|failure| self.error(failure))?;
        let opened = self.opened_stage(answer).await;
        opened.map_err(|error| self.unreachable(error))
    }

    async fn commit(&self, stage: StageId, cause: Cause, evidence: &str) -> Result<(), VolumeError> {
        let evidence = evidence.to_owned();
        self.ask(VolumeAsk::Commit {
            stage,
            cause,
            evidence,
        })
        .await
    }

    async fn abort(&self, stage: StageId, what: Abandon) {
        if let Err(error) = self.ask::<()>(VolumeAsk::Abort { stage, what }).await {
            tracing::debug!(volume = %self.id, %stage, %error, "upload was not given up, its node will do so");
        }
    }

    async fn head(&self, key: &Key) -> Result<Head, VolumeError> {
        let key = key.clone();
        self.ask(VolumeAsk::Head { key }).await
    }

    async fn unsettled(&self, prefix: &str) -> Result<Unsettled, VolumeError> {
        let prefix = prefix.to_owned();
        self.ask(VolumeAsk::Unsettled { prefix }).await
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let known = self.peer.peers.tables.get(key, version);
        let ask = VolumeAsk::Read {
            key: key.clone(),
            version,
            start: blocks.start,
            end: blocks.end,
            table: known.is_none(),
        };
        let manner = ask.manner();
        let answer = self.peer.ask_raw(manner, &self.path(manner), &ask).await;
        let answer = answer.map_err(|failure| self.error(failure))?;
        let opened = self.opened(answer, blocks, known).await;
        opened.map_err(|error| self.unreachable(error))
    }

    async fn list(&self, query: &ListQuery) -> Result<Vec<Held>, VolumeError> {
        self.ask(VolumeAsk::List(query.clone())).await
    }

    async fn survey(&self, partitions: &[Partition]) -> Result<Vec<Vec<Surveyed>>, VolumeError> {
        let ask = VolumeAsk::Survey {
            partitions: partitions.to_vec(),
        };
        let answer: Vec<Vec<Surveyed>> = self.ask(ask).await?;
        if answer.len() > partitions.len() || answer.is_empty() != partitions.is_empty() {
            let (found, most) = (answer.len(), partitions.len());
            let detail = format!("a survey of {found} partitions: expected 1 to {most}");
            return Err(self.unreachable(detail));
        }
        Ok(answer)
    }

    async fn verify(&self, key: &Key, version: Version, cause: Cause) -> Result<Verdict, VolumeError> {
        let key = key.clone();
        self.ask(VolumeAsk::Verify { key, version, cause }).await
    }

    async fn remove(
        &self,
        key: &Key,
        version: Version,
        cause: Cause,
        evidence: &str,
    ) -> Result<(), VolumeError> {
        self.ask(VolumeAsk::Remove {
            key: key.clone(),
            version,
            cause,
            evidence: evidence.to_owned(),
        })
        .await
    }

    async fn settle_stray(&self, path: &str) -> Result<(), VolumeError> {
        let path = path.to_owned();
        self.ask(VolumeAsk::SettleStray { path }).await
    }

    async fn rebuilt(&self) -> Result<(), VolumeError> {
        self.ask(VolumeAsk::Rebuilt).await
    }

    async fn fixity(&self, key: Option<&Key>, limit: usize) -> Result<Vec<FixityEvent>, VolumeError> {
        let key = key.cloned();
        self.ask(VolumeAsk::Fixity { key, limit }).await
    }

    async fn status(&self) -> Result<VolumeStatus, VolumeError> {
        self.ask(VolumeAsk::Status).await
    }
}
