//! Rows of a table in memory, column by column, for engines that use them directly instead of
//! reading files.

use crate::rows::{Column, Rows, Values};
use crate::tables::{Fact, Table};

/// Rows of one table, in the order in which they were added.
#[derive(Debug)]
pub struct TableRows {
    table: Table,
    rows: Rows,
}

impl TableRows {
    /// Creates an empty buffer.
    pub fn new(table: Table) -> TableRows {
        TableRows {
            table,
            rows: Rows::new(table.fields()),
        }
    }

    /// Appends the rows of a capture in this table: one, many (`links`) or none.
    pub fn add(&mut self, fact: &Fact<'_>, epoch: u64) {
        fact.add_rows(self.table, epoch, &mut self.rows);
    }

    /// The table of the rows.
    pub fn table(&self) -> Table {
        self.table
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Size of their texts in bytes, which is most of their memory.
    pub fn text_bytes(&self) -> usize {
        let bytes = |column: &Column| match &column.values {
            Values::Text { bytes, .. } => bytes.len(),
            Values::Int(_) | Values::Long(_) | Values::Bool(_) => 0,
        };
        self.rows.columns.iter().map(bytes).sum()
    }

    /// Returns the columns, in the order of [`Table::fields`].
    pub fn into_columns(self) -> Vec<Column> {
        self.rows.columns
    }
}
