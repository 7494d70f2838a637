//! Processing of captures between the archive and the writer: counting, and collapsing to the last.
//!
//! Both may need the capture that follows, so the last one is held back until then.

use std::collections::HashMap;

use archive::question::CdxRow;
use cdx::{Collapse, SkippedCounts};

use super::request::CdxRequest;

/// Maximum number of digests whose captures are counted in one response (some 10 MB). Captures with
/// further digests get no count.
const DIGESTS_MAX: usize = 100_000;

pub(super) struct Stage {
    holds: bool,
    collapse_to_last: Option<Collapse>,
    /// Captures so far by digest, if they are counted.
    duplicates: Option<HashMap<String, u64>>,
    held: Option<CdxRow>,
}

impl Stage {
    pub(super) fn of(asked: &CdxRequest) -> Stage {
        Stage {
            holds: asked.question.count_skipped || asked.collapse_to_last.is_some(),
            collapse_to_last: asked.collapse_to_last,
            duplicates: asked.count_duplicates.then(HashMap::new),
            held: None,
        }
    }

    /// Returns the rows that can be written now. `skipped` was omitted before the first of `rows`.
    pub(super) fn add(&mut self, rows: Vec<CdxRow>, skipped: Option<&SkippedCounts>) -> Vec<CdxRow> {
        if let (Some(skipped), Some(held)) = (skipped, &mut self.held) {
            let known = held.computed_mut().skipped.get_or_insert_default();
            known.add(skipped);
        }
        let rows = if self.holds { self.pass(rows) } else { rows };
        self.counted(rows)
    }

    /// Returns the row that was held back.
    pub(super) fn end(&mut self) -> Vec<CdxRow> {
        let held = self.held.take().into_iter().collect();
        self.counted(held)
    }

    fn pass(&mut self, rows: Vec<CdxRow>) -> Vec<CdxRow> {
        let mut passed = Vec::with_capacity(rows.len());
        for row in rows {
            let replaces = |held: &CdxRow| {
                self.collapse_to_last
                    .is_some_and(|collapse| collapse.value(held) == collapse.value(&row))
            };
            match self.held.take() {
                Some(held) if !replaces(&held) => passed.push(held),
                _ => {}
            }
            self.held = Some(row);
        }
        passed
    }

    fn counted(&mut self, mut rows: Vec<CdxRow>) -> Vec<CdxRow> {
        let Some(known) = &mut self.duplicates else {
            return rows;
        };
        for row in &mut rows {
            if let Some(count) = known.get_mut(&row.digest) {
                *count += 1;
                row.computed_mut().duplicates = Some(*count);
            } else if known.len() < DIGESTS_MAX {
                known.insert(row.digest.clone(), 0);
                row.computed_mut().duplicates = Some(0);
            }
        }
        rows
    }
}
