//! Measures how fast one core extracts:
//! `cargo run --release -p extract --example throughput -- FILE...`
//!
//! Records are read into memory first, so that only extraction is measured. The time is that of the
//! thread, and the best of several rounds counts.

use extract::{Documents, Extracted, LinkScope, Settings};
use std::path::Path;
use std::time::Instant;
use warc::{Entry, Reader, ReaderSettings, Record};

const ROUNDS: usize = 5;

/// The system counts a thread's time in steps of some milliseconds.
const ROUND_SECONDS_MIN: f64 = 0.2;

#[derive(Default)]
struct Sums {
    captures: usize,
    pages: usize,
    links: usize,
    text_bytes: usize,
    payload_bytes: usize,
}

fn main() {
    for file in std::env::args().skip(1) {
        let records = read(Path::new(&file));
        println!("{file}: {} records", records.len());
        for (links, text) in [
            (LinkScope::External, false),
            (LinkScope::All, false),
            (LinkScope::All, true),
        ] {
            report(
                &records,
                &Settings {
                    links,
                    text,
                    documents: Documents::NONE,
                },
            );
        }
    }
}

fn read(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(path, ReaderSettings::default()).expect("open the file");
    let mut records = Vec::new();
    while let Some(entry) = reader.next_entry().expect("read the file") {
        if let Entry::Record(record) = entry {
            records.push(record);
        }
    }
    records
}

fn report(records: &[Record], settings: &Settings) {
    let mut best = f64::MAX;
    let mut sums = Sums::default();
    for _ in 0..ROUNDS {
        let start = seconds_of_thread();
        let mut repeats = 0;
        while seconds_of_thread() - start < ROUND_SECONDS_MIN {
            sums = run(records, settings);
            repeats += 1;
        }
        best = best.min((seconds_of_thread() - start) / f64::from(repeats));
    }
    println!(
        "  {:8} text={:5} {:6.1} ms: {:7.0} pages/s, {:8.0} links/s, {:6.1} MB/s of pages ({} captures, {} pages, {} links, {} bytes of text)",
        format!("{:?}", settings.links),
        settings.text,
        best * 1e3,
        sums.pages as f64 / best,
        sums.links as f64 / best,
        sums.payload_bytes as f64 / best / 1e6,
        sums.captures,
        sums.pages,
        sums.links,
        sums.text_bytes,
    );
}

fn run(records: &[Record], settings: &Settings) -> Sums {
    let mut sums = Sums::default();
    for record in records {
        let Extracted::Capture(capture) = extract::extract(record, settings) else {
            continue;
        };
        sums.captures += 1;
        if let Some(page) = capture.page {
            sums.pages += 1;
            sums.links += page.links.len();
            sums.text_bytes += page.text.len();
            sums.payload_bytes += record.body.len();
        }
    }
    sums
}

/// CPU time of this thread if the system reports it, else the time of day.
fn seconds_of_thread() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = schedule
        .as_deref()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    match on_cpu {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => {
            static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
            START.get_or_init(Instant::now).elapsed().as_secs_f64()
        }
    }
}
