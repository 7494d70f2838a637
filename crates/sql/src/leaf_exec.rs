//! Execution plans without inputs: a [`RowSource`] produces batches on a blocking thread.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
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

/// Number of batches buffered before the source blocks.
const BATCHES_WAITING_MAX: usize = 2;

/// The rows of a [`LeafExec`].
pub(crate) trait RowSource: Clone + Send + Sync + 'static {
    /// Name of the plan.
    const NAME: &'static str;

    /// Writes what is read, without the name of the plan and the number of rows.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Returns the maximum number of rows, if it is limited.
    fn rows_max(&self) -> Option<usize>;

    /// Limits the number of rows.
    fn set_rows_max(&mut self, rows_max: Option<usize>);

    /// Passes all rows, with the columns of `schema`, to `give`, which returns whether it accepts
    /// more. Blocks.
    ///
    /// # Errors
    /// Fails if the rows are unreadable, but not because `give` accepts no more.
    fn read(&self, schema: &SchemaRef, give: impl FnMut(RecordBatch) -> bool) -> Result<()>;
}

/// A source of rows as an execution plan with one partition.
#[derive(Clone)]
pub(crate) struct LeafExec<S> {
    source: S,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl<S: RowSource> LeafExec<S> {
    /// Makes the plan of a source. `equivalences` has the schema and the order of its rows.
    pub(crate) fn new(source: S, equivalences: EquivalenceProperties) -> LeafExec<S> {
        let schema = equivalences.schema().clone();
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        LeafExec {
            source,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Limits the number of rows.
    pub(crate) fn up_to(mut self, rows_max: Option<usize>) -> LeafExec<S> {
        self.source.set_rows_max(rows_max);
        self
    }
}

impl<S: RowSource> fmt::Debug for LeafExec<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(S::NAME).finish_non_exhaustive()
    }
}

impl<S: RowSource> DisplayAs for LeafExec<S> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", S::NAME)?;
        self.source.describe(f)?;
        if let Some(rows_max) = self.source.rows_max() {
            write!(f, ", at most {rows_max} rows")?;
        }
        Ok(())
    }
}

#[async_trait]
impl<S: RowSource> ExecutionPlan for LeafExec<S> {
    fn name(&self) -> &'static str {
        S::NAME
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
            internal_err!("{} has no children", S::NAME)
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
        self.source.rows_max()
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
        let (source, schema, batches) = (self.source.clone(), self.schema.clone(), stream.tx());
        stream.spawn_blocking(move || {
            let read = source.read(&schema, |batch| {
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
