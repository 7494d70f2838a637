//! LOOKUP: collects the pieces of a directory and looks it up in the catalogue.

use std::sync::Arc;

use pipeline::{Out, StageResult};
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::Scan;
use super::items::{Examined, ExaminedPiece, Gathered, GatheredDir, Sorted};
use crate::attributes::Entry;
use crate::error::CatalogueError;
use crate::rows::Stamp;
use crate::spill::{RUN_ENTRIES, Runs};

/// A directory with missing pieces.
#[derive(Default)]
struct Gathering {
    pieces: u32,
    /// Number of pieces, known once the last one has arrived.
    all: Option<u32>,
    entries: Vec<Entry>,
    runs: Option<Runs>,
    spilled: u64,
    faults: Vec<(Box<[u8]>, Errno)>,
}

/// The handler of LOOKUP.
pub(super) struct Gatherer {
    scan: Arc<Scan>,
    gatherings: FxHashMap<u64, Gathering>,
}

/// Granularity of file system clocks: a directory may change within this time without a new
/// timestamp.
const CLOCK_NS: i64 = 100_000_000;

impl Gatherer {
    pub(super) fn new(scan: Arc<Scan>) -> Gatherer {
        Gatherer {
            scan,
            gatherings: FxHashMap::default(),
        }
    }

    pub(super) fn take(&mut self, looked: ExaminedPiece, out: &mut Out<'_, GatheredDir>) -> StageResult {
        let ExaminedPiece { dir, number, found } = looked;
        let found = match found {
            Examined::Known => return self.send(dir, Gathered::Known, out),
            Examined::Some(mut entries) => {
                entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
                return self.send(dir, Gathered::Some(entries), out);
            }
            found => found,
        };
        let mut gathering = self.gatherings.remove(&dir.visit).unwrap_or_default();
        gathering.pieces += 1;
        match found {
            Examined::Known | Examined::Some(_) => {}
            Examined::Fault(errno) => {
                gathering.all = Some(number + 1);
                gathering.faults.push((Box::default(), errno));
            }
            Examined::Entries {
                entries,
                faults,
                is_last,
            } => {
                if is_last {
                    gathering.all = Some(number + 1);
                }
                if gathering.entries.is_empty() {
                    gathering.entries = entries
                } else {
                    gathering.entries.extend(entries)
                }
                gathering.faults.extend(faults);
            }
        }
        if gathering.entries.len() >= RUN_ENTRIES {
            let runs = match &mut gathering.runs {
                Some(runs) => runs,
                runs => runs.insert(Runs::new(&self.scan.catalogue.dir)?),
            };
            gathering.spilled += gathering.entries.len() as u64;
            runs.push(std::mem::take(&mut gathering.entries))?;
        }
        if gathering.all != Some(gathering.pieces) {
            self.gatherings.insert(dir.visit, gathering);
            return Ok(());
        }
        let entries = sorted(gathering.entries, gathering.runs, gathering.spilled)?;
        let now_ns = system::time_ms().saturating_mul(1_000_000);
        let is_settled = now_ns.saturating_sub(dir.stamp.changed_ns) > CLOCK_NS;
        let stamp = if is_settled { dir.stamp } else { Stamp::default() };
        self.send(
            dir,
            Gathered::Entries {
                entries,
                faults: gathering.faults,
                stamp,
            },
            out,
        )
    }

    fn send(
        &self,
        dir: Arc<crate::walk::Dir>,
        found: Gathered,
        out: &mut Out<'_, GatheredDir>,
    ) -> StageResult {
        self.scan.shared.lock_dir(dir.id);
        let is_known = self.scan.catalogue.dir_row(dir.id)?.is_some();
        out.send(GatheredDir { dir, is_known, found })
    }
}

fn sorted(mut entries: Vec<Entry>, runs: Option<Runs>, spilled: u64) -> Result<Sorted, CatalogueError> {
    let Some(mut runs) = runs else {
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        return Ok(Sorted::InMemory(entries));
    };
    let count = spilled + entries.len() as u64;
    runs.push(entries)?;
    Ok(Sorted::OnDisk(runs, count))
}
