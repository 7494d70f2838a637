//! Parses a statement.
//!
//! Parameters are numbered: `?` becomes `$1`, the next `$2`, and so on. Views that are created
//! before a query become its common table expressions, so they exist for this query alone.

use std::collections::VecDeque;

use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::sql::parser::{DFParserBuilder, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    CreateView, Cte, Ident, ObjectNamePart, Statement, TableAlias, TableAliasColumnDef, With,
};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::dialect::WeftDialect;
use crate::presto;

/// Parses one statement.
pub(crate) fn parse(text: &str, recursion_limit: usize) -> Result<DfStatement> {
    let mut tokens = Tokenizer::new(&WeftDialect, text)
        .tokenize_with_location()
        .map_err(ParserError::from)?;
    number_parameters(&mut tokens)?;
    let statements = DFParserBuilder::new(tokens)
        .with_dialect(&WeftDialect)
        .with_recursion_limit(recursion_limit)
        .build()?
        .parse_statements()?;
    let mut statement = only_statement(statements)?;
    presto::rewrite(&mut statement)?;
    Ok(statement)
}

/// Replaces `?` by `$1`, `$2`, ... in their order. The tokens keep their places, so that errors
/// name the place in the original text.
fn number_parameters(tokens: &mut [TokenWithSpan]) -> Result<()> {
    let (mut count, mut has_numbers) = (0_usize, false);
    for token in tokens {
        match &mut token.token {
            Token::Placeholder(name) if name == "?" => {
                count += 1;
                *name = format!("${count}");
            }
            Token::Placeholder(_) => has_numbers = true,
            _ => {}
        }
    }
    if count > 0 && has_numbers {
        return plan_err!("write the parameters of a statement as ? or as $1, $2, ..., not both");
    }
    Ok(())
}

/// Returns the only statement, after the views that it may use.
fn only_statement(mut statements: VecDeque<DfStatement>) -> Result<DfStatement> {
    let Some(mut last) = statements.pop_back() else {
        return plan_err!("there is no statement");
    };
    if statements.is_empty() {
        return Ok(last);
    }
    let mut views = Vec::with_capacity(statements.len());
    for statement in statements {
        views.push(view_of(statement)?);
    }
    let DfStatement::Statement(inner) = &mut last else {
        return Err(several());
    };
    let Statement::Query(query) = inner.as_mut() else {
        return Err(several());
    };
    match &mut query.with {
        Some(with) => {
            with.cte_tables.splice(0..0, views);
        }
        None => {
            query.with = Some(With {
                with_token: AttachedToken::empty(),
                recursive: false,
                cte_tables: views,
            });
        }
    }
    Ok(last)
}

/// Returns a created view as a common table expression.
fn view_of(statement: DfStatement) -> Result<Cte> {
    let DfStatement::Statement(statement) = statement else {
        return Err(several());
    };
    let Statement::CreateView(CreateView {
        name, columns, query, ..
    }) = *statement
    else {
        return Err(several());
    };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else {
        return plan_err!("the name of a view has one part, not {name}");
    };
    let column = |name: Ident| TableAliasColumnDef {
        name,
        data_type: None,
    };
    Ok(Cte {
        alias: TableAlias {
            explicit: false,
            name: name.clone(),
            columns: columns.into_iter().map(|of| column(of.name)).collect(),
            at: None,
        },
        query,
        from: None,
        materialized: None,
        closing_paren_token: AttachedToken::empty(),
    })
}

fn several() -> DataFusionError {
    DataFusionError::Plan(
        "only one statement can be run at a time; before a query there can be CREATE VIEW, for this \
         query alone"
            .to_owned(),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Checks the text of the parsed statement, or of the error.
    #[track_caller]
    pub(crate) fn check(statement: &str, expected: &str) {
        let found = match parse(statement, 50) {
            Ok(statement) => statement.to_string(),
            Err(error) => error.strip_backtrace(),
        };
        assert_eq!(found, expected, "{statement}");
    }

    #[test]
    fn question_marks_are_numbered_outside_of_texts_names_and_comments() {
        for (statement, expected) in [
            ("SELECT ? + ?", "SELECT $1 + $2"),
            (
                "SELECT a FROM t WHERE b=? AND c IN(?,?) LIMIT ?",
                "SELECT a FROM t WHERE b = $1 AND c IN ($2, $3) LIMIT $4",
            ),
            ("SELECT '?', ?", "SELECT '?', $1"),
            ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1"),
            (
                r#"SELECT "?" FROM t WHERE "a?" = ?"#,
                r#"SELECT "?" FROM t WHERE "a?" = $1"#,
            ),
            ("SELECT `?`, ?", "SELECT `?`, $1"),
            ("SELECT -- ?\n?", "SELECT $1"),
            ("SELECT /* ? /* ? */ ? */ ?", "SELECT $1"),
            ("SELECT E'\\'?', ?", "SELECT E'\\'?', $1"),
            ("SELECT ?::BIGINT, ?||'x'", "SELECT $1::BIGINT, $2 || 'x'"),
            ("SELECT $2, $1", "SELECT $2, $1"),
            ("EXPLAIN SELECT ?", "EXPLAIN SELECT $1"),
        ] {
            check(statement, expected);
        }
    }

    #[test]
    fn wrong_statements_are_refused() {
        let several = several().strip_backtrace();
        for (statement, expected) in [
            (
                "SELECT ?, $1",
                "Error during planning: write the parameters of a statement as ? or as $1, $2, ..., not both",
            ),
            (" ; ", "Error during planning: there is no statement"),
            ("SELECT 1; SELECT 2", &several),
            ("SELECT 1; DROP TABLE t", &several),
            ("CREATE VIEW v AS SELECT 1; DROP TABLE t", &several),
            (
                "CREATE VIEW a.v AS SELECT 1; SELECT 2",
                "Error during planning: the name of a view has one part, not a.v",
            ),
        ] {
            check(statement, expected);
        }
    }

    #[test]
    fn views_before_a_query_are_of_this_query() {
        check(
            "CREATE OR REPLACE VIEW v AS SELECT 1 AS a; CREATE VIEW w (b) AS SELECT a FROM v; SELECT b FROM w;",
            "WITH v AS (SELECT 1 AS a), w (b) AS (SELECT a FROM v) SELECT b FROM w",
        );
        check(
            "CREATE VIEW v AS SELECT 1; WITH w AS (SELECT * FROM v) SELECT * FROM w",
            "WITH v AS (SELECT 1), w AS (SELECT * FROM v) SELECT * FROM w",
        );
        // By itself it would change something, which the planner refuses.
        check("CREATE VIEW v AS SELECT 1", "CREATE VIEW v AS SELECT 1");
    }
}
