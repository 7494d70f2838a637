//! Prints the table: the figures of 2009 next to the new ones.

use std::sync::atomic::Ordering;

use crate::check::Checked;
use crate::clients::Tally;

/// WEBDFS, August 2009: 15 servers on 20 EC2 m1.large, 5 clients x 100 threads.
mod published {
    pub(super) const REQUESTS: f64 = 1_067_159.0;
    pub(super) const SECONDS: f64 = 5_300.0;
    pub(super) const UPLOADED: f64 = 250_000_850_000.0;
    pub(super) const UPLOAD_MB_PER_S: f64 = 47.2;
    pub(super) const DOWNLOADS: f64 = 808_603.0;
    pub(super) const DOWNLOAD_MEAN: f64 = 1_933_824.0;
    pub(super) const TRANSFERRED: f64 = 1_813_697_450_000.0;
    pub(super) const TRANSFER_MB_PER_S: f64 = 342.0;
    pub(super) const OBJECTS: f64 = super::OBJECTS_2009 as f64;
    pub(super) const REPLICAS: f64 = 258_556.0;
    pub(super) const REPLICA_BYTES: f64 = 499_200_710_256.0;
    pub(super) const CORRUPT: f64 = 2_071.0;
    pub(super) const LOST: f64 = 40.0;
    pub(super) const BY_SERVER: [u64; 15] = [
        17406, 17917, 17153, 17329, 17426, 16955, 17082, 17089, 16941, 16679, 16117, 17256, 16703, 17490,
        17145,
    ];
}

/// Number of objects of the published run.
pub(crate) const OBJECTS_2009: u64 = 129_278;

/// Maximum deviation of a server's share from an even one.
pub(crate) const EVENNESS_PERCENT_MAX: f64 = 3.0;

/// All measurements of a run.
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// Replicas damaged on purpose.
    pub(crate) damaged: u64,
    /// Number of these that no fixity log reports.
    pub(crate) unnoticed: u64,
    /// Number of bad or missing replicas that reads, scrub and repair reported, including those
    /// that were not damaged on purpose.
    pub(crate) found: u64,
    /// Number of replicas that repair recreated.
    pub(crate) repaired: u64,
    /// Whether the census after repair was complete.
    pub(crate) census_whole: bool,
    /// Replicas by server for as many objects as in 2009.
    pub(crate) placed: Vec<u64>,
    pub(crate) checked: Checked,
}

