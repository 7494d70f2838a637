//! Streams that are cut, uploads that are interrupted or refused early, nodes that hang.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use store::{Put, StoreError};
use store_protocol::{
    BLOCK_BYTES, ByteStream, Cause, Clock, Condition, Key, Meta, Receipt, ReplicaRead, UploadId, UploadRead,
    Version, Volume, VolumeError, VolumeId, VolumeRequest, VolumeResponse,
};
use tokio::time::timeout;

use crate::nodes::{Files, opener, seen, volume};
use crate::process::Process;
use crate::wire::{content, meta, pieces};

/// How a volume misbehaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Reads end early, as if the content were complete.
    ShortRead,
    /// Reads fail in the middle.
    BrokenRead,
    /// Reads return more than was requested.
    LongRead,
    /// Uploads are refused before any of their content is read.
    Full,
}

struct Faulty(Arc<dyn Volume>, Fault);

#[async_trait]
impl Volume for Faulty {
    fn id(&self) -> &VolumeId {
        self.0.id()
    }
    async fn call(&self, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
        self.0.call(ask).await
    }
    async fn receive(&self, upload: UploadId, body: ByteStream) -> Result<Receipt, VolumeError> {
        if self.1 == Fault::Full {
            let volume = self.id().clone();
            let detail = "needed 1, free 0".to_owned();
            return Err(VolumeError::Full { volume, detail });
        }
        self.0.receive(upload, body).await
    }
    async fn prepare_whole(&self, upload: UploadId, meta: &Meta, content: Bytes) -> Result<(), VolumeError> {
        self.0.prepare_whole(upload, meta, content).await
    }
    async fn read_upload(&self, upload: UploadId) -> Result<UploadRead, VolumeError> {
        let mut read = self.0.read_upload(upload).await?;
        read.bytes = spoil(self.1, read.bytes);
        Ok(read)
    }
    async fn read(
        &self,
        key: &Key,
        version: Version,
        blocks: std::ops::Range<u64>,
    ) -> Result<ReplicaRead, VolumeError> {
        let mut read = self.0.read(key, version, blocks).await?;
        read.bytes = spoil(self.1, read.bytes);
        Ok(read)
    }
}

fn spoil(fault: Fault, bytes: ByteStream) -> ByteStream {
    match fault {
        Fault::ShortRead => Box::pin(bytes.take(1)),
        Fault::BrokenRead => {
            let broken = stream::iter([Err(io::Error::other("the disk is gone"))]);
            Box::pin(bytes.take(1).chain(broken))
        }
        Fault::LongRead => Box::pin(bytes.chain(stream::iter([Ok(Bytes::from_static(b"more"))]))),
        Fault::Full => bytes,
    }
}

