//! Random reads, writes, removals, errors, delays, restarts and damage. Every response equals the
//! store's content at a moment within the bound.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cache::{Cache, CachedOrigin, Directory, OriginError, Rule, Settings, Size, User};
use object_store::GetRange;
use tokio::time::Instant;

use crate::world::{ROOT, World, bytes_of, content, simulated};

const BOUND: Duration = Duration::from_secs(2);
const PATHS: [&str; 6] = [
    "a",
    "t/_delta_log/0.json",
    "t/x.parquet",
    "big/b",
    "never/n",
    "pinned/p",
];

fn settings(dir: &Path, seed: u64) -> Settings {
    let directory = |name: &str, quota: u64| Directory {
        quota_bytes: Size(quota),
        free_space_min_bytes: Size(0),
        ..Directory::at(dir.join(name))
    };
    let rule = |prefix: &str| Rule {
        prefix: format!("{ROOT}/{prefix}"),
        ..Rule::default()
    };
    // From almost no memory to enough for everything.
    let size = 1 << (18 + seed % 6);
    Settings {
        memory_size_bytes: Size(size),
        metadata_size_bytes: Size(size / 4),
        revalidate_seconds: BOUND.as_secs(),
        directories: match seed % 4 {
            0 => vec![],
            1 => vec![directory("one", 64 << 20)],
            2 => vec![directory("one", 2 << 20)],
            _ => vec![directory("one", 3 << 20), directory("two", 16 << 20)],
        },
        rules: vec![
            Rule {
                cache: Some(false),
                ..rule("never/")
            },
            Rule {
                pin: true,
                ..rule("pinned/")
            },
            Rule {
                quota_bytes: Some(Size(1 << 20)),
                ttl_seconds: Some(3),
                ..rule("big/")
            },
        ],
        ..Settings::default()
    }
}

fn some_range(size: u64) -> Option<GetRange> {
    let at = system::random_range(0..=size + 10);
    let length = system::random_range(1..=size + 100_000);
    match system::random_range(0..6) {
        0 | 1 => None,
        2 => Some(GetRange::Offset(at)),
        3 => Some(GetRange::Suffix(length)),
        4 => Some(GetRange::Bounded(at..at + system::random_range(1..1000_u64))),
        _ => Some(GetRange::Bounded(at..at + length)),
    }
}

fn range_of(wanted: &Option<GetRange>, size: u64) -> Option<std::ops::Range<u64>> {
    let range = match wanted {
        None => return Some(0..size),
        Some(GetRange::Bounded(range)) => range.start..range.end.min(size),
        Some(GetRange::Offset(start)) => *start..size,
        Some(GetRange::Suffix(bytes)) => size.saturating_sub(*bytes)..size,
    };
    (range.start < size).then_some(range)
}

/// Compares a response with the content of the store between `since` and now.
fn check(
    world: &World,
    path: &str,
    wanted: &Option<GetRange>,
    answer: &Result<Vec<u8>, OriginError>,
    since: Instant,
    may_fail: bool,
) {
    let history = world.history(path);
    let ends = |index: usize| history.get(index + 1).map(|next| next.at);
    let then = history
        .iter()
        .enumerate()
        .filter(|(index, _)| ends(*index).is_none_or(|end| end >= since))
        .map(|(_, written)| written.content.clone());
    // Before its first write the object does not exist.
    let before = history
        .first()
        .is_none_or(|first| first.at >= since)
        .then_some(None);
    let possible: Vec<_> = then.chain(before).collect();
    let fits = match answer {
        Ok(bytes) => possible.iter().flatten().any(|content| {
            let range = range_of(wanted, content.len() as u64);
            range.is_some_and(|range| content[range.start as usize..range.end as usize] == bytes[..])
        }),
        Err(OriginError::Missing(_)) => possible.contains(&None),
        Err(OriginError::Range { .. }) => possible
            .iter()
            .flatten()
            .any(|content| range_of(wanted, content.len() as u64).is_none()),
        // It was replaced during the read.
        Err(OriginError::Changed) => possible.len() > 1,
        Err(OriginError::Passing(_) | OriginError::Lasting(_)) => may_fail,
    };
    let told = answer.as_ref().map(Vec::len).map_err(ToString::to_string);
    let sizes: Vec<_> = possible
        .iter()
        .map(|content| content.as_ref().map(|content| content.len()))
        .collect();
    assert!(fits, "{path} {wanted:?}: got {told:?}, of versions {sizes:?}");
}

fn damage(dir: &Path) {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path())
            } else {
                files.push(entry.path())
            }
        }
    }
    files.retain(|path| path.components().any(|part| part.as_os_str() == "objects"));
    files.sort();
    if files.is_empty() {
        return;
    }
    let file = &files[system::random_range(0..files.len())];
    let length = file.metadata().map_or(0, |meta| meta.len());
    match system::random_range(0..4) {
        0 => std::fs::remove_file(file).unwrap(),
        1 => std::fs::remove_dir_all(file.parent().unwrap()).unwrap(),
        2 => std::fs::File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_len(length / 2)
            .unwrap(),
        _ => {
            use std::os::unix::fs::FileExt;
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.write_all_at(b"damaged", system::random_range(0..=length))
                .unwrap();
        }
    }
}

