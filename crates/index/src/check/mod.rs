//! Checks the index: its files, and the tables that are derived from other tables.
//!
//! Data derived from the records themselves is compared by the caller that reads them
//! (`weft verify`): views by their [`Fingerprints`] and, where these differ, by [`Snapshot::dump`]
//! and [`Snapshot::dump_details`].

mod damage;
mod derived;
mod files;
mod found;
mod groups;
mod originals;
mod past_links;

pub use damage::Damage;

use crate::error::{DumpError, SnapshotError};
use crate::fingerprint::Fingerprints;
use crate::snapshot::Snapshot;
use crate::tables::Table;

/// The result of [`Snapshot::check`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexCheck {
    /// Files and tables that differ from their written state.
    pub damages: Vec<Damage>,
    /// Fingerprints of the views; valid if there is no damage.
    ///
    /// Captures, versions and links are counted from their tables, captured keys from the URIs.
    /// Without damage all other views follow from these: URIs and their in-links agree with
    /// captures and links, domains and rankings with URIs. The dumps of `pages`, `inlinks` and
    /// `top` are these rows joined or in another order.
    pub fingerprints: Fingerprints,
    /// Number of rows of `uris`.
    pub uris: u64,
    /// Number of rows of `domains`.
    pub domains: u64,
}

impl Snapshot {
    /// Compares every file of every table with its checksum. Then compares the derived tables
    /// (in-links, page marks, domains, rankings, past texts, rendered texts, past links, references)
    /// with the tables that they are derived from. Memory is bounded. Reports the first difference
    /// in each derived table.
    ///
    /// # Errors
    /// [`DumpError`] if the check cannot be done: there is no room for sorting, or the index is
    /// closed.
    pub fn check(&self) -> Result<IndexCheck, DumpError> {
        let Some(tables) = self.cut().tables() else {
            // Any read returns the reason.
            self.ledger()?;
            return Ok(IndexCheck::default());
        };
        let mut damages = Damages(files::check(tables));
        let captures = damages.readable(found::captures(self))?;
        let index_lines = damages.readable(found::index_lines(self))?;
        let versions = damages.readable(found::versions(self))?;
        let links = damages.readable(found::links(self))?;
        let uris = damages.readable(found::uris(self))?;
        let domains = damages.readable(found::domains(self))?;
        if let (Some(links), Some(uris)) = (&links, &uris)
            && !(uris.counts_agree && links.pairs == uris.pairs)
        {
            damages.explained(derived::inlinks(self), Table::Inlinks)?;
        }
        if let (Some(links), Some(uris)) = (&links, &uris)
            && links.said != uris.said
        {
            damages.explained(derived::anchors(self), Table::Anchors)?;
        }
        if let (Some(versions), Some(uris)) = (&versions, &uris)
            && (versions.pages, versions.documents) != (uris.pages, uris.documents)
        {
            damages.explained(derived::page_marks(self), Table::Uris)?;
        }
        if let (Some(domains), Some(uris)) = (&domains, &uris)
            && domains.counts != uris.domains
        {
            damages.add(Damage::of(
                Table::Domains,
                "the counts do not match the URIs".into(),
            ));
        }
        damages.add_all(uris.as_ref().and_then(|uris| uris.stray.clone()));
        damages.add_all(uris.as_ref().and_then(|uris| uris.stray_anchors.clone()));
        damages.checked(derived::rankings(self))?;
        damages.checked(derived::past_texts(self))?;
        damages.checked(derived::rendered_texts(self))?;
        damages.checked(past_links::past_links(self))?;
        damages.checked(originals::references(self))?;
        let (versions, uris) = (versions.unwrap_or_default(), uris.unwrap_or_default());
        Ok(IndexCheck {
            damages: damages.0,
            fingerprints: Fingerprints {
                captures: captures.unwrap_or_default(),
                captured: uris.captured,
                versions: versions.all,
                pages: versions.pages,
                links: links.unwrap_or_default().all,
                index_lines: index_lines.unwrap_or_default(),
            },
            uris: uris.rows,
            domains: domains.unwrap_or_default().rows,
        })
    }
}

/// The damage found so far.
struct Damages(Vec<Damage>);

impl Damages {
    fn add(&mut self, damage: Damage) {
        // A damaged file already explains unreadable rows of its table.
        if !self.0.iter().any(|known| known.table == damage.table) {
            self.0.push(damage);
        }
    }

    fn add_all(&mut self, damages: impl IntoIterator<Item = Damage>) {
        damages.into_iter().for_each(|damage| self.add(damage));
    }

    /// Returns the result of a read, or records its failure as damage.
    fn readable<T>(&mut self, read: Result<T, SnapshotError>) -> Result<Option<T>, SnapshotError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) => {
                self.add(unreadable(error)?);
                Ok(None)
            }
        }
    }

    /// Records the first difference in a table, or its failure to be read.
    fn checked(&mut self, difference: Result<Option<Damage>, DumpError>) -> Result<(), DumpError> {
        self.add_all(match difference {
            Err(DumpError::Snapshot(error)) => Some(unreadable(error)?),
            other => other?,
        });
        Ok(())
    }

    /// Records the first difference in a table that does not agree with another. Without one,
    /// records only the table.
    fn explained(
        &mut self,
        difference: Result<Option<Damage>, DumpError>,
        table: Table,
    ) -> Result<(), DumpError> {
        self.add(match difference {
            Ok(Some(damage)) => damage,
            Ok(None) => Damage::of(table, "does not match the tables from which it is derived".into()),
            Err(DumpError::Snapshot(error)) => unreadable(error)?,
            Err(error) => return Err(error),
        });
        Ok(())
    }
}

/// Converts a failed read to damage of its table.
fn unreadable(error: SnapshotError) -> Result<Damage, SnapshotError> {
    let damage = |table, detail: String| Ok(Damage { table, detail });
    match error {
        SnapshotError::Engine { table, detail } | SnapshotError::Damaged { table, detail } => {
            damage(table, detail)
        }
        SnapshotError::Corrupt { table, key, detail } => {
            damage(table, format!("row with key {key}: {detail}"))
        }
        closed => Err(closed),
    }
}
