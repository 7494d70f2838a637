//! Upgrades an index of format 3 or older to format 4, in which sources have numbers
//! ([`crate::views::sources`]).
//!
//! Row `renumbering` of table `meta` is committed with the new format, before any other change, and
//! removed with the last change. An index with this row is not used before the upgrade is complete.
//! Each step is a separate engine batch and recognises the work of earlier steps: a source that has
//! a number keeps it, and a URI has either the old or the new format. So the upgrade may be
//! interrupted anywhere, and continues when the index is opened again.
//!
//! All sources get numbers of epoch 0, which no epoch of an archive has, in the order of their
//! keys.

use std::path::Path;
use std::sync::Arc;

use fjall::PersistMode;

use crate::codec::{self, Corrupt, Reader};
use crate::crash;
use crate::cut::{Cut, Row};
use crate::error::{OpenError, SnapshotError};
use crate::ids::Epoch;
use crate::tables::{Table, Tables};
use crate::views::anchors::Anchors;
use crate::views::inlinks::{self, Sources};
use crate::views::links;
use crate::views::sources::{Numbering, SourceId};
use crate::views::uris::{self, Counts, UriState};
use crate::write::Write;

/// Key of the row in table `meta` that marks an unfinished upgrade.
pub(crate) const RENUMBERING_ROW: &str = "renumbering";

/// Rows in a batch: a multiple of the sources in a row of `sources`.
const BATCH_ROWS: usize = if cfg!(test) { 16 } else { 4096 };

/// First byte of a row of `uris` with keys of sources.
const OLD_URI_VERSION: u8 = 1;
const CAPTURED: u8 = 1;
const IS_PAGE: u8 = 2;
const SPILLED: u8 = 4;

/// Finishes the upgrade, if there is one.
pub(crate) fn finish(tables: &Arc<Tables>, dir: &Path) -> Result<(), OpenError> {
    let is_begun = Cut::take(tables).contains(Table::Meta, RENUMBERING_ROW.as_bytes())?;
    if !is_begun {
        return Ok(());
    }
    tracing::warn!(
        dir = %dir.display(),
        "upgrading the index to the format of this version, once; this takes about a minute per million pages"
    );
    let renumbering = Renumbering { tables, dir };
    renumbering.links()?;
    crash::renumbering_point("renumber.after_links");
    renumbering.uris()?;
    crash::renumbering_point("renumber.before_end");
    let mut write = Write::new(tables);
    write.remove(Table::Meta, RENUMBERING_ROW);
    renumbering.commit(write)?;
    let synced = tables.db.persist(PersistMode::SyncAll);
    synced.map_err(|e| renumbering.failed(&e))
}

struct Renumbering<'t> {
    tables: &'t Arc<Tables>,
    dir: &'t Path,
}

