//! Rewrites forms of Presto, Trino and Athena to those of the engine.
//!
//! - functions that have another name here, and `if`;
//! - `TABLESAMPLE`, which the engine ignores, becomes a condition on a random number;
//! - `FROM t, UNNEST(t.list) AS u (value)` becomes a subquery that unnests in its columns, because
//!   the engine cannot join with lists of the rows before.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, JoinOperator, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr,
    TableAlias, TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit,
    TableWithJoins, Value, VisitMut as _, VisitorMut, visit_expressions,
};
use datafusion::sql::sqlparser::parser::Parser;

use crate::dialect::WeftDialect;

/// Rewrites a statement.
pub(crate) fn rewrite(statement: &mut DfStatement) -> Result<()> {
    match statement {
        DfStatement::Statement(statement) => match statement.visit(&mut Rewriter) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        },
        DfStatement::Explain(explain) => rewrite(&mut explain.statement),
        _ => Ok(()),
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = Box<DataFusionError>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr
            && let Some(replacement) = replacement(function)
        {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        match sampled(factor) {
            Ok(Some(sample)) => *factor = sample,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(Box::new(error)),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        match unnest_in_subqueries(select) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

/// Returns what a call of a function of Presto is here; `None` if it is the same.
fn replacement(function: &Function) -> Option<Expr> {
    let name = only_name(&function.name)?.to_ascii_lowercase();
    let args = unnamed_arguments(function)?;
    let name = match (name.as_str(), args.as_slice()) {
        ("if", [condition, result]) => return Some(case(condition, result, None)),
        ("if", [condition, result, other]) => return Some(case(condition, result, Some(other))),
        ("regexp_extract", [text, pattern]) => return Some(first_match(text, pattern, 0)),
        ("regexp_extract", [text, pattern, Expr::Value(group)]) => {
            let Value::Number(group, _) = &group.value else {
                return None;
            };
            return Some(first_match(text, pattern, group.parse().ok()?));
        }
        ("year" | "month" | "day", [time]) => {
            return Some(call("date_part", vec![text(&name), time.clone()]));
        }
        ("contains", [list, _]) if is_list(list) => "array_has",
        ("reverse", [list]) if is_list(list) => "array_reverse",
        ("filter", [_, Expr::Lambda(_)]) => "array_filter",
        ("transform", [_, Expr::Lambda(_)]) => "array_transform",
        ("split", [_, _]) => "string_to_array",
        ("levenshtein_distance", [_, _]) => "levenshtein",
        _ => return None,
    };
    Some(call(name, args))
}

fn only_name(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(name)] => Some(&name.value),
        _ => None,
    }
}

/// Returns the arguments of a plain call: without names, DISTINCT, FILTER or OVER.
fn unnamed_arguments(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let is_plain = list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.filter.is_none()
        && function.over.is_none();
    if !is_plain {
        return None;
    }
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

/// Returns whether an expression is a list by its form. Its calls have been rewritten already.
fn is_list(expr: &Expr) -> bool {
    match expr {
        Expr::Array(_) => true,
        Expr::Function(function) => only_name(&function.name)
            .is_some_and(|name| ["string_to_array", "array_filter", "array_transform"].contains(&name)),
        _ => false,
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn number(of: usize) -> Expr {
    Expr::value(Value::Number(of.to_string(), false))
}

fn text(of: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(of.to_owned()))
}

fn case(condition: &Expr, result: &Expr, other: Option<&Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen {
            condition: condition.clone(),
            result: result.clone(),
        }],
        else_result: other.cloned().map(Box::new),
    }
}

/// Returns a group of the first match: 0 is the whole match.
fn first_match(text_expr: &Expr, pattern: &Expr, group: usize) -> Expr {
    // The engine returns groups only, so the whole match becomes the first group.
    let pattern = call("concat", vec![text("("), pattern.clone(), text(")")]);
    let groups = call("regexp_match", vec![text_expr.clone(), pattern]);
    call("array_element", vec![groups, number(group + 1)])
}

fn parse_query(text: &str) -> Result<Box<Query>> {
    Ok(Parser::new(&WeftDialect).try_with_sql(text)?.parse_query()?)
}

/// Returns a query over a table factor, with further columns.
fn query_over(template: &str, factor: TableFactor, columns: Vec<SelectItem>) -> Result<Box<Query>> {
    let mut query = parse_query(template)?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection.extend(columns);
        if let Some(from) = select.from.first_mut() {
            from.relation = factor;
        }
    }
    Ok(query)
}

