//! Live views as tables.

use std::fmt;
use std::sync::Arc;

use archive::Cut;
use archive::question::DumpRange;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::keys;
use crate::live_exec::live_exec;
use crate::tables::LiveTable;

/// A live view of the cut that a statement holds.
pub(crate) struct LiveTableProvider {
    pub(crate) table: LiveTable,
    pub(crate) cut: Arc<Cut>,
    /// Restriction to the keys of a table function.
    pub(crate) range: DumpRange,
}

impl fmt::Debug for LiveTableProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of epoch {}", self.table.view.name(), self.cut.epoch())
    }
}

impl LiveTableProvider {
    fn range_of(&self, filter: &Expr) -> Option<DumpRange> {
        keys::range_of(filter, self.table.key_column()?)
    }
}

#[async_trait]
impl TableProvider for LiveTableProvider {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.range_of(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
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
        let mut range = self.range.clone();
        for filter in filters.iter().filter_map(|filter| self.range_of(filter)) {
            range = keys::both(&range, &filter);
        }
        let projection = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.table.schema().fields().len()).collect(),
        };
        let exec = live_exec(self.table, self.cut.clone(), range, &projection)?;
        Ok(Arc::new(exec.up_to(limit)))
    }
}
