//! Reads in any order return the content.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;
use remote::{OwnStore, Remote, Retry, Settings};
use warc::Input;

use crate::web::{Behaviour, Web};

/// Settings with delays of a few milliseconds.
pub(crate) fn settings() -> Settings {
    Settings {
        retry: Retry {
            wait_first: Duration::from_millis(1),
            wait_max: Duration::from_millis(4),
            ..Retry::default()
        },
        ..Settings::default()
    }
}

pub(crate) fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

/// Returns a remote whose own store holds `objects`.
pub(crate) fn with_store(objects: Arc<dyn ObjectStore>) -> Remote {
    Remote::with_store(settings(), move || {
        let objects = objects.clone();
        let store = OwnStore {
            is_far: true,
            objects,
            sha256: Arc::new(|name| async move { (name == "b/kept").then_some([7; 32]) }.boxed()),
            list: Arc::new(|_, _| async { Err("it does not list".into()) }.boxed()),
            close: Arc::new(|| async {}.boxed()),
        };
        async move { Ok(store) }.boxed()
    })
}

pub(crate) fn put(objects: &Arc<dyn ObjectStore>, name: &str, content: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let path = object_store::path::Path::parse(name).unwrap();
    runtime
        .block_on(objects.put(&path, content.to_vec().into()))
        .unwrap();
}

/// Reads everything from start to end, in pieces of a given size.
pub(crate) fn read_all(input: &dyn Input, piece_bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut piece = vec![0; piece_bytes];
    loop {
        match input.read_at(&mut piece, all.len() as u64)? {
            0 => return Ok(all),
            bytes => all.extend_from_slice(&piece[..bytes]),
        }
    }
}

/// Adds a cache tier to a remote, if asked.
pub(crate) fn cached(remote: Remote, is_cached: bool) -> Remote {
    if is_cached {
        remote.use_cache(|| Some(cache::Cache::open(&cache::Settings::default(), "test").unwrap()));
    }
    remote
}

/// Checks that the input at `address` returns `content`, sequentially and at random positions, with
/// and without a cache.
fn check(remote: impl Fn() -> Remote, address: &str, content: &[u8]) {
    check_one(&cached(remote(), false), address, content);
    check_one(&cached(remote(), true), address, content);
}

