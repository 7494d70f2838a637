//! Reads stay correct under disk faults.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cache::{Cache, CachedOrigin, Directory, OriginError, Settings, Size, User};

use crate::restart::on_disk;
use crate::world::{World, bytes_of, content, simulated};

fn settings(dir: &Path, quota: u64) -> Settings {
    Settings {
        // Small enough that all reads come from the disk.
        memory_size_bytes: Size(1 << 20),
        metadata_size_bytes: Size(0),
        directories: vec![Directory {
            quota_bytes: Size(quota),
            free_space_min_bytes: Size(0),
            ..Directory::at(dir.join("cache"))
        }],
        ..Settings::default()
    }
}

async fn read_all(through: &CachedOrigin, objects: u64) {
    for number in 0..objects {
        let bytes = bytes_of(through.get(&format!("o/{number}"), None).await.unwrap())
            .await
            .unwrap();
        assert!(bytes == content(number, 700_000), "object {number}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn world(objects: u64) -> Arc<World> {
    let world = Arc::new(World::default());
    for number in 0..objects {
        world.write(&format!("o/{number}"), Some(content(number, 700_000)));
    }
    world
}

/// Reads everything twice with a fault in between. `expected` receives the number of bytes fetched
/// the second time, and the statistics.
fn check(name: &str, fault: impl FnOnce(&Path), expected: impl FnOnce(u64, &cache::DirectoryStats)) {
    println!("{name}");
    simulated(6, || async {
        let dir = tempfile::tempdir().unwrap();
        let world = world(10);
        let cache = Cache::open(&settings(dir.path(), 1 << 30), "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Sql);
        read_all(&through, 10).await;
        assert!(cache.wait_until_stored(Duration::from_secs(60)).await);
        let given = world.given_bytes();
        fault(&dir.path().join("cache"));
        read_all(&through, 10).await;
        expected(world.given_bytes() - given, &cache.stats().directories[0]);
        // Afterwards the disk is used again or suspended; either way all reads are correct.
        read_all(&through, 10).await;
    });
}

fn blocks(cache: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let objects = fs::read_dir(cache.join("objects")).unwrap().flatten();
    for object in objects.flat_map(|first| fs::read_dir(first.path()).unwrap().flatten()) {
        found.extend(
            fs::read_dir(object.path())
                .unwrap()
                .flatten()
                .map(|entry| entry.path()),
        );
    }
    found.retain(|path| path.file_name().unwrap() != "about");
    found
}

#[test]
fn faults_of_the_disk_are_counted_and_never_seen() {
    check(
        "nothing happens",
        |_| {},
        |fetched, stats| {
            // Memory and disk together hold everything.
            assert_eq!(fetched, 0, "{stats:?}");
        },
    );
    check(
        "every block is damaged",
        |cache| {
            for block in blocks(cache) {
                use std::os::unix::fs::FileExt;
                let file = fs::File::options().write(true).open(block).unwrap();
                file.write_all_at(b"damage", 300).unwrap();
            }
        },
        |fetched, stats| {
            assert!(fetched >= 9 * 65_536, "{fetched}");
            assert!(stats.events.corrupt_blocks >= 9, "{stats:?}");
        },
    );
    check(
        "every header is cut",
        |cache| {
            blocks(cache).iter().for_each(|block| {
                fs::File::options()
                    .write(true)
                    .open(block)
                    .unwrap()
                    .set_len(10)
                    .unwrap()
            })
        },
        |fetched, stats| {
            assert!(fetched >= 9 * 700_000, "{fetched}");
            assert!(stats.events.unfinished_blocks >= 9, "{stats:?}");
        },
    );
    check(
        "the directory is removed",
        |cache| fs::remove_dir_all(cache).unwrap(),
        |fetched, _| assert!(fetched >= 9 * 700_000, "{fetched}"),
    );
    check(
        "a file is in its place",
        |cache| {
            fs::remove_dir_all(cache).unwrap();
            fs::write(cache, "in the way").unwrap();
        },
        |fetched, stats| {
            assert!(fetched >= 9 * 700_000, "{fetched}");
            assert!(stats.events.io_errors > 0 && stats.off.is_some(), "{stats:?}");
        },
    );
}

#[test]
fn the_quota_is_that_of_the_disk() {
    simulated(7, || async {
        let dir = tempfile::tempdir().unwrap();
        let world = world(40);
        for number in 0..500 {
            world.write(&format!("small/{number}"), Some(content(number, 700)));
        }
        let quota = 6 << 20;
        let cache = Cache::open(&settings(dir.path(), quota), "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Sql);
        let before = on_disk(&dir.path().join("cache"));
        for round in 0..3 {
            read_all(&through, 40).await;
            for number in 0..500 {
                bytes_of(through.get(&format!("small/{number}"), None).await.unwrap())
                    .await
                    .unwrap();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(cache.wait_until_stored(Duration::from_secs(60)).await);
            let used = on_disk(&dir.path().join("cache"));
            assert!(
                used <= quota + quota / 50 + before,
                "round {round}: {used} of {quota}"
            );
            let memory = cache.stats().memory;
            assert!(memory.used_bytes <= 1 << 20, "{memory:?}");
        }
    });
}

#[test]
fn a_store_that_says_nothing_is_an_error_and_nobody_waits_for_it_for_ever() {
    simulated(10, || async {
        let world = world(2);
        let cache = Cache::open(&Settings::default(), "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Sql);
        let described = through.describe("o/1").await.unwrap();
        world.hangs.store(true, Ordering::Relaxed);
        let limit = Duration::from_secs(600);
        // `o/0` is unknown. `o/1` has been described, but not read.
        let unknown = tokio::time::timeout(limit, through.get("o/0", None)).await;
        assert!(matches!(unknown, Ok(Err(OriginError::Passing(_)))));
        let known = tokio::time::timeout(limit, through.get_version("o/1", &described, None)).await;
        assert!(matches!(known, Ok(Err(OriginError::Passing(_)))));
        world.hangs.store(false, Ordering::Relaxed);
        read_all(&through, 2).await;
    });
}

/// A named pipe without a writer acts as a file that does not answer.
#[test]
fn a_disk_that_does_not_answer_is_left_alone() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let world = world(30);
        let cache = Cache::open(&settings(dir.path(), 1 << 30), "test").unwrap();
        let through = cache.origin_reader(world.clone(), User::Sql);
        read_all(&through, 30).await;
        assert!(cache.wait_until_stored(Duration::from_secs(60)).await);
        for block in blocks(&dir.path().join("cache")) {
            fs::remove_file(&block).unwrap();
            let made = std::process::Command::new("mkfifo").arg(&block).status().unwrap();
            assert!(made.success());
        }
        let began = std::time::Instant::now();
        read_all(&through, 30).await;
        let stats = cache.stats();
        let directory = &stats.directories[0];
        assert!(directory.events.slow_reads >= 3, "{directory:?}");
        assert_eq!(directory.off.as_deref(), Some("it does not answer in time"));
        // Only three reads, and those concurrent with them, had to time out.
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    });
    // Threads blocked on a pipe never end.
    runtime.shutdown_background();
}
