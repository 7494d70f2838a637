//! Answers requests to a volume.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use http::{Response, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde::Serialize;
use store_protocol::{
    ByteStream, ReplicaRead, TrackedRequest, UploadId, UploadRead, Volume, VolumeError, VolumeId,
    VolumeRequest,
};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::body::{self, Body};
use super::requests::{PREPARE_WHOLE, RECEIVE, ReadHead, StreamRequest, UploadHead, WholeHead};
use super::server::{Admitted, Service, bad, json, plain, read_ask, refused, unknown, with_body};
use super::{FAREWELL, IDLE_MAX, UPLOAD_IDLE_MAX, WHOLE_BYTES_MAX, frame};

impl Service {
    /// Answers `POST /v1/volume/NODE/NAME/OPERATION`.
    pub(super) async fn answer_volume(self: Arc<Self>, mut admitted: Admitted) -> Response<Body> {
        let rest = std::mem::take(&mut admitted.rest);
        let Some((id, operation)) = rest.rsplit_once('/') else {
            return plain(StatusCode::NOT_FOUND, format!("no volume operation {rest:?}"));
        };
        if let Some(answer) = self.other_layout(&admitted.signed).await {
            drain(admitted.body);
            return answer;
        }
        let id = VolumeId::from(id.to_owned());
        let Some(volume) = self.node.volume(&id, admitted.signed.under) else {
            drain(admitted.body);
            let detail = format!("node {} was started without this volume", self.node.id);
            return response::<()>(Err(VolumeError::Unreachable { volume: id, detail }));
        };
        match operation {
            "stage" => self.receive(volume, admitted).await,
            "stage-whole" => self.prepare_whole(volume, admitted).await,
            // The path must decide, because serde cannot read an untagged enum that has numbers of
            // 128 bits.
            "read" | "read-staged" => self.stream(volume, operation, admitted).await,
            _ => self.ask(volume, operation, admitted).await,
        }
    }

    async fn receive(&self, volume: Arc<dyn Volume>, admitted: Admitted) -> Response<Body> {
        let Some(upload) = upload_of(&admitted.query) else {
            return plain(
                StatusCode::BAD_REQUEST,
                "expected ?upload= and 32 hexadecimal digits".to_owned(),
            );
        };
        // Before the first byte is stored: a request that was seen before must change nothing.
        if !self.gate.admit(&admitted.signed) {
            return refused();
        }
        let counted = Arc::new(self.node.counters.begin(RECEIVE.operation));
        let (content, left) = keep_rest(body::content_of_body(admitted.body, UPLOAD_IDLE_MAX));
        let content = counting(content, {
            let counted = counted.clone();
            move |bytes| counted.received(bytes)
        });
        let receipt = volume.receive(upload, content).await;
        if let Err(error) = &receipt {
            drain_rest(left);
            if is_ours(error) {
                counted.failed();
            }
        }
        response(receipt)
    }

    async fn prepare_whole(&self, volume: Arc<dyn Volume>, admitted: Admitted) -> Response<Body> {
        let most = WHOLE_BYTES_MAX + frame::HEAD_BYTES_MAX + 4;
        let split = body::whole(admitted.body, most, IDLE_MAX)
            .await
            .and_then(frame::split);
        let (head, content) = match split {
            Ok(parts) => parts,
            Err(error) => return bad(&error),
        };
        // The content is not signed: `prepare_whole` compares it with the digest in the signed
        // head.
        if *blake3::hash(&head).as_bytes() != admitted.signed.ask || !self.gate.admit(&admitted.signed) {
            return refused();
        }
        let WholeHead { upload, meta } = match serde_json::from_slice(&head) {
            Ok(head) => head,
            Err(error) => return bad(&error.into()),
        };
        let counted = self.node.counters.begin(PREPARE_WHOLE.operation);
        counted.received(content.len() as u64);
        let prepared = volume.prepare_whole(upload, &meta, content).await;
        if prepared.as_ref().is_err_and(is_ours) {
            counted.failed();
        }
        response(prepared)
    }

    async fn stream(&self, volume: Arc<dyn Volume>, operation: &str, admitted: Admitted) -> Response<Body> {
        let ask: StreamRequest = match read_ask(admitted.body, &admitted.signed).await {
            Ok(ask) => ask,
            Err(answer) => return answer,
        };
        let spec = ask.spec();
        if spec.operation != operation {
            return unknown(operation);
        }
        let counted = self.node.counters.begin(spec.operation);
        stream(volume.as_ref(), ask, counted).await
    }

