//! Stops running statements.
//!
//! An abandoned statement is dropped, and ends when it next yields to the runtime. DataFusion makes
//! the sources of rows yield. But a join can produce rows for hours from the rows it holds, or
//! reject them for hours. So joins yield after each batch of rows they produce ([`YieldingJoins`]),
//! and their filter conditions fail once the statement is dropped ([`Stop`]).

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// An optimiser rule that makes every join yield to the runtime regularly.
#[derive(Debug)]
pub(crate) struct YieldingJoins;

impl PhysicalOptimizerRule for YieldingJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let yielding = plan.transform_up(|plan| {
            Ok(if plan.name().ends_with("JoinExec") {
                Transformed::yes(Arc::new(CooperativeExec::new(plan)) as Arc<dyn ExecutionPlan>)
            } else {
                Transformed::no(plan)
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

/// A flag that stops a statement. Clones belong to the same statement.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Makes a flag for a new statement.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Makes the statement end soon, at whatever stage it is.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns the plan with join conditions that fail once the statement is stopped.
    pub(crate) fn guard_joins(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let guard = Arc::new(ScalarUDF::new_from_impl(StopGuard {
            stop: self.clone(),
            signature: Signature::nullary(Volatility::Volatile),
        }));
        let guarded = plan.transform_up(|plan| {
            Ok(match plan {
                LogicalPlan::Join(mut join) if join.filter.is_some() => {
                    // As the first operand: operands after a condition that rejects all rows are
                    // not evaluated.
                    let guard = guard.call(Vec::new());
                    join.filter = join.filter.take().map(|condition| guard.and(condition));
                    Transformed::yes(LogicalPlan::Join(join))
                }
                other => Transformed::no(other),
            })
        })?;
        Ok(guarded.data)
    }
}

/// A condition that is true until its statement is stopped, and then fails.
#[derive(Debug)]
struct StopGuard {
    stop: Stop,
    signature: Signature,
}

impl PartialEq for StopGuard {
    fn eq(&self, other: &StopGuard) -> bool {
        Arc::ptr_eq(&self.stop.0, &other.stop.0)
    }
}

impl Eq for StopGuard {}

impl Hash for StopGuard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.stop.0).hash(state);
    }
}

impl ScalarUDFImpl for StopGuard {
    fn name(&self) -> &str {
        "goes_on"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if self.stop.0.load(Ordering::Relaxed) {
            exec_err!("the statement was stopped")
        } else {
            Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
        }
    }
}
