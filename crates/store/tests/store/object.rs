//! The `object_store` crate's public integration tests, over volumes in memory.

use object_store::integration;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, UpdateVersion};
use store_testkit::{FaultMode, Rig};

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_passes_the_public_tests() {
    let rig = Rig::new(4, 2);
    rig.volumes[1].set(FaultMode::Unreachable);
    let objects = rig.store().object_store("bucket").unwrap();
    integration::put_get_delete_list(&objects).await;
    integration::put_get_attributes(&objects).await;
    integration::get_opts(&objects).await;
    integration::put_opts(&objects, true).await;
    integration::list_uses_directories_correctly(&objects).await;
    integration::list_with_delimiter(&objects).await;
    integration::rename_and_copy(&objects).await;
    integration::copy_if_not_exists(&objects).await;
    integration::copy_rename_nonexistent_object(&objects).await;
    integration::multipart_race_condition(&objects, true).await;
    integration::multipart_out_of_order(&objects).await;
    integration::list_with_offset_exclusivity(&objects).await;
    let missing = integration::get_nonexistent_object(&objects, None).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_in_parts_pass_the_public_test() {
    let rig = Rig::new(3, 2);
    integration::stream_get(&rig.store().object_store("bucket").unwrap()).await;
    assert_eq!(rig.uploads(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_buckets_are_one_tree() {
    let rig = Rig::new(3, 2);
    let all = rig.store().object_store_of_all();
    let one = rig.store().object_store("one").unwrap();
    all.put(&Path::from("one/a/b"), "1".into()).await.unwrap();
    one.put(&Path::from("c"), "22".into()).await.unwrap();
    let open = all.put_multipart(&Path::from("two/d")).await.unwrap();
    assert_eq!(one.head(&Path::from("a/b")).await.unwrap().size, 1);
    let top = all.list_with_delimiter(None).await.unwrap();
    assert_eq!(top.common_prefixes, [Path::from("one"), Path::from("two")]);
    assert_eq!(
        one.list_with_delimiter(None).await.unwrap().common_prefixes,
        [Path::from("a")]
    );
    drop(open);
    assert!(matches!(
        rig.store().object_store("No_Bucket"),
        Err(store_protocol::KeyError::Bucket(_))
    ));
    assert!(all.put(&Path::from("alone"), "1".into()).await.is_err());
    // A bucket name that S3 clients cannot use is refused, but objects written into such a bucket
    // earlier can be read.
    assert!(all.put(&Path::from("ab/k"), "1".into()).await.is_err());
    rig.put(&store_protocol::Key::new("ab", "k").unwrap(), b"333")
        .await
        .unwrap();
    assert_eq!(all.head(&Path::from("ab/k")).await.unwrap().size, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn suffixes_and_versions() {
    let rig = Rig::new(2, 2);
    let objects = rig.store().object_store("bucket").unwrap();
    let path = Path::from("a");
    objects.put(&path, "0123456789".into()).await.unwrap();
    for (length, expected) in [(3, "789"), (10, "0123456789"), (99, "0123456789")] {
        let options = GetOptions::new().with_range(Some(GetRange::Suffix(length)));
        let found = objects
            .get_opts(&path, options)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        assert_eq!(found, expected);
    }
    let options = GetOptions::new().with_version(Some("none"));
    assert!(matches!(
        objects.get_opts(&path, options).await,
        Err(Error::NotFound { .. })
    ));
    let nameless = UpdateVersion {
        e_tag: None,
        version: None,
    };
    assert!(
        objects
            .put_opts(&path, "1".into(), PutMode::Update(nameless).into())
            .await
            .is_err()
    );
    let ranges = objects.get_ranges(&path, &[2..4, 7..9]).await.unwrap();
    assert_eq!(ranges, ["23", "78"]);
}
