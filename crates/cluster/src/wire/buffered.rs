//! Connections to other nodes, read from the system in long pieces.
//!
//! TLS asks for 4 KB at a time, a quarter of a record. Without a buffer below it, each would be a
//! system call.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use listen::TLS_READ_BYTES;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tower_service::Service;

/// Makes connections.
#[derive(Clone)]
pub(crate) struct BufferedConnector(pub(crate) HttpConnector);

/// A connection.
pub(crate) struct Buffered(TokioIo<BufReader<TcpStream>>);

impl Service<Uri> for BufferedConnector {
    type Response = Buffered;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = self.0.call(address);
        connecting
            .map_ok(|stream| {
                let buffered = BufReader::with_capacity(TLS_READ_BYTES, stream.into_inner());
                Buffered(TokioIo::new(buffered))
            })
            .boxed()
    }
}

impl Connection for Buffered {
    fn connected(&self) -> Connected {
        self.0.inner().get_ref().connected()
    }
}

impl Read for Buffered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Buffered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, pieces)
    }
}
