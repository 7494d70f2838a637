//! A table of facts whose scan is not given conditions without a column.
//!
//! `DeltaScan` of deltalake-core 1.1 takes a condition without a column for one of partitions,
//! reports it as exact and then does not apply it. So `fetch_status = NULL and url like 'http%'`,
//! whose first part becomes the constant NULL, would return the rows of the second part.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

/// A table of facts, with conditions without a column left to the plan above it.
#[derive(Debug)]
pub(crate) struct ExactFilters(pub(crate) Arc<dyn TableProvider>);

#[async_trait]
impl TableProvider for ExactFilters {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        self.0.table_type()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let supported = self.0.supports_filters_pushdown(filters)?;
        let support = |(filter, support): (&&Expr, TableProviderFilterPushDown)| {
            if filter.column_refs().is_empty() {
                TableProviderFilterPushDown::Unsupported
            } else {
                support
            }
        };
        Ok(filters.iter().zip(supported).map(support).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.scan(session, projection, filters, limit).await
    }
}
