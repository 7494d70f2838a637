//! The parsers of messages from other nodes, for fuzzers.
//!
//! Each function is the code that a running node uses, without the connection below it. The parsed
//! message is returned in the form in which it would be sent, so that a caller can compare both.

use std::fmt::Debug;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::LayoutTag;
use store_protocol::{ByteStream, ReplicaRead, UploadRead, VolumeRequest};

use super::auth::{Gate, Signed};
use super::requests::{NodeRequest, StreamRequest, WholeHead};
use super::{frame, remote_volume, serve_volume};
use crate::Secret;

/// The kind of a JSON request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// A request to a volume.
    Volume,
    /// A request to a volume that is answered with a stream.
    Stream,
    /// A request to a node.
    Node,
}

/// Parses a JSON request and writes it again.
///
/// # Errors
/// If it cannot be parsed.
pub fn ask(kind: Ask, json: &[u8]) -> io::Result<Vec<u8>> {
    match kind {
        Ask::Volume => again::<VolumeRequest>(json),
        Ask::Stream => again::<StreamRequest>(json),
        Ask::Node => again::<NodeRequest>(json),
    }
}

fn again<T: DeserializeOwned + Serialize>(json: &[u8]) -> io::Result<Vec<u8>> {
    let value: T = serde_json::from_slice(json)?;
    Ok(serde_json::to_vec(&value)?)
}

/// Joins metadata with content, as `stage-whole` is sent.
///
/// # Errors
/// If the metadata is too long.
pub fn join(description: &[u8], content: &[u8]) -> io::Result<Bytes> {
    Ok([&frame::head(description)?, content].concat().into())
}

/// Splits a `stage-whole` into its metadata, as received and as parsed, and its content.
///
/// # Errors
/// If it is cut short, or its metadata cannot be parsed.
pub fn stage_whole(body: Bytes) -> io::Result<(Bytes, Vec<u8>, Bytes)> {
    let (description, content) = frame::split(body)?;
    let understood = again::<WholeHead>(&description)?;
    Ok((description, understood, content))
}

/// Returns the upload that the query of a `stage` names.
pub fn upload_of(query: &str) -> Option<store_protocol::UploadId> {
    serve_volume::upload_of(query)
}

/// Parses the response to a `read` of these blocks.
///
/// # Errors
/// If it is cut short or malformed. If its content is too short or too long, reading the content
/// fails later.
pub async fn read_answer(content: ByteStream, blocks: Range<u64>) -> io::Result<ReplicaRead> {
    remote_volume::read_replica(content, blocks, None).await
}

/// Parses the response to a `read-staged`.
///
/// # Errors
/// As [`read_answer`].
pub async fn upload_answer(content: ByteStream) -> io::Result<UploadRead> {
    remote_volume::opened_upload(content).await
}

/// Returns the headers of a signed request.
pub fn sign(secret: &Secret, method: &Method, path: &str, ask: &[u8]) -> HeaderMap {
    Signed::now("fuzz", LayoutTag::NONE, ask).headers(secret, method, path)
}

/// Returns what a node accepts from a request with these headers, or `None` if it refuses it.
pub fn signed(
    secret: &Secret,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<impl PartialEq + Debug + use<>> {
    Gate::new(secret.clone()).check(method, path, headers)
}
