//! Whether the index is as it was written: its files, and the tables that follow from other tables.
//!
//! What follows from the records themselves is compared by who has them (`weft verify`): views by
//! [`Snapshot::dump`], the rest by [`Snapshot::dump_details`].

mod damage;
mod derived;
mod files;

pub use damage::Damage;

use crate::error::{DumpError, SnapshotError};
use crate::snapshot::Snapshot;

impl Snapshot {
    /// Compares every file of every table with its checksum, from end to end; then the tables that follow from others
    /// (in-links, rankings) with what they follow from. Memory is bounded; of each such table the first difference
    /// is told.
    ///
    /// # Errors
    /// [`DumpError`] where it cannot be said: there is no room for sorting, or the index is closed.
    pub fn check(&self) -> Result<Vec<Damage>, DumpError> {
        let Some(tables) = self.cut().tables() else {
            // Any read says why.
            self.ledger()?;
            return Ok(Vec::new());
        };
        let mut damages = files::check(tables);
        for check in [derived::inlinks, derived::page_marks, derived::rankings] {
            let found = match check(self) {
                Err(DumpError::Snapshot(error)) => Some(unreadable(error)?),
                other => other?,
            };
            // A damaged file explains what cannot be read of its table.
            damages.extend(found.filter(|found| !damages.iter().any(|known| known.table == found.table)));
        }
        Ok(damages)
    }
}

/// What cannot be read as damage of its table.
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
