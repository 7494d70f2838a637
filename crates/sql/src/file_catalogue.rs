//! Opens the catalogue of files for statements that read its tables.
//!
//! Only one process at a time can have a catalogue open. Invariants: the plan of a statement that
//! reads one of its tables opens it, and the end of the last such statement closes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use catalogue::{Catalogue, CatalogueSettings, retry_while_in_use, wait_max};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;

use crate::error::{SqlError, thread_error};
use crate::file_conditions::pushdown_of;
use crate::file_exec::file_exec;
use crate::file_tables::FileTable;

/// Name of the catalogue's folder in an archive's directory.
const FOLDER: &str = "files";

/// Size of the row cache; small, because most rows are read once.
const CACHE_SIZE_BYTES: u64 = 16 << 20;

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
