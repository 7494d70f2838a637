//! Many readers share one fetch, and every block is stored or counted as rejected.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cache::{Cache, Directory, Settings, Size, User};
use object_store::GetRange;

use crate::world::{World, bytes_of, content, simulated};

#[test]
fn each_byte_of_a_cold_object_is_fetched_once_for_a_hundred_readers() {
    simulated(1, || async {
        let world = Arc::new(World::default());
        world.delay_ms_max.store(40, Ordering::Relaxed);
        let whole = content(1, 9_000_001);
        world.write("cold", Some(whole.clone()));
        let cache = Cache::open(&Settings::default(), "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Gateway);
        let readers = (0..100_u64).map(|reader| {
            let (through, whole) = (through.clone(), whole.clone());
            async move {
                let wanted = match reader % 4 {
                    0 => None,
                    1 => Some(GetRange::Suffix(1 << 20)),
                    2 => Some(GetRange::Offset(reader * 1000)),
                    _ => Some(GetRange::Bounded(reader * 80_000..reader * 80_000 + 300_000)),
                };
                let got = through.get("cold", wanted).await.unwrap();
                let range = got.range.clone();
                let bytes = bytes_of(got).await.unwrap();
                assert!(
                    bytes == whole[range.start as usize..range.end as usize],
                    "{range:?}"
                );
            }
        });
        futures_util::future::join_all(readers).await;
        world.check_once();
        assert_eq!(world.given_bytes(), whole.len() as u64);
        assert_eq!(
            world.describes.load(Ordering::Relaxed),
            0,
            "the first bytes bring the description"
        );
    });
}

#[test]
fn of_a_burst_of_blocks_each_is_on_the_disk_or_counted() {
    const BLOCKS: u64 = 1000;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let world = Arc::new(World::default());
        // The store is slower than the disk; otherwise blocks are fetched again instead of queued.
        world.delay_ms_max.store(60, Ordering::Relaxed);
        // Small objects: only their number matters here. The benchmark writes 10,000 of 1 MiB.
        for object in 0..BLOCKS {
            world.write(&format!("o/{object}"), Some(content(object, 20_000)));
        }
        let settings = Settings {
            memory_size_bytes: Size(1 << 20),
            metadata_size_bytes: Size(0),
            directories: vec![Directory {
                free_space_min_bytes: Size(0),
                ..Directory::at(dir.path().join("cache"))
            }],
            ..Settings::default()
        };
        let cache = Cache::open(&settings, "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Sql);
        let reads = (0..BLOCKS).map(|object| {
            let through = through.clone();
            async move {
                bytes_of(through.get(&format!("o/{object}"), None).await.unwrap())
                    .await
                    .unwrap()
            }
        });
        futures_util::future::join_all(reads).await;
        assert!(cache.wait_until_stored(Duration::from_secs(60)).await);
        let events = cache.stats().directories[0].events.clone();
        // On a busy machine a disk may be measured as slower than the store. Rejected blocks are
        // counted.
        let told = events.bypassed_blocks + events.refused_blocks;
        assert_eq!(events.stored_blocks + told, BLOCKS, "{events:?}");
        let given = world.given_bytes();
        for object in 0..BLOCKS {
            bytes_of(through.get(&format!("o/{object}"), None).await.unwrap())
                .await
                .unwrap();
        }
        let off = cache.stats().directories[0].off.is_some();
        let again = world.given_bytes() - given;
        assert!(
            off || again <= told * 20_000,
            "{again} bytes fetched again for {told} blocks"
        );
    });
}

#[test]
fn a_question_asked_before_a_write_says_nothing_after_it() {
    simulated(8, || async {
        let world = Arc::new(World::default());
        world.write("o", Some(content(1, 1000)));
        let cache = Cache::open(&Settings::default(), "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Gateway);
        // Requested now, answered in a second with the present version.
        world.answers_late_ms.store(1000, Ordering::Relaxed);
        let early = tokio::spawn({
            let through = through.clone();
            async move { through.describe("o").await.unwrap() }
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.write("o", Some(content(2, 2000)));
        through.forget("o");
        assert_eq!(early.await.unwrap().size_bytes, 1000);
        world.answers_late_ms.store(0, Ordering::Relaxed);
        assert_eq!(through.describe("o").await.unwrap().size_bytes, 2000);
    });
}
