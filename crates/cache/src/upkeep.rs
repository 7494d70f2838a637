//! Periodic work, once per second: follows other processes on the same directories and writes
//! statistics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::stats::ProgramStats;
use crate::tier::{Cache, Tier};

/// Interval of the work.
const EVERY: Duration = Duration::from_secs(1);
/// Interval of writing statistics.
const WRITE_EVERY: Duration = Duration::from_secs(10);
/// A guest scans a directory for at most 1/30 of the time, and at most once per `LOOK_EVERY`.
const LOOK_PART: u32 = 30;
const LOOK_EVERY: Duration = Duration::from_secs(10);

impl Cache {
    /// Starts the thread for periodic work. It ends when the tier is dropped.
    pub(crate) fn keep_up(&self) {
        if self.0.directories.is_empty() {
            return;
        }
        // Earlier drops need no action: the index was read after them.
        self.0.follow_drops(true);
        let tier = Arc::downgrade(&self.0);
        let thread = std::thread::Builder::new().name("cache".into());
        let spawned = thread.spawn(move || {
            loop {
                system::pause(EVERY);
                let Some(tier) = tier.upgrade() else { return };
                Cache(tier).upkeep();
            }
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "cannot start the upkeep thread; the cache does not follow other processes");
        }
    }

    /// Runs the periodic work now: follows the writes, pins and drops of other processes on the
    /// same directories.
    pub fn upkeep(&self) {
        let tier = &self.0;
        let Some(first) = tier.directories.first() else {
            return;
        };
        let rules = {
            let mut rules = tier.rules.write();
            let is_changed = rules.set_pins(first.layout().pins());
            let rules = rules.clone();
            if is_changed {
                tier.directories
                    .iter()
                    .for_each(|directory| directory.repin(&rules));
            }
            rules
        };
        tier.follow_drops(false);
        for directory in &tier.directories {
            directory.take_over(&rules);
        }
        let now = system::now();
        let is_due = |last: &mut Option<Instant>| last.is_none_or(|last| now >= last);
        if first.layout().is_guest() && is_due(&mut tier.upkeep.progress.lock().look_next) {
            tier.directories
                .iter()
                .for_each(|directory| directory.rescan(&rules));
            let took = system::since(now);
            tier.upkeep.progress.lock().look_next = Some(now + LOOK_EVERY.max(took * LOOK_PART));
        }
        if is_due(&mut tier.upkeep.progress.lock().write_next) {
            self.write_stats();
        }
    }

    /// Returns the last statistics written by programs on the same directories.
    pub fn program_stats(&self) -> Vec<ProgramStats> {
        let Some(first) = self.0.directories.first() else {
            return Vec::new();
        };
        let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).ok();
        let mut all: Vec<ProgramStats> = first
            .layout()
            .stats_files()
            .into_iter()
            .filter_map(read)
            .collect();
        all.sort_by(|a, b| a.program.cmp(&b.program));
        all
    }

    /// Writes statistics, for `weft cache`.
    pub(crate) fn write_stats(&self) {
        let Some(first) = self.0.directories.first() else {
            return;
        };
        // A program that reads nothing has no statistics.
        if self.0.upkeep.program.is_empty() {
            return;
        }
        let written = ProgramStats {
            program: self.0.upkeep.program.to_owned(),
            at_ms: system::wall_ms(),
            stats: self.stats(),
            advice: self.advice(),
        };
        self.0.upkeep.progress.lock().write_next = Some(system::now() + WRITE_EVERY);
        let name = format!("stats.{}.json", self.0.upkeep.program);
        let bytes = serde_json::to_vec(&written).unwrap_or_default();
        if let Err(error) = first.layout().replace(&name, &bytes) {
            tracing::debug!(%error, "cannot write the counts of the cache");
        }
    }
}

impl Tier {
    /// Follows the drops of other processes, or skips them at the start.
    fn follow_drops(&self, pass_over: bool) {
        for (index, directory) in self.directories.iter().enumerate() {
            let mut progress = self.upkeep.progress.lock();
            progress.drops.resize(self.directories.len(), 0);
            let (prefixes, end) = directory.layout().drops(progress.drops[index]);
            progress.drops[index] = end;
            drop(progress);
            if !pass_over {
                for prefix in &prefixes {
                    self.drop_below(prefix);
                }
            }
        }
    }
}
