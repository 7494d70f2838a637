//! Messages between nodes: every parser in `cluster::fuzzing`, of requests and of responses.
//!
//! The first byte of an input chooses the parser, the second how the bytes are split into pieces,
//! the rest are the bytes. A parsed message, serialized again, parses to the same message.
//! Truncated and overlong messages are rejected. A request with a valid signature has the meaning
//! that was signed.

use std::sync::LazyLock;

use bytes::Bytes;
use cluster::Secret;
use cluster::fuzzing::{self, Ask};
use futures_util::{FutureExt as _, TryStreamExt as _, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use placement::{Layout, Layouts};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store_protocol::{
    ByteStream, FixityEvent, Head, KeysInDoubt, Meta, NodeError, NodeStatus, ReplicaEntry, SurveyEntry,
    Verdict, VolumeError, VolumeStatus,
};

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "node_frames",
    about: "requests and responses between nodes",
    run,
    seeds,
    from_file: |mut bytes| {
        bytes.splice(0..0, [0, 0]);
        bytes
    },
    tokens: &[
        b"\0\0\0\x02{}",
        b"\xff\xff\xff\xff",
        b"{\"size\":5}",
        b"\"table_bytes\":32",
        b"\"partitions\":[0,4095]",
        b"\"partition\":4096",
        b"\"replicas\":3",
        b"\"weight\":0",
        b"18446744073709551615",
        b"340282366920938463463374607431768211455",
        b"null",
        b"+1",
        b"upload=",
    ],
};

/// Maximum number of volumes of a layout whose table is computed; the time depends on it.
const VOLUMES_MAX: usize = 8;

