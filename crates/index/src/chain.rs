//! The chain of views: computes one epoch, from captures to rankings.
//!
//! This module only reads from disk. Its result is one batch that is ready to commit, and the state
//! that the writer takes over after the commit.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use extract::Capture;
use rustc_hash::FxHashMap;
use system::{Broken, holds};

use crate::cut::Cut;
use crate::domain_of::DomainOf;
use crate::epoch::{Batch, EpochReport};
use crate::error::{ApplyError, SnapshotError};
use crate::external::{self, NewCaptures, WriteExternal};
use crate::ids::InputId;
use crate::ledger::LedgerRow;
use crate::ledger::{self, Names};
use crate::page_changes::{add_documents, page_changes};
use crate::progress::LedgerChanges;
use crate::tables::{Table, Tables};
use crate::takedown::{Register, Takedown};
use crate::views::capture_key::CapturePosition;
use crate::views::index_lines;
use crate::views::rankings::Scope;
use crate::views::totals::TotalsRow;
use crate::views::uris::UriChange;
use crate::views::version_change::{Redecide, VersionChange};
use crate::views::{
    captures, changes, domains, links, originals, rankings, rendered_texts, totals, uris, versions,
};
use crate::write::Write;
use extract::IndexLine;

/// The state that an epoch starts from.
pub(crate) struct Chain<'t, 'w> {
    pub(crate) tables: &'t Tables,
    pub(crate) ranking_rows_max: u64,
    /// The previous epoch.
    pub(crate) cut: &'w Cut,
    pub(crate) totals: &'w TotalsRow,
    pub(crate) ledger: &'w [LedgerRow],
    pub(crate) by_digest: &'w FxHashMap<String, InputId>,
    pub(crate) takedowns: &'w Register,
    pub(crate) domain_of: &'w mut DomainOf,
}

/// Rows that taking back an input or a takedown removes, and the keys that must be decided again
/// because of it.
#[derive(Default)]
pub(crate) struct Removal {
    pub(crate) rows: Vec<Vec<u8>>,
    /// Keys of index lines.
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) redecide: Vec<(Redecide, Vec<CapturePosition>)>,
    /// Rows of revisits that stay and get another original, or lose theirs.
    pub(crate) changed_revisits: Vec<(Vec<u8>, Vec<u8>)>,
    /// Rows of `references` and `payloads` to remove.
    pub(crate) reference_rows: Vec<(Table, Vec<u8>)>,
    pub(crate) quarantined: Vec<Vec<u8>>,
    /// Least and greatest fetch time of the captures that stay.
    pub(crate) fetch_time_ms: Option<(i64, i64)>,
    /// New entries of the affected inputs.
    pub(crate) entries: Vec<(InputId, LedgerRow)>,
    /// Rows of captures that are kept out from now on.
    pub(crate) kept_out: Vec<([u8; 12], Vec<u8>)>,
    /// Keys of kept-out captures that are admitted again.
    pub(crate) admitted: Vec<[u8; 12]>,
    /// The takedown that removes the captures.
    pub(crate) takedown: Option<EnteredTakedown>,
    /// The note for external files.
    pub(crate) note: Option<Vec<u8>>,
}

/// A takedown that is about to enter the register.
pub(crate) struct EnteredTakedown {
    /// Complete except for the number of pages.
    pub(crate) takedown: Takedown,
    /// The register before the takedown.
    pub(crate) register: Register,
}

/// An epoch that is ready to commit.
pub(crate) struct PreparedEpoch<'t> {
    /// `None` if nothing changed.
    pub(crate) write: Option<Write<'t>>,
    pub(crate) totals: TotalsRow,
    pub(crate) ledger: Vec<(InputId, LedgerRow)>,
    /// The register, if it changed.
    pub(crate) takedowns: Option<Register>,
    pub(crate) report: EpochReport,
}

