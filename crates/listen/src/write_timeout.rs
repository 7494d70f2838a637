//! A connection that fails if its client does not read the written data for too long.
//!
//! Reading has no limit here: hyper limits the time for headers, and the code that reads a body
//! limits the time for that.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A connection whose writes wait for the client only up to a limit.
pub(crate) struct WriteTimeout<S> {
    inner: S,
    idle_max: Option<Duration>,
    /// Runs while the client reads nothing.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Wraps a connection. Writing fails with [`io::ErrorKind::TimedOut`] after the client has read
    /// nothing for `idle_max`. With `None` it waits without limit.
    pub(crate) fn new(inner: S, idle_max: Option<Duration>) -> Self {
        Self {
            inner,
            idle_max,
            stuck: None,
        }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let Some(idle_max) = self.idle_max else {
            return written;
        };
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle_max)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => {
                let detail = "the client does not read the response";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, detail)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, pieces);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch(cx, ended)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_reader_that_does_not_read_is_given_up() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut ours = WriteTimeout::new(ours, Some(Duration::from_secs(3600)));
        let writing = tokio::spawn(async move {
            ours.write_all(&[1; 64]).await.unwrap();
            ours
        });
        theirs.read_exact(&mut [0; 64]).await.unwrap();
        let mut ours = writing.await.unwrap();
        ours.idle_max = Some(Duration::from_millis(1));
        let error = ours.write_all(&[2; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