/// Starts a node with such a volume. Returns both, the volume as another process reaches it.
async fn faulty(files: &Files, fault: Fault) -> (cluster::RunningNode, Arc<dyn Volume>) {
    let opener = opener(move |volume| Arc::new(Faulty(volume, fault)));
    let node = cluster::start_with(files.settings("n1"), opener).await.unwrap();
    let client = files.client().await;
    (node, volume(&seen(&client.store()).topology(), "n1/d1"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_read_is_an_error_and_never_a_short_content() {
    for fault in [Fault::ShortRead, Fault::BrokenRead, Fault::LongRead] {
        let files = Files::new(1, 1, 1);
        let (node, remote) = faulty(&files, fault).await;
        let content = content(BLOCK_BYTES as usize * 5, 0);
        let meta = meta("b/x", Clock::new("test").now(), &content);
        let upload = UploadId::random();
        remote.receive(upload, pieces(&content)).await.unwrap();
        if let Ok(read) = remote.read_upload(upload).await {
            let read: io::Result<Vec<Bytes>> = read.bytes.try_collect().await;
            read.unwrap_err();
        }
        remote
            .prepare(upload, &meta, store_protocol::Purpose::Write)
            .await
            .unwrap();
        remote.commit(upload, Cause::Write, "").await.unwrap();
        // The failure may overtake the head of the response.
        if let Ok(read) = remote.read(&meta.key, meta.version, 0..5).await {
            let read: io::Result<Vec<Bytes>> = read.bytes.try_collect().await;
            read.unwrap_err();
        }
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_breaks_off_leaves_nothing_and_is_the_sources_fault() {
    let files = Files::new(1, 1, 1);
    let node = files.start("n1").await;
    let client = files.client().await;
    let remote = volume(&seen(&client.store()).topology(), "n1/d1");
    let sent =
        pieces(&content(1_000_000, 0)).chain(stream::iter([Err(io::Error::other("the client hung up"))]));
    let upload = UploadId::random();
    let error = remote.receive(upload, Box::pin(sent)).await.unwrap_err();
    assert_eq!(error, VolumeError::Body("the client hung up".to_owned()));
    while remote.status().await.unwrap().uploads > 0 {
        tokio::task::yield_now().await;
    }
    let meta = meta("b/x", Clock::new("test").now(), &content(1_000_000, 0));
    remote
        .prepare(upload, &meta, store_protocol::Purpose::Write)
        .await
        .unwrap_err();
    node.shutdown().await;
}

/// If the node closed the connection while the request is still being sent, the response would be
/// lost.
#[tokio::test(flavor = "multi_thread")]
async fn an_early_refusal_reaches_whoever_is_still_sending() {
    let files = Files::new(1, 1, 1);
    let (node, remote) = faulty(&files, Fault::Full).await;
    for _ in 0..5 {
        let sent = pieces(&content(20_000_000, 0));
        let error = remote.receive(UploadId::random(), sent).await.unwrap_err();
        assert!(matches!(error, VolumeError::Full { .. }), "{error:?}");
    }
    node.shutdown().await;
}

/// Two nodes, and the second one's volume takes no long content: the result is "no room", and
/// nothing is left on the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_object_without_room_for_its_second_copy_leaves_nothing() {
    let files = Files::new(2, 1, 2);
    let opener = opener(|volume| Arc::new(Faulty(volume, Fault::Full)));
    let nodes = [
        files.start("n1").await,
        cluster::start_with(files.settings("n2"), opener).await.unwrap(),
    ];
    let client = files.client().await;
    let store = client.store();
    let topology = seen(&store).topology();
    // Conditions on some of these keys are decided by one node, on the others by the other.
    for number in 0..8 {
        let key = Key::parse(&format!("b/{number}")).unwrap();
        for condition in [Condition::Always, Condition::Absent] {
            let put = Put {
                condition,
                ..Put::default()
            };
            let error = store
                .put(&key, pieces(&content(2_000_000, 1)), put)
                .await
                .unwrap_err();
            assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        }
        for id in ["n1/d1", "n2/d1"] {
            let volume = volume(&topology, id);
            assert_eq!(volume.head(&key).await.unwrap().found, None, "{key} on {id}");
            assert_eq!(volume.status().await.unwrap().uploads, 0, "{id}");
        }
        assert!(matches!(store.head(&key).await, Err(StoreError::NotFound(_))));
    }
    for node in nodes {
        node.shutdown().await;
    }
}

/// A stopped process keeps its connections and takes no more data from them. Uploads that were
/// streaming to it continue to the other volumes, and get their second copy on another one.
#[tokio::test(flavor = "multi_thread")]
async fn uploads_under_way_to_a_node_that_stands_still_are_answered_within_seconds() {
    /// More than the buffers of a connection hold if the other side does not read.
    const AFTER: usize = 24;
    let files = Files::new(3, 1, 2);
    let processes: Vec<_> = files
        .nodes
        .iter()
        .map(|name| Process::start_idle(&files.toml(name)))
        .collect();
    let client = files.client().await;
    let store = client.store();
    let topology = seen(&store).topology();
    let there = VolumeId::from("n2/d1".to_owned());
    let keys = (0..).map(|i| Key::new("b", &format!("{i}")).unwrap());
    let keys = keys.filter(|key| topology.home(key.partition()).contains(&there));
    let stopped = tokio::sync::watch::Sender::new(false);
    let (begun, mut under_way) = tokio::sync::mpsc::channel(4);
    let piece = Bytes::from(content(1 << 20, 1));
    let uploads = keys.take(3).map(|key| {
        let (store, begun, mut told) = (store.clone(), begun.clone(), stopped.subscribe());
        let first = stream::repeat(piece.clone()).take(4).map(Ok);
        let rest = stream::repeat(piece.clone()).take(AFTER).map(Ok);
        let wait = stream::once(async move {
            begun.send(()).await.unwrap();
            told.wait_for(|stopped| *stopped).await.unwrap();
            Ok(Bytes::new())
        });
        tokio::spawn(async move {
            let meta = store
                .put(&key, Box::pin(first.chain(wait).chain(rest)), Put::default())
                .await;
            assert_eq!(store.head(&key).await.unwrap(), *meta.as_ref().unwrap());
            meta.unwrap().size
        })
    });
    let uploads: Vec<_> = uploads.collect();
    for _ in &uploads {
        under_way.recv().await.unwrap();
    }
    processes[1].stop();
    stopped.send_replace(true);
    let done = timeout(Duration::from_secs(30), try_join_all(uploads)).await;
    let sizes = done
        .expect("the uploads wait for the node that stands still")
        .unwrap();
    assert_eq!(sizes, [(4 + AFTER as u64) << 20; 3]);
    processes[1].cont();
    client.close().await;
}

/// A peer that accepts connections and never answers, like a stopped process: the first request
/// detects it, later ones do not even connect.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_node_is_found_out_once_and_then_left_alone() {
    let files = Files::new(2, 1, 2);
    let node = files.start("n1").await;
    let silent = files.settings("n2").listen.unwrap();
    let silent = tokio::net::TcpListener::bind(silent).await.unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let accepting = tokio::spawn({
        let connections = connections.clone();
        async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = silent.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                held.push(stream);
            }
        }
    });
    let remote = volume(&seen(&node.store()).topology(), "n2/d1");
    let key = Key::parse("b/x").unwrap();
    let error = remote.head(&key).await.unwrap_err();
    assert!(matches!(error, VolumeError::Unreachable { .. }), "{error:?}");
    let before = connections.load(Ordering::SeqCst);
    for _ in 0..1000 {
        remote.head(&key).await.unwrap_err();
    }
    // The background pings may have connected meanwhile, once a second.
    assert!(connections.load(Ordering::SeqCst) <= before + 2, "{before}");
    accepting.abort();
    let _ = accepting.await;
    let node_2 = files.start("n2").await;
    while remote.head(&key).await.is_err() {
        tokio::task::yield_now().await;
    }
    node_2.shutdown().await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_gone_is_unreachable_and_back_at_once_when_it_returns() {
    let files = Files::new(2, 1, 2);
    let nodes = files.start_all().await;
    let remote = volume(&seen(&nodes[0].store()).topology(), "n2/d1");
    let key = Key::parse("b/x").unwrap();
    remote.head(&key).await.unwrap();
    let [first, second] = nodes.try_into().ok().unwrap();
    second.shutdown().await;
    let error = remote.head(&key).await.unwrap_err();
    assert!(matches!(error, VolumeError::Unreachable { .. }), "{error:?}");
    let second = files.start("n2").await;
    remote.head(&key).await.unwrap();
    second.shutdown().await;
    first.shutdown().await;
}
