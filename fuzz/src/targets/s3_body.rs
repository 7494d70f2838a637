//! Bodies of S3 requests as clients frame them (`aws-chunked`), sent to a server with an in-memory
//! store.
//!
//! An input is a valid request and the changes that an attacker makes to its body on the way: the
//! first byte chooses the framing, the second counts changes of four bytes each, then come the
//! chunks, each after its length. Only the client and the server know the key. Properties: an
//! unchanged body is accepted. A changed one is rejected, or the object still equals the client's
//! content (for example with leading zeros in a size); without signatures, a changed body with a
//! correct checksum is accepted too. A rejected body leaves nothing.

use std::net::SocketAddr;
use std::sync::LazyLock;

use parking_lot::Mutex;
use store::{Condition, Store};
use store_protocol::Key;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Target;
use framing::{Framing, framed};

mod client;
mod framing;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "s3_body",
    about: "bodies of S3 requests in signed and unsigned chunks, modified in transit",
    run,
    seeds,
    from_file: |bytes| {
        let mut input = vec![0, 0];
        for chunk in bytes.chunks(200).take(20) {
            input.push(chunk.len() as u8);
            input.extend_from_slice(chunk);
        }
        input
    },
    tokens: &[
        b"\0",
        b"0;chunk-signature=",
        b"\r\n\r\n",
        b"x-amz-checksum-crc32:",
    ],
};

/// Pieces of framing that a change may insert.
const PIECES: &[&[u8]] = &[
    b"0",
    b"00000000",
    b"\r\n",
    b"\n",
    b";",
    b"0\r\n\r\n",
    b"1\r\nx\r\n",
    b"fffffffff;chunk-signature=",
    b"0;chunk-signature=",
    b"x-amz-checksum-crc32:AAAAAA==\r\n",
    b"x-amz-trailer-signature:",
    b"\r\nx: y",
    b"FFFFFFFF\r\n",
    b"+5",
    b"0x5",
    b" ",
];

/// The server and its store.
struct Served {
    runtime: Runtime,
    address: SocketAddr,
    store: Store,
    /// Reused between requests until the server closes it.
    connection: Mutex<Option<client::Connection>>,
    _running: s3::Running,
    _dir: TempDir,
}

static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let dir = tempfile::tempdir().expect("a folder for the keys");
    let keys = dir.path().join("keys.toml");
    let (id, secret) = client::KEY;
    let text = format!("[keys.{id}]\nsecret = {secret:?}\nrights = {{ \"*\" = [\"read\", \"write\"] }}\n");
    std::fs::write(&keys, text).expect("the keys can be written");
    let (store, running) = runtime.block_on(async {
        let store = store_testkit::Rig::new(1, 1).client();
        let settings = s3::Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)), keys);
        let running = s3::serve(settings, store.clone()).await.expect("a server");
        (store, running)
    });
    let address = running.address();
    let served = Served {
        runtime,
        address,
        store,
        connection: Mutex::default(),
        _running: running,
        _dir: dir,
    };
    let made = served.send(&client::signed(address, "PUT", "/data", Framing::None, 0).head);
    assert_eq!(made, 200, "the bucket was not created");
    served
});

impl Served {
    fn send(&self, request: &[u8]) -> u16 {
        let mut kept = self.connection.lock();
        self.runtime
            .block_on(client::exchange(self.address, &mut kept, request))
    }

    /// Reads and deletes the object.
    fn take(&self, key: &Key) -> Option<Vec<u8>> {
        self.runtime.block_on(async {
            let content = store_testkit::rig::read(&self.store, key, None).await.ok()?;
            self.store
                .delete(key, Condition::Always)
                .await
                .expect("the object can be deleted");
            Some(content)
        })
    }
}

/// Sends the request and checks the result.
pub fn run(bytes: &[u8]) {
    let Some((&[choice, changes], rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let (changes, rest) = rest
        .as_chunks::<4>()
        .0
        .split_at_checked(usize::from(changes % 4))
        .map_or_else(
            || (Vec::new(), rest),
            |(changes, _)| (changes.to_vec(), &rest[changes.len() * 4..]),
        );
    let framing = Framing::of(choice);
    let chunks = chunks(rest);
    let content = chunks.concat();
    let served = &*SERVED;
    let request = client::signed(served.address, "PUT", "/data/x", framing, content.len());
    let sent = framed(framing, &request, &chunks);
    let mut body = sent.clone();
    for change in &changes {
        apply(*change, &mut body);
    }
    let status = served.send(&request.with(&body));
    let key = Key::new("data", "x").expect("the key is valid");
    let found = served.take(&key);
    let shown = || String::from_utf8_lossy(&body).into_owned();
    match status {
        200 => {
            let found = found.expect("an accepted object exists");
            if framing == Framing::Unsigned {
                // An attacker may change an unsigned body together with its checksum, but a correct
                // checksum is required.
                let sum = framing::crc32(&found);
                assert!(
                    shown().contains(&sum),
                    "accepted without its checksum {sum}: {:?}",
                    shown()
                );
            } else {
                assert_eq!(
                    found,
                    content,
                    "accepted with content that was not signed: {:?}",
                    shown()
                );
            }
        }
        400..500 => {
            assert!(found.is_none(), "{status}, but the object exists: {:?}", shown());
            assert!(
                body != sent,
                "a valid body is refused with {status}: {:?}",
                shown()
            );
        }
        _ => panic!("unexpected status {status}: {:?}", shown()),
    }
}

/// Returns the chunks, each preceded by its length in one byte.
fn chunks(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    while let Some((&length, after)) = rest.split_first() {
        // The empty chunk is reserved for the end.
        let length = usize::from(length).min(after.len());
        let (chunk, after) = after.split_at(length);
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
        rest = after;
    }
    chunks
}

/// Applies a change by an attacker: kind, position (in 65,536 parts of the body), value.
fn apply([kind, high, low, value]: [u8; 4], body: &mut Vec<u8>) {
    let place = usize::from(u16::from_be_bytes([high, low]));
    let at = if kind & 0x80 == 0 {
        place.min(body.len())
    } else {
        body.len().saturating_sub(place)
    };
    match kind % 7 {
        0 => {
            if let Some(byte) = body.get_mut(at) {
                *byte = value;
            }
        }
        1 => body.insert(at, value),
        2 => drop(body.drain(at..(at + usize::from(value)).min(body.len()))),
        3 => body.truncate(at),
        4 => drop(body.splice(at..at, PIECES[usize::from(value) % PIECES.len()].iter().copied())),
        5 => {
            let piece = body[at..(at + usize::from(value)).min(body.len())].to_vec();
            body.splice(at..at, piece);
        }
        _ => body.extend_from_slice(PIECES[usize::from(value) % PIECES.len()]),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for framing in 0..3 {
        for chunks in [&b""[..], b"\x05hello", b"\x05hello\x03you\x04\r\n0\n"] {
            seeds.push([&[framing, 0], chunks].concat());
        }
        for change in [
            [0, 0, 0, b'6'],
            [4, 0, 0, 1],
            [0x83, 0, 2, 0],
            [6, 0, 0, 3],
            [4, 0, 1, 4],
        ] {
            seeds.push([&[framing, 1], &change[..], b"\x05hello\x06 world"].concat());
        }
    }
    seeds
}
