//! Rebuilds views from the tables that they are derived from. Rows are compared, and only those
//! that differ are written.
//!
//! | views | tables | derived from |
//! |---|---|---|
//! | `uris`, `inlinks` | the same, `anchors`, `sources` | `captures`, `versions`, `links` |
//! | `domains`, `top` | `domains`, `rankings` | `uris` |
//!
//! Invariants:
//! - Readers see the old state until everything is written: the last batch makes the epoch that is
//!   published.
//! - With more than one batch, row `rebuilding` of table `meta` is committed with the first and
//!   removed with the last. Opening an index with that row finishes the rebuild. Each run compares
//!   everything and writes the remaining differences, so it may be interrupted anywhere.
//! - Before anything is written, the source tables are read and must agree. A loss in one of them
//!   is an error and does not spread.
//!
//! Memory is bounded except for two things, held one at a time: all in-links of one URI, and the
//! states of all URIs of one domain.

mod domains;
mod peeked;
mod uris;

use std::path::Path;
use std::sync::Arc;

use fjall::{PersistMode, UserKey, UserValue};

use crate::crash;
use crate::cut::Cut;
use crate::dump::View;
use crate::epoch::PageChange;
use crate::error::{ApplyError, OpenError, SnapshotError};
use crate::ids::Epoch;
use crate::tables::{Table, Tables};
use crate::views::totals::TotalsRow;
use crate::views::{changes, totals};
use crate::write::Write;

/// Key of the row in table `meta` that says which views are being rebuilt.
pub(crate) const REBUILDING_ROW: &str = "rebuilding";

/// Rows in a batch: some 10 MB.
const BATCH_ROWS: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// Maximum number of pages with changed in-links that are reported to search one by one. With more,
/// search must be rebuilt.
const CHANGES_MAX: usize = 1 << 16;

/// The result of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RebuildReport {
    /// The epoch of the repair; the newest epoch if nothing was wrong.
    pub epoch: Epoch,
    /// Each rebuilt table.
    pub tables: Vec<RebuiltTable>,
    /// Whether search must be rebuilt too: it ranks by in-links, and more pages changed theirs than
    /// are reported one by one.
    pub search_needs_rebuild: bool,
}

/// The result of a rebuild for one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuiltTable {
    /// Name of the table.
    pub table: &'static str,
    /// Number of rows that it must have. All were compared.
    pub rows: u64,
    /// Rows that were missing, wrong or superfluous.
    pub rows_repaired: u64,
}

/// Why views were not rebuilt. Readers see the old state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// The view is not derived from other tables, only from the inputs.
    #[error(
        "view {0} is not derived from other tables, so it cannot be rebuilt; load the inputs into a new \
         archive, or restore a copy of this one (weft verify compares the view with the inputs)"
    )]
    NotDerived(&'static str),
    /// The source table is damaged, so the rebuilt view would lack rows.
    #[error(
        "table {table} itself is damaged at {key}: {detail}; views derived from it cannot be rebuilt: load \
         the inputs into a new archive, or restore a copy of this one"
    )]
    Untrusted {
        /// The table.
        table: &'static str,
        /// The URL key.
        key: String,
        /// The contradiction.
        detail: &'static str,
    },
    /// A table cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Sorting rows in temporary files failed.
    #[error("sort rows in {dir}: {source}")]
    Scratch {
        /// The directory.
        dir: String,
        /// Cause.
        source: std::io::Error,
    },
    /// Writing failed.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Which views are rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Whether URIs and in-links are rebuilt. Domains and rankings always are.
    uris: bool,
}

impl Plan {
    pub(crate) fn of(views: &[View]) -> Result<Plan, RebuildError> {
        let underived = views
            .iter()
            .find(|view| !matches!(view, View::Uris | View::Inlinks | View::Domains | View::Top));
        match underived {
            Some(view) => Err(RebuildError::NotDerived(view.name())),
            None => Ok(Plan {
                uris: views
                    .iter()
                    .any(|view| matches!(view, View::Uris | View::Inlinks)),
            }),
        }
    }

    fn encode(self) -> [u8; 1] {
        [u8::from(self.uris)]
    }

    /// An unknown row, as of a later program, rebuilds everything.
    fn decode(row: &[u8]) -> Plan {
        Plan { uris: row != [0] }
    }
}

/// Why a run ended early.
pub(crate) enum Failure {
    Rebuild(RebuildError),
    Engine(fjall::Error),
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Failure {
        Failure::Rebuild(error.into())
    }
}

impl From<fjall::Error> for Failure {
    fn from(error: fjall::Error) -> Failure {
        Failure::Engine(error)
    }
}

/// Wraps an error of the files that rows are sorted in.
fn scratch(dir: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    |source| {
        Failure::Rebuild(RebuildError::Scratch {
            dir: dir.display().to_string(),
            source,
        })
    }
}

/// The index of a run.
#[derive(Clone, Copy)]
pub(crate) struct Target<'t> {
    pub(crate) tables: &'t Arc<Tables>,
    pub(crate) dir: &'t Path,
    pub(crate) ranking_rows_max: u64,
}

