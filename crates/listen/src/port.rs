//! Accepts connections, serves their requests, and ends them in order.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::{ConnectionLimiter, ConnectionPermit, IdleLimit};
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::lingering::Lingering;
use crate::tls::Security;
use crate::write_timeout::WriteTimeout;

/// Limits and rules for the connections of a port.
#[derive(Clone)]
pub struct PortSettings {
    /// Plain HTTP, TLS, or both.
    pub security: Security,
    /// Time limit of a TLS handshake.
    pub handshake_time_max: Duration,
    /// Maximum size of the request line and the header fields together, in bytes.
    pub head_bytes_max: usize,
    /// Time limit until a request's header is complete. It begins with the connection and again
    /// with the end of every response, so it also limits the pause between two requests.
    pub head_time_max: Duration,
    /// Maximum number of bytes buffered in each direction. `None` keeps hyper's default (some 400
    /// KiB), for servers with large contents.
    pub buffer_bytes_max: Option<usize>,
    /// Time limit for a client that does not read its response. `None` if the code that writes the
    /// response has a separate limit.
    pub write_idle_max: Option<Duration>,
    /// Which idle connections are closed.
    pub idle_limit: IdleLimit,
    /// Time that requests in progress get to finish when the port shuts down.
    pub grace: Duration,
}

/// A port that listens. Until [`Port::serve`] is called, connections wait in the system's queue.
///
/// ```
/// use std::convert::Infallible;
/// use std::time::Duration;
///
/// use http_body_util::Full;
/// use hyper::body::Bytes;
/// use listen::{ConnectionLimiter, IdleLimit, Limits, Port, PortSettings, Security};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let limiter = ConnectionLimiter::new(Limits {
///     connections_max: 8,
///     per_address_max: 8,
///     reserve: 0,
/// });
/// let port = Port::bind("127.0.0.1:0".parse().unwrap(), limiter).await?;
/// let address = port.address();
/// let second = Duration::from_secs(1);
/// let settings = PortSettings {
///     security: Security::Plain,
///     handshake_time_max: second,
///     head_bytes_max: 8192,
///     head_time_max: second,
///     buffer_bytes_max: None,
///     write_idle_max: Some(second),
///     idle_limit: IdleLimit::FirstRequest(second),
///     grace: second,
/// };
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let serving = tokio::spawn(port.serve(
///     settings,
///     |request, _| async move {
///         let body = Bytes::from(format!("at {}", request.uri()));
///         Ok::<_, Infallible>(http::Response::new(Full::new(body)))
///     },
///     async { drop(stopped.await) },
/// ));
///
/// let mut client = tokio::net::TcpStream::connect(address).await?;
/// client.write_all(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
/// let mut response = String::new();
/// client.read_to_string(&mut response).await?;
/// assert!(response.starts_with("HTTP/1.1 200 OK"));
/// assert!(response.ends_with("at /a"));
///
/// drop(stop);
/// serving.await.unwrap();
/// # Ok(())
/// # }
/// ```
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
    limiter: Arc<ConnectionLimiter>,
}

impl Port {
    /// Listens at `address`. Port 0 chooses any free port.
    ///
    /// # Errors
    /// Fails if the address is in use, does not belong to this machine, or is not allowed.
    #[expect(clippy::disallowed_methods, reason = "the only place that binds a port")]
    pub async fn bind(address: SocketAddr, limiter: Arc<ConnectionLimiter>) -> io::Result<Port> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Port {
            listener,
            address,
            limiter,
        })
    }

    /// Returns the address that the port listens at, with the real port number.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Calls `answer` for every request until `stop` is ready. Then the port accepts no further
    /// connections, requests in progress may finish within [`PortSettings::grace`], and the remaining
    /// connections are closed.
    pub async fn serve<A, F, B, E>(self, terms: PortSettings, answer: A, stop: impl Future<Output = ()>)
    where
        A: Fn(Request<Incoming>, Arc<Connection>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
        B: Body<Data: Send, Error = E> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let grace = terms.grace;
        let held = Arc::new((terms, answer));
        let (closing, closed) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                // Without this the set would keep an entry for every past connection.
                Some(_) = connections.join_next() => {}
                (stream, peer, permit) = self.limiter.accept(&self.listener) => {
                    connections.spawn(hold(stream, peer, permit, Arc::clone(&held), closed.clone()));
                }
            }
        }
        // First, so that the system refuses new clients and none waits in a queue that is no longer
        // read.
        drop(self.listener);
        closing.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            let left = connections.len();
            tracing::warn!(
                connections = left,
                "aborted connections that did not finish in time"
            );
        }
        // Dropping the set ends the remaining tasks.
    }
}

