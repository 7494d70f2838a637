//! Bodies of requests and responses: in memory, or as streams.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http_body::{Body as _, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::Incoming;
use store_protocol::ByteStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Any body that this process sends.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Returns an empty body.
pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body that is in memory.
pub(crate) fn full(content: impl Into<Bytes>) -> Body {
    Full::new(content.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Returns a body that sends content as it arrives.
pub(crate) fn streamed(content: ByteStream) -> Body {
    StreamBody::new(content.map_ok(Frame::data)).boxed_unsync()
}

/// Returns a body that sends content as it arrives, and a future that feeds it. The body advances
/// only while the future is polled.
///
/// The connection owns the body and keeps it while the other side takes no data. The future owns
/// the content: a caller that stops waiting drops the future, which frees the content at once and
/// interrupts the body.
pub(crate) fn body_of_content(
    content: ByteStream,
    stall: Duration,
) -> (Body, impl Future<Output = io::Result<()>>) {
    let (sink, pieces) = mpsc::channel(1);
    let body = stream::try_unfold(pieces, |mut pieces: mpsc::Receiver<_>| async move {
        let piece: Option<Bytes> = match pieces.recv().await {
            Some(piece) => piece?,
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        Ok(piece.map(|piece| (piece, pieces)))
    });
    (streamed(Box::pin(body)), feed(content, sink, stall))
}

/// Feeds content to the body. Returns `Ok` if the other side stops reading it, because its response
/// says why.
async fn feed(
    mut content: ByteStream,
    sink: mpsc::Sender<io::Result<Option<Bytes>>>,
    stall: Duration,
) -> io::Result<()> {
    loop {
        let piece = content.next().await.transpose();
        let is_last = !matches!(piece, Ok(Some(_)));
        match timeout(stall, sink.send(piece)).await {
            Ok(Ok(())) if is_last => return Ok(()),
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(()),
            Err(_) => {
                let detail = format!("it accepted no content for {} s", stall.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, detail));
            }
        }
    }
}

/// Returns a body that sends `heads` first, then content as it arrives.
pub(crate) fn with_heads(heads: Vec<Bytes>, content: ByteStream) -> Body {
    streamed(Box::pin(stream::iter(heads.into_iter().map(Ok)).chain(content)))
}

/// Returns an arriving body as content. A pause longer than `idle` is an error, and so is an end
/// before the declared one.
pub(crate) fn content_of_body(body: Incoming, idle: Duration) -> ByteStream {
    Box::pin(stream::try_unfold(body, move |mut body| async move {
        let piece = timeout(idle, next(&mut body)).await.unwrap_or_else(|_| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no content arrived for {} s", idle.as_secs()),
            ))
        })?;
        Ok(piece.map(|piece| (piece, body)))
    }))
}

/// Returns the next piece, or `None` at the end.
pub(crate) async fn next(body: &mut Incoming) -> io::Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        // Trailers are not content, so they are skipped.
        if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Returns a whole body of at most `max` bytes.
pub(crate) async fn whole(body: Incoming, max: usize, idle: Duration) -> io::Result<Bytes> {
    let declared = body.size_hint().lower();
    if declared > max as u64 {
        return Err(too_long(max));
    }
    let mut pieces = content_of_body(body, idle);
    let Some(first) = pieces.try_next().await? else {
        return Ok(Bytes::new());
    };
    if first.len() as u64 == declared && first.len() <= max {
        return Ok(first);
    }
    // The declared length is not reserved, because declaring it costs the sender nothing.
    let mut joined = BytesMut::from(first);
    while let Some(piece) = pieces.try_next().await? {
        if joined.len() + piece.len() > max {
            return Err(too_long(max));
        }
        joined.extend_from_slice(&piece);
    }
    Ok(joined.freeze())
}

fn too_long(max: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the body is longer than {max} bytes"),
    )
}
