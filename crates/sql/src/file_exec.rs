//! Reads a table of the catalogue of files in batches.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use catalogue::{Catalogue, CatalogueError, Kind, Name, NameCondition};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use system::users::Names;

use crate::SqlError;
use crate::file_columns::{FileColumn, Needs, Row, Rows, of_files};
use crate::file_tables::FileTable;
use crate::file_usage;

/// Number of batches buffered before the reader blocks.
const BATCHES_WAITING_MAX: usize = 2;

/// Rows per batch.
const BATCH_ROWS: usize = 8192;

/// A scan of a table.
#[derive(Clone)]
pub(crate) struct FileExec {
    table: FileTable,
    catalogue: Arc<Catalogue>,
    conditions: Vec<NameCondition>,
    projection: Vec<usize>,
    rows_max: Option<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FileExec {
    pub(crate) fn new(
        table: FileTable,
        catalogue: Arc<Catalogue>,
        conditions: Vec<NameCondition>,
        projection: Vec<usize>,
    ) -> Result<FileExec> {
        let schema = Arc::new(table.schema().project(&projection)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(FileExec {
            table,
            catalogue,
            conditions,
            projection,
            rows_max: None,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Limits the number of rows.
    pub(crate) fn up_to(mut self, rows_max: Option<usize>) -> FileExec {
        self.rows_max = rows_max;
        self
    }

    /// Passes all rows to `give`, which returns whether it accepts more.
    fn read(&self, mut give: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        if self.table == FileTable::FileUsage {
            give(file_usage::rows(
                &self.catalogue,
                &self.projection,
                self.rows_max,
            )?);
            return Ok(());
        }
        // The columns of `file_names` are the first of `files`.
        let all: Vec<FileColumn> = of_files().collect();
        let columns: Vec<FileColumn> = self.projection.iter().map(|&place| all[place]).collect();
        let mut reading = Reading {
            catalogue: &self.catalogue,
            left: self.rows_max.unwrap_or(usize::MAX),
            is_once: self.table == FileTable::Files,
            needs: columns.iter().map(|column| column.needs).collect(),
            names: Names::default(),
            rows: Rows::new(&columns, self.schema.clone()),
        };
        if reading.left == 0 {
            return Ok(());
        }
        let read = self
            .catalogue
            .each_name(&self.conditions, |name| reading.take(name, &mut give));
        match read {
            Ok(()) if reading.rows.count() == 0 => {}
            Ok(()) => {
                give(reading.rows.batch()?);
            }
            Err(Ended::Enough) => {}
            Err(Ended::Catalogue(error)) => return Err(SqlError::Files(error).into()),
            Err(Ended::Arrow(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

/// The reason why a scan ended before the last name.
enum Ended {
    Enough,
    Catalogue(CatalogueError),
    Arrow(ArrowError),
}

impl From<CatalogueError> for Ended {
    fn from(error: CatalogueError) -> Ended {
        Ended::Catalogue(error)
    }
}

/// The state of a scan.
struct Reading<'a> {
    catalogue: &'a Catalogue,
    /// Number of rows still wanted, not 0.
    left: usize,
    /// Whether a file with several names is one row.
    is_once: bool,
    needs: Vec<Needs>,
    names: Names,
    rows: Rows,
}

impl Reading<'_> {
    fn take(&mut self, name: Name<'_>, give: &mut impl FnMut(RecordBatch) -> bool) -> Result<(), Ended> {
        if self.is_once && !self.catalogue.counts_with(&name)? {
            return Ok(());
        }
        let file = &name.found.attributes;
        let digest = if file.kind == Kind::File && self.needs.contains(&Needs::Content) {
            self.catalogue.known(file)?
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
            let batch = self.rows.batch().map_err(Ended::Arrow)?;
            if !give(batch) || self.left == 0 {
                return Err(Ended::Enough);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FileExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileExec").finish_non_exhaustive()
    }
}

impl DisplayAs for FileExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileExec: {} of the catalogue of files", self.table.name())?;
        for condition in &self.conditions {
            let (what, path) = match condition {
                NameCondition::Is(path) => ("path", path),
                NameCondition::Begins(path) => ("path begins with", path),
                NameCondition::In(path) => ("directory", path),
            };
            write!(f, ", {what} \"{}\"", path.escape_ascii())?;
        }
        if let Some(rows_max) = self.rows_max {
            write!(f, ", at most {rows_max} rows")?;
        }
        Ok(())
    }
}

#[async_trait]
impl ExecutionPlan for FileExec {
    fn name(&self) -> &'static str {
        "FileExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() {
            Ok(self)
        } else {
            internal_err!("a table of files has no children")
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn fetch(&self) -> Option<usize> {
        self.rows_max
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(self.clone().up_to(limit)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema.clone(), BATCHES_WAITING_MAX);
        let (exec, batches) = (self.clone(), stream.tx());
        stream.spawn_blocking(move || {
            let read = exec.read(|batch| {
                metrics.record_output(batch.num_rows());
                // Fails if the receiver has enough rows and is gone.
                batches.blocking_send(Ok(batch)).is_ok()
            });
            metrics.done();
            read
        });
        Ok(stream.build())
    }
}
