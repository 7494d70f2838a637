//! Runs `weft load --json -v` and observes the process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bench::process;
use serde_json::Value;

use crate::disk::Part;

/// Interval at which to sample the child.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The progress of a load at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// Since the load began.
    pub(crate) seconds: f64,
    /// Pages loaded.
    pub(crate) pages: f64,
}

/// Resources that a process has used. The values never decrease, so the last sample is at most one
/// interval old.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Seen {
    /// Peak resident memory.
    pub(crate) memory_bytes: u64,
    /// Processor time of all threads.
    pub(crate) cpu_seconds: f64,
    /// Bytes written to disk.
    pub(crate) written_bytes: u64,
}

/// Documents of the search index, as the log of a load has them at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SearchDocuments {
    /// Also those that were indexed again.
    pub(crate) indexed: f64,
    /// In all segments.
    pub(crate) on_disk: f64,
    /// Part of `on_disk`.
    pub(crate) deleted: f64,
}

/// The measurements of one load.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Samples in the order of time; the last is the end.
    pub(crate) samples: Vec<Sample>,
    /// The last line: the final state of the job.
    pub(crate) job: Value,
    /// From the start of the process to its end.
    pub(crate) wall: Duration,
    /// The kernel's accounting of the process, as of the last sample.
    pub(crate) seen: Seen,
    /// What the search index did.
    pub(crate) search: SearchDocuments,
    /// Length of the files loaded, in bytes.
    pub(crate) input_bytes: u64,
    /// The entries of the archive's folder.
    pub(crate) parts: Vec<Part>,
}

impl Measured {
    /// Returns a number of the job; 0 if it has no number with that name.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.job.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Returns the number of captures found in the files.
    pub(crate) fn captures(&self) -> u64 {
        self.number("captures")
    }

    /// Returns the processor time of all threads per capture, in microseconds.
    pub(crate) fn cpu_us_per_page(&self) -> f64 {
        self.seen.cpu_seconds * 1e6 / self.captures().max(1) as f64
    }

    /// Returns the size of the archive, in bytes.
    pub(crate) fn archive_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns the time until the views had everything.
    pub(crate) fn seconds(&self) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.seconds)
    }

    /// Returns the pages per second while the fraction of pages between `from` and `to` was loaded.
    pub(crate) fn rate_between(&self, from: f64, to: f64) -> f64 {
        let pages = self.samples.last().map_or(0.0, |sample| sample.pages);
        let seconds = self.time_of(to * pages) - self.time_of(from * pages);
        (to - from) * pages / seconds.max(1e-9)
    }

    /// Returns when this many pages were loaded, interpolated between two samples.
    fn time_of(&self, pages: f64) -> f64 {
        let mut before = Sample::default();
        for &sample in &self.samples {
            if sample.pages >= pages && sample.pages > before.pages {
                let share = (pages - before.pages) / (sample.pages - before.pages);
                return before.seconds + share * (sample.seconds - before.seconds);
            }
            before = sample;
        }
        before.seconds
    }
}

/// Runs the load to its end.
pub(crate) fn load(mut command: Command) -> anyhow::Result<Measured> {
    let begin = Instant::now();
    let mut child = command
        .arg("-v")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("start weft load")?;
    let stdout = child.stdout.take().context("read the output of weft load")?;
    let stderr = child.stderr.take().context("read the log of weft load")?;
    let pid = child.id();
    let ended = AtomicBool::new(false);
    let mut measured = Measured::default();
    std::thread::scope(|scope| {
        let seen = scope.spawn(|| watch(pid, &ended));
        let logged = scope.spawn(|| read_log(BufReader::new(stderr)));
        let read = read_lines(BufReader::new(stdout), &mut measured);
        let waited = wait(&mut child);
        ended.store(true, Ordering::Relaxed);
        measured.seen = seen.join().unwrap_or_default();
        measured.search = logged.join().unwrap_or_default();
        read.and(waited)
    })?;
    measured.wall = begin.elapsed();
    Ok(measured)
}

fn wait(child: &mut Child) -> anyhow::Result<()> {
    let status = child.wait().context("wait for weft load")?;
    if !status.success() {
        bail!("weft load failed: {status}");
    }
    Ok(())
}

fn read_lines(lines: impl BufRead, measured: &mut Measured) -> anyhow::Result<()> {
    for line in lines.lines() {
        let job: Value = serde_json::from_str(&line.context("read the output of weft load")?)
            .context("weft load --json printed unexpected output")?;
        measured.job = job;
        let sample = Sample {
            seconds: measured.number("elapsed_ms") as f64 / 1000.0,
            pages: measured.number("pages") as f64,
        };
        measured.samples.push(sample);
    }
    Ok(())
}

/// Reads the log to its end, and prints warnings and errors.
fn read_log(lines: impl BufRead) -> SearchDocuments {
    let mut search = SearchDocuments::default();
    for line in lines.lines().map_while(Result::ok) {
        if line.contains("the search index covers the load") {
            search = search_documents(&line);
        } else if !line.contains(" INFO ") {
            eprintln!("{line}");
        }
    }
    search
}

fn search_documents(line: &str) -> SearchDocuments {
    let number = |name: &str| -> f64 {
        let words = line.split_whitespace();
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        values
            .next()
            .and_then(|value| value.parse().ok())
            .unwrap_or_default()
    };
    SearchDocuments {
        indexed: number("indexed"),
        on_disk: number("on_disk"),
        deleted: number("deleted"),
    }
}

fn watch(pid: u32, ended: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    while !ended.load(Ordering::Relaxed) {
        seen = Seen {
            memory_bytes: process::memory_bytes_max(pid).unwrap_or(seen.memory_bytes),
            cpu_seconds: process::cpu_seconds(pid)
                .unwrap_or_default()
                .max(seen.cpu_seconds),
            written_bytes: process::written_bytes(pid)
                .unwrap_or_default()
                .max(seen.written_bytes),
        };
        std::thread::sleep(LOOK_INTERVAL);
    }
    seen
}
