//! Parameters of statements (`$1`, `$2`, ...): their types, and statements with values for them.

use std::collections::BTreeMap;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Limit on the number of parameters.
const PARAMETERS_MAX: usize = 1000;

/// Returns the types of the parameters, in order; `None` if any type will do.
pub(crate) fn types_of(plan: &LogicalPlan) -> Result<Vec<Option<DataType>>> {
    let mut types: BTreeMap<usize, Option<DataType>> = BTreeMap::new();
    for (name, field) in plan.get_parameter_fields()? {
        types.insert(number_of(&name)?, field.map(|field| field.data_type().clone()));
    }
    for name in parameters_of_limits(plan)? {
        types.insert(number_of(&name)?, Some(DataType::Int64));
    }
    let count = types.keys().next_back().copied().unwrap_or_default();
    // A number that is left out still needs a value.
    Ok((1..=count)
        .map(|number| types.remove(&number).flatten())
        .collect())
}

fn number_of(name: &str) -> Result<usize> {
    match name.get(1..).and_then(|digits| digits.parse().ok()) {
        Some(number @ 1..=PARAMETERS_MAX) => Ok(number),
        _ => plan_err!(
            "{name} is no parameter; write ? or $1, $2, ..., of which there can be {PARAMETERS_MAX}"
        ),
    }
}

/// Returns the names of parameters that limit or skip rows. The engine does not infer their type.
fn parameters_of_limits(plan: &LogicalPlan) -> Result<Vec<String>> {
    let mut names = Vec::new();
    plan.apply_with_subqueries(|plan| {
        if let LogicalPlan::Limit(limit) = plan {
            for expr in [&limit.skip, &limit.fetch].into_iter().flatten() {
                if let Expr::Placeholder(placeholder) = expr.as_ref() {
                    names.push(placeholder.id.clone());
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(names)
}

/// Returns the schema of values for parameters of these types. Clients that read it send text where
/// any type will do.
pub(crate) fn schema_of(types: &[Option<DataType>]) -> Schema {
    let field = |(place, of): (usize, &Option<DataType>)| {
        let of = of.clone().unwrap_or(DataType::Utf8);
        Field::new(format!("${}", place + 1), of, true)
    };
    Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>())
}

/// Replaces the parameters by values: a column for each, of one row.
///
/// # Errors
/// Fails if the number or the types of the values are not those of the parameters.
pub(crate) fn bind(plan: LogicalPlan, values: Option<&RecordBatch>) -> Result<LogicalPlan> {
    let types = types_of(&plan)?;
    let columns = values.map_or(&[][..], |values| values.columns());
    if types.len() != columns.len() {
        return plan_err!(
            "the statement has {}, and {} given",
            counted(types.len(), "parameter", "parameters"),
            counted(columns.len(), "value was", "values were")
        );
    }
    if types.is_empty() {
        return Ok(plan);
    }
    let rows = values.map_or(0, RecordBatch::num_rows);
    if rows != 1 {
        return plan_err!("a statement is run with one row of values, not with {rows}");
    }
    let mut bound = Vec::with_capacity(types.len());
    for (place, (column, of)) in columns.iter().zip(types).enumerate() {
        let value = ScalarValue::try_from_array(column, 0)?;
        bound.push(converted(place + 1, value, of)?);
    }
    plan.with_param_values(bound)
}

fn counted(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    }
}

/// Returns a value in the type of its parameter.
fn converted(number: usize, value: ScalarValue, of: Option<DataType>) -> Result<ScalarValue> {
    let value = match value {
        ScalarValue::Dictionary(_, value) => *value,
        value => value,
    };
    let Some(of) = of else {
        return Ok(value);
    };
    let given = value.data_type();
    if given == of {
        return Ok(value);
    }
    if value.is_null() {
        return ScalarValue::try_from(&of);
    }
    if is_convertible(&given, &of)
        && let Ok(converted) = value.cast_to(&of)
        && !converted.is_null()
        && (!is_rounding(&given, &of) || converted.cast_to(&given).is_ok_and(|back| back == value))
    {
        return Ok(converted);
    }
    plan_err!("parameter ${number} must be of type {of}; the given value of type {given} cannot be converted")
}

/// Returns whether values of a type are accepted for a parameter of another type, if they have a
/// value there.
fn is_convertible(given: &DataType, of: &DataType) -> bool {
    given.is_string()
        || (given.is_numeric() && of.is_numeric())
        || (given.is_temporal() && of.is_temporal())
        || (given.is_binary() && of.is_binary())
        || (given.is_nested() && of.is_nested())
}

/// Returns whether a conversion could drop a fraction.
fn is_rounding(given: &DataType, of: &DataType) -> bool {
    of.is_integer() && given.is_numeric() && !given.is_integer()
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn values_get_the_type_of_their_parameter_or_are_refused() {
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        let text = |text: &str| ScalarValue::from(text);
        for (value, of, expected) in [
            (
                ScalarValue::from(200_i64),
                DataType::Int32,
                Some(ScalarValue::from(200_i32)),
            ),
            (
                ScalarValue::from(2.0),
                DataType::Int64,
                Some(ScalarValue::from(2_i64)),
            ),
            (ScalarValue::from(2.5), DataType::Int64, None),
            (ScalarValue::from(1_i64 << 40), DataType::Int32, None),
            (ScalarValue::from(1_i64), DataType::Utf8, None),
            (ScalarValue::from(1_i64), seconds.clone(), None),
            (ScalarValue::from(true), DataType::Int64, None),
            (text("7"), DataType::Int64, Some(ScalarValue::from(7_i64))),
            (text("seven"), DataType::Int64, None),
            (
                text("a"),
                DataType::Utf8View,
                Some(ScalarValue::Utf8View(Some("a".into()))),
            ),
            (
                ScalarValue::Date32(Some(1)),
                seconds.clone(),
                Some(ScalarValue::TimestampSecond(Some(86_400), None)),
            ),
            (ScalarValue::Null, DataType::Int64, Some(ScalarValue::Int64(None))),
            (
                ScalarValue::Utf8(None),
                seconds,
                Some(ScalarValue::TimestampSecond(None, None)),
            ),
        ] {
            let shown = format!("{value:?} as {of}");
            match (converted(1, value, Some(of)), expected) {
                (Ok(found), Some(expected)) => assert_eq!(found, expected, "{shown}"),
                (Err(error), None) => {
                    let error = error.strip_backtrace();
                    assert!(error.contains("parameter $1 must be of type"), "{shown}: {error}");
                }
                (found, expected) => panic!("{shown}: {found:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn parameters_have_numbers() {
        assert_eq!(number_of("$12").unwrap(), 12);
        for name in ["$0", "$1001", "$x", "$", "?"] {
            assert!(number_of(name).is_err(), "{name}");
        }
    }
}
