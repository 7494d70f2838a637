//! After a process is killed during writes, reads from its directory return correct bytes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cache::{Cache, Directory, Settings, Size, User};

use crate::world::{World, bytes_of, content};

/// Environment variable with the directory, for the process to be killed.
const VICTIM: &str = "CACHE_TEST_VICTIM";
const OBJECTS: u64 = 40;
const OBJECT_BYTES: usize = 1_300_000;

fn settings(dir: &Path) -> Settings {
    Settings {
        memory_size_bytes: Size(4 << 20),
        metadata_size_bytes: Size(0),
        directories: vec![Directory {
            // Smaller than all objects together, so that blocks are evicted while others are added.
            quota_bytes: Size(30 << 20),
            free_space_min_bytes: Size(0),
            ..Directory::at(dir.join("cache"))
        }],
        ..Settings::default()
    }
}

fn world() -> Arc<World> {
    let world = Arc::new(World::default());
    for number in 0..OBJECTS {
        world.write(&format!("o/{number}"), Some(content(number, OBJECT_BYTES)));
    }
    world
}

async fn read_all(cache: &Cache, world: &Arc<World>) {
    let through = cache.origin_reader(world.clone(), User::Sql);
    for number in 0..OBJECTS {
        let bytes = bytes_of(through.get(&format!("o/{number}"), None).await.unwrap())
            .await
            .unwrap();
        assert!(bytes == content(number, OBJECT_BYTES), "object {number}");
    }
}

#[test]
fn after_a_kill_everything_that_is_read_is_right() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    if let Some(dir) = std::env::var_os(VICTIM) {
        runtime.block_on(async {
            let (cache, world) = (
                Cache::open(&settings(Path::new(&dir)), "victim").unwrap(),
                world(),
            );
            loop {
                read_all(&cache, &world).await;
            }
        });
    }
    let dir = tempfile::tempdir().unwrap();
    let mut found = 0;
    for round in 0..8_u64 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["after_a_kill_everything_that_is_read_is_right", "--nocapture"])
            .env(VICTIM, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60 + 45 * round));
        victim.kill().unwrap();
        victim.wait().unwrap();
        runtime.block_on(async {
            let (cache, world) = (Cache::open(&settings(dir.path()), "test").unwrap(), world());
            let stats = cache.stats();
            assert!(
                !stats.directories[0].is_guest,
                "the lock of a killed process is free"
            );
            assert!(stats.directories[0].used_bytes <= 30 << 20);
            found += stats.directories[0].blocks;
            read_all(&cache, &world).await;
            let events = cache.stats().directories[0].events.clone();
            assert_eq!(
                events.corrupt_blocks, 0,
                "blocks left by a kill are unfinished, not damaged: {events:?}"
            );
        });
    }
    assert!(found > 0, "no kill was late enough for a block to exist");
}
