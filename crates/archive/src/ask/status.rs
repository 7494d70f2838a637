//! Totals and state of the archive.

use super::basis::Basis;
use crate::AskError;
use crate::facts_writer::FactsSettings;
use crate::files::bytes_below;
use crate::open_archive::OpenArchive;
use crate::question::{FactsTable, Status, StatusBody};

/// If the disk has less free space than this and the search index is behind, the disk was most
/// likely full. The space is checked later, when an unfinished segment has already been removed.
const ROOM_BYTES_MIN: u64 = 64 << 20;

pub(super) fn status(basis: &Basis<'_>, _: &Status) -> Result<StatusBody, AskError> {
    let Basis { open, snapshot, .. } = basis;
    let totals = snapshot.totals()?;
    let (facts, facts_failure) = facts(open);
    Ok(StatusBody {
        archive: open.files.dir().display().to_string(),
        version: crate::version::VERSION.to_owned(),
        links_scope: open.settings.links,
        documents_scope: open.settings.documents,
        inputs: totals.inputs,
        inputs_done: totals.inputs_done,
        inputs_loading: totals.inputs_loading + totals.inputs_pending,
        inputs_failed: totals.inputs_failed,
        records: totals.records,
        captures: totals.captures,
        index_lines: totals.index_lines,
        attachments: totals.attachments,
        captures_taken_down: totals.captures_taken_down,
        inputs_taken_down: totals.inputs_taken_down,
        pages: totals.pages,
        links: totals.links,
        uris: totals.uris,
        domains: totals.domains,
        quarantined: totals.quarantined,
        search_epoch: open.search.covered_epoch(),
        search_documents: open.search.documents(),
        fetch_time_first: totals.fetch_time_ms.map(|(first, _)| format::date::iso(first)),
        fetch_time_last: totals.fetch_time_ms.map(|(_, last)| format::date::iso(last)),
        facts_place: FactsSettings::choice(open.settings.facts.as_ref()),
        facts,
        facts_failure,
        collections: totals.collections,
        disk_bytes: bytes_below(open.files.dir()),
        memory_bytes: memory_bytes(),
        owner_pid: std::process::id(),
        jobs_active: open.jobs.active(),
        read_only: open.files.is_read_only(),
        search_failure: search_failure(open, totals.epoch.0),
        refuses_writes: open.index.refuses_writes().unwrap_or_default(),
    })
}

/// Returns the tables of facts, or why they cannot be read.
fn facts(open: &OpenArchive) -> (Vec<FactsTable>, String) {
    let sums = open.facts.as_ref().map_or(Ok(Vec::new()), |facts| facts.sums());
    match sums {
        Ok(sums) => (sums, String::new()),
        Err(error) => (Vec::new(), error.to_string()),
    }
}

/// Returns why the search index is behind, if it cannot be written. Free disk space is checked
/// first, because the search engine often reports only that a thread ended. Otherwise the reason is
/// the error of the last attempt.
fn search_failure(open: &OpenArchive, epoch: u64) -> String {
    let is_behind = open.search.covered_epoch() < epoch && open.jobs.active() == 0;
    if !is_behind {
        return String::new();
    }
    let disk = rustix::fs::statvfs(open.files.search()).ok();
    let room = disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    match room.filter(|room| *room < ROOM_BYTES_MIN) {
        Some(room) => format!("no space left on its disk ({room} bytes are free)"),
        None => open.search_failure().unwrap_or_default(),
    }
}

/// Returns the resident memory of this process in bytes, as Linux reports it; 0 on other systems.
fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}
