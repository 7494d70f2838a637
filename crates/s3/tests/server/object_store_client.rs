//! Tests with the `object_store` client, as the rest of Weft uses it.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use http::Method;
use object_store::aws::{AmazonS3, AmazonS3Builder, S3ConditionalPut, S3CopyIfNotExists};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{
    Attribute, ClientOptions, Error, GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, RetryConfig, UpdateVersion,
};

use crate::support::{ADMIN, Rig};

fn client(rig: &Rig, bucket: &str) -> AmazonS3 {
    builder(rig, bucket).build().unwrap()
}

fn builder(rig: &Rig, bucket: &str) -> AmazonS3Builder {
    AmazonS3Builder::new()
        .with_endpoint(rig.endpoint())
        // Without this the client would use the proxies of the user who runs the tests. Naming a
        // proxy and excluding our address disables them.
        .with_client_options(
            ClientOptions::new()
                .with_allow_http(true)
                .with_proxy_url("http://127.0.0.1:1")
                .with_proxy_excludes("127.0.0.1"),
        )
        .with_region("us-east-1")
        .with_bucket_name(bucket)
        .with_access_key_id(ADMIN.0)
        .with_secret_access_key(ADMIN.1)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_copy_if_not_exists(S3CopyIfNotExists::Multipart)
}

