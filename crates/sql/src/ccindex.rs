//! The captures under the name and with the columns of Common Crawl's index table,
//! `ccindex.ccindex` (<https://github.com/commoncrawl/cc-index-table>).

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::DataFusionError;

/// Name of the table, and of the schema that contains it.
pub(crate) const CCINDEX: &str = "ccindex";

/// The statement that defines the table over `captures`.
pub(crate) const DEFINITION: &str = include_str!("ccindex.sql");

/// A schema with this table of another schema.
#[derive(Debug)]
pub(crate) struct CcIndexSchema(pub(crate) Arc<dyn SchemaProvider>);

#[async_trait]
impl SchemaProvider for CcIndexSchema {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.0.table_names();
        names.retain(|name| name == CCINDEX);
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        if name == CCINDEX {
            self.0.table(name).await
        } else {
            Ok(None)
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        name == CCINDEX && self.0.table_exist(name)
    }
}
