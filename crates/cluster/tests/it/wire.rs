//! A volume reached over HTTP behaves like the volume itself: the same requests get the same
//! responses.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::{TryStreamExt as _, stream};
use md5::{Digest as _, Md5};
use sha2::Sha256;
use store_protocol::{
    BLOCK_BYTES, BlockTable, Cause, Clock, Digests, Key, ListQuery, Meta, PARTITIONS, Partition, UploadId,
    Verdict, Version, Volume, VolumeError, VolumeStatus, block_count,
};

use crate::nodes::{Files, seen, volume};

pub(crate) fn content(size: usize, seed: u8) -> Vec<u8> {
    (0..size).map(|i| (i * 31 % 251) as u8 ^ seed).collect()
}

pub(crate) fn meta(key: &str, version: Version, content: &[u8]) -> Meta {
    let digests = Digests {
        md5: Md5::digest(content).into(),
        sha256: Sha256::digest(content).into(),
        blake3: *blake3::hash(content).as_bytes(),
    };
    Meta {
        key: Key::parse(key).unwrap(),
        version,
        deleted: false,
        size: content.len() as u64,
        etag: "e".to_owned(),
        attributes: BTreeMap::from([("x-amz-meta-name".to_owned(), "Müller \"x\"\n".to_owned())]),
        digests,
        write: None,
    }
}

/// Returns content in uneven pieces.
pub(crate) fn pieces(content: &[u8]) -> store_protocol::ByteStream {
    let pieces: Vec<_> = content
        .chunks(70_001)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    Box::pin(stream::iter(pieces))
}

/// Writes an object in all three steps.
pub(crate) async fn write(volume: &dyn Volume, meta: &Meta, content: &[u8]) {
    let upload = UploadId::random();
    let receipt = volume.receive(upload, pieces(content)).await.unwrap();
    assert_eq!((receipt.size, receipt.blake3), (meta.size, meta.digests.blake3));
    check_received(volume, upload, content).await;
    volume
        .prepare(upload, meta, store_protocol::Purpose::Write)
        .await
        .unwrap();
    check_received(volume, upload, content).await;
    volume.commit(upload, Cause::Write, "").await.unwrap();
}

/// Checks that the uploaded content reads back.
async fn check_received(volume: &dyn Volume, upload: UploadId, content: &[u8]) {
    let read = volume.read_upload(upload).await.unwrap();
    assert_eq!(read.size, content.len() as u64);
    let bytes: Vec<Bytes> = read.bytes.try_collect().await.unwrap();
    assert!(bytes.concat() == content);
}