fn check_one(remote: &Remote, address: &str, content: &[u8]) {
    let stat = remote.stat(&[address]).pop().unwrap().unwrap().unwrap();
    let input = remote.open(address, Some(&stat)).unwrap();
    assert_eq!(input.size().unwrap(), content.len() as u64);
    for piece_bytes in [content.len().max(1), 256 << 10, 4_999] {
        assert!(read_all(&*input, piece_bytes).unwrap() == content, "{address}");
    }
    let input = remote.open(address, None).unwrap();
    let reads = proptest::collection::vec((0..content.len() as u64 + 10, 0..300_000_usize), 1..8);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(16));
    runner
        .run(&reads, |reads| {
            for (offset, wanted) in reads {
                let mut into = vec![0; wanted];
                let read = input.read_at(&mut into, offset).unwrap();
                let rest = content.get(offset as usize..).unwrap_or_default();
                prop_assert!(read <= rest.len().min(wanted));
                prop_assert_eq!(read == 0, rest.is_empty() || wanted == 0);
                prop_assert!(into[..read] == rest[..read]);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn web_servers_give_what_they_have() {
    for bytes in [0, 1, 65_536, 65_537, 3_000_000] {
        let content = content(bytes);
        for manner in [Behaviour::Ranges, Behaviour::NoTag, Behaviour::NoRanges] {
            let web = Web::start(&content, manner);
            check(|| Remote::new(settings()), &web.url("/file?x=[y]"), &content);
            check(|| Remote::new(settings()), &web.url("/file"), &content);
        }
    }
}

#[test]
fn stores_give_what_they_have() {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn ObjectStore>; 2] = [
        Arc::new(InMemory::new()),
        Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap()),
    ];
    for objects in stores {
        for bytes in [0, 1, 65_536, 65_537, 3_000_000] {
            let content = content(bytes);
            put(&objects, "b/x y/z", &content);
            check(|| with_store(objects.clone()), "store://b/x y/z", &content);
        }
    }
}

#[test]
fn reading_on_fetches_ahead_and_stopping_stops() {
    let content = content(40 << 20);
    let web = Web::start(&content, Behaviour::Ranges);
    let remote = Remote::new(settings());
    let input = remote.open(&web.url("/file"), None).unwrap();
    let mut into = vec![0; 1000];
    input.read_at(&mut into, 0).unwrap();
    input.read_at(&mut into, 30_000_000).unwrap();
    assert_eq!(
        web.log(),
        ["bytes=0-0", "bytes=0-65535", "bytes=30000000-30065535"],
        "single reads fetch little, and nothing ahead"
    );
    assert!(read_all(&*input, 10_000).unwrap() == content);
    let log = web.log();
    // 64 KiB, 256 KiB, 1 MiB, then 4 MiB each: no byte twice, no request longer than half of the
    // limit.
    assert_eq!(log.len(), 3 + 40_usize.div_ceil(4), "{log:?}");
    let mut reached = 0;
    for range in &log {
        let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
        assert_eq!(first, reached, "{log:?}");
        assert!(last - first < remote::READ_AHEAD_BYTES / 2, "{log:?}");
        reached = last + 1;
    }
}

#[test]
fn what_was_read_is_not_asked_for_again() {
    let content = content(3_000_000);
    let web = Web::start(&content, Behaviour::Ranges);
    let remote = cached(Remote::new(settings()), true);
    let read = || read_all(&*remote.open(&web.url("/file"), None).unwrap(), 256 << 10).unwrap();
    assert!(read() == content);
    assert!(web.log().len() > 1);
    assert!(read() == content);
    assert_eq!(
        web.log(),
        [""; 0],
        "within the bound its description is cached too"
    );
    // The second read was served from memory.
    let loaded = remote.cache().unwrap().stats();
    assert!(
        loaded
            .users
            .iter()
            .any(|row| row.user == "records" && row.stats.memory_bytes >= 3_000_000),
        "{loaded:?}"
    );
}

#[test]
fn a_password_in_an_address_goes_to_its_server_alone() {
    let web = Web::start(b"content", Behaviour::Ranges);
    let remote = Remote::new(settings());
    let address = format!("http://us%65r:p%40ss@{}/file?x=1", web.address);
    let input = remote.open(&address, None).unwrap();
    let mut bytes = [0; 7];
    assert_eq!(input.read_at(&mut bytes, 0).unwrap(), 7);
    let basic = Some("Basic dXNlcjpwQHNz".to_owned());
    let asked = web.asked();
    assert!(!asked.is_empty());
    for asked in asked {
        assert_eq!(asked, ("/file?x=1".to_owned(), basic.clone()));
    }
    // The redirect stays on this server, so the password is sent again.
    let moved = format!("http://user:p%40ss@{}/moved", web.address);
    remote.open(&moved, None).unwrap();
    let paths: Vec<_> = web
        .asked()
        .into_iter()
        .map(|(path, sent)| (path, sent == basic))
        .collect();
    assert_eq!(
        paths[..2],
        [("/moved".to_owned(), true), ("/file?from=moved".to_owned(), true)]
    );
}

#[test]
fn a_password_does_not_go_over_a_network_as_it_is() {
    let refused = Remote::new(settings()).open("http://user:secret@example.org/x.warc", None);
    let text = refused.err().unwrap().to_string();
    assert!(
        text.contains("use https://") && !text.contains("secret"),
        "{text}"
    );
    let refused = Remote::new(settings()).open("s3://ID:SECRET@bucket/x.warc", None);
    let text = refused.err().unwrap().to_string();
    assert!(
        text.contains("AWS_ACCESS_KEY_ID") && !text.contains("SECRET@"),
        "{text}"
    );
}
