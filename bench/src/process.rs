//! The kernel's accounting of a process, from `/proc`.

use anyhow::Context;

/// Ticks per second in `/proc/PID/stat`: 100 on every Linux that Rust runs on.
const TICKS_PER_S: f64 = 100.0;

/// Returns the user and system time of a process and its threads, in seconds.
///
/// # Errors
/// If the process does not exist (any more).
pub fn cpu_seconds(process: u32) -> anyhow::Result<f64> {
    let text =
        std::fs::read_to_string(format!("/proc/{process}/stat")).context("read the CPU time of a process")?;
    // The second field, the name in brackets, may contain spaces.
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

/// Returns the CPU time of this process.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn own_cpu_seconds() -> anyhow::Result<f64> {
    cpu_seconds(std::process::id())
}

/// Returns the peak resident memory of a process, in bytes; `None` once it has ended.
pub fn memory_bytes_max(process: u32) -> Option<u64> {
    let kib = field(&format!("/proc/{process}/status"), "VmHWM:")?;
    Some(kib * 1024)
}

/// Returns the bytes that a process has caused to be written to disk; `None` once it has ended.
pub fn written_bytes(process: u32) -> Option<u64> {
    field(&format!("/proc/{process}/io"), "write_bytes:")
}

fn field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
