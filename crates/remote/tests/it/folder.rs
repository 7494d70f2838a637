//! A folder of a store as a place for tables behaves like a local folder.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use facts::LocalFileStore;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use remote::{Remote, S3Settings, Settings};
use system::FileStore;

use crate::reading::{content, settings, with_store};

/// The required behaviour of every place.
fn check(place: &dyn FileStore) {
    let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
    assert_eq!(place.list("links/_delta_log").unwrap(), Vec::<String>::new());
    assert_eq!(place.get("links/a").unwrap(), None);
    assert!(!place.exists("links/a").unwrap());
    place.put("links/a", bytes("one")).unwrap();
    place.put("links/a", bytes("two")).unwrap();
    assert_eq!(place.get("links/a").unwrap(), Some(bytes("two")));
    assert!(place.exists("links/a").unwrap());
    assert!(place.put_if_absent("links/_delta_log/0", bytes("x")).unwrap());
    assert!(!place.put_if_absent("links/_delta_log/0", bytes("y")).unwrap());
    assert!(place.put_if_absent("links/_delta_log/1", bytes("z")).unwrap());
    let names = ["0", "none", "1"].map(|name| format!("links/_delta_log/{name}"));
    assert_eq!(
        place.get_all(&names).unwrap(),
        [Some(bytes("x")), None, Some(bytes("z"))]
    );
    let mut listed = place.list("links/_delta_log").unwrap();
    listed.sort();
    assert_eq!(listed, ["0", "1"]);
    // The files directly in a folder, not those in subfolders.
    assert!(place.list("links").unwrap().contains(&"a".to_owned()));
    assert!(place.list("link").unwrap().is_empty());
    let large = Bytes::from(content((17 << 20) + 5));
    place.put("links/large", large.clone()).unwrap();
    assert!(place.get("links/large").unwrap().unwrap() == large);
}

#[test]
fn a_store_does_what_a_folder_does() {
    let root = tempfile::tempdir().unwrap();
    check(&LocalFileStore::new(&root.path().join("facts")));
    let remote = with_store(Arc::new(InMemory::new()));
    check(&remote.folder("store://b/some/where").unwrap());
    check(&remote.folder("store://c/").unwrap());
    let place = remote.folder("STORE://b/some/where/").unwrap();
    assert_eq!(place.locate("links/x"), "store://b/some/where/links/x");
    assert!(place.exists("links/large").unwrap());
}

/// Only one of many concurrent writers creates a file.
#[test]
fn one_of_many_creates_a_file() {
    let remote = with_store(Arc::new(InMemory::new()));
    let created: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let place = remote.folder("store://b/x").unwrap();
                scope.spawn(move || place.put_if_absent("log/0", format!("{number}").into()).unwrap())
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| usize::from(writer.join().unwrap()))
            .sum()
    });
    assert_eq!(created, 1);
}

#[test]
fn what_is_no_folder_of_a_store_is_refused() {
    let remote = Remote::new(settings());
    for (address, said) in [
        ("https://h/x", "cannot write to a web server"),
        ("s3://", "no bucket"),
        ("s3://b/x//y", "cannot be asked for"),
        ("ftp://h/x", "expected s3://"),
    ] {
        let error = remote.folder(address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(said), "{address}: {error}");
    }
    let untold = remote.folder("store://b/x").unwrap().list("links").unwrap_err();
    assert!(
        untold.to_string().contains("not connected to a store"),
        "{untold}"
    );
}

#[test]
fn a_store_that_is_away_is_said_to_be() {
    let remote = Remote::new(Settings {
        s3: S3Settings {
            // No server listens there.
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            ..S3Settings::default()
        },
        ..settings()
    });
    let place = remote.folder("s3://b/x").unwrap();
    for error in [
        place.list("links").unwrap_err(),
        place.put("links/a", Bytes::new()).unwrap_err(),
        place.put_if_absent("links/a", Bytes::new()).unwrap_err(),
        place.get("links/a").unwrap_err(),
        place.exists("links/a").unwrap_err(),
    ] {
        assert!(error.to_string().to_lowercase().contains("connect"), "{error}");
    }
}

/// How a store handles a conditional put.
#[derive(Debug, Clone, Copy)]
enum Conditions {
    Ignored,
    Unknown,
}

/// A store without conditional puts.
#[derive(Debug)]
struct Unconditional(InMemory, Conditions);

impl fmt::Display for Unconditional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unconditional")
    }
}

#[async_trait]
impl ObjectStore for Unconditional {
    async fn put_opts(&self, path: &Path, payload: PutPayload, mut options: PutOptions) -> Result<PutResult> {
        match (self.1, &options.mode) {
            (Conditions::Unknown, PutMode::Create) => Err(Error::NotImplemented {
                operation: "create".to_owned(),
                implementer: self.to_string(),
            }),
            _ => {
                options.mode = PutMode::Overwrite;
                self.0.put_opts(path, payload, options).await
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}

/// Two writers would replace each other's commits there.
#[test]
fn a_store_without_conditional_puts_is_refused_with_the_first_commit() {
    for (conditions, said) in [
        (Conditions::Ignored, "ignores the condition of a put"),
        (Conditions::Unknown, "does not support conditional puts"),
    ] {
        let remote = with_store(Arc::new(Unconditional(InMemory::new(), conditions)));
        let place = remote.folder("store://b/x").unwrap();
        let error = place
            .put_if_absent("log/0", Bytes::from_static(b"x"))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(said), "{error}");
    }
}