/// Prints the table. Returns true if nothing was lost or undetected and the share of every server
/// is even.
pub(crate) fn print(tally: &Tally, run: &Run) -> bool {
    let puts = tally.put_micros.lock();
    let gets = tally.get_micros.lock();
    let requests = (puts.len() + gets.len()) as f64;
    let uploaded = tally.uploaded_bytes.load(Ordering::Relaxed) as f64;
    let downloaded = tally.downloaded_bytes.load(Ordering::Relaxed) as f64;
    let downloads = tally.downloads.load(Ordering::Relaxed) as f64;
    let objects = tally.acknowledged.lock().len() as f64;
    let checked = &run.checked;
    let undetected = (tally.wrong_answers.lock().len() + checked.wrong_files.len()) as u64 + run.unnoticed;
    let seconds = run.seconds.max(1e-9);

    println!("\n{:<44}{:>18}{:>20}", "", "Weft", "WEBDFS 2009");
    row("requests", requests, published::REQUESTS);
    row("run time, s", seconds, published::SECONDS);
    row(
        "requests/s",
        requests / seconds,
        published::REQUESTS / published::SECONDS,
    );
    row("uploaded, bytes", uploaded, published::UPLOADED);
    row(
        "upload rate, MB/s",
        uploaded / seconds / 1e6,
        published::UPLOAD_MB_PER_S,
    );
    row("downloads", downloads, published::DOWNLOADS);
    row(
        "mean download, bytes",
        downloaded / downloads.max(1.0),
        published::DOWNLOAD_MEAN,
    );
    row(
        "transferred, bytes",
        uploaded + downloaded,
        published::TRANSFERRED,
    );
    row(
        "transfer rate, MB/s",
        (uploaded + downloaded) / seconds / 1e6,
        published::TRANSFER_MB_PER_S,
    );
    times("put", &puts);
    times("get", &gets);
    only(
        "failed tries answered by another server",
        tally.failed_tries.load(Ordering::Relaxed) as f64,
    );
    only(
        "requests that failed at every try",
        tally.failed_requests.load(Ordering::Relaxed) as f64,
    );
    row("objects acknowledged", objects, published::OBJECTS);
    row(
        "intact replicas on disk",
        checked.by_server.iter().sum::<u64>() as f64,
        published::REPLICAS,
    );
    row(
        "bytes of intact replicas",
        checked.file_bytes as f64,
        published::REPLICA_BYTES,
    );
    only("replicas damaged on purpose", run.damaged as f64);
    row("damaged replicas found", run.found as f64, published::CORRUPT);
    only("replicas repaired", run.repaired as f64);
    row("objects lost", checked.lost.len() as f64, published::LOST);
    only("damage undetected", undetected as f64);
    only("incomplete objects", checked.half.len() as f64);
    only(
        "objects without exactly two intact replicas",
        checked.not_twice as f64,
    );
    println!(
        "{:<44}{:>18}",
        "census after repair",
        if run.census_whole {
            "complete"
        } else {
            "INCOMPLETE"
        }
    );

    println!("\nreplicas per server:");
    let worst = share("Weft", &checked.by_server);
    share("at 129,278", &run.placed);
    share("WEBDFS 2009", &published::BY_SERVER);
    let even = worst <= EVENNESS_PERCENT_MAX;
    println!(
        "\neven to within +-{EVENNESS_PERCENT_MAX} %: {}",
        if even { "yes" } else { "NO" }
    );
    for reason in tally.reasons.lock().iter() {
        println!("a failed try: {reason}");
    }
    for (what, names) in [
        ("lost", &checked.lost),
        ("incomplete", &checked.half),
        ("wrong file", &checked.wrong_files),
    ] {
        names.iter().take(10).for_each(|name| println!("{what}: {name}"));
    }
    let whole = run.census_whole && checked.not_twice == 0;
    checked.lost.is_empty() && checked.half.is_empty() && undetected == 0 && whole && even
}

fn row(name: &str, ours: f64, theirs: f64) {
    println!("{name:<44}{:>18}{:>20}", number(ours), number(theirs));
}

fn only(name: &str, ours: f64) {
    println!("{name:<44}{:>18}", number(ours));
}

fn times(operation: &str, micros: &[u32]) {
    let mut sorted = micros.to_vec();
    sorted.sort_unstable();
    let mean = sorted.iter().map(|&micros| f64::from(micros)).sum::<f64>() / sorted.len().max(1) as f64;
    let p99 = sorted
        .get(sorted.len() * 99 / 100)
        .copied()
        .map_or(0.0, f64::from);
    println!(
        "{:<44}{:>18}",
        format!("{operation}: mean, p99, ms"),
        format!("{:.1}, {:.1}", mean / 1e3, p99 / 1e3)
    );
}

/// Prints shares and returns the largest deviation from an even one, in per cent.
fn share(name: &str, by_server: &[u64]) -> f64 {
    let mean = by_server.iter().sum::<u64>() as f64 / by_server.len().max(1) as f64;
    let deviation = |&count: &u64| (count as f64 / mean.max(1e-9) - 1.0) * 100.0;
    let least = by_server.iter().map(deviation).fold(f64::INFINITY, f64::min);
    let most = by_server.iter().map(deviation).fold(f64::NEG_INFINITY, f64::max);
    let counts: Vec<String> = by_server.iter().map(u64::to_string).collect();
    println!("{name:<12} {least:+.1} / {most:+.1} %   {}", counts.join(" "));
    most.max(-least)
}

/// Formats a number with grouped thousands, and two decimals for small fractions.
fn number(value: f64) -> String {
    if value.fract() != 0.0 && value < 1000.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