fn derived(subquery: Box<Query>, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery,
        alias,
        sample: None,
    }
}

/// Returns the name by which a table factor is known to the statement.
fn alias_of(factor: &TableFactor) -> Option<TableAlias> {
    let name = match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => alias.name.clone(),
        TableFactor::Table { name, .. } => name.0.last()?.as_ident()?.clone(),
        _ => return None,
    };
    Some(TableAlias {
        explicit: true,
        name,
        columns: Vec::new(),
        at: None,
    })
}

/// Returns a random part of the rows of a table, if the statement wants one.
fn sampled(factor: &mut TableFactor) -> Result<Option<TableFactor>> {
    let alias = alias_of(factor);
    let sample = match factor {
        TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. } => sample.take(),
        _ => None,
    };
    let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample
    else {
        return Ok(None);
    };
    let percent = percent_of(&sample)?;
    let template = format!("SELECT * FROM t WHERE random() * 100 < {percent}");
    let subquery = query_over(&template, factor.clone(), Vec::new())?;
    Ok(Some(derived(subquery, alias)))
}

fn percent_of(sample: &TableSample) -> Result<&Expr> {
    let is_by_rows = matches!(
        sample.name,
        None | Some(TableSampleMethod::Bernoulli | TableSampleMethod::System)
    );
    if let Some(quantity) = &sample.quantity
        && is_by_rows
        && matches!(quantity.unit, None | Some(TableSampleUnit::Percent))
        && sample.seed.is_none()
        && let Expr::Value(value) = &quantity.value
        && matches!(value.value, Value::Number(..) | Value::Placeholder(_))
    {
        return Ok(&quantity.value);
    }
    plan_err!("TABLESAMPLE takes a percentage of the rows, as in TABLESAMPLE BERNOULLI (0.5)")
}

/// Moves lists of the rows before, in FROM, into subqueries.
fn unnest_in_subqueries(select: &mut Select) -> Result<()> {
    let mut tables: Vec<TableWithJoins> = Vec::with_capacity(select.from.len());
    for mut next in std::mem::take(&mut select.from) {
        match tables.last_mut() {
            Some(before) if before.joins.is_empty() && is_of_rows_before(&next.relation) => {
                unnest_in_subquery(&mut before.relation, &next.relation)?;
                before.joins = next.joins;
                unnest_joined(before)?;
            }
            _ => {
                unnest_joined(&mut next)?;
                tables.push(next);
            }
        }
    }
    select.from = tables;
    Ok(())
}

/// Does the same for lists that are joined by CROSS JOIN, up to the first other join.
fn unnest_joined(table: &mut TableWithJoins) -> Result<()> {
    while let Some(join) = table.joins.first()
        && matches!(join.join_operator, JoinOperator::CrossJoin(_))
        && is_of_rows_before(&join.relation)
    {
        let join = table.joins.remove(0);
        unnest_in_subquery(&mut table.relation, &join.relation)?;
    }
    Ok(())
}

/// Returns whether a table factor unnests one list that is made from columns.
fn is_of_rows_before(factor: &TableFactor) -> bool {
    let TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs,
        with_offset: false,
        with_ordinality,
        ..
    } = factor
    else {
        return false;
    };
    let has_columns = visit_expressions(array_exprs, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    array_exprs.len() == 1
        && alias.columns.len() == 1 + usize::from(*with_ordinality)
        && has_columns.is_break()
}

/// Replaces a table by its rows with each value of a list, and the value's place.
fn unnest_in_subquery(table: &mut TableFactor, unnest: &TableFactor) -> Result<()> {
    let TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs,
        ..
    } = unnest
    else {
        return Ok(());
    };
    let mut columns = Vec::with_capacity(2);
    for (place, (alias, list)) in alias.columns.iter().zip(array_exprs.iter().cycle()).enumerate() {
        let list = if place == 0 { list.clone() } else { places_of(list) };
        columns.push(SelectItem::ExprWithAlias {
            expr: call("unnest", vec![list]),
            alias: alias.name.clone(),
        });
    }
    let outer_alias = alias_of(table);
    let subquery = query_over("SELECT * FROM t", table.clone(), columns)?;
    *table = derived(subquery, outer_alias);
    Ok(())
}