async fn history(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let world = Arc::new(World {
        without_tags: seed.is_multiple_of(5),
        ignores_conditions: seed.is_multiple_of(7),
        ..World::default()
    });
    let settings = settings(dir.path(), seed);
    let mut cache = Cache::open(&settings, "test").unwrap();
    let mut number = 0;
    for _ in 0..60 {
        match system::random_range(0..20) {
            0..=2 => {
                let path = PATHS[system::random_range(0..PATHS.len())];
                number += 1;
                let bytes = system::random_range(0..3_000_000_usize) >> system::random_range(0..12_u32);
                world.write(
                    path,
                    (number % 9 != 0).then(|| content(seed * 1000 + number, bytes)),
                );
                // Written through this cache, or by another client.
                if number % 2 == 0 {
                    let through: CachedOrigin = cache.origin_reader(world.clone(), User::Gateway);
                    // Earlier answers must not be used any more.
                    through.forget(path);
                    let since = Instant::now();
                    let answer = read(&through, path, &None).await;
                    check(
                        &world,
                        path,
                        &None,
                        &answer,
                        since,
                        world.fail_permille.load(Ordering::Relaxed) > 0,
                    );
                }
            }
            3 => tokio::time::sleep(Duration::from_millis(system::random_range(0..5000))).await,
            4 => world
                .fail_permille
                .store([0, 0, 30, 300][system::random_range(0..4)], Ordering::Relaxed),
            5 => world
                .delay_ms_max
                .store([0, 20, 700][system::random_range(0..3)], Ordering::Relaxed),
            6 => damage(dir.path()),
            7 => {
                // Simulates a kill, which may lose queued writes, or a normal exit.
                if system::random_range(0..2) == 0 {
                    cache.wait_until_stored(Duration::from_secs(60)).await;
                }
                drop(cache);
                // Lets the tasks of the previous tier end and release their locks.
                tokio::time::sleep(Duration::from_secs(120)).await;
                cache = Cache::open(&settings, "test").unwrap();
            }
            8 => {
                cache.drop_below(&format!("{ROOT}/t/")).unwrap();
            }
            9 => {
                cache
                    .set_pin(&format!("{ROOT}/a"), system::random_range(0..2) == 0)
                    .unwrap();
            }
            _ => {
                let user = [User::Inputs, User::Records, User::Sql][system::random_range(0..3)];
                let through = cache.origin_reader(world.clone(), user);
                let readers = system::random_range(1..5);
                let mut tasks = Vec::new();
                for _ in 0..readers {
                    let path = PATHS[system::random_range(0..PATHS.len())];
                    let size = world
                        .history(path)
                        .last()
                        .and_then(|last| last.content.clone())
                        .map_or(100, |last| last.len());
                    let wanted = some_range(size as u64);
                    let (through, world) = (through.clone(), world.clone());
                    tasks.push(async move {
                        let since = Instant::now() - BOUND;
                        let may_fail = world.fail_permille.load(Ordering::Relaxed) > 0;
                        let answer = read(&through, path, &wanted).await;
                        check(&world, path, &wanted, &answer, since, may_fail);
                    });
                }
                number += 1;
                let number = number;
                let write = async {
                    if system::random_range(0..3) == 0 {
                        tokio::time::sleep(Duration::from_millis(system::random_range(0..300))).await;
                        let path = PATHS[system::random_range(0..PATHS.len())];
                        world.write(
                            path,
                            Some(content(seed * 7919 + number, system::random_range(0..2_000_000))),
                        );
                    }
                };
                tokio::join!(futures_util::future::join_all(tasks), write);
            }
        }
    }
    bounded(&cache, &settings);
}

async fn read(through: &CachedOrigin, path: &str, wanted: &Option<GetRange>) -> Result<Vec<u8>, OriginError> {
    bytes_of(through.get(path, wanted.clone()).await?).await
}

fn bounded(cache: &Cache, settings: &Settings) {
    let stats = cache.stats();
    assert!(stats.memory.used_bytes <= settings.memory_size_bytes.0);
    for (directory, limit) in stats.directories.iter().zip(&settings.directories) {
        assert!(directory.used_bytes <= limit.quota_bytes.0, "{directory:?}");
    }
}

#[test]
fn answers_are_what_the_store_had_within_the_bound() {
    let seeds: Vec<u64> = match std::env::var("CACHE_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..120).collect(),
    };
    for seed in seeds {
        println!("CACHE_SEED={seed}");
        simulated(seed, || history(seed));
    }
}
