//! Rows of a table in memory, column by column, for engines that take them as they are instead of reading files.

use crate::rows::{Column, Rows, Values};
use crate::tables::{Fact, Table};

/// Rows of one table, in the order in which they were added.
#[derive(Debug)]
pub struct TableRows {
    table: Table,
    rows: Rows,
}

impl TableRows {
    /// No rows yet.
    pub fn new(table: Table) -> TableRows {
        TableRows {
            table,
            rows: Rows::new(table.fields()),
        }
    }

    /// Appends the rows that a capture has in this table: one, many (`links`) or none.
    pub fn add(&mut self, fact: &Fact<'_>, epoch: u64) {
        match self.table {
            Table::Captures => fact.capture_row(epoch, &mut self.rows),
            Table::Links => fact.link_rows(epoch, &mut self.rows),
            Table::Texts => fact.text_row(epoch, &mut self.rows),
        }
    }

    /// The table that they belong to.
    pub fn table(&self) -> Table {
        self.table
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of their texts, which are most of the memory that they take.
    pub fn text_bytes(&self) -> usize {
        let bytes = |column: &Column| match &column.values {
            Values::Text { bytes, .. } => bytes.len(),
            Values::Int(_) | Values::Long(_) | Values::Bool(_) => 0,
        };
        self.rows.columns.iter().map(bytes).sum()
    }

    /// The columns, in the order of [`Table::fields`].
    pub fn into_columns(self) -> Vec<Column> {
        self.rows.columns
    }
}