impl Renumbering<'_> {
    /// Assigns a number to every source.
    fn links(&self) -> Result<(), OpenError> {
        let cut = Cut::take(self.tables);
        let mut next = SourceId::default();
        let mut rows = Vec::with_capacity(BATCH_ROWS);
        for row in cut.iter(Table::Links) {
            let (key, value) = row?;
            match cut.decode(Table::Links, &key, links::split_head(&value))? {
                // Batches are written in order: all sources before the first one without a number
                // have theirs.
                Some(_) => next.place += 1,
                None => rows.push((key, value)),
            }
            if rows.len() == BATCH_ROWS {
                next = self.number(&cut, next, &rows)?;
                rows.clear();
            }
        }
        self.number(&cut, next, &rows)?;
        Ok(())
    }

    /// Numbers the sources of these rows from `next` on, and returns the number after the last.
    fn number(&self, cut: &Cut, next: SourceId, rows: &[Row]) -> Result<SourceId, OpenError> {
        if rows.is_empty() {
            return Ok(next);
        }
        let mut write = Write::new(self.tables);
        let (mut numbering, mut last) = (Numbering::from(next), next);
        for (key, value) in rows {
            let source = cut.decode(Table::Links, key, codec::to_text(key))?;
            last = numbering.give(&mut write, &source);
            let mut row = links::head(last);
            row.extend_from_slice(value);
            write.put(Table::Links, key.clone(), row);
            last.place += 1;
        }
        numbering.finish(&mut write);
        self.commit(write)?;
        Ok(last)
    }

    /// Replaces the keys of sources by numbers.
    fn uris(&self) -> Result<(), OpenError> {
        let cut = Cut::take(self.tables);
        let mut write = Write::new(self.tables);
        for row in cut.iter(Table::Uris) {
            let (key, value) = row?;
            if value.first() != Some(&OLD_URI_VERSION) {
                continue;
            }
            let uri = cut.decode(Table::Uris, &key, OldUri::decode(&value))?;
            let sources = match uri.sources {
                OldSources::Inline(sources) => Sources::Inline(numbers(&cut, sources)?),
                OldSources::Spilled(number) => self.spilled(&cut, &mut write, number)?,
            };
            let now = UriState {
                captured: uri.flags & CAPTURED != 0,
                is_page: uri.flags & IS_PAGE != 0,
                is_document: false,
                counts: uri.counts,
                sources,
                // Rebuilt from the links after all have their numbers: see `rebuild`.
                anchors: Anchors::default(),
            };
            write.put(Table::Uris, key, uris::encode(&now));
            if write.len() >= BATCH_ROWS {
                self.commit(std::mem::replace(&mut write, Write::new(self.tables)))?;
            }
        }
        self.commit(write)
    }

    fn spilled(&self, cut: &Cut, write: &mut Write<'_>, number: u64) -> Result<Sources, OpenError> {
        let mut keys = Vec::new();
        for row in cut.prefix(Table::Inlinks, &number.to_be_bytes()) {
            let (row_key, _) = row?;
            keys.push(cut.decode(Table::Inlinks, &row_key, codec::to_text(&row_key[8..]))?);
            write.remove(Table::Inlinks, row_key);
        }
        let sources = numbers(cut, keys.iter().map(String::as_str))?;
        if !sources.is_empty() {
            inlinks::put(write, number, Epoch(0), sources.iter().map(|source| source.place));
        }
        Ok(Sources::Spilled(number))
    }

    fn commit(&self, write: Write<'_>) -> Result<(), OpenError> {
        let done = self.tables.wait_for_room().and_then(|()| write.commit());
        done.map_err(|e| self.failed(&e))?;
        self.tables.written();
        crash::renumbering_point("renumber.after_batch");
        Ok(())
    }

    fn failed(&self, error: &fjall::Error) -> OpenError {
        OpenError::engine("upgrade the format of", self.dir, error)
    }
}

/// Returns the numbers of sources with these keys, in key order, which is also the order of the
/// numbers.
fn numbers<'k>(cut: &Cut, keys: impl IntoIterator<Item = &'k str>) -> Result<Vec<SourceId>, SnapshotError> {
    let number = |key: &str| {
        let row = cut.get(Table::Links, key.as_bytes())?;
        let number = row.ok_or(Corrupt("a source without links")).and_then(|row| {
            links::split_head(&row)?
                .map(|(id, _)| id)
                .ok_or(Corrupt("a source without a number"))
        });
        cut.decode(Table::Links, key.as_bytes(), number)
    };
    let mut numbers = keys.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// A row of `uris` of format 3 or older.
struct OldUri<'r> {
    flags: u8,
    counts: Counts,
    sources: OldSources<'r>,
}

enum OldSources<'r> {
    Inline(Vec<&'r str>),
    Spilled(u64),
}

impl OldUri<'_> {
    fn decode(row: &[u8]) -> Result<OldUri<'_>, Corrupt> {
        let mut r = Reader::versioned(row, OLD_URI_VERSION)?;
        let flags = r.u8()?;
        let counts = Counts {
            inlinks: r.varint()?,
            inlinks_external: r.varint()?,
        };
        let sources = if flags & SPILLED != 0 {
            OldSources::Spilled(r.varint()?)
        } else {
            let mut sources = Vec::new();
            while !r.is_empty() {
                sources.push(r.str()?);
            }
            OldSources::Inline(sources)
        };
        Ok(OldUri {
            flags,
            counts,
            sources,
        })
    }
}