/// Compares and repairs; durable when it returns. The caller publishes.
pub(crate) fn run(
    place: Target<'_>,
    plan: Plan,
    is_begun: &mut bool,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<(RebuildReport, TotalsRow), Failure> {
    let mut rebuilder = Rebuilder {
        tables: place.tables,
        write: Write::new(place.tables),
        plan,
        is_begun,
        sums: Vec::new(),
        changes: Vec::new(),
        progress,
    };
    let cut = Cut::take(place.tables);
    let before = totals::read(&cut)?;
    let mut totals = before.clone();
    if plan.uris {
        uris::rebuild(place, &cut, &mut rebuilder, &mut totals)?;
        // Domains are counted from the repaired URIs.
        rebuilder.flush()?;
    }
    let cut = Cut::take(place.tables);
    domains::rebuild(place, &cut, &mut rebuilder, &mut totals)?;
    let Rebuilder {
        mut write,
        is_begun,
        sums,
        changes,
        ..
    } = rebuilder;
    let is_search_untold = changes.len() > CHANGES_MAX;
    if *is_begun || write.len() > 0 || totals != before {
        totals.epoch = totals.epoch.next();
        let reported = if is_search_untold { &[] } else { &changes[..] };
        changes::apply(&mut write, totals.epoch, reported);
        write.put(Table::Meta, totals::ROW, totals.encode());
        if *is_begun {
            write.remove(Table::Meta, REBUILDING_ROW);
        }
        place.tables.wait_for_room()?;
        // If anything fails from here on, memory and disk may differ.
        *is_begun = true;
        write.commit()?;
        crash::rebuilding_point("rebuild.before_sync");
        place.tables.db.persist(PersistMode::SyncData)?;
        place.tables.written();
    }
    let rebuilt = RebuildReport {
        epoch: totals.epoch,
        tables: sums,
        search_needs_rebuild: is_search_untold,
    };
    Ok((rebuilt, totals))
}

/// Finishes an interrupted rebuild, if there is one.
pub(crate) fn finish(place: Target<'_>) -> Result<(), OpenError> {
    let row = Cut::take(place.tables).get(Table::Meta, REBUILDING_ROW.as_bytes())?;
    let Some(row) = row else { return Ok(()) };
    tracing::warn!(
        dir = %place.dir.display(),
        "rebuilding views from the links, because a rebuild was interrupted"
    );
    match run(place, Plan::decode(&row), &mut true, &mut |_, _| {}) {
        Ok(_) => Ok(()),
        Err(Failure::Engine(error)) => Err(OpenError::engine("rebuild views of", place.dir, &error)),
        // The unreadable rows stay unreadable. Answers that need them report it.
        Err(Failure::Rebuild(error)) => {
            tracing::error!(%error, dir = %place.dir.display(), "views were rebuilt only in part");
            Ok(())
        }
    }
}

/// Rows to be written to tables.
struct Rebuilder<'r, 't> {
    tables: &'t Arc<Tables>,
    write: Write<'t>,
    plan: Plan,
    /// Whether a batch was handed over.
    is_begun: &'r mut bool,
    sums: Vec<RebuiltTable>,
    /// Pages with changed in-links, in order.
    changes: Vec<PageChange>,
    progress: &'r mut dyn FnMut(&'static str, u64),
}

impl Rebuilder<'_, '_> {
    /// Lists rebuilt tables, including those that turn out to have no rows.
    fn begin(&mut self, tables: &[Table]) {
        for table in tables {
            self.sum(*table);
        }
    }

    fn sum(&mut self, table: Table) -> &mut RebuiltTable {
        let name = table.name();
        let known = self.sums.iter().position(|sum| sum.table == name);
        let at = known.unwrap_or_else(|| {
            self.sums.push(RebuiltTable {
                table: name,
                rows: 0,
                rows_repaired: 0,
            });
            self.sums.len() - 1
        });
        &mut self.sums[at]
    }

    /// Counts a compared row that the table must have.
    fn compared(&mut self, table: Table) {
        let sum = self.sum(table);
        sum.rows += 1;
        let rows = sum.rows;
        if rows.is_multiple_of(1 << 12) {
            (self.progress)(table.name(), rows);
        }
    }

    fn put(&mut self, table: Table, key: impl Into<UserKey>, value: impl Into<UserValue>) {
        self.sum(table).rows_repaired += 1;
        self.write.put(table, key, value);
    }

    fn remove(&mut self, table: Table, key: impl Into<UserKey>) {
        self.sum(table).rows_repaired += 1;
        self.write.remove(table, key);
    }

    fn changed(&mut self, change: PageChange) {
        // Keeps one change more than the maximum, to show that there were more.
        if self.changes.len() <= CHANGES_MAX {
            self.changes.push(change);
        }
    }

    /// Hands the rows over if there are many. Must not be called between rows that depend on each
    /// other.
    fn flush_if_full(&mut self) -> Result<(), Failure> {
        if self.write.len() >= BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.write.len() == 0 {
            return Ok(());
        }
        let mut write = std::mem::replace(&mut self.write, Write::new(self.tables));
        if !*self.is_begun {
            write.put(Table::Meta, REBUILDING_ROW, self.plan.encode());
        }
        self.tables.wait_for_room()?;
        *self.is_begun = true;
        write.commit()?;
        self.tables.written();
        crash::rebuilding_point("rebuild.after_batch");
        Ok(())
    }
}