/// The client cannot create buckets, so this uses a presigned URL.
async fn make_bucket(rig: &Rig, bucket: &str) {
    let signer = client(rig, bucket);
    let url = signer
        .signed_url(Method::PUT, &Path::from(""), Duration::from_secs(60))
        .await
        .unwrap();
    let answer = crate::bytes::request("PUT", url.as_str(), b"").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn bytes(length: usize) -> Bytes {
    (0..length)
        .map(|n| (n * 31 % 251) as u8)
        .collect::<Vec<_>>()
        .into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn put_get_list_delete() {
    let rig = Rig::start().await;
    make_bucket(&rig, "data").await;
    let client = client(&rig, "data");
    let content = bytes(700_000);
    let path = Path::from("a/b c+d/ä");
    let attributes = [
        (Attribute::ContentType, "text/x"),
        (Attribute::CacheControl, "no-store"),
        (Attribute::Metadata("colour".into()), "blue"),
    ];
    let options = PutOptions {
        attributes: attributes.clone().into_iter().collect(),
        ..PutOptions::default()
    };
    let put = client
        .put_opts(&path, content.clone().into(), options)
        .await
        .unwrap();
    let got = client.get(&path).await.unwrap();
    assert_eq!((got.meta.e_tag.clone(), got.meta.size), (put.e_tag, 700_000));
    assert_eq!(got.attributes, attributes.into_iter().collect());
    assert_eq!(got.bytes().await.unwrap(), content);
    for range in [0..1, 699_999..700_000, 1_000..600_000] {
        let Range { start, end } = range.clone();
        assert_eq!(
            client.get_range(&path, range).await.unwrap(),
            content.slice(start as usize..end as usize)
        );
    }
    let options = GetOptions {
        range: Some(GetRange::Suffix(10)),
        ..GetOptions::default()
    };
    let suffix = client
        .get_opts(&path, options)
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    assert_eq!(suffix, content.slice(699_990..));
    for n in 0..25 {
        client
            .put(&Path::from(format!("list/{:02}/x", n)), PutPayload::new())
            .await
            .unwrap();
    }
    let all: Vec<_> = client.list(None).try_collect().await.unwrap();
    assert_eq!(all.len(), 26);
    let after: Vec<_> = client
        .list_with_offset(None, &Path::from("list/20/x"))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(after.len(), 4);
    let rolled = client
        .list_with_delimiter(Some(&Path::from("list")))
        .await
        .unwrap();
    assert_eq!((rolled.objects.len(), rolled.common_prefixes.len()), (0, 25));
    let paths = futures_util::stream::iter(all.into_iter().map(|meta| Ok(meta.location))).boxed();
    let deleted: Vec<_> = client.delete_stream(paths).try_collect().await.unwrap();
    assert_eq!(deleted.len(), 26);
    assert!(matches!(client.get(&path).await, Err(Error::NotFound { .. })));
    assert_eq!(rig.keys("data/").await, Vec::<String>::new());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions() {
    let rig = Rig::start().await;
    make_bucket(&rig, "data").await;
    let client = client(&rig, "data");
    let path = Path::from("x");
    let create = || PutOptions {
        mode: PutMode::Create,
        ..PutOptions::default()
    };
    let first = client.put_opts(&path, "one".into(), create()).await.unwrap();
    let again = client.put_opts(&path, "two".into(), create()).await;
    assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
    let update = |e_tag: &Option<String>| {
        let version = UpdateVersion {
            e_tag: e_tag.clone(),
            version: None,
        };
        PutOptions {
            mode: PutMode::Update(version),
            ..PutOptions::default()
        }
    };
    let second = client
        .put_opts(&path, "two".into(), update(&first.e_tag))
        .await
        .unwrap();
    let stale = client.put_opts(&path, "three".into(), update(&first.e_tag)).await;
    assert!(matches!(stale, Err(Error::Precondition { .. })), "{stale:?}");
    let options = GetOptions {
        if_none_match: second.e_tag,
        ..GetOptions::default()
    };
    assert!(matches!(
        client.get_opts(&path, options).await,
        Err(Error::NotModified { .. })
    ));
    let to = Path::from("copy");
    client.copy_if_not_exists(&path, &to).await.unwrap();
    let again = client.copy_if_not_exists(&path, &to).await;
    assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
    client.rename(&to, &Path::from("moved")).await.unwrap();
    assert_eq!(
        client
            .get(&Path::from("moved"))
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap(),
        "two"
    );
    rig.stop().await;
}

/// Twenty clients try to create one key: exactly one succeeds every time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_twenty_creates() {
    let rig = Rig::start().await;
    make_bucket(&rig, "data").await;
    let client = client(&rig, "data");
    for round in 0..5 {
        let path = Path::from(format!("round/{round}"));
        let racers = (0..20).map(|racer| {
            let (client, path) = (&client, &path);
            async move {
                let options = PutOptions {
                    mode: PutMode::Create,
                    ..PutOptions::default()
                };
                client
                    .put_opts(path, format!("{racer}").into(), options)
                    .await
                    .is_ok()
                    .then_some(racer)
            }
        });
        let won: Vec<usize> = futures_util::future::join_all(racers)
            .await
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(won.len(), 1, "round {round}");
        let content = client.get(&path).await.unwrap().bytes().await.unwrap();
        assert_eq!(content, won[0].to_string());
    }
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_in_parts() {
    let rig = Rig::start().await;
    make_bucket(&rig, "data").await;
    let client = client(&rig, "data");
    let path = Path::from("big");
    let content = bytes(12 * 1024 * 1024);
    let options = PutMultipartOptions {
        attributes: [(Attribute::ContentType, "text/y")].into_iter().collect(),
        ..PutMultipartOptions::default()
    };
    let mut upload = client.put_multipart_opts(&path, options).await.unwrap();
    let part = 5 * 1024 * 1024;
    let parts: Vec<_> = content
        .chunks(part)
        .map(|part| upload.put_part(Bytes::copy_from_slice(part).into()))
        .collect();
    futures_util::future::try_join_all(parts.into_iter().rev())
        .await
        .unwrap();
    assert!(
        matches!(client.head(&path).await, Err(Error::NotFound { .. })),
        "not before it is complete"
    );
    let done = upload.complete().await.unwrap();
    assert!(done.e_tag.unwrap().ends_with("-3\""));
    let got = client.get(&path).await.unwrap();
    assert_eq!(
        got.attributes.get(&Attribute::ContentType).unwrap().as_ref(),
        "text/y"
    );
    assert_eq!(got.bytes().await.unwrap(), content);
    let mut upload = client.put_multipart(&Path::from("given up")).await.unwrap();
    upload.put_part("x".into()).await.unwrap();
    upload.abort().await.unwrap();
    assert_eq!(rig.keys("data/").await, ["data/big"]);
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_addresses() {
    let rig = Rig::start().await;
    make_bucket(&rig, "data").await;
    let client = client(&rig, "data");
    let path = Path::from("a b/ü");
    let sign = |method| client.signed_url(method, &path, Duration::from_secs(60));
    let put = crate::bytes::request("PUT", sign(Method::PUT).await.unwrap().as_str(), b"content").await;
    assert_eq!(put.status, 200, "{}", put.text());
    let url = sign(Method::GET).await.unwrap().to_string();
    let got = crate::bytes::request("GET", &url, b"").await;
    assert_eq!((got.status, got.body.as_slice()), (200, b"content".as_slice()));
    let tampered = crate::bytes::request("GET", &url.replace("Expires=60", "Expires=61"), b"").await;
    assert_eq!(tampered.status, 403);
    assert!(tampered.text().contains("SignatureDoesNotMatch"));
    rig.stop().await;
}

/// Every process sees a bucket, no matter which one created it.
#[tokio::test(flavor = "multi_thread")]
async fn buckets_are_those_of_the_store() {
    let rig = Rig::start().await;
    assert!(rig.store.ensure_bucket("by-the-program").await.unwrap());
    make_bucket(&rig, "by-a-client").await;
    let all = rig.store.all_buckets().await.unwrap();
    assert!(all.values().all(Option::is_some));
    assert_eq!(
        all.into_keys().collect::<Vec<_>>(),
        ["by-a-client", "by-the-program"]
    );
    let put = client(&rig, "by-the-program")
        .put(&Path::from("k"), "1".into())
        .await;
    assert!(put.is_ok(), "{put:?}");
    rig.stop().await;
}

/// Returns the longest file below a directory.
fn longest_file(dir: &std::path::Path) -> (u64, std::path::PathBuf) {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| {
        if path.is_dir() {
            longest_file(&path)
        } else {
            (path.metadata().unwrap().len(), path)
        }
    };
    entries.map(of).max().unwrap_or_default()
}

/// One block of a WARC file is bad in all copies: every other byte remains readable by ranges.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_around_a_lost_block_are_readable() {
    let rig = Rig::start().await;
    make_bucket(&rig, "data").await;
    // Without retries, which wait for seconds in vain.
    let retry = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let client = builder(&rig, "data").with_retry(retry).build().unwrap();
    let (path, content) = (Path::from("crawl.warc.gz"), bytes(700_000));
    client.put(&path, content.clone().into()).await.unwrap();
    for volume in ["one", "two"] {
        let (_, file) = longest_file(&rig.dir().join(volume).join("objects"));
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[2048 + 300_000] ^= 1;
        std::fs::write(&file, bytes).unwrap();
    }
    // Once before the damage is known, and once after both copies are marked as bad.
    for _ in 0..2 {
        for range in [0..262_144, 524_288..700_000u64] {
            let found = client.get_range(&path, range.clone()).await.unwrap();
            assert_eq!(found, content.slice(range.start as usize..range.end as usize));
        }
        let whole = async { client.get(&path).await?.bytes().await };
        whole.await.expect_err("a block is lost");
    }
    rig.stop().await;
}
