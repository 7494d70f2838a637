//! What a check finds.

use std::fmt;

use crate::tables::Table;

/// Something in a table that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The table.
    pub table: &'static str,
    /// What was found, and what was expected.
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
