//! Connections between nodes: what an eavesdropper, an unauthenticated caller or an impostor of a
//! node learns, and the change of a running cluster from plain connections to protected ones.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cluster::{ConnectSettings, RunningNode};
use futures_util::TryStreamExt as _;
use parking_lot::Mutex;
use store::{Put, Store};
use store_protocol::Key;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::nodes::Files;
use crate::wire::{content, pieces};

/// Forwards connections, and records every byte of both directions.
struct Listener {
    address: String,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Listener {
    async fn new() -> (Self, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::default();
        (Self { address, heard }, listener)
    }

    fn begin(&self, listener: TcpListener, to: String) {
        let heard = self.heard.clone();
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                let Ok(to) = TcpStream::connect(&to).await else {
                    continue;
                };
                let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
                tokio::spawn(pass(from_read, to_write, heard.clone()));
                tokio::spawn(pass(to_read, from_write, heard.clone()));
            }
        });
    }

    fn hears(&self, what: &[u8]) -> bool {
        self.heard.lock().windows(what.len()).any(|window| window == what)
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    heard: Arc<Mutex<Vec<u8>>>,
) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        heard.lock().extend_from_slice(&buffer[..length]);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

fn key(name: &str) -> Key {
    Key::new("quiet", name).unwrap()
}

async fn read(store: &Store, key: &Key) -> Vec<u8> {
    let body = store.get(key, None).await.unwrap().body;
    let pieces: Vec<bytes::Bytes> = body.try_collect().await.unwrap();
    pieces.concat()
}

/// Writes and reads an object through one node; its copies are on both nodes.
async fn check_works(node: &RunningNode, name: &str) {
    let content = content(700_000, 3);
    let store = node.store();
    store
        .put(&key(name), pieces(&content), Put::default())
        .await
        .unwrap();
    assert!(read(&store, &key(name)).await == content);
}

async fn stop(nodes: Vec<RunningNode>) {
    for node in nodes {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_neither_names_nor_content_nor_signatures() {
    let text = b"an archived page that nobody else is to read; ".repeat(20_000);
    for (tls, hears) in [("on", false), ("off", true)] {
        let files = Files::new(2, 1, 2);
        files.set_tls(tls);
        let (first, first_listener) = Listener::new().await;
        let (second, second_listener) = Listener::new().await;
        first.begin(first_listener, files.redirect(0, &first.address));
        second.begin(second_listener, files.redirect(1, &second.address));
        let nodes = files.start_all().await;
        // From both sides, and as a client that is neither node but knows the secret.
        for (node, name) in nodes.iter().zip(["page-one", "page-two"]) {
            let stored = node.store();
            stored
                .put(&key(name), pieces(&text), Put::default())
                .await
                .unwrap();
        }
        let client = files.client().await;
        assert!(read(&client.store(), &key("page-one")).await == text);
        client.close().await;
        let secret = std::fs::read_to_string(files.path().join("secret")).unwrap();
        let told: [&[u8]; 4] = [b"archived page", b"page-two", b"weft-signature", b"HTTP/1.1"];
        for what in told {
            let heard = first.hears(what) || second.hears(what);
            assert_eq!(heard, hears, "tls {tls}: {}", String::from_utf8_lossy(what));
        }
        for listener in [&first, &second] {
            let heard = listener.heard.lock().len();
            assert!(heard > text.len(), "all bytes must pass the proxy");
            assert!(!listener.hears(secret.trim().as_bytes()));
        }
        stop(nodes).await;
    }
}

/// Returns the node's response to a client that sends only these bytes.
fn knock(address: SocketAddr, first: &[u8]) -> Vec<u8> {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(first).unwrap();
    let mut answer = Vec::new();
    // The node may close the connection before everything is read.
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_told_nothing() {
    let files = Files::new(1, 1, 1);
    let node = files.start("n1").await;
    check_works(&node, "there").await;
    for request in ["GET /v1/ping HTTP/1.1\r\nhost: x\r\n\r\n", "\0\0\0\0\0\0\0\0"] {
        let answer = knock(node.address(), request.as_bytes());
        // At most a TLS alert of two bytes in its frame.
        assert!(answer.len() <= 7, "{}", String::from_utf8_lossy(&answer));
        assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    }
    // With TLS and another secret.
    let secret = files.path().join("other-secret");
    std::fs::write(&secret, format!("{}\n", "5a".repeat(32))).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let settings = ConnectSettings::Cluster {
        file: files.path().join("cluster.toml"),
        secret,
    };
    let refused = cluster::connect(settings).await.err().unwrap();
    assert!(matches!(refused, cluster::ConnectError::NoAnswer(_)), "{refused}");
    check_works(&node, "still").await;
    node.shutdown().await;
}

/// An impostor that answers at a node's address, without the secret, gets no request.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_answers_in_the_place_of_a_node() {
    let files = Files::new(2, 1, 1);
    let impostor = Files::new(2, 1, 1);
    let (ear, listener) = Listener::new().await;
    // The impostor has a node of the same name, and its own secret.
    let theirs = impostor.redirect(1, &ear.address);
    ear.begin(listener, theirs);
    let there = impostor.start("n2").await;
    files.redirect(1, &ear.address);
    let here = files.start("n1").await;
    let topology = here.store().cluster().topology();
    let refused = crate::nodes::volume(&topology, "n2/d1")
        .status()
        .await
        .unwrap_err();
    assert!(
        matches!(refused, store_protocol::VolumeError::Unreachable { .. }),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("the secret files differ"),
        "{refused}"
    );
    assert!(!ear.hears(b"weft-signature"));
    here.shutdown().await;
    there.shutdown().await;
}

/// The change as described in docs/store/tls.md: at every moment some nodes are plain, some both,
/// some protected.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_cluster_changes_from_plain_to_protected() {
    let files = Files::new(3, 1, 2);
    files.set_tls("off");
    let mut nodes = files.start_all().await;
    check_works(&nodes[0], "plain").await;
    for tls in ["both", "on"] {
        files.set_tls(tls);
        for turn in 0..3 {
            nodes.remove(0).shutdown().await;
            nodes.push(files.start(&format!("n{}", turn + 1)).await);
            for node in &nodes {
                check_works(node, &format!("{tls} {turn}")).await;
            }
        }
    }
    let client = files.client().await;
    assert!(read(&client.store(), &key("plain")).await == content(700_000, 3));
    stop(nodes).await;
}
