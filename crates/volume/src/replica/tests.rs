//! The file format: fixtures of every version ever written, and damaged files.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use store_protocol::{BlockHasher, Digests};

use super::*;
use crate::Stat;

/// An in-memory file that records the longest read.
struct MemoryFile {
    bytes: Vec<u8>,
    longest: AtomicUsize,
}

impl DiskFile for MemoryFile {
    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.longest.fetch_max(bytes.len(), Ordering::Relaxed);
        let found = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.bytes.get(offset..offset.checked_add(bytes.len())?));
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat {
            bytes: self.bytes.len() as u64,
            is_dir: false,
            device: 0,
            inode: 0,
        })
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn forget_cached(&self) {}
}

/// Reads a file of these bytes, and checks that no read is longer than the file (or its fixed
/// parts).
fn check(bytes: Vec<u8>) -> Result<Replica, ReplicaError> {
    let most = bytes.len().max(HEAD_BYTES);
    let file = MemoryFile {
        bytes,
        longest: AtomicUsize::new(0),
    };
    let found = read(&file);
    assert!(file.longest.into_inner() <= most);
    found
}

fn an_object() -> (Meta, &'static [u8]) {
    let content: &[u8] = b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let meta = Meta {
        key: Key::parse("crawls/2026/b\u{fc}cher-00001.warc").unwrap(),
        version: "01932f1c5a0000000002c0ffee01".parse().unwrap(),
        deleted: false,
        size: content.len() as u64,
        etag: "0123456789abcdef0123456789abcdef".to_owned(),
        attributes: [
            ("content-type".to_owned(), "application/warc".to_owned()),
            ("x-amz-meta-crawl".to_owned(), "spring".to_owned()),
        ]
        .into(),
        digests: Digests {
            md5: [0xd5; 16],
            sha256: [0x25; 32],
            blake3: *blake3::hash(content).as_bytes(),
        },
        write: None,
    };
    (meta, content)
}

fn a_tombstone() -> (Meta, &'static [u8]) {
    let (meta, _) = an_object();
    let meta = Meta {
        deleted: true,
        size: 0,
        etag: String::new(),
        attributes: [].into(),
        digests: Digests {
            blake3: *blake3::hash(b"").as_bytes(),
            ..meta.digests
        },
        version: "01932f1c5a0100000000c0ffee01".parse().unwrap(),
        ..meta
    };
    (meta, b"")
}

fn written(meta: &Meta, content: &[u8]) -> Vec<u8> {
    let mut hasher = BlockHasher::default();
    hasher.update(content);
    let (table, _) = hasher.finish();
    [&head(meta), content, &trailer(meta, &table).unwrap()].concat()
}

