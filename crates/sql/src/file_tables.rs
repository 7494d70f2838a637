//! The catalogue of files as tables.
//!
//! Only one process at a time can have a catalogue open. Invariants: the plan of a statement that
//! reads one of its tables opens it, and the end of the last such statement closes it. The names
//! and columns of the tables are known without opening it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};

use async_trait::async_trait;
use catalogue::{Catalogue, CatalogueSettings, retry_while_in_use, wait_max};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;

use crate::SqlError;
use crate::database::thread_error;
use crate::file_columns::{file_columns, file_name_columns};
use crate::file_conditions::pushdown_of;
use crate::file_exec::file_exec;
use crate::file_usage;

/// Name of the catalogue's folder in an archive's directory.
const FOLDER: &str = "files";

/// Size of the row cache; small, because most rows are read once.
const CACHE_SIZE_BYTES: u64 = 16 << 20;

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

/// The catalogue in an archive's directory, open while statements read it.
pub(crate) struct FileCatalogue {
    dir: PathBuf,
    /// Shared by running statements, since other processes are locked out while it is open.
    open: Mutex<Weak<Catalogue>>,
}

impl FileCatalogue {
    pub(crate) fn of_archive(dir: &Path) -> Arc<FileCatalogue> {
        Arc::new(FileCatalogue {
            dir: dir.join(FOLDER),
            open: Mutex::default(),
        })
    }

    /// Returns whether the catalogue exists, by a single file system access.
    pub(crate) fn is_there(&self) -> bool {
        Catalogue::exists_in(&self.dir)
    }

    /// Returns the error for a statement that names a table of a missing catalogue.
    pub(crate) fn missing(&self) -> SqlError {
        SqlError::Files(catalogue::CatalogueError::Missing {
            dir: self.dir.clone(),
        })
    }

    /// Opens the catalogue. Blocks while other processes use it, so it must not be called on async
    /// threads.
    fn open(&self) -> Result<Arc<Catalogue>, SqlError> {
        let settings = CatalogueSettings {
            cache_size_bytes: CACHE_SIZE_BYTES,
        };
        // The lock is held only during one attempt, so that several statements can wait
        // concurrently.
        let opened = retry_while_in_use(wait_max(&self.dir), || {
            let mut open = self.open.lock();
            if let Some(catalogue) = open.upgrade() {
                return Ok(catalogue);
            }
            let catalogue = Arc::new(Catalogue::open(&self.dir, &settings)?);
            *open = Arc::downgrade(&catalogue);
            Ok(catalogue)
        });
        Ok(opened?)
    }
}

/// A table of the catalogue for one statement.
pub(crate) struct FileTableProvider {
    pub(crate) table: FileTable,
    pub(crate) catalogue: Arc<FileCatalogue>,
}

impl fmt::Debug for FileTableProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the catalogue of files", self.table.name())
    }
}

#[async_trait]
impl TableProvider for FileTableProvider {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match (self.table, pushdown_of(filter)) {
            (FileTable::FileUsage, _) | (_, None) => TableProviderFilterPushDown::Unsupported,
            (_, Some(pushdown)) if pushdown.is_exact => TableProviderFilterPushDown::Exact,
            (_, Some(_)) => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conditions = match self.table {
            FileTable::FileUsage => Vec::new(),
            FileTable::Files | FileTable::FileNames => filters
                .iter()
                .filter_map(|filter| Some(pushdown_of(filter)?.condition))
                .collect(),
        };
        let projection = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.table.schema().fields().len()).collect(),
        };
        let catalogue = self.catalogue.clone();
        let opened = system::blocking(move || catalogue.open()).await;
        let opened = opened.map_err(thread_error).flatten()?;
        let exec = file_exec(self.table, opened, conditions, projection)?;
        Ok(Arc::new(exec.up_to(limit)))
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
