//! Reads a live view in batches, as a partial dump from the owner of the archive.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use archive::Cut;
use archive::question::{DumpFormat, DumpRange};
use async_trait::async_trait;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};

use crate::SqlError;
use crate::rows::RowSink;
use crate::tables::LiveTable;

/// Number of batches buffered before the dump blocks.
const BATCHES_WAITING_MAX: usize = 2;

/// A dump as an execution plan.
#[derive(Clone)]
pub(crate) struct LiveExec {
    table: LiveTable,
    cut: Arc<Cut>,
    range: DumpRange,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LiveExec {
    pub(crate) fn new(
        table: LiveTable,
        cut: Arc<Cut>,
        range: DumpRange,
        projection: Vec<usize>,
    ) -> Result<LiveExec> {
        let schema = Arc::new(table.schema().project(&projection)?);
        // The rows are sorted by those leading columns of the order that are read.
        let sorted = table.order().iter().map_while(|&(name, descending)| {
            let place = schema.index_of(name).ok()?;
            let options = SortOptions {
                descending,
                nulls_first: false,
            };
            Some(PhysicalSortExpr::new(Arc::new(Column::new(name, place)), options))
        });
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(schema.clone(), LexOrdering::new(sorted)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(LiveExec {
            table,
            cut,
            range,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Limits the number of rows.
    pub(crate) fn up_to(mut self, rows_max: Option<usize>) -> LiveExec {
        self.range.rows_max = rows_max.map(|rows| rows as u64);
        self
    }
}

impl fmt::Debug for LiveExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveExec").finish_non_exhaustive()
    }
}

impl DisplayAs for LiveExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "LiveExec: {} of epoch {}",
            self.table.view.name(),
            self.cut.epoch()
        )?;
        if let Some(from) = &self.range.from {
            write!(f, ", from {from:?}")?;
        }
        if let Some(to) = &self.range.to {
            write!(f, ", up to {to:?}")?;
        }
        if let Some(rows_max) = self.range.rows_max {
            write!(f, ", at most {rows_max} rows")?;
        }
        Ok(())
    }
}

#[async_trait]
impl ExecutionPlan for LiveExec {
    fn name(&self) -> &'static str {
        "LiveExec"
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
            internal_err!("a live view has no children")
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
        self.range
            .rows_max
            .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX))
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
        let (table, cut, range) = (self.table, self.cut.clone(), self.range.clone());
        let (schema, batches) = (self.schema.clone(), stream.tx());
        stream.spawn_blocking(move || {
            let whole = table.schema();
            let names: Vec<&str> = whole.fields().iter().map(|field| field.name().as_str()).collect();
            let mut is_unwanted = false;
            let mut sink = RowSink::new(&names, schema, |batch| {
                metrics.record_output(batch.num_rows());
                batches.blocking_send(Ok(batch)).map_err(|_| {
                    is_unwanted = true;
                    io::Error::from(ErrorKind::BrokenPipe)
                })
            });
            let dumped = cut.dump(table.view, range, DumpFormat::Tsv, &mut sink);
            let finished = match dumped {
                Ok(_) => sink
                    .finish()
                    .map_err(|error| SqlError::Execution(error.to_string()).into()),
                Err(error) => Err(SqlError::Ask(error).into()),
            };
            metrics.done();
            // The receiver has enough rows and is gone.
            if is_unwanted { Ok(()) } else { finished }
        });
        Ok(stream.build())
    }
}