async fn hold<A, F, B, E>(
    stream: TcpStream,
    peer: SocketAddr,
    permit: ConnectionPermit,
    held: Arc<(PortSettings, A)>,
    mut closed: watch::Receiver<bool>,
) where
    A: Fn(Request<Incoming>, Arc<Connection>) -> F,
    F: Future<Output = Result<Response<B>, Infallible>>,
    B: Body<Error = E> + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let (terms, answer) = &*held;
    // Without this, small responses wait until the client has acknowledged the previous one. A
    // failure only makes responses slower, so it is ignored.
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().ok();
    let unread = Arc::new(AtomicBool::new(false));
    let over = |stream| {
        let stream = WriteTimeout::new(stream, terms.write_idle_max);
        Lingering::new(stream, Arc::clone(&unread))
    };
    let entered = terms.security.enter(stream, over, terms.handshake_time_max).await;
    let (stream, agreed) = match entered {
        Ok(entered) => entered,
        Err(error) => return tracing::debug!(%peer, %error, "refused a connection"),
    };
    let connection = Arc::new(Connection::new(peer, local, agreed, permit, unread));
    let service = service_fn(|request| {
        connection.permit.note_request();
        answer(request, Arc::clone(&connection))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(terms.head_time_max)
        .max_header_size(terms.head_bytes_max);
    if let Some(bytes_max) = terms.buffer_bytes_max {
        http.max_buf_size(bytes_max);
    }
    let mut talk = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = talk.as_mut() => ended,
        () = connection.permit.wait_until_idle(terms.idle_limit) => {
            return tracing::debug!(%peer, "closed an idle connection");
        }
        () = closing(&mut closed) => {
            talk.as_mut().graceful_shutdown();
            talk.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection ended with an error");
    }
}

/// Returns when the port ends.
async fn closing(closed: &mut watch::Receiver<bool>) {
    // An error means that the port is gone, which has the same consequence.
    let _ = closed.wait_for(|closing| *closing).await;
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use hyper::body::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    use super::*;

    /// Returns a port whose responses each wait for `go`. The port ends when `stop` is notified.
    async fn port(grace: Duration, stop: &Arc<Notify>, go: &Arc<Notify>) -> (SocketAddr, JoinHandle<()>) {
        let limiter = ConnectionLimiter::new(crate::Limits {
            connections_max: 8,
            per_address_max: 8,
            reserve: 0,
        });
        let port = Port::bind("127.0.0.1:0".parse().unwrap(), limiter).await.unwrap();
        let long = Duration::from_secs(60);
        let terms = PortSettings {
            security: Security::Plain,
            handshake_time_max: long,
            head_bytes_max: 16 * 1024,
            head_time_max: long,
            buffer_bytes_max: None,
            write_idle_max: None,
            idle_limit: IdleLimit::FirstRequest(long),
            grace,
        };
        let (address, stop, go) = (port.address(), Arc::clone(stop), Arc::clone(go));
        let answer = move |_, connection: Arc<Connection>| {
            let go = Arc::clone(&go);
            async move {
                go.notified().await;
                Ok(Response::new(Full::<Bytes>::from(
                    connection.peer().ip().to_string(),
                )))
            }
        };
        let serving = tokio::spawn(async move { port.serve(terms, answer, stop.notified()).await });
        (address, serving)
    }

    async fn ask(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            .await
            .unwrap();
        stream
    }

    #[tokio::test]
    async fn at_the_end_requests_under_way_are_answered_and_nobody_else_is_let_in() {
        let (stop, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (address, serving) = port(Duration::from_secs(60), &stop, &go).await;
        let mut first = ask(address).await;
        go.notify_one();
        let mut head = [0; 12];
        first.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        let mut asking = ask(address).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.notify_one();
        // The idle connection ends at once.
        first.read_to_end(&mut Vec::new()).await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
        assert!(!serving.is_finished());
        go.notify_one();
        let mut answer = String::new();
        asking.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("127.0.0.1"), "{answer}");
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn what_does_not_finish_in_time_is_broken_off() {
        let (stop, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (address, serving) = port(Duration::from_millis(20), &stop, &go).await;
        let mut asking = ask(address).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.notify_one();
        serving.await.unwrap();
        assert_eq!(asking.read(&mut [0; 1]).await.unwrap_or(0), 0);
    }
}
