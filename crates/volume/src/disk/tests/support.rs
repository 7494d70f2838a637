//! Shared code of the tests: volumes in temporary directories, objects, and requests.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use store_protocol::{
    ByteStream, Cause, Digests, Key, ListQuery, Meta, PARTITIONS, Partition, ReplicaEntry, SurveyEntry,
    UploadId, Version, Volume, VolumeError, VolumeId,
};

use crate::disk::{DiskSettings, DiskVolume};
use crate::fixity::FixityLog;

/// Runs a test on a separate runtime.
pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

/// Removes everything in a directory.
pub(super) fn wipe(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }
}

pub(super) fn settings(path: &Path) -> DiskSettings {
    DiskSettings::new(path, id(), FixityLog::new())
}

pub(super) fn id() -> VolumeId {
    VolumeId("n1/v1".into())
}

pub(super) fn open(path: &Path) -> Arc<DiskVolume> {
    DiskVolume::open(settings(path)).unwrap()
}

pub(super) fn key(name: &str) -> Key {
    Key::new("bucket", name).unwrap()
}

pub(super) fn version(millis: u64) -> Version {
    Version {
        term: store_protocol::Term::NONE,
        millis,
        counter: 0,
        node: 7,
    }
}

/// Returns bytes that differ from block to block.
pub(super) fn content(size: u64, seed: u64) -> Bytes {
    (0..size)
        .map(|i| (i.wrapping_mul(31) ^ (i >> 11) ^ seed) as u8)
        .collect::<Vec<u8>>()
        .into()
}

pub(super) fn meta(key: &Key, version: Version, content: &[u8]) -> Meta {
    Meta {
        key: key.clone(),
        version,
        deleted: false,
        size: content.len() as u64,
        etag: "etag".to_owned(),
        attributes: [("content-type".to_owned(), "text/plain".to_owned())].into(),
        digests: Digests {
            md5: [1; 16],
            sha256: [2; 32],
            blake3: *blake3::hash(content).as_bytes(),
        },
        write: None,
    }
}

pub(super) fn tombstone(key: &Key, version: Version) -> Meta {
    Meta {
        deleted: true,
        ..meta(key, version, b"")
    }
}

pub(super) fn body(content: &Bytes) -> ByteStream {
    let pieces: Vec<_> = content
        .chunks(70_000)
        .map(Bytes::copy_from_slice)
        .map(Ok)
        .collect();
    Box::pin(stream::iter(pieces))
}

/// Writes content in the three steps.
pub(super) async fn put(volume: &dyn Volume, meta: &Meta, content: &Bytes) -> Result<(), VolumeError> {
    let upload = UploadId::random();
    if !meta.deleted {
        let receipt = volume.receive(upload, body(content)).await?;
        assert_eq!((receipt.size, receipt.blake3), (meta.size, meta.digests.blake3));
    }
    volume
        .prepare(upload, meta, store_protocol::Purpose::Write)
        .await?;
    volume.commit(upload, Cause::Write, "").await
}

/// Reads blocks and compares each with the table.
pub(super) async fn get(
    volume: &dyn Volume,
    meta: &Meta,
    blocks: std::ops::Range<u64>,
) -> Result<Vec<u8>, VolumeError> {
    let first = blocks.start;
    let mut read = volume.read(&meta.key, meta.version, blocks).await?;
    assert_eq!(read.meta, *meta);
    assert_eq!(read.table.root(), Some(meta.digests.blake3));
    let mut bytes = Vec::new();
    while let Some(piece) = read.bytes.next().await {
        bytes.extend(piece.unwrap());
    }
    let block_bytes = store_protocol::BLOCK_BYTES as usize;
    for (n, block) in bytes.chunks(block_bytes).enumerate() {
        assert!(read.table.holds(first + n as u64, block), "block {n}");
    }
    Ok(bytes)
}

pub(super) async fn list(volume: &dyn Volume) -> Vec<ReplicaEntry> {
    let query = ListQuery {
        prefix: String::new(),
        after: None,
        limit: usize::MAX,
    };
    volume.list(&query).await.unwrap()
}

/// Surveys all partitions.
pub(super) async fn survey(volume: &dyn Volume) -> Vec<SurveyEntry> {
    let partitions: Vec<_> = (0..PARTITIONS).map(Partition).collect();
    let (mut all, mut done) = (Vec::new(), 0);
    while done < partitions.len() {
        let answer = volume.survey(&partitions[done..]).await.unwrap();
        done += answer.len();
        all.extend(answer.concat());
    }
    all
}
