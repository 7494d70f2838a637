//! The tier as an object store, with the generic tests of object stores.

use std::sync::Arc;

use cache::{Cache, CachedStore, Settings, StoreOrigin, User};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, integration};

fn store() -> (Arc<InMemory>, CachedStore) {
    let below = Arc::new(InMemory::new());
    let cache = Cache::open(&Settings::default(), "test").unwrap();
    let origin = StoreOrigin {
        store: below.clone(),
        root: "test://memory".into(),
        endpoint: String::new(),
    };
    let store = CachedStore::new(&cache, origin, User::Sql);
    (below, store)
}

#[tokio::test]
async fn it_behaves_as_every_object_store() {
    let (_, store) = store();
    integration::put_get_delete_list(&store).await;
    integration::get_opts(&store).await;
    integration::put_opts(&store, true).await;
    integration::list_with_delimiter(&store).await;
    integration::rename_and_copy(&store).await;
    integration::copy_if_not_exists(&store).await;
    integration::stream_get(&store).await;
}

#[tokio::test]
async fn ranges_are_those_of_the_store() {
    let (below, store) = store();
    let path = Path::from("o");
    let bytes: Vec<u8> = (0..2_000_003_u32).map(|byte| (byte % 251) as u8).collect();
    below.put(&path, bytes.clone().into()).await.unwrap();
    let ranges = [
        0..1,
        5..100_000,
        99_000..300_000,
        1_999_999..2_000_003,
        700_000..700_001,
    ];
    let got = store.get_ranges(&path, &ranges).await.unwrap();
    for (range, got) in ranges.iter().zip(got) {
        assert!(
            got == bytes[range.start as usize..range.end as usize],
            "{range:?}"
        );
    }
    let wanted = |range| GetOptions {
        range: Some(range),
        ..GetOptions::default()
    };
    for range in [
        GetRange::Bounded(2_000_003..2_000_010),
        GetRange::Offset(3_000_000),
    ] {
        assert!(
            store.get_opts(&path, wanted(range.clone())).await.is_err(),
            "{range:?}"
        );
    }
    let last = store.get_opts(&path, wanted(GetRange::Suffix(7))).await.unwrap();
    assert_eq!(last.range, 1_999_996..2_000_003);
    assert!(last.bytes().await.unwrap() == bytes[1_999_996..]);
    // The object is new, so the response comes from the store.
    below.put(&Path::from("empty"), Vec::new().into()).await.unwrap();
    assert!(
        store
            .get(&Path::from("empty"))
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap()
            .is_empty()
    );
}