impl<'t> Chain<'t, '_> {
    /// Prepares a batch, or decides versions again between existing captures (`retied`, see
    /// [`crate::views::ties`]). New captures are also passed to `write_external`.
    pub(crate) fn prepare(
        self,
        batch: Batch,
        retied: Vec<(InputId, Capture)>,
        write_external: Option<&mut WriteExternal<'_>>,
        clock: &mut StepClock,
    ) -> Result<PreparedEpoch<'t>, ApplyError> {
        let (cut, inputs, mut step) = (self.cut, self.ledger, self.begin());
        let mut ledger = LedgerChanges::new(inputs, self.by_digest);

        // This comes first: a key that the tables cannot hold must not reach any of them.
        let arrived = ledger.keep_usable(batch.captures)?;
        // Takedowns are applied before anything is written, so that they cover every source of
        // captures.
        let admission = self.takedowns.admit(cut, &mut step.write, inputs, arrived)?;
        ledger.count_taken_down(&admission.count_changes)?;
        step.report.captures_taken_down = admission.kept_out;
        let arrived = admission.admitted;
        let arrived_count = arrived.len() as u64;
        let mut captures = captures::apply(cut, &mut step.write, arrived)?;
        step.report.captures_new = captures.len() as u64;
        holds!(
            "index.captures",
            step.report.captures_new <= arrived_count,
            "{} of {arrived_count} captures are new",
            step.report.captures_new
        );
        step.report.captures_known = arrived_count - step.report.captures_new;
        step.count_captures(cut, &captures)?;
        ledger.count_captures(&captures)?;
        self.apply_lines(&mut step, &mut ledger, batch.lines)?;
        clock.end("captures");
        if let Some(write_external) = write_external.filter(|_| !captures.is_empty()) {
            let arriving = NewCaptures::new(step.totals.epoch.next(), &captures, inputs);
            let note = write_external(arriving).map_err(ApplyError::External)?;
            step.write.put(Table::Meta, external::ROW, note);
            clock.end("beside");
        }
        // Retied captures come only with an empty batch: renaming an input and indexing captures are
        // separate steps.
        let names = Names::new(inputs);
        let is_retied = !retied.is_empty();
        if is_retied {
            captures = retied;
        }
        let arrived = if is_retied {
            Vec::new()
        } else {
            originals::add(cut, &mut step.write, &names, &mut captures)?
        };
        let mut versions = versions::apply(cut, &mut step.write, names, captures)?;
        if !arrived.is_empty() {
            versions.extend(versions::redecide_keys(cut, &mut step.write, names, arrived)?);
            versions.sort_unstable_by(|a, b| a.url_key.as_bytes().cmp(b.url_key.as_bytes()));
        }
        clock.end("versions");
        let uris = self.follow(&mut step, &mut versions, clock)?;
        let ledger = ledger.finish(cut, &mut step.write, &mut step.totals, batch.progress)?;
        Ok(step.end(versions, uris, inputs, ledger))
    }

    /// Adds index lines and attachments. No view depends on them.
    fn apply_lines(
        &self,
        step: &mut Step<'t>,
        ledger: &mut LedgerChanges<'_>,
        lines: Vec<(InputId, IndexLine)>,
    ) -> Result<(), ApplyError> {
        if lines.is_empty() {
            return Ok(());
        }
        let (cut, write) = (self.cut, &mut step.write);
        let arrived = ledger.keep_usable(lines)?;
        let admission = self.takedowns.admit(cut, write, self.ledger, arrived)?;
        ledger.count_taken_down(&admission.count_changes)?;
        step.report.captures_taken_down += admission.kept_out;
        let arrived = admission.admitted.len() as u64;
        let lines = index_lines::apply(cut, write, admission.admitted)?;
        ledger.count_lines(&lines)?;
        let with_text = lines.iter().filter(|(_, line)| line.text.is_some());
        step.rendered
            .extend(with_text.map(|(_, line)| line.url_key.clone()));
        let attachments = lines.iter().filter(|(_, line)| line.is_attachment()).count() as u64;
        step.report.attachments_new = attachments;
        step.report.lines_new = lines.len() as u64 - attachments;
        step.report.lines_known = arrived - lines.len() as u64;
        Ok(())
    }

    /// Removes the rows of `removal`.
    pub(crate) fn remove(
        self,
        removal: Removal,
        clock: &mut StepClock,
    ) -> Result<PreparedEpoch<'t>, ApplyError> {
        let (inputs, mut step) = (self.ledger, self.begin());
        step.remove_lines(self.cut, &removal)?;
        let (write, totals) = (&mut step.write, &mut step.totals);
        totals.captures = adjusted("captures", totals.captures, 0, removal.rows.len() as u64)?;
        totals.quarantined = adjusted(
            "quarantined",
            totals.quarantined,
            0,
            removal.quarantined.len() as u64,
        )?;
        for (id, entry) in &removal.entries {
            let before = &inputs[id.0 as usize - 1];
            totals.records = adjusted("records", totals.records, entry.records, before.records)?;
            write.put(Table::Inputs, ledger::entry_key(*id), ledger::encode_entry(entry));
        }
        (totals.fetch_time_ms_first, totals.fetch_time_ms_last) = removal.fetch_time_ms.unwrap_or_default();
        for row in removal.rows {
            write.remove(Table::Captures, row);
        }
        for (key, row) in removal.changed_revisits {
            write.put(Table::Captures, key, row);
        }
        for (table, key) in removal.reference_rows {
            write.remove(table, key);
        }
        for row in removal.quarantined {
            write.remove(Table::Quarantine, row);
        }
        if let Some(note) = removal.note {
            write.put(Table::Meta, external::ROW, note);
        }
        for key in removal.admitted {
            write.remove(Table::TakenDown, key);
        }
        for (key, row) in removal.kept_out {
            write.put(Table::TakenDown, key, row);
        }
        clock.end("captures");

        let names = Names::new(inputs);
        let mut versions = versions::redecide_keys(self.cut, &mut step.write, names, removal.redecide)?;
        clock.end("versions");
        let uris = self.follow(&mut step, &mut versions, clock)?;
        let takedowns = removal.takedown.map(|entered| {
            let EnteredTakedown {
                mut takedown,
                register,
            } = entered;
            takedown.pages = step.report.pages_gone;
            register.put(&mut step.write, &takedown);
            register.with(takedown)
        });
        let mut prepared = step.end(versions, uris, inputs, removal.entries);
        prepared.takedowns = takedowns;
        Ok(prepared)
    }

    fn begin(&self) -> Step<'t> {
        Step {
            write: Write::new(self.tables),
            totals: self.totals.clone(),
            report: EpochReport {
                epoch: self.totals.epoch,
                ..EpochReport::default()
            },
            rendered: BTreeSet::new(),
        }
    }

    /// Updates everything that depends on the changed versions.
    fn follow(
        self,
        step: &mut Step<'t>,
        versions: &mut [VersionChange],
        clock: &mut StepClock,
    ) -> Result<Vec<UriChange>, ApplyError> {
        let (cut, rows_max) = (self.cut, self.ranking_rows_max);
        let Step {
            write,
            totals,
            report,
            ..
        } = step;
        report.pages_changed = versions.iter().filter(|v| v.page_changed()).count() as u64;
        report.pages_gone = versions.iter().filter(|v| v.was_page && !v.is_page).count() as u64;

        let links = links::apply(cut, write, totals.epoch.next(), versions)?;
        report.links_added = links.changes.iter().filter(|l| l.is_added()).count() as u64;
        report.links_removed = links.changes.iter().filter(|l| l.is_removed()).count() as u64;
        totals.links = adjusted("links", totals.links, report.links_added, report.links_removed)?;
        clock.end("links");

        let number = &mut totals.next_number;
        let uris = uris::apply(cut, write, self.domain_of, versions, links, number)?;
        count_uris(totals, report, &uris)?;
        clock.end("uris");

        let domains = domains::apply(cut, write, &uris, rows_max)?;
        totals.domains = adjusted("domains", totals.domains, domains.new, domains.gone)?;
        holds!(
            "index.sums",
            totals.pages <= totals.uris && totals.domains <= totals.uris,
            "{} pages in {} domains, but only {} URIs",
            totals.pages,
            totals.domains,
            totals.uris
        );
        clock.end("domains");

        let (uris_now, all) = (totals.uris, uris.iter().collect::<Vec<_>>());
        rankings::apply(
            cut,
            write,
            Scope::All,
            &mut totals.ranking,
            uris_now,
            &all,
            rows_max,
        )?;
        clock.end("rankings");
        Ok(uris)
    }
}

