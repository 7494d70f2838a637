//! Lists the collections with their inputs, captures and times.
//!
//! Invariants:
//! - hidden captures affect neither a row nor the limit of the work. A client that does not see
//!   everything gets the counts of the visible captures that are read;
//! - for a client that sees everything, the ledger has the counts, so the limit affects only times.

use std::collections::{BTreeMap, BTreeSet};

use index::{InputId, KeyRange};

use super::basis::Basis;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;
use crate::question::{CollectionRow, Collections, CollectionsBody};

/// What is known of each collection, by its name.
type Tallies = BTreeMap<String, Tally>;

#[derive(Debug, Default)]
struct Tally {
    inputs: BTreeSet<InputId>,
    captures: u64,
    /// Earliest and latest fetch time.
    times_ms: Option<(i64, i64)>,
}

impl Tally {
    fn add(&mut self, input: InputId, time_ms: i64) {
        self.inputs.insert(input);
        self.captures += 1;
        let (first, last) = self.times_ms.unwrap_or((time_ms, time_ms));
        self.times_ms = Some((first.min(time_ms), last.max(time_ms)));
    }

    fn row(self, name: String) -> CollectionRow {
        CollectionRow {
            name,
            inputs: self.inputs.len() as u64,
            captures: self.captures,
            fetch_time_first: self.times_ms.map(|(first, _)| format::date::iso(first)),
            fetch_time_last: self.times_ms.map(|(_, last)| format::date::iso(last)),
        }
    }
}

pub(super) fn collections(basis: &Basis<'_>, question: &Collections) -> Result<CollectionsBody, AskError> {
    let visible = basis.visible();
    let (mut tallies, complete) = read(&visible, question.captures_max)?;
    if visible.sees_everything() {
        count_by_ledger(basis, &mut tallies)?;
    }
    let rows = tallies.into_iter().map(|(name, tally)| tally.row(name));
    Ok(CollectionsBody {
        rows: rows.collect(),
        complete,
    })
}

/// Reads visible captures. Also returns whether these were all.
fn read(visible: &VisibleSnapshot<'_>, captures_max: Option<u64>) -> Result<(Tallies, bool), AskError> {
    let mut tallies = Tallies::new();
    let mut looked_at = 0;
    for capture in visible.snapshot().captures(KeyRange::All, None) {
        let capture = capture?;
        if !visible.sees(&capture) {
            continue;
        }
        if captures_max.is_some_and(|most| looked_at >= most) {
            return Ok((tallies, false));
        }
        looked_at += 1;
        let tally = tallies.entry(capture.collection).or_default();
        tally.add(capture.input, capture.fetch_time_ms);
    }
    Ok((tallies, true))
}

/// Replaces the counts by those of the ledger, which also has inputs without captures.
fn count_by_ledger(basis: &Basis<'_>, tallies: &mut Tallies) -> Result<(), AskError> {
    for tally in tallies.values_mut() {
        tally.inputs.clear();
        tally.captures = 0;
    }
    for (id, entry) in basis.snapshot.ledger()? {
        let tally = tallies.entry(entry.collection).or_default();
        tally.inputs.insert(id);
        tally.captures += entry.captures;
    }
    Ok(())
}