/// Parses the bytes and checks the result.
pub fn run(bytes: &[u8]) {
    let Some((&[reader, piece], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    match reader % 8 {
        0 => idempotent(|json| fuzzing::ask(Ask::Volume, json).ok(), rest),
        1 => idempotent(|json| fuzzing::ask(Ask::Stream, json).ok(), rest),
        2 => idempotent(|json| fuzzing::ask(Ask::Node, json).ok(), rest),
        3 => stage_whole(rest),
        4 => read_answer(rest, piece),
        5 => upload_answer(rest, piece),
        6 => headers(rest, piece),
        _ => answer(rest, piece),
    }
}

/// Checks that a parsed message, serialized again, parses to the same message.
fn idempotent(read: impl Fn(&[u8]) -> Option<Vec<u8>>, bytes: &[u8]) {
    let Some(once) = read(bytes) else { return };
    let twice = read(&once);
    assert_eq!(
        twice.as_deref().map(String::from_utf8_lossy),
        Some(String::from_utf8_lossy(&once)),
        "parsing the output again gives a different result"
    );
}

fn stage_whole(bytes: &[u8]) {
    let Ok((description, understood, content)) = fuzzing::stage_whole(Bytes::copy_from_slice(bytes)) else {
        return;
    };
    let joined = fuzzing::join(&description, &content).expect("parts that were split can be joined");
    assert_eq!(joined, bytes, "the joined bytes differ from the original");
    let again = fuzzing::join(&understood, &content).and_then(fuzzing::stage_whole);
    let (_, again, _) = again.expect("a description that was written here can be read");
    assert_eq!(again, understood);
}

fn read_answer(bytes: &[u8], piece: u8) {
    let read = |content| async move {
        let read = fuzzing::read_answer(content, 0..u64::MAX).await.ok()?;
        let content = read.bytes.try_collect::<Vec<Bytes>>().await;
        Some((read.meta, read.table, content.ok()?.concat()))
    };
    let found = now(read(pieces(bytes, piece)));
    assert_eq!(
        found,
        now(read(pieces(bytes, u8::MAX))),
        "the result depends on the sizes of the pieces"
    );
    if let Some((meta, table, content)) = found {
        assert_eq!(
            content.len() as u64,
            meta.size,
            "a response with a wrong length is accepted"
        );
        assert!(table.values().len() * 32 + content.len() < bytes.len());
        assert!(bytes.ends_with(&content));
    }
}

fn upload_answer(bytes: &[u8], piece: u8) {
    let read = |content| async move {
        let read = fuzzing::upload_answer(content).await.ok()?;
        let content = read.bytes.try_collect::<Vec<Bytes>>().await;
        Some((read.size, content.ok()?.concat()))
    };
    let found = now(read(pieces(bytes, piece)));
    assert_eq!(
        found,
        now(read(pieces(bytes, u8::MAX))),
        "the result depends on the sizes of the pieces"
    );
    if let Some((size, content)) = found {
        assert_eq!(
            content.len() as u64,
            size,
            "a response with a wrong length is accepted"
        );
        assert!(bytes.ends_with(&content));
    }
}

/// Signs a request, then replaces its headers by the lines of the input.
fn headers(bytes: &[u8], piece: u8) {
    static SECRET: LazyLock<Secret> = LazyLock::new(Secret::random);
    const PATH: &str = "/v1/volume/n/v/stage";
    let text = String::from_utf8_lossy(bytes);
    if let Some(stage) = fuzzing::upload_of(&text) {
        assert_eq!(fuzzing::upload_of(&format!("upload={stage}")), Some(stage));
    }
    let signed = fuzzing::sign(&SECRET, &Method::POST, PATH, b"ask");
    let of = |headers: &HeaderMap| fuzzing::signed(&SECRET, &Method::POST, PATH, headers);
    let meaning = of(&signed);
    assert!(meaning.is_some(), "a request that was just signed is refused");
    let mut changed = signed.clone();
    for (number, line) in text.split('\n').enumerate() {
        let number = (number + usize::from(piece)) % signed.len();
        let Some((name, own)) = signed.iter().nth(number) else {
            continue;
        };
        // A line starting with `+` is prepended to the present value, to write the same value in
        // another form.
        let value = match line.strip_prefix('+') {
            Some(before) => [before.as_bytes(), own.as_bytes()].concat(),
            None => line.as_bytes().to_vec(),
        };
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            changed.insert(HeaderName::clone(name), value);
        }
    }
    if let Some(found) = of(&changed) {
        assert_eq!(
            Some(found),
            meaning,
            "{changed:?} is accepted, but differs from the signed request"
        );
    }
}

/// Parses JSON responses, and layouts exchanged by nodes.
fn answer(bytes: &[u8], kind: u8) {
    match kind % 12 {
        0 => json::<Head>(bytes),
        1 => json::<KeysInDoubt>(bytes),
        2 => json::<Vec<ReplicaEntry>>(bytes),
        3 => json::<Vec<Vec<SurveyEntry>>>(bytes),
        4 => json::<Verdict>(bytes),
        5 => json::<Vec<FixityEvent>>(bytes),
        6 => json::<VolumeStatus>(bytes),
        7 => json::<VolumeError>(bytes),
        8 => json::<NodeError>(bytes),
        9 => json::<NodeStatus>(bytes),
        10 => json::<Option<Meta>>(bytes),
        _ => {
            json::<Layouts>(bytes);
            layout(bytes);
        }
    }
}

fn json<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    let again = |bytes: &[u8]| {
        let value: T = serde_json::from_slice(bytes).ok()?;
        Some(serde_json::to_vec(&value).expect("a parsed value can be written"))
    };
    idempotent(again, bytes);
}

/// Checks that a valid layout has a table in which every partition has its volumes.
fn layout(bytes: &[u8]) {
    let Ok(layout) = serde_json::from_slice::<Layout>(bytes) else {
        return;
    };
    if layout.check().is_err() || layout.roles.volumes.len() > VOLUMES_MAX {
        return;
    }
    let weighty = layout
        .roles
        .volumes
        .iter()
        .filter(|volume| volume.weight > 0)
        .count();
    let copies = weighty.min(usize::from(layout.roles.replicas));
    let placement = placement::Placement::compute(&layout);
    for partition in [0, 1, placement::PARTITIONS - 1].map(placement::Partition) {
        assert_eq!(placement.replicas(partition).len(), copies, "of {partition:?}");
    }
}

/// Returns the bytes as a stream, in pieces of `size` bytes or whole.
fn pieces(bytes: &[u8], size: u8) -> ByteStream {
    let size = match size {
        0 | u8::MAX => bytes.len().max(1),
        size => usize::from(size),
    };
    let pieces: Vec<_> = bytes
        .chunks(size)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    Box::pin(stream::iter(pieces))
}

/// Returns the result of a future that must not wait, because all bytes are available.
fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never()
        .expect("the future is not ready, although all bytes are available")
}

