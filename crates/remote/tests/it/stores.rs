//! Listing, examining and reading in object stores.

use std::io::ErrorKind;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use remote::{Remote, Settings};

use crate::reading::{put, read_all, settings, with_store};

fn filled() -> Arc<dyn ObjectStore> {
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    for name in ["b/in/x", "b/in/a/y", "b/in/a.z", "b/inn", "b/kept", "c/in/x"] {
        put(&objects, name, name.as_bytes());
    }
    objects
}

#[test]
fn listings_are_of_what_is_below() {
    let remote = with_store(filled());
    let names = |folder: &str| -> Vec<String> {
        let listed = remote.list(folder).unwrap();
        listed.into_iter().map(|(address, _)| address).collect()
    };
    assert_eq!(
        names("store://b/in/"),
        ["store://b/in/a.z", "store://b/in/a/y", "store://b/in/x"]
    );
    assert_eq!(names("store://b/").len(), 5);
    assert!(names("store://b/i/").is_empty());
    let sizes: Vec<u64> = remote
        .list("store://c/")
        .unwrap()
        .iter()
        .map(|(_, stat)| stat.size)
        .collect();
    assert_eq!(sizes, [6]);
}

#[test]
fn the_digest_that_the_store_keeps_is_told() {
    let remote = with_store(filled());
    let mut stats = remote
        .stat(&[
            "store://b/kept",
            "store://b/inn",
            "store://b/in",
            "store://b/in/",
            "store://b",
        ])
        .into_iter()
        .map(|stat| stat.unwrap());
    assert_eq!(stats.next().unwrap().unwrap().sha256, Some([7; 32]));
    assert_eq!(stats.next().unwrap().unwrap().sha256, None);
    assert_eq!(stats.collect::<Vec<_>>(), [None, None, None]);
    let listed = remote.list("store://b/").unwrap();
    let kept: Vec<&str> = listed
        .iter()
        .filter(|(_, stat)| stat.sha256.is_some())
        .map(|(address, _)| address.as_str())
        .collect();
    assert_eq!(kept, ["store://b/kept"]);
}

#[test]
fn an_object_that_was_replaced_is_an_error() {
    let objects = filled();
    let remote = with_store(objects.clone());
    let stat = remote.stat(&["store://b/kept"]).pop().unwrap().unwrap();
    let input = remote.open("store://b/kept", stat.as_ref()).unwrap();
    put(&objects, "b/kept", b"b/kepT");
    let error = read_all(&*input, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    let input = remote.open("store://b/kept", None).unwrap();
    assert_eq!(read_all(&*input, 10).unwrap(), b"b/kepT");
}

#[test]
fn without_a_store_that_is_said() {
    let remote = Remote::new(settings());
    let error = remote.open("store://b/x", None).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let refusing = Remote::with_store(Settings::default(), || {
        Box::pin(async { Err("no node answers at 127.0.0.1:1".into()) })
    });
    let error = refusing.open("store://b/x", None).err().unwrap();
    assert!(error.to_string().contains("no node answers"), "{error}");
}
