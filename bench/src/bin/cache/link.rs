//! A link to a remote store: a proxy that shapes and counts the traffic.
//!
//! Each direction has a bandwidth that all connections share, and bytes arrive a fixed time after
//! they were sent. A connection sends parts of [`PART_BYTES`] in turn with others, so that a large
//! response does not block other requests. The kind of a request is read from its first line. A
//! connection carries one request after the other, as in HTTP/1.1.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::requests::{Kind, Requests};

/// Bytes that a connection sends before others have their turn.
const PART_BYTES: usize = 64 << 10;
/// How far ahead of the link a connection may send. Timers have a resolution of about a
/// millisecond.
const AHEAD: Duration = Duration::from_millis(4);
/// Parts of one connection in transit: more than fit into the delay at any relevant bandwidth.
const ON_THE_WAY: usize = 256;

/// Properties of the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) bytes_per_s: f64,
    /// The delay of each direction.
    pub(crate) delay: Duration,
}

/// The traffic so far.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    requests: [AtomicU64; Kind::ALL.len()],
    bytes: [AtomicU64; Kind::ALL.len()],
}

/// The traffic at one moment: requests, and bytes of their responses, by kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) requests: [u64; Kind::ALL.len()],
    pub(crate) bytes: [u64; Kind::ALL.len()],
}

impl Counted {
    /// Returns the traffic since `before`.
    pub(crate) fn since(&self, before: &Counted) -> Counted {
        Counted {
            requests: std::array::from_fn(|kind| self.requests[kind] - before.requests[kind]),
            bytes: std::array::from_fn(|kind| self.bytes[kind] - before.bytes[kind]),
        }
    }
}

/// A link; it ends with the runtime.
pub(crate) struct Link {
    pub(crate) address: SocketAddr,
    passed: Arc<Passed>,
}

impl Link {
    /// Opens a link to `store`.
    ///
    /// # Errors
    /// No port is available.
    pub(crate) async fn open(store: SocketAddr, shape: Shape) -> anyhow::Result<Link> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("bind a port for the link")?;
        let address = listener.local_addr()?;
        let passed = Arc::new(Passed::default());
        let (up, down) = (Arc::new(Way::new(shape)), Arc::new(Way::new(shape)));
        let of_task = passed.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (up, down, passed) = (up.clone(), down.clone(), of_task.clone());
                tokio::spawn(async move {
                    // On an error, the client only sees its connection end.
                    let _ = connection(client, store, up, down, passed).await;
                });
            }
        });
        Ok(Link { address, passed })
    }

    pub(crate) fn counted(&self) -> Counted {
        let now = |counts: &[AtomicU64; Kind::ALL.len()]| {
            std::array::from_fn(|kind| counts[kind].load(Ordering::Relaxed))
        };
        Counted {
            requests: now(&self.passed.requests),
            bytes: now(&self.passed.bytes),
        }
    }
}

/// One direction of the link.
struct Way {
    shape: Shape,
    /// When it is free again.
    free_at: Mutex<Option<Instant>>,
}

impl Way {
    fn new(shape: Shape) -> Way {
        let free_at = Mutex::new(None);
        Way { shape, free_at }
    }

    /// Reserves the link for these bytes, waits for its turn, and returns when they arrive.
    async fn send(&self, bytes: usize) -> Instant {
        let took = Duration::from_secs_f64(bytes as f64 / self.shape.bytes_per_s);
        let sent = {
            let mut free_at = self.free_at.lock();
            let now = Instant::now();
            let sent = free_at.map_or(now, |at| at.max(now)) + took;
            *free_at = Some(sent);
            sent
        };
        tokio::time::sleep_until(sent - AHEAD).await;
        sent + self.shape.delay
    }
}

async fn connection(
    client: TcpStream,
    store: SocketAddr,
    up: Arc<Way>,
    down: Arc<Way>,
    passed: Arc<Passed>,
) -> anyhow::Result<()> {
    client.set_nodelay(true)?;
    // Opening a connection takes a round trip.
    tokio::time::sleep(up.shape.delay + down.shape.delay).await;
    let server = TcpStream::connect(store).await?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let kind = Arc::new(Mutex::new(Kind::Other));
    let (of_up, of_down) = ((passed.clone(), kind.clone()), (passed, kind));
    let mut requests = Requests::default();
    let asked = pass(from_client, to_server, up, move |bytes| {
        for begun in requests.take(bytes) {
            *of_up.1.lock() = begun;
            of_up.0.requests[begun as usize].fetch_add(1, Ordering::Relaxed);
        }
    });
    let answered = pass(from_server, to_client, down, move |bytes| {
        let kind = *of_down.1.lock();
        of_down.0.bytes[kind as usize].fetch_add(bytes.len() as u64, Ordering::Relaxed);
    });
    let (asked, answered) = tokio::join!(asked, answered);
    asked.and(answered)
}

/// Forwards the bytes from one side until it ends.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    way: Arc<Way>,
    mut look: impl FnMut(&[u8]),
) -> anyhow::Result<()> {
    let (sender, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(ON_THE_WAY);
    let deliver = async move {
        while let Some((at, bytes)) = arriving.recv().await {
            tokio::time::sleep_until(at).await;
            to.write_all(&bytes).await?;
        }
        to.shutdown().await
    };
    let read = async move {
        loop {
            let mut bytes = Vec::with_capacity(PART_BYTES);
            if from.read_buf(&mut bytes).await? == 0 {
                return std::io::Result::Ok(());
            }
            look(&bytes);
            let at = way.send(bytes.len()).await;
            if sender.send((at, bytes)).await.is_err() {
                return Ok(());
            }
        }
    };
    let (read, delivered) = tokio::join!(read, deliver);
    Ok(read.and(delivered)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a server that answers each request with this many bytes.
    async fn server(bytes: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut asked = [0; 1024];
                    while client.read(&mut asked).await.is_ok_and(|read| read > 0) {
                        client.write_all(&vec![7; bytes]).await.unwrap();
                    }
                });
            }
        });
        address
    }

    async fn ask(link: &Link, request: &str, bytes: usize) -> Duration {
        let mut client = TcpStream::connect(link.address).await.unwrap();
        let began = Instant::now();
        client.write_all(request.as_bytes()).await.unwrap();
        client.read_exact(&mut vec![0; bytes]).await.unwrap();
        began.elapsed()
    }

    #[tokio::test]
    async fn bytes_take_their_time_and_are_counted_by_kind() {
        let shape = Shape {
            bytes_per_s: 20e6,
            delay: Duration::from_millis(20),
        };
        let link = Link::open(server(2_000_000).await, shape).await.unwrap();
        let get = "GET /bucket/key HTTP/1.1\r\nhost: a\r\n\r\n";
        let head = "HEAD /bucket/key HTTP/1.1\r\nhost: a\r\n\r\n";
        // 40 ms to connect, 40 ms round trip, 100 ms of bytes; two clients share the link.
        let (one, two) = tokio::join!(ask(&link, get, 2_000_000), ask(&link, head, 2_000_000));
        for took in [one, two] {
            assert!(
                (Duration::from_millis(260)..Duration::from_millis(600)).contains(&took),
                "{one:?} {two:?}"
            );
        }
        let counted = link.counted();
        assert_eq!(counted.requests[Kind::Data as usize], 1);
        assert_eq!(counted.requests[Kind::Head as usize], 1);
        assert_eq!(counted.bytes[Kind::Data as usize], 2_000_000);
        assert_eq!(counted.bytes[Kind::Head as usize], 2_000_000);
    }
}
