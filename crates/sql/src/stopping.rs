//! Lets statements be stopped.
//!
//! A statement whose rows nobody waits for any more is dropped, and ends where it next yields to the runtime. DataFusion has the sources
//! of rows yield; but joins can make rows for hours of those that they hold, or refuse them for hours. So they yield with each batch of
//! rows that they make ([`YieldingJoins`]), and the conditions that refuse rows fail once the statement is dropped ([`Stop`]).

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

/// Has every join yield to the runtime from time to time.
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

/// Whether a statement is to stop. Clones are of the same statement.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Of a statement that begins.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Has the statement end soon, wherever it is.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The plan with conditions of joins that fail once the statement is to stop.
    pub(crate) fn within(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let goes_on = Arc::new(ScalarUDF::new_from_impl(GoesOn {
            stop: self.clone(),
            signature: Signature::nullary(Volatility::Volatile),
        }));
        let guarded = plan.transform_up(|plan| {
            Ok(match plan {
                LogicalPlan::Join(mut join) if join.filter.is_some() => {
                    // First: what comes after a condition that refuses all rows is not asked.
                    let guard = goes_on.call(Vec::new());
                    join.filter = join.filter.take().map(|condition| guard.and(condition));
                    Transformed::yes(LogicalPlan::Join(join))
                }
                other => Transformed::no(other),
            })
        })?;
        Ok(guarded.data)
    }
}

/// A condition that is true as long as its statement goes on, and then an error.
#[derive(Debug)]
struct GoesOn {
    stop: Stop,
    signature: Signature,
}

impl PartialEq for GoesOn {
    fn eq(&self, other: &GoesOn) -> bool {
        Arc::ptr_eq(&self.stop.0, &other.stop.0)
    }
}

impl Eq for GoesOn {}

impl Hash for GoesOn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.stop.0).hash(state);
    }
}

impl ScalarUDFImpl for GoesOn {
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
        match self.stop.0.load(Ordering::Relaxed) {
            true => exec_err!("the statement was stopped"),
            false => Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true)))),
        }
    }
}
