//! Totals and state of the archive.

use super::basis::Basis;
use crate::AskError;
use crate::files::bytes_below;
use crate::parts::Parts;
use crate::question::{Status, StatusBody};

/// If the disk has less room than this and the search index is behind, the disk was most likely full: an
/// unfinished segment has already been removed when somebody asks.
const ROOM_BYTES_MIN: u64 = 64 << 20;

pub(super) fn status(basis: &Basis<'_>, _: &Status) -> Result<StatusBody, AskError> {
    let Basis { parts, snapshot } = basis;
    let totals = snapshot.totals()?;
    Ok(StatusBody {
        archive: parts.files.dir().display().to_string(),
        version: crate::VERSION.to_owned(),
        links_scope: parts.settings.links,
        inputs: totals.inputs,
        inputs_done: totals.inputs_done,
        inputs_loading: totals.inputs_loading + totals.inputs_pending,
        inputs_failed: totals.inputs_failed,
        records: totals.records,
        captures: totals.captures,
        pages: totals.pages,
        links: totals.links,
        uris: totals.uris,
        domains: totals.domains,
        quarantined: totals.quarantined,
        search_epoch: parts.search.covered_epoch(),
        search_documents: parts.search.documents(),
        fetch_time_first: totals.fetch_time_ms.map(|(first, _)| civil::iso(first)),
        fetch_time_last: totals.fetch_time_ms.map(|(_, last)| civil::iso(last)),
        collections: totals.collections,
        disk_bytes: bytes_below(parts.files.dir()),
        memory_bytes: memory_bytes(),
        owner_pid: std::process::id(),
        jobs_active: parts.jobs.active(),
        read_only: parts.files.is_read_only(),
        search_failure: search_failure(parts, totals.epoch.0),
        refuses_writes: parts.weave.refuses_writes().unwrap_or_default(),
    })
}

/// Why search is behind, if its index cannot be written. The room on the disk decides, because the search
/// engine often reports only that one of its threads ended; otherwise it is the error of the last attempt.
fn search_failure(parts: &Parts, epoch: u64) -> String {
    let is_behind = parts.search.covered_epoch() < epoch && parts.jobs.active() == 0;
    if !is_behind {
        return String::new();
    }
    let disk = rustix::fs::statvfs(parts.files.search()).ok();
    let room = disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    match room.filter(|room| *room < ROOM_BYTES_MIN) {
        Some(room) => format!("no space left on its disk ({room} bytes are free)"),
        None => parts.search_failure().unwrap_or_default(),
    }
}

/// Resident memory of this process in bytes, as Linux reports it; 0 on other systems.
fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}
