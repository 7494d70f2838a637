//! A volume of another node.

use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::{StreamExt as _, stream};
use http::Response;
use hyper::body::Incoming;
use parking_lot::Mutex;
use store_protocol::{
    BLOCK_BYTES, BlockTable, ByteStream, Key, Meta, OperationSpec, Purpose, Receipt, ReplicaRead,
    SurveyEntry, UploadId, UploadRead, Version, Volume, VolumeError, VolumeId, VolumeRequest, VolumeResponse,
};
use tokio::time::timeout;

use super::body;
use super::client::{Failure, Peer};
use super::frame::{self, Pieces};
use super::requests::{PREPARE_WHOLE, RECEIVE, ReadHead, StreamRequest, UploadHead, WholeHead};
use super::{IDLE_MAX, RECEIPT_MAX, TABLE_BYTES_MAX, WHOLE_BYTES_MAX};

/// A volume reached over HTTP.
pub(crate) struct RemoteVolume {
    id: VolumeId,
    peer: Peer,
}

impl RemoteVolume {
    /// Returns a volume of this node.
    pub(crate) fn new(id: VolumeId, peer: Peer) -> Self {
        Self { id, peer }
    }

    /// Checks that a survey has at least one partition (if any was requested) and at most `most`.
    fn checked(
        &self,
        found: Vec<Vec<SurveyEntry>>,
        most: usize,
    ) -> Result<Vec<Vec<SurveyEntry>>, VolumeError> {
        if found.len() > most || found.is_empty() != (most == 0) {
            let detail = format!("a survey of {} partitions: expected 1 to {most}", found.len());
            return Err(self.unreachable(detail));
        }
        Ok(found)
    }

    fn content(&self, answer: Response<Incoming>) -> ByteStream {
        self.peer.link.clone().content(answer.into_body())
    }

    fn path(&self, spec: OperationSpec) -> String {
        format!("/v1/volume/{}/{}", self.id, spec.operation)
    }

    fn error(&self, failure: Failure<VolumeError>) -> VolumeError {
        match failure {
            Failure::Said(error) => error,
            Failure::Unreachable(detail) | Failure::Broken(detail) | Failure::NotSent(detail) => {
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
}

/// Parses the response to a `read-staged`: head, content.
pub(super) async fn opened_upload(content: ByteStream) -> io::Result<UploadRead> {
    let mut pieces = Pieces::new(content);
    let head: UploadHead = serde_json::from_slice(&pieces.head().await?)?;
    Ok(UploadRead {
        size: head.size,
        bytes: pieces.rest(head.size),
    })
}

/// Parses the response to a `read`: head, table unless it is known, blocks.
pub(super) async fn read_replica(
    content: ByteStream,
    blocks: Range<u64>,
    known: Option<Arc<BlockTable>>,
) -> io::Result<ReplicaRead> {
    let mut pieces = Pieces::new(content);
    let head: ReadHead = serde_json::from_slice(&pieces.head().await?)?;
    if head.table_bytes > TABLE_BYTES_MAX {
        let detail = format!("a block table of {} bytes is too long", head.table_bytes);
        return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
    }
    let table = pieces.take(head.table_bytes as usize).await?;
    let table = known.unwrap_or_else(|| Arc::new(table_of(&table)));
    let length = span(&blocks, head.meta.size);
    Ok(ReplicaRead {
        meta: head.meta,
        table,
        bytes: pieces.rest(length),
    })
}

/// Returns the number of bytes in some blocks of an object of this size.
fn span(blocks: &Range<u64>, size: u64) -> u64 {
    let at = |block: u64| block.saturating_mul(BLOCK_BYTES).min(size);
    at(blocks.end).saturating_sub(at(blocks.start))
}

fn table_of(bytes: &[u8]) -> BlockTable {
    let (values, _) = bytes.as_chunks::<32>();
    BlockTable::from_values(values.to_vec())
}

/// Remembers a failure of the content itself, to distinguish it from a failure of the connection.
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

    /// Returns the error of the content if it failed, else `error`.
    fn or(&self, error: VolumeError) -> VolumeError {
        self.0.lock().take().map_or(error, VolumeError::Body)
    }
}

#[async_trait]
impl Volume for RemoteVolume {
    fn id(&self) -> &VolumeId {
        &self.id
    }

    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        let spec = ask.spec();
        let asked = async {
            let answer = self.peer.ask_raw(spec, &self.path(spec), &ask).await?;
            self.peer.json_as(&ask, answer).await
        };
        match (&ask, asked.await.map_err(|failure| self.error(failure))?) {
            (VolumeRequest::Survey { partitions }, VolumeResponse::Survey(found)) => {
                Ok(self.checked(found, partitions.len())?.into())
            }
            (_, answer) => Ok(answer),
        }
    }

    async fn receive(&self, upload: UploadId, content: ByteStream) -> Result<Receipt, VolumeError> {
        let source = Source::default();
        let path = format!("{}?upload={upload}", self.path(RECEIVE));
        let (body, handing) = body::body_of_content(source.watch(content), IDLE_MAX);
        let asking = async {
            let answer = self.peer.send(RECEIVE, &path, b"", body).await?;
            self.peer.json(answer).await
        };
        let asked = match select(pin!(asking), pin!(handing)).await {
            Either::Left((asked, _)) => asked,
            Either::Right((Err(stalled), _)) => Err(Failure::Unreachable(stalled.to_string())),
            // The whole content was sent, so from now on the limit of an ordinary response applies.
            Either::Right((Ok(()), asking)) => timeout(RECEIPT_MAX, asking).await.unwrap_or_else(|_| {
                let detail = format!("no answer within {} s after the content", RECEIPT_MAX.as_secs());
                Err(Failure::Unreachable(detail))
            }),
        };
        asked.map_err(|failure| source.or(self.error(failure)))
    }

    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        if content.len() > WHOLE_BYTES_MAX {
            self.receive(upload, Box::pin(stream::iter([Ok(content)])))
                .await?;
            return self.prepare(upload, meta, Purpose::Write).await;
        }
        let meta = meta.clone();
        let head =
            serde_json::to_vec(&WholeHead { upload, meta }).map_err(|error| self.unreachable(error))?;
        let frame = frame::head(&head).map_err(|error| self.unreachable(error))?;
        let body = body::with_heads(vec![frame, content], Box::pin(stream::empty()));
        let spec = PREPARE_WHOLE;
        let work = async {
            let answer = self.peer.send(spec, &self.path(spec), &head, body).await?;
            self.peer.json(answer).await
        };
        work.await.map_err(|failure| self.error(failure))
    }

    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        let ask = StreamRequest::ReadUpload { upload };
        let spec = ask.spec();
        let answer = self.peer.ask_raw(spec, &self.path(spec), &ask).await;
        let answer = answer.map_err(|failure| self.error(failure))?;
        let opened = opened_upload(self.content(answer)).await;
        opened.map_err(|error| self.unreachable(error))
    }

    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let known = self.peer.peers.tables.get(key, version);
        let ask = StreamRequest::Read {
            key: key.clone(),
            version,
            start: blocks.start,
            end: blocks.end,
            table: known.is_none(),
        };
        let spec = ask.spec();
        let answer = self.peer.ask_raw(spec, &self.path(spec), &ask).await;
        let answer = answer.map_err(|failure| self.error(failure))?;
        let opened = read_replica(self.content(answer), blocks, known).await;
        let read = opened.map_err(|error| self.unreachable(error))?;
        self.peer.peers.tables.put(&read.meta, &read.table);
        Ok(read)
    }
}