/// Reads blocks.
async fn read(volume: &dyn Volume, meta: &Meta, blocks: std::ops::Range<u64>) -> (Meta, BlockTable, Vec<u8>) {
    let read = volume.read(&meta.key, meta.version, blocks).await.unwrap();
    let bytes: Vec<Bytes> = read.bytes.try_collect().await.unwrap();
    (read.meta, (*read.table).clone(), bytes.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_volume_answers_as_the_local_one() {
    let files = Files::new(1, 1, 1);
    let node = files.start("n1").await;
    let client = files.client().await;
    let (local, remote) = (
        volume(&seen(&node.store()).topology(), "n1/d1"),
        volume(&seen(&client.store()).topology(), "n1/d1"),
    );
    let clock = Clock::new("test");
    let sizes = [0, 1, 1000, BLOCK_BYTES as usize, BLOCK_BYTES as usize * 3 + 5];
    let mut metas = Vec::new();
    for (i, size) in sizes.into_iter().enumerate() {
        let content = content(size, i as u8);
        let meta = meta(&format!("b/ключ {i}/../x"), clock.now(), &content);
        write(remote.as_ref(), &meta, &content).await;
        let head = remote.head(&meta.key).await.unwrap();
        assert_eq!(head, local.head(&meta.key).await.unwrap());
        assert_eq!(head.found.unwrap().meta, meta);
        let blocks = block_count(size as u64);
        for start in 0..blocks {
            for end in start + 1..=blocks + 1 {
                // Twice: the second time the table is cached, and is not sent.
                for _ in 0..2 {
                    let found = read(remote.as_ref(), &meta, start..end).await;
                    let till = (end * BLOCK_BYTES).min(size as u64) as usize;
                    assert_eq!(found.0, meta);
                    assert_eq!(found.1.root(), Some(meta.digests.blake3));
                    assert_eq!(
                        found.2,
                        content[(start * BLOCK_BYTES) as usize..till],
                        "{start}..{end}"
                    );
                }
            }
        }
        metas.push(meta);
    }
    for whole in [0, 10, 5_000_000] {
        let content = content(whole, 9);
        let meta = meta(&format!("b/whole {whole}"), clock.now(), &content);
        let upload = UploadId::random();
        remote
            .prepare_whole(upload, &meta, content.clone().into())
            .await
            .unwrap();
        remote.commit(upload, Cause::Repair, "from n2").await.unwrap();
        assert_eq!(read(remote.as_ref(), &meta, 0..u64::MAX).await.2, content);
        metas.push(meta);
    }
    let query = ListQuery {
        prefix: "b/".to_owned(),
        after: Some("b/whole 0".to_owned()),
        limit: 10,
    };
    assert_eq!(
        remote.list(&query).await.unwrap(),
        local.list(&query).await.unwrap()
    );
    assert_eq!(remote.list(&query).await.unwrap().len(), 3 + 5 - 1);
    let (first, key) = (&metas[3], &metas[3].key);
    let partition = key.partition();
    let all: Vec<_> = (0..PARTITIONS).map(Partition).collect();
    for partitions in [[partition].as_slice(), &all, &[]] {
        let found = remote.survey(partitions).await.unwrap();
        assert_eq!(found, local.survey(partitions).await.unwrap());
        assert_eq!(found.len(), partitions.len());
    }
    assert_eq!(remote.survey(&all).await.unwrap().concat().len(), metas.len());
    let verdict = remote.verify(key, first.version, Cause::Request).await.unwrap();
    assert!(matches!(verdict, Verdict::Good { .. }), "{verdict:?}");
    assert_eq!(
        remote.fixity(Some(key), 10).await.unwrap(),
        local.fixity(Some(key), 10).await.unwrap()
    );
    remote
        .remove(key, first.version, Cause::Rebalance, "two others were verified")
        .await
        .unwrap();
    assert_eq!(local.head(key).await.unwrap().found, None);
    let (there, here) = (remote.status().await.unwrap(), local.status().await.unwrap());
    // Other processes write to the same disk in between.
    let free_bytes = here.free_bytes;
    assert_eq!(VolumeStatus { free_bytes, ..there }, here);
    remote.rebuilt().await.unwrap();
    remote.settle_stray("nothing/here").await.unwrap_err();
    let gone = remote.read(key, first.version, 0..1).await.err().unwrap();
    assert!(matches!(gone, VolumeError::Missing { .. }), "{gone:?}");
    let counts = node.status().await.requests;
    let sent = counts.iter().find(|count| count.operation == "read").unwrap();
    assert!(sent.count > 10 && sent.bytes_out > BLOCK_BYTES && sent.quantile_micros(0.99).is_some());
    client.close().await;
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_from_its_digest_is_refused_by_name() {
    let files = Files::new(1, 1, 1);
    let node = files.start("n1").await;
    let client = files.client().await;
    let remote = volume(&seen(&client.store()).topology(), "n1/d1");
    let content = content(1000, 0);
    let mut meta = meta("b/x", Clock::new("test").now(), &content);
    meta.digests.blake3[0] ^= 1;
    let upload = UploadId::random();
    remote.receive(upload, pieces(&content)).await.unwrap();
    let refused = remote
        .prepare(upload, &meta, store_protocol::Purpose::Write)
        .await
        .unwrap_err();
    assert!(matches!(refused, VolumeError::Corrupt { .. }), "{refused:?}");
    let refused = remote
        .prepare_whole(upload, &meta, content.into())
        .await
        .unwrap_err();
    assert!(matches!(refused, VolumeError::Corrupt { .. }), "{refused:?}");
    remote
        .abort(upload, store_protocol::AbortScope::Version(meta.version))
        .await;
    assert_eq!(remote.status().await.unwrap().uploads, 0);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_flight_finishes_when_its_node_is_shut_down() {
    let files = Files::new(1, 1, 1);
    let node = files.start("n1").await;
    let client = files.client().await;
    let remote = volume(&seen(&client.store()).topology(), "n1/d1");
    // More than the buffers on the way can hold.
    let content = content(40_000_000, 3);
    let meta = meta("b/x", Clock::new("test").now(), &content);
    write(remote.as_ref(), &meta, &content).await;
    let mut read = remote
        .read(&meta.key, meta.version, 0..u64::MAX)
        .await
        .unwrap()
        .bytes;
    let mut found = read.try_next().await.unwrap().unwrap().to_vec();
    let ending = tokio::spawn(node.shutdown());
    while remote.status().await.is_ok() {
        tokio::task::yield_now().await;
    }
    while let Some(piece) = read.try_next().await.unwrap() {
        found.extend_from_slice(&piece);
    }
    assert!(found == content);
    ending.await.unwrap();
}