    async fn ask(&self, volume: Arc<dyn Volume>, operation: &str, admitted: Admitted) -> Response<Body> {
        let ask: VolumeRequest = match read_ask(admitted.body, &admitted.signed).await {
            Ok(ask) => ask,
            Err(answer) => return answer,
        };
        let spec = ask.spec();
        if spec.operation != operation {
            return unknown(operation);
        }
        if spec.writes && !self.gate.admit(&admitted.signed) {
            return refused();
        }
        let counted = self.node.counters.begin(spec.operation);
        if !spec.writes {
            return answer(volume.as_ref(), ask, counted).await;
        }
        // Runs in a separate task: a change that was begun must be completed even if the caller
        // goes away.
        let work = async move { answer(volume.as_ref(), ask, counted).await };
        let done = tokio::spawn(work.in_current_span()).await;
        done.unwrap_or_else(|error| plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
    }
}

async fn answer(volume: &dyn Volume, ask: VolumeRequest, counted: TrackedRequest) -> Response<Body> {
    failing(response(volume.call(ask).await), &counted)
}

/// Counts the response as a failure if this node is at fault.
fn failing(answer: Response<Body>, counted: &TrackedRequest) -> Response<Body> {
    if answer.status().is_server_error() {
        counted.failed();
    }
    answer
}

/// Answers with content. Needs no separate task, because it changes nothing that must be completed.
async fn stream(volume: &dyn Volume, ask: StreamRequest, counted: TrackedRequest) -> Response<Body> {
    let failed = match ask {
        StreamRequest::ReadUpload { upload } => match volume.read_upload(upload).await {
            Ok(read) => return uploaded(read, counted),
            Err(error) => error,
        },
        StreamRequest::Read {
            key,
            version,
            start,
            end,
            table,
        } => match volume.read(&key, version, start..end).await {
            Ok(read) => return replica_response(read, table, counted),
            Err(error) => error,
        },
    };
    failing(response::<()>(Err(failed)), &counted)
}

/// Sends head frame, table and blocks. The request is counted until the last byte is sent.
fn replica_response(read: ReplicaRead, with_table: bool, counted: TrackedRequest) -> Response<Body> {
    let table = if with_table {
        let mut table = BytesMut::with_capacity(read.table.values().len() * 32);
        read.table
            .values()
            .iter()
            .for_each(|value| table.extend_from_slice(value));
        table.freeze()
    } else {
        Bytes::new()
    };
    let head = ReadHead {
        meta: read.meta,
        table_bytes: table.len() as u64,
    };
    streamed(&head, Some(table), read.bytes, counted)
}

/// Sends head frame and content. The request is counted until the last byte is sent.
fn uploaded(read: UploadRead, counted: TrackedRequest) -> Response<Body> {
    streamed(&UploadHead { size: read.size }, None, read.bytes, counted)
}

fn streamed(
    head: &impl Serialize,
    table: Option<Bytes>,
    content: ByteStream,
    counted: TrackedRequest,
) -> Response<Body> {
    let head = serde_json::to_vec(head)
        .map_err(io::Error::other)
        .and_then(|head| frame::head(&head));
    match head {
        Ok(head) => {
            let content = counting(content, move |bytes| counted.sent(bytes));
            let before = std::iter::once(head).chain(table).collect();
            with_body(StatusCode::OK, body::with_heads(before, content))
        }
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn response<T: Serialize>(result: Result<T, VolumeError>) -> Response<Body> {
    match result {
        Ok(value) => json(StatusCode::OK, &value),
        Err(error) => json(status_of(&error), &error),
    }
}

fn status_of(error: &VolumeError) -> StatusCode {
    match error {
        VolumeError::Unreachable { .. } => StatusCode::BAD_GATEWAY,
        // 409 is reserved for a response that carries the layouts.
        VolumeError::Out { .. } | VolumeError::OtherLayout { .. } => StatusCode::SERVICE_UNAVAILABLE,
        VolumeError::Superseded { .. } => StatusCode::PRECONDITION_FAILED,
        VolumeError::Full { .. } => StatusCode::INSUFFICIENT_STORAGE,
        VolumeError::Missing { .. } => StatusCode::NOT_FOUND,
        VolumeError::Corrupt { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        VolumeError::Body(_) => StatusCode::BAD_REQUEST,
        VolumeError::Failed { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns whether an error is a failure of this node and not of the request.
fn is_ours(error: &VolumeError) -> bool {
    status_of(error).is_server_error()
}

pub(super) fn upload_of(query: &str) -> Option<UploadId> {
    let digits = query
        .strip_prefix("upload=")
        .filter(|digits| digits.len() == 32)?;
    u128::from_str_radix(digits, 16).ok().map(UploadId)
}

/// Returns the same content and calls `tell` with the length of every piece.
fn counting(content: ByteStream, tell: impl Fn(u64) + Send + 'static) -> ByteStream {
    Box::pin(content.inspect(move |piece| {
        if let Ok(piece) = piece {
            tell(piece.len() as u64);
        }
    }))
}

/// Content that hands back its rest if it is dropped before its end.
struct ReturnsRest {
    content: Option<ByteStream>,
    left: UnreadRest,
}

/// The unread rest of the content.
type UnreadRest = Arc<Mutex<Option<ByteStream>>>;

fn keep_rest(content: ByteStream) -> (ByteStream, UnreadRest) {
    let left = UnreadRest::default();
    let returning = ReturnsRest {
        content: Some(content),
        left: left.clone(),
    };
    (Box::pin(returning), left)
}

impl Stream for ReturnsRest {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(content) = self.content.as_mut() else {
            return Poll::Ready(None);
        };
        let piece = std::task::ready!(content.as_mut().poll_next(context));
        if !matches!(piece, Some(Ok(_))) {
            self.content = None;
        }
        Poll::Ready(piece)
    }
}

impl Drop for ReturnsRest {
    fn drop(&mut self) {
        *self.left.lock() = self.content.take();
    }
}

/// Reads and discards the rest of the content, for some time. If a response is sent while the other
/// side is still sending, the connection breaks and the response is lost.
fn drain_rest(left: UnreadRest) {
    if let Some(mut content) = left.lock().take() {
        let all = async move { while let Some(Ok(_)) = content.next().await {} };
        tokio::spawn(timeout(FAREWELL, all));
    }
}

fn drain(body: Incoming) {
    drain_rest(Arc::new(Mutex::new(Some(body::content_of_body(body, IDLE_MAX)))));
}