/// An epoch in progress.
struct Step<'t> {
    write: Write<'t>,
    totals: TotalsRow,
    report: EpochReport,
    /// URL keys whose rendered text may have come, gone or changed its capture.
    rendered: BTreeSet<String>,
}

impl<'t> Step<'t> {
    fn count_captures(&mut self, cut: &Cut, captures: &[(InputId, Capture)]) -> Result<(), SnapshotError> {
        count_captures(&mut self.totals, captures);
        self.note_rendered(cut, captures.iter().map(|(_, capture)| capture.url_key.as_str()))
    }

    /// Removes the index lines of a removal, with their texts.
    fn remove_lines(&mut self, cut: &Cut, removal: &Removal) -> Result<(), SnapshotError> {
        for line in &removal.lines {
            let with_text = rendered_texts::remove(cut, &mut self.write, line)?;
            self.rendered.extend(with_text);
            self.write.remove(Table::IndexLines, line.clone());
        }
        let keys = removal.redecide.iter();
        self.note_rendered(cut, keys.map(|(redecide, _)| redecide.url_key.as_str()))
    }

    /// Notes those of the keys with changed captures that have a rendered text: it belongs to the
    /// nearest capture, which may be another one now.
    fn note_rendered<'k>(
        &mut self,
        cut: &Cut,
        url_keys: impl Iterator<Item = &'k str>,
    ) -> Result<(), SnapshotError> {
        if rendered_texts::is_empty(cut)? {
            return Ok(());
        }
        for url_key in url_keys {
            if !self.rendered.contains(url_key) && rendered_texts::may_have(cut, url_key)? {
                self.rendered.insert(url_key.to_owned());
            }
        }
        Ok(())
    }

    /// Adds the final rows if the batch has any rows. An epoch that changes nothing is not
    /// committed.
    fn end(
        mut self,
        versions: Vec<VersionChange>,
        uris: Vec<UriChange>,
        inputs: &[LedgerRow],
        ledger: Vec<(InputId, LedgerRow)>,
    ) -> PreparedEpoch<'t> {
        let mut write = None;
        // This depends on the rows, not on the batch: captures that were all known write no rows.
        if self.write.len() > 0 {
            self.totals.epoch = self.totals.epoch.next();
            self.report.epoch = self.totals.epoch;
            let mut changes = page_changes(versions, uris, inputs);
            add_documents(&mut changes.changes, std::mem::take(&mut self.rendered));
            (self.report.page_changes, self.report.pages) = (changes.changes, changes.pages);
            self.report.past = changes.past;
            changes::apply(&mut self.write, self.totals.epoch, &self.report.page_changes);
            self.write.put(Table::Meta, totals::ROW, self.totals.encode());
            write = Some(self.write);
        }
        PreparedEpoch {
            write,
            totals: self.totals,
            ledger,
            takedowns: None,
            report: self.report,
        }
    }
}

