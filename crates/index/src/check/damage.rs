//! Damage that a check finds.

use std::fmt;

use crate::tables::Table;

/// A table that differs from its written state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The table.
    pub table: &'static str,
    /// The found and the expected state.
    pub detail: String,
}

impl Damage {
    pub(super) fn of(table: Table, detail: String) -> Damage {
        let table = table.name();
        Damage { table, detail }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}: {}", self.table, self.detail)
    }
}
