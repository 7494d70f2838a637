//! Metrics of the cache.

use cache::{DirectoryStats, MemoryStats, Stats, UserStats};
use metrics::{Measure, Metric, Text};

/// Metrics of the memory tier.
const MEMORY: &[Measure<MemoryStats>] = &[
    Measure::gauge(
        "weft_cache_memory_capacity_bytes",
        "Memory that the cache may use.",
        |m| m.capacity_bytes.into(),
    ),
    Measure::gauge(
        "weft_cache_memory_used_bytes",
        "Memory that the cache uses.",
        |m| m.used_bytes.into(),
    ),
    Measure::gauge(
        "weft_cache_memory_blocks",
        "Blocks of the cache in memory.",
        |m| m.blocks.into(),
    ),
    Measure::counter(
        "weft_cache_memory_evicted_blocks_total",
        "Blocks evicted from memory.",
        |m| m.evicted_blocks.into(),
    ),
];

/// Metrics of each user of the cache.
const USERS: &[Measure<UserStats>] = &[
    Measure::counter(
        "weft_cache_reads_total",
        "Reads of a range of an object, by user.",
        |s| s.reads.into(),
    ),
    Measure::counter(
        "weft_cache_memory_hit_bytes_total",
        "Bytes served from memory.",
        |s| s.memory_bytes.into(),
    ),
    Measure::counter(
        "weft_cache_disk_hit_bytes_total",
        "Bytes served from a disk.",
        |s| s.disk_bytes.into(),
    ),
    Measure::counter(
        "weft_cache_fetched_bytes_total",
        "Bytes fetched from stores.",
        |s| s.fetched_bytes.into(),
    ),
    Measure::counter(
        "weft_cache_joined_bytes_total",
        "Bytes served by a fetch that was already running.",
        |s| s.joined_bytes.into(),
    ),
    Measure::counter(
        "weft_cache_passed_bytes_total",
        "Bytes passed through without being cached.",
        |s| s.passed_bytes.into(),
    ),
    Measure::counter("weft_cache_fetches_total", "Requests to stores for bytes.", |s| {
        s.fetches.into()
    }),
    Measure::counter(
        "weft_cache_checks_total",
        "Requests to stores to check whether an object has changed.",
        |s| s.checks.into(),
    ),
    Measure::counter(
        "weft_cache_wait_seconds_total",
        "Time spent waiting for disks and stores.",
        |s| (s.wait_us as f64 / 1e6).into(),
    ),
    Measure::counter(
        "weft_cache_errors_total",
        "Reads that failed with a store's error.",
        |s| s.errors.into(),
    ),
];

/// Metrics of each directory.
const DIRECTORIES: &[Measure<DirectoryStats>] = &[
    Measure::gauge(
        "weft_cache_directory_quota_bytes",
        "Bytes that a directory may use.",
        |d| d.quota_bytes.into(),
    ),
    Measure::gauge(
        "weft_cache_directory_capacity_bytes",
        "Bytes of the quota that the disk has room for.",
        |d| d.capacity_bytes.into(),
    ),
    Measure::gauge(
        "weft_cache_directory_used_bytes",
        "Bytes that a directory uses.",
        |d| d.used_bytes.into(),
    ),
    Measure::gauge(
        "weft_cache_directory_pinned_bytes",
        "Pinned bytes in a directory.",
        |d| d.pinned_bytes.into(),
    ),
    Measure::gauge("weft_cache_directory_blocks", "Blocks in a directory.", |d| {
        d.blocks.into()
    }),
    Measure::gauge(
        "weft_cache_directory_waiting_bytes",
        "Bytes waiting to be written.",
        |d| d.waiting_bytes.into(),
    ),
    Measure::gauge(
        "weft_cache_directory_off",
        "1 while a directory is paused because of its disk.",
        |d| d.off.is_some().into(),
    ),
    Measure::counter(
        "weft_cache_directory_stored_bytes_total",
        "Bytes written to a directory.",
        |d| d.events.stored_bytes.into(),
    ),
];

const EVENTS: Metric = Metric::counter(
    "weft_cache_directory_events_total",
    "Events in a directory: of blocks (stored, evicted, demoted, expired, bypassed, refused, scan, corrupt, \
     unfinished) and of its disk (io_error, no_space, slow_read).",
);

/// Writes the metrics of the cache.
pub(crate) fn write(text: &mut Text, stats: &Stats) {
    text.single(MEMORY, &stats.memory);
    let users = stats.users.iter();
    let users: Vec<_> = users
        .map(|row| ([("user", row.user.as_str())], &row.stats))
        .collect();
    text.table(USERS, &users);
    let directories = stats.directories.iter();
    let directories: Vec<_> = directories
        .map(|row| ([("directory", row.path.as_str())], row))
        .collect();
    text.table(DIRECTORIES, &directories);
    let mut lines = text.begin(&EVENTS);
    for directory in &stats.directories {
        for (event, count) in events(directory) {
            lines.value(&[("directory", &directory.path), ("event", event)], count);
        }
    }
}

/// Returns the counts of events in a directory, by name.
pub(crate) fn events(directory: &DirectoryStats) -> [(&'static str, u64); 12] {
    let events = &directory.events;
    [
        ("stored", events.stored_blocks),
        ("evicted", events.evicted_blocks),
        ("demoted", events.demoted_blocks),
        ("expired", events.expired_blocks),
        ("bypassed", events.bypassed_blocks),
        ("refused", events.refused_blocks),
        ("scan", events.scan_blocks),
        ("corrupt", events.corrupt_blocks),
        ("unfinished", events.unfinished_blocks),
        ("io_error", events.io_errors),
        ("no_space", events.no_space),
        ("slow_read", events.slow_reads),
    ]
}
