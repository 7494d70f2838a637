//! Rewrites conditions with subqueries that the engine evaluates contrary to SQL, before planning.
//!
//! `x NOT IN (S)` is true if S has neither x nor NULL (if x is NULL: if S is empty), false if S has
//! x, else unknown. The engine obeys this only for a bare column as the whole condition and an
//! uncorrelated S. Elsewhere it loses NULL (DataFusion #25340, #25347, #25473, #25474, #25480,
//! #25336). Its `EXISTS` is correct, so where only truth matters, `NOT IN` becomes
//!
//! ```text
//! NOT EXISTS (S with s = x) AND NOT EXISTS (S with s IS NULL)
//!     AND (x IS NOT NULL OR NOT EXISTS (S))
//! ```
//!
//! and elsewhere a three-valued `CASE` of the same parts. An aggregate without `GROUP BY` always
//! has one row, which the engine's joins may lose: `x IN (S)` becomes `x = (S)` for it, and
//! `EXISTS` is true. The engine takes the value of an empty subquery for not NULL if its column is,
//! so such values pass through a function declared nullable. Other conditions are refused: no
//! statement gets an answer known to be wrong.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, Spans, plan_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Distinct, Expr, ExprSchemable as _, FetchType, Filter, JoinType, Limit,
    LogicalPlan, LogicalPlanBuilder, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    SkipType, Subquery, Volatility, lit, not, when,
};

/// Returns an equivalent statement that the engine evaluates as SQL requires.
///
/// # Errors
/// Fails if a condition has no such form; the message says how to rewrite it.
pub(crate) fn rewrite_subqueries(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = make_scalars_nullable(plan)?;
    let plan = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Filter(filter) if has_subquery(&filter.predicate)? => {
            let conditions = Conditions(filter.input.schema());
            let predicate = conditions.rewrite_filter(filter.predicate, true)?;
            let filter = Filter::try_new(predicate, filter.input)?;
            Ok(Transformed::yes(LogicalPlan::Filter(filter)))
        }
        // Treated like a condition in WHERE, which is equivalent.
        LogicalPlan::Join(mut join)
            if join.join_type == JoinType::Inner
                && join
                    .filter
                    .as_ref()
                    .is_some_and(|on| has_subquery(on).unwrap_or(true)) =>
        {
            let Some(on) = join.filter.take() else {
                return Ok(Transformed::no(LogicalPlan::Join(join)));
            };
            let predicate = Conditions(&join.schema).rewrite_filter(on, true)?;
            let filter = Filter::try_new(predicate, Arc::new(LogicalPlan::Join(join)))?;
            Ok(Transformed::yes(LogicalPlan::Filter(filter)))
        }
        other => {
            for expr in other.expressions() {
                if has_subquery(&expr)? {
                    return plan_err!("{}", ELSEWHERE);
                }
            }
            Ok(Transformed::no(other))
        }
    })?;
    Ok(plan.data)
}

/// The message for a condition where the engine cannot plan it.
pub(crate) const ELSEWHERE: &str = "IN and EXISTS with a subquery are supported only in WHERE, HAVING and \
                                    the ON of an inner join; elsewhere join with the subquery (LEFT JOIN \
                                    ... ON) and test whether a row was found";

/// Makes the values of possibly empty subqueries nullable.
fn make_scalars_nullable(plan: LogicalPlan) -> Result<LogicalPlan> {
    let may_be_null = ScalarUDF::new_from_impl(MayBeNull {
        signature: Signature::any(1, Volatility::Immutable),
    });
    let plan = plan.transform_up_with_subqueries(|plan| {
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| match expr {
                // Correlated ones are aggregates, or refused.
                Expr::ScalarSubquery(mut subquery)
                    if subquery.outer_ref_columns.is_empty() && !has_one_row(&subquery.subquery) =>
                {
                    let plan = subquery.subquery.as_ref().clone();
                    let (relation, field) = plan.schema().qualified_field(0);
                    let (relation, name) = (relation.cloned(), field.name().clone());
                    let value = may_be_null
                        .call(vec![value_of(&plan)])
                        .alias_qualified(relation, name);
                    let plan = LogicalPlanBuilder::from(plan).project([value])?.build()?;
                    subquery.subquery = Arc::new(plan);
                    Ok(Transformed::yes(Expr::ScalarSubquery(subquery)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })?;
    if !plan.transformed {
        return Ok(plan.data);
    }
    // Expressions that contain them may be NULL, too.
    let plan = plan
        .data
        .transform_up_with_subqueries(|plan| Ok(Transformed::yes(plan.recompute_schema()?)))?;
    Ok(plan.data)
}

/// An identity function whose result is declared nullable.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MayBeNull {
    signature: Signature,
}

impl ScalarUDFImpl for MayBeNull {
    fn name(&self) -> &str {
        "may_be_null"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] => Ok(of.clone()),
            _ => plan_err!("may_be_null takes one argument"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => plan_err!("may_be_null takes one argument"),
        }
    }
}

fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(matches!(expr, Expr::InSubquery(_) | Expr::Exists(_))))
}