/// Returns the list 1, 2, ... with as many numbers as a list has values.
fn places_of(list: &Expr) -> Expr {
    let length = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(call("cardinality", vec![list.clone()])),
        data_type: DataType::BigInt(None),
        array: false,
        format: None,
    };
    call("generate_series", vec![number(1), length])
}

#[cfg(test)]
mod tests {
    use crate::parse::tests::check;

    #[test]
    fn functions() {
        for (statement, expected) in [
            ("SELECT IF(a, 1, 2)", "SELECT CASE WHEN a THEN 1 ELSE 2 END"),
            (
                "SELECT if(a, if(b, 1))",
                "SELECT CASE WHEN a THEN CASE WHEN b THEN 1 END END",
            ),
            ("SELECT split(a, '.')", "SELECT string_to_array(a, '.')"),
            (
                "SELECT reverse(split(a, '.')), reverse(a)",
                "SELECT array_reverse(string_to_array(a, '.')), reverse(a)",
            ),
            (
                "SELECT contains(ARRAY['a'], b), contains(a, b)",
                "SELECT array_has(ARRAY['a'], b), contains(a, b)",
            ),
            (
                "SELECT transform(filter(split(a, '/'), x -> x <> ''), x -> upper(x))",
                "SELECT array_transform(array_filter(string_to_array(a, '/'), x -> x <> ''), x -> upper(x))",
            ),
            (
                "SELECT year(a), Month(b), day(c), year",
                "SELECT date_part('year', a), date_part('month', b), date_part('day', c), year",
            ),
            ("SELECT levenshtein_distance(a, b)", "SELECT levenshtein(a, b)"),
            (
                "SELECT regexp_extract(a, 'b+'), regexp_extract(a, 'b(c)', 1)",
                "SELECT array_element(regexp_match(a, concat('(', 'b+', ')')), 1), \
                 array_element(regexp_match(a, concat('(', 'b(c)', ')')), 2)",
            ),
            ("EXPLAIN SELECT if(a, 1)", "EXPLAIN SELECT CASE WHEN a THEN 1 END"),
        ] {
            check(statement, expected);
        }
    }

    #[test]
    fn samples() {
        for (statement, expected) in [
            (
                "SELECT a FROM t TABLESAMPLE BERNOULLI (.5) WHERE b = 1",
                "SELECT a FROM (SELECT * FROM t WHERE random() * 100 < .5) AS t WHERE b = 1",
            ),
            (
                "SELECT a FROM s.t AS u TABLESAMPLE SYSTEM (10 PERCENT)",
                "SELECT a FROM (SELECT * FROM s.t AS u WHERE random() * 100 < 10) AS u",
            ),
            (
                "SELECT a FROM t TABLESAMPLE BERNOULLI (?)",
                "SELECT a FROM (SELECT * FROM t WHERE random() * 100 < $1) AS t",
            ),
        ] {
            check(statement, expected);
        }
        let refused = "Error during planning: TABLESAMPLE takes a percentage of the rows, as in TABLESAMPLE \
                       BERNOULLI (0.5)";
        for sample in [
            "(10 ROWS)",
            "BERNOULLI (10) REPEATABLE (1)",
            "(BUCKET 1 OUT OF 2)",
        ] {
            check(&format!("SELECT a FROM t TABLESAMPLE {sample}"), refused);
        }
    }

    #[test]
    fn lists_of_the_rows_before() {
        for (statement, expected) in [
            (
                "SELECT a, b FROM t, UNNEST(split(t.a, '.')) AS u (b)",
                "SELECT a, b FROM (SELECT *, unnest(string_to_array(t.a, '.')) AS b FROM t) AS t",
            ),
            (
                "SELECT a FROM s.t AS x CROSS JOIN UNNEST(l) WITH ORDINALITY AS u (b, n) JOIN y USING (n)",
                "SELECT a FROM (SELECT *, unnest(l) AS b, \
                 unnest(generate_series(1, CAST(cardinality(l) AS BIGINT))) AS n FROM s.t AS x) AS x JOIN y USING(n)",
            ),
            // Lists without columns are tables by themselves.
            (
                "SELECT a FROM t, UNNEST(ARRAY[1, 2]) AS u (b)",
                "SELECT a FROM t, UNNEST(ARRAY[1, 2]) AS u (b)",
            ),
        ] {
            check(statement, expected);
        }
    }
}