/// Measures the steps of an epoch.
pub(crate) struct StepClock {
    last: Instant,
    pub(crate) times: Vec<(&'static str, Duration)>,
}

impl StepClock {
    pub(crate) fn start() -> StepClock {
        StepClock {
            last: system::now(),
            times: Vec::with_capacity(8),
        }
    }

    pub(crate) fn end(&mut self, step: &'static str) {
        let now = system::now();
        self.times.push((step, now - self.last));
        self.last = now;
    }
}

/// Returns a sum after additions and removals. Everything removed must have been counted before.
fn adjusted(what: &str, sum: u64, added: u64, removed: u64) -> Result<u64, Broken> {
    // Adds first, so that the sum does not fall below zero in between.
    let now = (sum + added).checked_sub(removed);
    holds!(
        "index.totals",
        now.is_some(),
        "{what}: {removed} are removed from {sum} and {added} new ones"
    );
    Ok(now.unwrap_or_default())
}

fn count_captures(totals: &mut TotalsRow, captures: &[(InputId, Capture)]) {
    for (_, capture) in captures {
        let time = capture.fetch_time_ms;
        let is_first = totals.captures == 0;
        totals.captures += 1;
        totals.fetch_time_ms_first = if is_first {
            time
        } else {
            totals.fetch_time_ms_first.min(time)
        };
        totals.fetch_time_ms_last = if is_first {
            time
        } else {
            totals.fetch_time_ms_last.max(time)
        };
    }
}

fn count_uris(totals: &mut TotalsRow, report: &mut EpochReport, uris: &[UriChange]) -> Result<(), Broken> {
    for uri in uris {
        let (before, after) = (uri.before.is_some(), uri.after.is_some());
        totals.uris = adjusted("uris", totals.uris, after.into(), before.into())?;
        totals.pages = adjusted("pages", totals.pages, uri.is_page.into(), uri.was_page.into())?;
        report.uris_new += u64::from(!before && after);
    }
    Ok(())
}