/// Rewrites conditions on rows of a schema.
struct Conditions<'a>(&'a DFSchema);

impl Conditions<'_> {
    /// Rewrites a condition to one that is true for the same rows; false and unknown may be
    /// exchanged. `alone` means that only AND is above it.
    fn rewrite_filter(&self, condition: Expr, alone: bool) -> Result<Expr> {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if matches!(op, Operator::And | Operator::Or) =>
            {
                let alone = alone && op == Operator::And;
                let left = Box::new(self.rewrite_filter(*left, alone)?);
                let right = Box::new(self.rewrite_filter(*right, alone)?);
                Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::Not(inner) => match *inner {
                Expr::InSubquery(mut is_in) => {
                    is_in.negated = !is_in.negated;
                    self.rewrite_filter(Expr::InSubquery(is_in), alone)
                }
                Expr::Exists(mut exists) => {
                    exists.negated = !exists.negated;
                    self.rewrite_filter(Expr::Exists(exists), alone)
                }
                other => Ok(Expr::Not(Box::new(self.rewrite_value(other)?))),
            },
            Expr::InSubquery(is_in) if is_in.negated => self.is_not_in(is_in, alone),
            Expr::InSubquery(is_in) => self.is_in(is_in),
            other => self.rewrite_value(other),
        }
    }

    /// Rewrites a condition to one with the same three-valued result.
    fn rewrite_value(&self, condition: Expr) -> Result<Expr> {
        let condition = condition.transform_up(|expr| {
            Ok(match expr {
                Expr::InSubquery(is_in) => Transformed::yes(self.three_valued(is_in)?),
                Expr::Exists(exists) => Transformed::yes(row_exists(exists)?),
                other => Transformed::no(other),
            })
        })?;
        Ok(condition.data)
    }

    fn is_in(&self, is_in: InSubquery) -> Result<Expr> {
        let InSubquery { expr, subquery, .. } = is_in;
        let expr = self.rewrite_value(*expr)?;
        if has_one_row(&subquery.subquery) {
            return Ok(expr.eq(Expr::ScalarSubquery(subquery)));
        }
        refuse_unless_plain(&subquery, false)?;
        Ok(Expr::InSubquery(InSubquery::new(Box::new(expr), subquery, false)))
    }

    fn is_not_in(&self, is_in: InSubquery, alone: bool) -> Result<Expr> {
        let is_column = matches!(*is_in.expr, Expr::Column(_));
        if is_column && alone && is_in.subquery.outer_ref_columns.is_empty() {
            // The engine's own anti-join handles this case correctly.
            return Ok(Expr::InSubquery(is_in));
        }
        let InSubquery { expr, subquery, .. } = is_in;
        let expr = self.rewrite_value(*expr)?;
        if has_one_row(&subquery.subquery) {
            return Ok(expr.not_eq(Expr::ScalarSubquery(subquery)));
        }
        let parts = Parts::of(self, expr, &subquery)?;
        let neither = not(parts.is_found).and(not(parts.is_null_found));
        Ok(match parts.is_null_of_any {
            Some(is_null_of_any) => neither.and(not(is_null_of_any)),
            None => neither,
        })
    }

    fn three_valued(&self, is_in: InSubquery) -> Result<Expr> {
        let InSubquery {
            expr,
            subquery,
            negated,
        } = is_in;
        let is_in = if has_one_row(&subquery.subquery) {
            (*expr).eq(Expr::ScalarSubquery(subquery))
        } else {
            let parts = Parts::of(self, *expr, &subquery)?;
            let is_unknown = match parts.is_null_of_any {
                Some(is_null_of_any) => parts.is_null_found.or(is_null_of_any),
                None => parts.is_null_found,
            };
            when(parts.is_found, lit(true))
                .when(is_unknown, lit(ScalarValue::Boolean(None)))
                .otherwise(lit(false))?
        };
        Ok(if negated { not(is_in) } else { is_in })
    }

    /// Converts an expression of the outer rows to its form within a subquery.
    fn as_outer_references(&self, expr: Expr) -> Result<Expr> {
        let expr = expr.transform_up(|expr| {
            let is_of_outer = |subquery: &Subquery| !subquery.outer_ref_columns.is_empty();
            match expr {
                Expr::OuterReferenceColumn(..) => plan_err!("{}", TWO_LEVELS),
                Expr::ScalarSubquery(subquery) if is_of_outer(&subquery) => plan_err!("{}", TWO_LEVELS),
                Expr::Exists(Exists { subquery, .. }) if is_of_outer(&subquery) => {
                    plan_err!("{}", TWO_LEVELS)
                }
                Expr::Column(column) => {
                    let (_, field) = self.0.qualified_field_from_column(&column)?;
                    Ok(Transformed::yes(Expr::OuterReferenceColumn(
                        Arc::clone(field),
                        column,
                    )))
                }
                other => Ok(Transformed::no(other)),
            }
        })?;
        Ok(expr.data)
    }
}

const TWO_LEVELS: &str = "NOT IN with a value of a statement two levels further out is not supported; \
                          write it with NOT EXISTS or a join";