/// A description of content of five bytes.
const META: &str = r#"{"key":"bucket/name","version":"t00000001000000020123456789ab0000000000000001","size":5,
    "etag":"5d41402abc4b2a76b9719d911017c592","attributes":{"content-type":"text/plain"},"digests":{
    "md5":"5d41402abc4b2a76b9719d911017c592",
    "sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "blake3":"ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f"},
    "write":"000102030405060708090a0b0c0d0e0f"}"#;

/// Returns one request or response of each kind.
fn seeds() -> Vec<Vec<u8>> {
    let roles = r#"{"replicas":2,"nodes":[{"id":"a","zone":"x","address":"h:1"},{"id":"b","zone":"y","address":"h:2"}],
        "volumes":[{"id":"a/v","node":"a","zone":"x","weight":1},{"id":"b/v","node":"b","zone":"y","weight":2}]}"#;
    let layout = format!(r#"{{"number":1,"seed":7,"roles":{roles}}}"#);
    let json: [(u8, u8, String); 17] = [
        (0, 0, format!(r#"{{"prepare":{{"stage":1,"meta":{META},"purpose":"write"}}}}"#)),
        (0, 0, r#"{"commit":{"stage":1,"cause":"write","evidence":""}}"#.to_owned()),
        (0, 0, r#"{"survey":{"partitions":[0,4095]}}"#.to_owned()),
        (0, 0, r#"{"settle-stray":{"path":"../x"}}"#.to_owned()),
        (0, 0, r#""status""#.to_owned()),
        (1, 0, r#"{"read":{"key":"b/n","version":"0123456789ab0000000000000001","start":0,"end":1,"table":true}}"#.to_owned()),
        (1, 0, r#"{"read-staged":{"stage":340282366920938463463374607431768211455}}"#.to_owned()),
        (2, 0, r#"{"promise":{"claims":[{"partition":4095,"term":"0000000100000002"}]}}"#.to_owned()),
        (2, 0, format!(r#"{{"propose":{layout}}}"#)),
        (2, 0, r#"{"finish":{"key":"b/n","change":{"delete":{"condition":"Always"}},
            "write":"000102030405060708090a0b0c0d0e0f","seen":{"version":null},"relayed":false}}"#.to_owned()),
        (6, 0, "upload=000102030405060708090a0b0c0d0e0f".to_owned()),
        (6, 1, "+0\n+0\n+0\n+\n".to_owned()),
        (7, 5, r#"[{"time":"x"}]"#.to_owned()),
        (7, 7, r#"{"Body":"cut"}"#.to_owned()),
        (7, 10, META.to_owned()),
        (7, 11, format!(r#"{{"current":{layout},"older":[]}}"#)),
        (7, 11, layout.clone()),
    ];
    let mut seeds =
        Vec::from_iter(json.map(|(reader, how, text)| [&[reader, how], text.as_bytes()].concat()));
    let frame = |reader, description: &str, content: &[u8]| {
        let frame = fuzzing::join(description.as_bytes(), content).expect("the description is short");
        [&[reader, 3], &frame[..]].concat()
    };
    seeds.push(frame(3, &format!(r#"{{"stage":1,"meta":{META}}}"#), b"hello"));
    let table = [&[0_u8; 32][..], b"hello"].concat();
    seeds.push(frame(
        4,
        &format!(r#"{{"meta":{META},"table_bytes":32}}"#),
        &table,
    ));
    seeds.push(frame(5, r#"{"size":5}"#, b"hello"));
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed that is rejected immediately is useless.
    #[test]
    fn seeds_are_understood() {
        for seed in seeds() {
            let (head, rest) = seed.split_at(2);
            let shown = String::from_utf8_lossy(rest);
            let found = match head {
                [0, _] => fuzzing::ask(Ask::Volume, rest)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                [1, _] => fuzzing::ask(Ask::Stream, rest)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                [2, _] => fuzzing::ask(Ask::Node, rest)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                [3, _] => fuzzing::stage_whole(rest.to_vec().into())
                    .map(drop)
                    .map_err(|error| error.to_string()),
                [4, _] => now(fuzzing::read_answer(pieces(rest, 3), 0..1))
                    .map(drop)
                    .map_err(|error| error.to_string()),
                [5, _] => now(fuzzing::upload_answer(pieces(rest, 3)))
                    .map(drop)
                    .map_err(|error| error.to_string()),
                [7, 10] => serde_json::from_slice::<Meta>(rest)
                    .map(drop)
                    .map_err(|error| error.to_string()),
                _ => Ok(()),
            };
            assert_eq!(found, Ok(()), "{shown}");
        }
    }
}
