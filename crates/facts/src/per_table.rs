//! A value for each table.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

use crate::tables::Table;

/// A value for each table, by [`Table`]. It is written as a list in the order of [`Table::ALL`].
///
/// A list of an older version may be shorter: the tables that it lacks get the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<T>", bound(deserialize = "T: Default + Deserialize<'de>"))]
pub struct PerTable<T>([T; Table::COUNT]);

impl<T: Default> TryFrom<Vec<T>> for PerTable<T> {
    type Error = String;

    fn try_from(values: Vec<T>) -> Result<PerTable<T>, String> {
        if values.len() > Table::COUNT {
            let found = values.len();
            return Err(format!("{found} tables, expected at most {}", Table::COUNT));
        }
        let mut values = values.into_iter();
        Ok(PerTable(Table::ALL.map(|_| values.next().unwrap_or_default())))
    }
}

impl<T> Index<Table> for PerTable<T> {
    type Output = T;

    fn index(&self, table: Table) -> &T {
        &self.0[table as usize]
    }
}

impl<T> IndexMut<Table> for PerTable<T> {
    fn index_mut(&mut self, table: Table) -> &mut T {
        &mut self.0[table as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_an_older_version_lacks_get_the_default() {
        let older: PerTable<u64> = serde_json::from_str("[7]").unwrap();
        assert_eq!((older[Table::Captures], older[Table::Links]), (7, 0));
        assert_eq!(serde_json::to_string(&older).unwrap(), "[7,0,0]");
        assert!(serde_json::from_str::<PerTable<u64>>("[1,2,3,4]").is_err());
    }
}
