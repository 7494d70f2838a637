//! Reads a table of the catalogue of files in batches.

use std::fmt;
use std::sync::Arc;

use catalogue::{Catalogue, CatalogueError, Kind, Name, NameCondition};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::physical_expr::EquivalenceProperties;
use system::users::Names;

use crate::SqlError;
use crate::file_columns::{FileColumn, Needs, Row, Rows, file_columns};
use crate::file_tables::FileTable;
use crate::file_usage;
use crate::leaf_exec::{LeafExec, RowSource};

/// Rows per batch.
const BATCH_ROWS: usize = 8192;

/// A scan of a table.
#[derive(Clone)]
pub(crate) struct FileScan {
    table: FileTable,
    catalogue: Arc<Catalogue>,
    conditions: Vec<NameCondition>,
    projection: Vec<usize>,
    rows_max: Option<usize>,
}

/// Returns the plan of a scan.
pub(crate) fn file_exec(
    table: FileTable,
    catalogue: Arc<Catalogue>,
    conditions: Vec<NameCondition>,
    projection: Vec<usize>,
) -> Result<LeafExec<FileScan>> {
    let schema = Arc::new(table.schema().project(&projection)?);
    let scan = FileScan {
        table,
        catalogue,
        conditions,
        projection,
        rows_max: None,
    };
    Ok(LeafExec::new(scan, EquivalenceProperties::new(schema)))
}

impl RowSource for FileScan {
    const NAME: &'static str = "FileExec";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the catalogue of files", self.table.name())?;
        for condition in &self.conditions {
            let (what, path) = match condition {
                NameCondition::Is(path) => ("path", path),
                NameCondition::Begins(path) => ("path begins with", path),
                NameCondition::In(path) => ("directory", path),
            };
            write!(f, ", {what} \"{}\"", path.escape_ascii())?;
        }
        Ok(())
    }

    fn rows_max(&self) -> Option<usize> {
        self.rows_max
    }

    fn set_rows_max(&mut self, rows_max: Option<usize>) {
        self.rows_max = rows_max;
    }

    fn read(&self, schema: &SchemaRef, mut give: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        if self.table == FileTable::FileUsage {
            give(file_usage::rows(
                &self.catalogue,
                &self.projection,
                self.rows_max,
            )?);
            return Ok(());
        }
        // The columns of `file_names` are the first of `files`.
        let all: Vec<FileColumn> = file_columns().collect();
        let columns: Vec<FileColumn> = self.projection.iter().map(|&place| all[place]).collect();
        let mut state = ScanState {
            catalogue: &self.catalogue,
            left: self.rows_max.unwrap_or(usize::MAX),
            is_once: self.table == FileTable::Files,
            needs: columns.iter().map(|column| column.needs).collect(),
            names: Names::default(),
            rows: Rows::new(&columns, schema.clone()),
        };
        if state.left == 0 {
            return Ok(());
        }
        let read = self
            .catalogue
            .each_name(&self.conditions, |name| state.take(name, &mut give));
        match read {
            Ok(()) if state.rows.count() == 0 => {}
            Ok(()) => {
                give(state.rows.batch()?);
            }
            Err(ScanEnd::Enough) => {}
            Err(ScanEnd::Catalogue(error)) => return Err(SqlError::Files(error).into()),
            Err(ScanEnd::Arrow(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

/// The reason why a scan ended before the last name.
enum ScanEnd {
    Enough,
    Catalogue(CatalogueError),
    Arrow(ArrowError),
}

impl From<CatalogueError> for ScanEnd {
    fn from(error: CatalogueError) -> ScanEnd {
        ScanEnd::Catalogue(error)
    }
}

/// The state of a scan.
struct ScanState<'a> {
    catalogue: &'a Catalogue,
    /// Number of rows still wanted, not 0.
    left: usize,
    /// Whether a file with several names is one row.
    is_once: bool,
    needs: Vec<Needs>,
    names: Names,
    rows: Rows,
}

impl ScanState<'_> {
    fn take(&mut self, name: Name<'_>, give: &mut impl FnMut(RecordBatch) -> bool) -> Result<(), ScanEnd> {
        if self.is_once && !self.catalogue.counts_with(&name)? {
            return Ok(());
        }
        let file = &name.found.attributes;
        let digest = if file.kind == Kind::File && self.needs.contains(&Needs::Content) {
            self.catalogue.current_digest(file)?
        } else {
            None
        };
        let owner = if self.needs.contains(&Needs::Owner) {
            self.names.user(file.uid).to_owned()
        } else {
            String::new()
        };
        let group = if self.needs.contains(&Needs::Group) {
            self.names.group(file.gid)
        } else {
            ""
        };
        self.rows.push(&Row {
            found: name.found,
            owner: &owner,
            group,
            digest: digest.as_ref(),
        });
        self.left -= 1;
        if self.left == 0 || self.rows.count() == BATCH_ROWS {
            let batch = self.rows.batch().map_err(ScanEnd::Arrow)?;
            if !give(batch) || self.left == 0 {
                return Err(ScanEnd::Enough);
            }
        }
        Ok(())
    }
}
