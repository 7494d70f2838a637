//! Metrics of the cache.

use cache::{DirectoryStats, Stats, UserStats};
use metrics::{Metric, Text};

const MEMORY_CAPACITY: Metric = Metric::gauge(
    "weft_cache_memory_capacity_bytes",
    "Memory that the cache may use.",
);
const MEMORY_USED: Metric = Metric::gauge("weft_cache_memory_used_bytes", "Memory that the cache uses.");
const MEMORY_BLOCKS: Metric = Metric::gauge("weft_cache_memory_blocks", "Blocks of the cache in memory.");
const MEMORY_EVICTED: Metric = Metric::counter(
    "weft_cache_memory_evicted_blocks_total",
    "Blocks evicted from memory.",
);

/// A metric for each user of the cache.
type UserFigure = (Metric, fn(&UserStats) -> f64);

const USERS: [UserFigure; 10] = [
    (
        Metric::counter(
            "weft_cache_reads_total",
            "Reads of a range of an object, by user.",
        ),
        |s| s.reads as f64,
    ),
    (
        Metric::counter("weft_cache_memory_hit_bytes_total", "Bytes served from memory."),
        |s| s.memory_bytes as f64,
    ),
    (
        Metric::counter("weft_cache_disk_hit_bytes_total", "Bytes served from a disk."),
        |s| s.disk_bytes as f64,
    ),
    (
        Metric::counter("weft_cache_fetched_bytes_total", "Bytes fetched from stores."),
        |s| s.fetched_bytes as f64,
    ),
    (
        Metric::counter(
            "weft_cache_joined_bytes_total",
            "Bytes served by a fetch that was already running.",
        ),
        |s| s.joined_bytes as f64,
    ),
    (
        Metric::counter(
            "weft_cache_passed_bytes_total",
            "Bytes passed through without being cached.",
        ),
        |s| s.passed_bytes as f64,
    ),
    (
        Metric::counter("weft_cache_fetches_total", "Requests to stores for bytes."),
        |s| s.fetches as f64,
    ),
    (
        Metric::counter(
            "weft_cache_checks_total",
            "Requests to stores to check whether an object has changed.",
        ),
        |s| s.checks as f64,
    ),
    (
        Metric::counter(
            "weft_cache_wait_seconds_total",
            "Time spent waiting for disks and stores.",
        ),
        |s| s.wait_us as f64 / 1e6,
    ),
    (
        Metric::counter(
            "weft_cache_errors_total",
            "Reads that failed with a store's error.",
        ),
        |s| s.errors as f64,
    ),
];

/// A metric for each directory.
type DirectoryFigure = (Metric, fn(&DirectoryStats) -> f64);

const DIRECTORIES: [DirectoryFigure; 8] = [
    (
        Metric::gauge(
            "weft_cache_directory_quota_bytes",
            "Bytes that a directory may use.",
        ),
        |d| d.quota_bytes as f64,
    ),
    (
        Metric::gauge(
            "weft_cache_directory_capacity_bytes",
            "Bytes of the quota that the disk has room for.",
        ),
        |d| d.capacity_bytes as f64,
    ),
    (
        Metric::gauge("weft_cache_directory_used_bytes", "Bytes that a directory uses."),
        |d| d.used_bytes as f64,
    ),
    (
        Metric::gauge(
            "weft_cache_directory_pinned_bytes",
            "Pinned bytes in a directory.",
        ),
        |d| d.pinned_bytes as f64,
    ),
    (
        Metric::gauge("weft_cache_directory_blocks", "Blocks in a directory."),
        |d| d.blocks as f64,
    ),
    (
        Metric::gauge(
            "weft_cache_directory_waiting_bytes",
            "Bytes waiting to be written.",
        ),
        |d| d.waiting_bytes as f64,
    ),
    (
        Metric::gauge(
            "weft_cache_directory_off",
            "1 while a directory is paused because of its disk.",
        ),
        |d| f64::from(u8::from(d.off.is_some())),
    ),
    (
        Metric::counter(
            "weft_cache_directory_stored_bytes_total",
            "Bytes written to a directory.",
        ),
        |d| d.events.stored_bytes as f64,
    ),
];

const EVENTS: Metric = Metric::counter(
    "weft_cache_directory_events_total",
    "Events in a directory: of blocks (stored, evicted, demoted, expired, bypassed, refused, scan, corrupt, \
     unfinished) and of its disk (io_error, no_space, slow_read).",
);

/// Writes the metrics of the cache.
pub(crate) fn write(text: &mut Text, stats: &Stats) {
    text.one(&MEMORY_CAPACITY, stats.memory.capacity_bytes);
    text.one(&MEMORY_USED, stats.memory.used_bytes);
    text.one(&MEMORY_BLOCKS, stats.memory.blocks);
    text.one(&MEMORY_EVICTED, stats.memory.evicted_blocks);
    for (metric, value) in &USERS {
        let mut lines = text.begin(metric);
        for row in &stats.users {
            lines.value(&[("user", &row.user)], value(&row.stats));
        }
    }
    for (metric, value) in &DIRECTORIES {
        let mut lines = text.begin(metric);
        for directory in &stats.directories {
            lines.value(&[("directory", &directory.path)], value(directory));
        }
    }
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
