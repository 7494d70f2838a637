//! Prints medians and ratios.

use crate::{Shape, Took};

/// One round of all ways.
pub(crate) struct Round {
    pub(crate) raw_seconds: f64,
    pub(crate) plain: Took,
    pub(crate) store: Took,
    pub(crate) face: Took,
    /// Only if MinIO is installed.
    pub(crate) minio: Option<Took>,
}

/// Selects one of the ways in a round.
type Way = fn(&Round) -> Took;

/// Prints one size.
pub(crate) fn print(shape: Shape, rounds: &[Round]) {
    let bytes = (shape.object_bytes * shape.objects) as f64;
    println!(
        "\n{} objects of {}, {} concurrently, medians of {} rounds",
        shape.objects,
        shape.name,
        shape.at_once,
        rounds.len()
    );
    println!(
        "{:<14}{:>10}{:>14}{:>12}{:>12}{:>16}",
        "", "MB/s", "requests/s", "/ plain", "/ raw", "CPU ms per MB"
    );
    let raw = median(rounds, |round| round.raw_seconds);
    let plain = median(rounds, |round| round.plain.put_seconds);
    line("put raw", bytes, shape, raw, plain, raw, None);
    let ways: [(&str, Way); 4] = [
        ("plain", |round| round.plain),
        ("store", |round| round.store),
        ("face", |round| round.face),
        ("minio", |round| round.minio.unwrap_or_default()),
    ];
    let has_minio = rounds.iter().all(|round| round.minio.is_some());
    let ways = &ways[..if has_minio { 4 } else { 3 }];
    for (name, way) in ways {
        let seconds = median(rounds, |round| way(round).put_seconds);
        let cpu = median(rounds, |round| way(round).put_cpu_seconds);
        line(
            &format!("put {name}"),
            bytes,
            shape,
            seconds,
            plain,
            raw,
            Some(cpu),
        );
    }
    let plain = median(rounds, |round| round.plain.get_seconds);
    for (name, way) in ways {
        let seconds = median(rounds, |round| way(round).get_seconds);
        let cpu = median(rounds, |round| way(round).get_cpu_seconds);
        line(
            &format!("get {name}"),
            bytes,
            shape,
            seconds,
            plain,
            f64::NAN,
            Some(cpu),
        );
    }
    let cpu =
        |way: fn(&Round) -> Took| median(rounds, |round| way(round).put_cpu_seconds) * 1e3 / (bytes / 1e6);
    let (plain, store, face) = (
        cpu(|round| round.plain),
        cpu(|round| round.store),
        cpu(|round| round.face),
    );
    println!(
        "CPU ms per MB put: digests, two writes and syncs {plain:.2}; the rest of the store {:.2}; network \
         and S3 {:.2}",
        store - plain,
        face - store
    );
}

fn line(name: &str, bytes: f64, shape: Shape, seconds: f64, plain: f64, raw: f64, cpu: Option<f64>) {
    let ratio = |other: f64| {
        if other.is_nan() {
            String::new()
        } else {
            format!("{:.2}x", other / seconds)
        }
    };
    let cpu = cpu.map_or(String::new(), |cpu| format!("{:.2}", cpu * 1e3 / (bytes / 1e6)));
    println!(
        "{name:<14}{:>10.1}{:>14.0}{:>12}{:>12}{cpu:>16}",
        bytes / 1e6 / seconds,
        shape.objects as f64 / seconds,
        ratio(plain),
        ratio(raw)
    );
}

fn median(rounds: &[Round], value: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<f64> = rounds.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
