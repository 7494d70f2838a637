//! Blocks on the disks are used by the next process, and are verified.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cache::{Cache, Directory, OpenError, Rule, Settings, Size, User};

use crate::world::{ROOT, World, bytes_of, content, simulated};

fn settings(dir: &Path) -> Settings {
    Settings {
        directories: vec![Directory {
            free_space_min_bytes: Size(0),
            ..Directory::at(dir.join("cache"))
        }],
        ..Settings::default()
    }
}

/// Opens the cache once the previous one has released its lock.
async fn open(settings: &Settings) -> Cache {
    for _ in 0..100 {
        let cache = Cache::open(settings, "test").unwrap();
        if cache
            .stats()
            .directories
            .iter()
            .all(|directory| !directory.is_guest)
        {
            return cache;
        }
        drop(cache);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the lock stays");
}

#[test]
fn blocks_and_immutable_objects_are_known_again() {
    simulated(2, || async {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path());
        let world = Arc::new(World::default());
        let immutable = "t/part-00000-3e2f6c0e-8f9b-4d5a-9b1f-0a1b2c3d4e5f-c000.snappy.parquet";
        for path in [immutable, "plain"] {
            world.write(path, Some(content(7, 2_500_000)));
        }
        let mut asked = Vec::new();
        for round in 0..3 {
            let cache = open(&settings).await;
            let through = cache.origin_reader(world.clone(), User::Sql);
            for path in [immutable, "plain"] {
                let bytes = bytes_of(through.get(path, None).await.unwrap()).await.unwrap();
                assert!(bytes == content(7, 2_500_000), "{path}, round {round}");
                let described = through.describe(path).await.unwrap();
                assert_eq!(described.beside, "beside 1");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(cache.wait_until_stored(Duration::from_secs(60)).await);
            asked.push((world.given_bytes(), world.describes.load(Ordering::Relaxed)));
        }
        // The mutable object is checked once, and not fetched again.
        let all = 5_000_000;
        assert_eq!(asked, [(all, 0), (all, 1), (all, 2)]);
    });
}

#[test]
fn pins_hold_for_the_next_process() {
    simulated(3, || async {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = settings(dir.path());
        settings.directories[0].quota_bytes = Size(4 << 20);
        settings.memory_size_bytes = Size(1 << 20);
        settings.metadata_size_bytes = Size(0);
        let world = Arc::new(World::default());
        for number in 0..20 {
            world.write(&format!("o/{number}"), Some(content(number, 1_000_000)));
        }
        let cache = open(&settings).await;
        assert!(cache.set_pin(&format!("{ROOT}/o/3"), true).unwrap());
        cache.warm(world.clone(), "o/3", |_| {}).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(cache);
        let cache = open(&settings).await;
        for number in (0..20).filter(|number| *number != 3) {
            cache
                .warm(world.clone(), &format!("o/{number}"), |_| {})
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let kept = cache.objects(&format!("{ROOT}/o/3"));
        assert!(
            matches!(&kept[..], [kept] if kept.is_pinned && kept.disk_bytes >= 1_000_000),
            "{kept:?}"
        );
        assert!(cache.stats().directories[0].used_bytes <= 4 << 20);
        assert!(cache.set_pin(&format!("{ROOT}/o/3"), false).unwrap());
        assert_eq!(cache.stats().directories[0].pinned_bytes, 0);
    });
}

#[test]
fn two_processes_share_a_directory() {
    simulated(4, || async {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(dir.path());
        let world = Arc::new(World::default());
        for number in 1..=3 {
            world.write(&number.to_string(), Some(content(number, 300_000)));
        }
        let read = async |cache: &Cache, number: u64| {
            let through = cache.origin_reader(world.clone(), User::Sql);
            let described = through.describe(&number.to_string()).await.unwrap();
            let given = world.given_bytes();
            let got = through
                .get_version(&number.to_string(), &described, None)
                .await
                .unwrap();
            assert!(bytes_of(got).await.unwrap() == content(number, 300_000));
            assert!(cache.wait_until_stored(Duration::from_secs(60)).await);
            tokio::time::sleep(Duration::from_secs(1)).await;
            world.given_bytes() - given
        };
        let owner = open(&settings).await;
        assert_eq!(read(&owner, 1).await, 300_000);
        let guest = Cache::open(&settings, "guest").unwrap();
        assert!(guest.stats().directories[0].is_guest);
        assert_eq!(read(&guest, 1).await, 0, "the guest reads what the owner wrote");
        assert_eq!(read(&guest, 2).await, 300_000);
        owner.upkeep();
        assert_eq!(
            owner.stats().directories[0].blocks,
            2,
            "the owner takes over what the guest wrote"
        );
        assert_eq!(read(&owner, 2).await, 0);
        // Drops and pins apply to both processes.
        guest.drop_below(&format!("{ROOT}/1")).unwrap();
        assert!(guest.set_pin(&format!("{ROOT}/2"), true).unwrap());
        owner.upkeep();
        assert_eq!(read(&owner, 1).await, 300_000);
        let stats = owner.stats();
        assert!(stats.directories[0].pinned_bytes >= 300_000, "{stats:?}");
        assert_eq!(stats.pins, [format!("{ROOT}/2")]);
    });
}

#[test]
fn a_guest_writes_little_before_the_owner_has_taken_it_over() {
    simulated(9, || async {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = settings(dir.path());
        settings.directories[0].quota_bytes = Size(50 << 20);
        let world = Arc::new(World::default());
        let owner = open(&settings).await;
        let guest = Cache::open(&settings, "guest").unwrap();
        for number in 0..20 {
            world.write(&format!("o/{number}"), Some(content(number, 200_000)));
            guest
                .warm(world.clone(), &format!("o/{number}"), |_| {})
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let events = &guest.stats().directories[0].events;
        assert!((1..=2).contains(&events.stored_blocks), "{events:?}");
        assert!(events.bypassed_blocks >= 18, "{events:?}");
        owner.upkeep();
        guest.warm(world.clone(), "o/19", |_| {}).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        owner.upkeep();
        assert!(
            owner
                .objects("")
                .iter()
                .any(|kept| kept.address.ends_with("o/19"))
        );
    });
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("cache")).unwrap();
    std::fs::write(dir.path().join("cache/thesis.odt"), "years of work").unwrap();
    assert!(matches!(
        Cache::open(&settings(dir.path()), "test"),
        Err(OpenError::NotOurs(_))
    ));
    assert!(dir.path().join("cache/thesis.odt").exists());
}

#[test]
fn a_smaller_quota_and_a_time_limit_hold_for_what_is_there() {
    simulated(5, || async {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = settings(dir.path());
        let world = Arc::new(World::default());
        for number in 0..8 {
            world.write(&format!("o/{number}"), Some(content(number, 1_000_000)));
        }
        let cache = open(&settings).await;
        for number in 0..8 {
            cache
                .warm(world.clone(), &format!("o/{number}"), |_| {})
                .await
                .unwrap();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(cache.stats().directories[0].used_bytes > 7 << 20);
        drop(cache);
        settings.directories[0].quota_bytes = Size(3 << 20);
        let cache = open(&settings).await;
        let used = cache.stats().directories[0].used_bytes;
        assert!((1 << 20..=3 << 20).contains(&used), "{used}");
        assert!(on_disk(&dir.path().join("cache")) <= 3 << 20);
        drop(cache);
        settings.rules = vec![Rule {
            prefix: format!("{ROOT}/o/"),
            ttl_seconds: Some(0),
            ..Rule::default()
        }];
        let cache = open(&settings).await;
        // File times use the real clock, but the limit uses the clock of this test.
        let machine_ms = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
        let behind_ms = machine_ms.saturating_sub(system::wall_ms());
        tokio::time::sleep(Duration::from_millis(behind_ms + 1000)).await;
        let given = world.given_bytes();
        for kept in cache.objects("") {
            let path = kept.address.strip_prefix(&format!("{ROOT}/")).unwrap();
            bytes_of(
                cache
                    .origin_reader(world.clone(), User::Sql)
                    .get(path, None)
                    .await
                    .unwrap(),
            )
            .await
            .unwrap();
        }
        assert!(world.given_bytes() > given);
        assert!(cache.stats().directories[0].events.expired_blocks > 0);
    });
}

/// Returns the disk space of a folder.
pub(crate) fn on_disk(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = folder.metadata().map_or(0, |meta| meta.blocks() * 512);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        bytes += if entry.path().is_dir() {
            on_disk(&entry.path())
        } else {
            entry.metadata().map_or(0, |meta| meta.blocks() * 512)
        };
    }
    bytes
}
