//! The tables of the catalogue of files. Their names and columns are known without opening it.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{Schema, SchemaRef};

use crate::file_columns::{file_columns, file_name_columns};
use crate::file_usage;

/// A table of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTable {
    /// One row per file.
    Files,
    /// One row per name of a file.
    FileNames,
    /// Totals over files.
    FileUsage,
}

static FILES: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(
        file_columns().map(|column| column.field()).collect::<Vec<_>>(),
    ))
});
static FILE_NAMES: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(
        file_name_columns()
            .map(|column| column.field())
            .collect::<Vec<_>>(),
    ))
});

impl FileTable {
    /// All tables of the catalogue.
    pub const ALL: [FileTable; 3] = [FileTable::Files, FileTable::FileNames, FileTable::FileUsage];

    /// Returns its name in statements.
    pub fn name(self) -> &'static str {
        match self {
            FileTable::Files => "files",
            FileTable::FileNames => "file_names",
            FileTable::FileUsage => "file_usage",
        }
    }

    /// Returns the table with this name.
    pub fn named(name: &str) -> Option<FileTable> {
        FileTable::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns its columns.
    pub fn schema(self) -> SchemaRef {
        match self {
            FileTable::Files => FILES.clone(),
            FileTable::FileNames => FILE_NAMES.clone(),
            FileTable::FileUsage => file_usage::schema(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TABLES;

    #[test]
    fn every_table_has_its_name_and_columns() {
        for table in FileTable::ALL {
            assert_eq!(FileTable::named(table.name()), Some(table));
            assert!(TABLES.iter().any(|info| info.name == table.name()));
            assert!(!table.schema().fields().is_empty());
        }
        assert_eq!(FileTable::named("pages"), None);
    }
}
