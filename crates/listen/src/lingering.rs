//! The end of a connection whose client is still sending.
//!
//! Closing a socket with unread bytes makes the system send a reset. On a reset the client's system
//! discards a response that has arrived but was not read yet. So if a request's body was not read
//! to its end, the server reads and drops further data after the response, until the client closes
//! its side, for at most [`TIME_MAX`] and [`BYTES_MAX`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Time that a client may continue to send after its response.
const TIME_MAX: Duration = Duration::from_secs(2);

/// Number of bytes that a client may continue to send after its response.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A connection that is closed only after its client has had time to read the response, if `unread`
/// is set by then.
pub(crate) struct Lingering<S> {
    inner: S,
    unread: Arc<AtomicBool>,
    /// Runs once our side is closed. When it elapses, the connection is closed in any case.
    closing: Option<Pin<Box<Sleep>>>,
    dropped_bytes: usize,
}

impl<S> Lingering<S> {
    pub(crate) fn new(inner: S, unread: Arc<AtomicBool>) -> Self {
        Self {
            inner,
            unread,
            closing: None,
            dropped_bytes: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            // Our own side first: the client must see the end of the response while we read what it
            // still sends.
            ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
            if !this.unread.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        let closing = this
            .closing
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(TIME_MAX)));
        let mut scratch = [0; 16 * 1024];
        loop {
            if closing.as_mut().poll(cx).is_ready() || this.dropped_bytes > BYTES_MAX {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut this.inner).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => this.dropped_bytes += buffer.filled().len(),
                // The client has closed its side or disconnected.
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_still_comes_is_read_until_the_client_ends() {
        for (unread, left) in [(true, 0), (false, 40)] {
            let (ours, mut theirs) = tokio::io::duplex(64);
            let mut ours = Lingering::new(ours, Arc::new(AtomicBool::new(unread)));
            theirs.write_all(&[1; 40]).await.unwrap();
            theirs.shutdown().await.unwrap();
            ours.shutdown().await.unwrap();
            let mut rest = Vec::new();
            ours.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest.len(), left);
        }
    }
}