fn fixture(name: &str) -> Vec<u8> {
    let path = test_env::crate_dir().join(format!("tests/fixtures/{name}"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the same object as a decider writes it: in a term, for a request with an id.
fn decided((meta, content): (Meta, &'static [u8])) -> (Meta, &'static [u8]) {
    let version = format!("t00000007c0ffee02{}", meta.version).parse().unwrap();
    let write = Some(serde_json::from_str(&format!("{:?}", "ab".repeat(16))).unwrap());
    let meta = Meta {
        version,
        write,
        ..meta
    };
    (meta, content)
}

/// The fixtures of format 2 were written by hand according to `docs/format-replica.md`.
#[test]
fn files_of_every_format_are_read_and_written_alike() {
    for (name, (meta, content)) in [
        ("replica-format-1.bin", an_object()),
        ("tombstone-format-1.bin", a_tombstone()),
        ("replica-format-2.bin", decided(an_object())),
        ("tombstone-format-2.bin", decided(a_tombstone())),
    ] {
        let fixture = fixture(name);
        let found = check(fixture.clone()).unwrap();
        assert_eq!(found.meta, meta, "{name}");
        assert_eq!(found.table.root(), Some(meta.digests.blake3), "{name}");
        assert_eq!(fixture[2048..2048 + content.len()], *content, "{name}");
        assert!(
            written(&meta, content) == fixture,
            "{name} would be written differently"
        );
    }
}

#[test]
fn any_flipped_bit_around_the_content_is_found() {
    let (meta, content) = an_object();
    let whole = written(&meta, content);
    let content_at = HEAD_BYTES..HEAD_BYTES + content.len();
    for at in (0..whole.len()).filter(|at| !content_at.contains(at)) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(check(flipped).is_err(), "byte {at}");
    }
}

#[test]
fn a_file_cut_off_still_says_what_it_was() {
    let (meta, content) = an_object();
    let whole = written(&meta, content);
    for length in HEAD_BYTES..whole.len() {
        let cut = whole[..length].to_vec();
        assert!(check(cut.clone()).is_err(), "{length} bytes");
        let file = MemoryFile {
            bytes: cut,
            longest: AtomicUsize::new(0),
        };
        let head = read_head(&file).unwrap();
        assert_eq!((head.key, head.version), (meta.key.clone(), meta.version));
        assert_eq!((head.size, head.blake3), (meta.size, meta.digests.blake3));
    }
}

#[test]
fn a_key_as_long_as_may_be_fits() {
    let (mut meta, content) = an_object();
    let (bucket, name) = ("b".repeat(63), "n".repeat(store_protocol::NAME_BYTES_MAX));
    meta.key = Key::new(&bucket, &name).unwrap();
    assert_eq!(check(written(&meta, content)).unwrap().meta, meta);
}

#[test]
fn meta_of_another_object_is_found() {
    let (meta, content) = an_object();
    let whole = written(&meta, content);
    let mut other = meta.clone();
    for change in [
        |meta: &mut Meta| meta.key = Key::parse("crawls/other").unwrap(),
        |meta: &mut Meta| meta.version.counter += 1,
        |meta: &mut Meta| meta.deleted = true,
        |meta: &mut Meta| meta.digests.blake3[0] ^= 1,
    ] {
        other.clone_from(&meta);
        change(&mut other);
        let mixed = [&head(&other), &whole[HEAD_BYTES..]].concat();
        assert!(
            matches!(check(mixed), Err(ReplicaError::Differs { .. })),
            "{other:?}"
        );
    }
}

/// Returns bytes that look like a tail with the given lengths, and with a digest that is right for
/// an empty table and meta.
fn hostile_tail(size: u64, table_bytes: u64, meta_bytes: u32) -> Vec<u8> {
    let mut tail = Vec::new();
    tail.extend(size.to_le_bytes());
    tail.extend(table_bytes.to_le_bytes());
    tail.extend(meta_bytes.to_le_bytes());
    tail.extend(FORMAT.to_le_bytes());
    tail.extend([0; 2]);
    let digest = *blake3::hash(&tail).as_bytes();
    tail.extend(digest);
    tail.extend(TAIL_MAGIC);
    tail
}

proptest! {
    #[test]
    fn hostile_bytes_are_refused(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let (meta, content) = an_object();
        let whole = written(&meta, content);
        let mut bytes = whole.clone();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        // Verification, not this module, finds changes of the content.
        if let Ok(found) = check(bytes) {
            prop_assert_eq!(found.meta, meta);
        }
    }

    #[test]
    fn mad_lengths_are_refused(
        size in prop_oneof![any::<u64>(), 0..5000u64, Just(u64::MAX - 2112)],
        table_bytes in prop_oneof![any::<u64>(), (0..5u64).prop_map(|n| n * 32)],
        meta_bytes in prop_oneof![any::<u32>(), 0..500u32],
        junk in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let (meta, _) = an_object();
        let bytes = [head(&meta), junk, hostile_tail(size, table_bytes, meta_bytes)].concat();
        prop_assert!(check(bytes).is_err());
    }
}