/// The components of `x IN (S)`.
struct Parts {
    /// S contains x.
    is_found: Expr,
    /// S contains NULL.
    is_null_found: Expr,
    /// x is NULL, and S is not empty. Absent if x is never NULL.
    is_null_of_any: Option<Expr>,
}

impl Parts {
    fn of(conditions: &Conditions<'_>, expr: Expr, subquery: &Subquery) -> Result<Parts> {
        refuse_unless_plain(subquery, false)?;
        let within = conditions.as_outer_references(expr.clone())?;
        let plan = &subquery.subquery;
        // Before type coercion some expressions cannot tell.
        let may_be_null = expr.nullable(conditions.0).unwrap_or(true);
        let is_null_of_any = if may_be_null {
            Some(
                expr.is_null()
                    .and(exists(value_and_rows(plan).1.as_ref().clone())?),
            )
        } else {
            None
        };
        Ok(Parts {
            is_found: exists(with_condition(plan, &|value| value.eq(within.clone()))?)?,
            is_null_found: exists(with_condition(plan, &Expr::is_null)?)?,
            is_null_of_any,
        })
    }
}

/// Returns the rows of a subquery whose value fulfils a condition.
fn with_condition(plan: &Arc<LogicalPlan>, condition: &dyn Fn(Expr) -> Expr) -> Result<LogicalPlan> {
    let (value, rows) = value_and_rows(plan);
    // With two correlated filters above each other the engine loses a column, so merge them.
    let filter = match rows.as_ref() {
        LogicalPlan::Filter(Filter { predicate, input, .. }) => {
            Filter::try_new(predicate.clone().and(condition(value)), Arc::clone(input))
        }
        _ => Filter::try_new(condition(value), rows),
    };
    Ok(LogicalPlan::Filter(filter?))
}

/// Returns the only value of a subquery, and its rows before the projection to that value: a
/// correlated condition must be next to the others.
fn value_and_rows(plan: &Arc<LogicalPlan>) -> (Expr, Arc<LogicalPlan>) {
    match plan.as_ref() {
        LogicalPlan::Projection(projection) => match &projection.expr[..] {
            [value] if !value.is_volatile() => {
                (value.clone().unalias_nested().data, Arc::clone(&projection.input))
            }
            _ => (value_of(plan), Arc::clone(plan)),
        },
        LogicalPlan::Distinct(Distinct::All(input)) => value_and_rows(input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => value_and_rows(&sort.input),
        _ => (value_of(plan), Arc::clone(plan)),
    }
}

fn value_of(plan: &LogicalPlan) -> Expr {
    Expr::Column(Column::from(plan.schema().qualified_field(0)))
}

/// Returns the condition that a plan has rows, for each outer row.
fn exists(plan: LogicalPlan) -> Result<Expr> {
    let outer_ref_columns = plan.all_out_ref_exprs();
    // Every outer row is joined with all rows of an uncorrelated subquery, so one suffices.
    let plan = if outer_ref_columns.is_empty() {
        LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()?
    } else {
        plan
    };
    let subquery = Subquery {
        subquery: Arc::new(plan),
        outer_ref_columns,
        spans: Spans::new(),
    };
    Ok(Expr::Exists(Exists::new(subquery, false)))
}

fn row_exists(exists: Exists) -> Result<Expr> {
    if has_one_row(&exists.subquery.subquery) {
        return Ok(lit(!exists.negated));
    }
    refuse_unless_plain(&exists.subquery, true)?;
    Ok(Expr::Exists(exists))
}

/// Returns whether the plan always has exactly one row: an aggregate without GROUP BY.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_one_row(&alias.input),
        LogicalPlan::Sort(sort) => sort.fetch.is_none() && has_one_row(&sort.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Refuses a correlated subquery with operators that must be evaluated per outer row: the engine
/// joins with all outer rows at once, and would apply these to the whole. `asks_for_any` means that
/// only the existence of rows matters.
fn refuse_unless_plain(subquery: &Subquery, asks_for_any: bool) -> Result<()> {
    let within = |plan: &LogicalPlan| {
        let what = match plan {
            LogicalPlan::Limit(limit) if asks_for_any && is_first_rows(limit) => return None,
            LogicalPlan::Limit(_) => "LIMIT and OFFSET",
            LogicalPlan::Window(_) => "window functions",
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                "aggregates without GROUP BY"
            }
            _ => return None,
        };
        (!plan.all_out_ref_exprs().is_empty()).then_some(what)
    };
    let mut found = None;
    subquery.subquery.exists(|plan| {
        found = within(plan);
        Ok(found.is_some())
    })?;
    match found {
        None => Ok(()),
        Some(what) => plan_err!(
            "IN and EXISTS with {what} over rows selected by the outer statement are not supported; write \
             it with a join, or as a comparison with a scalar subquery"
        ),
    }
}

/// Returns whether a limit keeps at least one row of a non-empty input.
fn is_first_rows(limit: &Limit) -> bool {
    let skips_none = matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)));
    skips_none
        && !matches!(
            limit.get_fetch_type(),
            Ok(FetchType::Literal(Some(0)) | FetchType::UnsupportedExpr) | Err(_)
        )
}
