//! CPU time of a process, from `/proc`.

use anyhow::Context;

/// Ticks a second in `/proc/PID/stat`: 100 on every Linux that Rust runs on.
const TICKS_PER_S: f64 = 100.0;

/// User and system time of a process and its threads, in seconds.
pub(crate) fn seconds(process: u32) -> anyhow::Result<f64> {
    let text =
        std::fs::read_to_string(format!("/proc/{process}/stat")).context("read the CPU time of a process")?;
    // The second field, the name in brackets, may hold spaces.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |place: usize| {
        fields
            .get(place)
            .and_then(|field| field.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    // utime and stime are fields 14 and 15 of proc(5); `fields` begins with field 3.
    Ok((ticks(11) + ticks(12)) / TICKS_PER_S)
}

/// The CPU time of this process.
pub(crate) fn own_seconds() -> anyhow::Result<f64> {
    seconds(std::process::id())
}
