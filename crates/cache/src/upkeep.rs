//! Periodic work, once per second: follows other processes on the same directories and writes
//! statistics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::control::Stats;
use crate::ghost::Advice;
use crate::tier::{Cache, Tier};

/// Interval of the work.
const EVERY: Duration = Duration::from_secs(1);
/// Interval of writing statistics.
const WRITE_EVERY: Duration = Duration::from_secs(10);
/// A guest scans a directory for at most 1/30 of the time, and at most once per `LOOK_EVERY`.
const LOOK_PART: u32 = 30;
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// State of the periodic work.
pub(crate) struct Upkeep {
    program: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Position reached in the list of drops of each directory.
    drops: Vec<u64>,
    written: Option<Instant>,
    look_next: Option<Instant>,
}

/// Statistics of a program, as stored in a directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramStats {
    /// Name of the program.
    pub program: String,
    /// When they were written, in milliseconds since 1970.
    pub at_ms: u64,
    /// Statistics of its tier.
    pub stats: Stats,
    /// Estimates for other cache sizes.
    pub advice: Vec<Advice>,
}

impl Upkeep {
    pub(crate) fn new(program: &'static str) -> Upkeep {
        Upkeep {
            program,
            state: Mutex::default(),
        }
    }
}

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
        if first.layout().is_guest() && is_due(&mut tier.upkeep.state.lock().look_next) {
            tier.directories
                .iter()
                .for_each(|directory| directory.rescan(&rules));
            let took = system::since(now);
            tier.upkeep.state.lock().look_next = Some(now + LOOK_EVERY.max(took * LOOK_PART));
        }
        if is_due(&mut tier.upkeep.state.lock().written) {
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
        self.0.upkeep.state.lock().written = Some(system::now() + WRITE_EVERY);
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
            let mut state = self.upkeep.state.lock();
            state.drops.resize(self.directories.len(), 0);
            let (prefixes, end) = directory.layout().drops(state.drops[index]);
            state.drops[index] = end;
            drop(state);
            if !pass_over {
                for prefix in &prefixes {
                    self.drop_below(prefix);
                }
            }
        }
    }
}
