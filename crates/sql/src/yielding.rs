//! Lets statements be stopped.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// Has every join yield to the runtime from time to time. DataFusion has the sources of rows do so; but a join can make rows for
/// hours of those that it holds, and a statement that never yields cannot be stopped.
#[derive(Debug)]
pub(crate) struct YieldingJoins;

impl PhysicalOptimizerRule for YieldingJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let yielding = plan.transform_up(|plan| {
            Ok(match plan.name().ends_with("JoinExec") {
                true => Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>),
                false => Transformed::no(plan),
            })
        })?;
        Ok(yielding.data)
    }

    fn name(&self) -> &str {
        "yielding_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
