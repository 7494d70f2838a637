//! Errors of statements.

use archive::{AskError, OpenError};
use catalogue::CatalogueError;
use datafusion::error::DataFusionError;
use deltalake_core::DeltaTableError;

use crate::subqueries::ELSEWHERE;

/// The reason why a statement has no result.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The archive cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The archive does not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The statement is invalid, or unsupported.
    #[error("{message}{}", position_text(*.line, *.column))]
    Statement {
        /// The problem, with a suggestion if there is one.
        message: String,
        /// Line of the statement, counted from 1; 0 if unknown.
        line: u64,
        /// Column in that line, counted from 1.
        column: u64,
    },
    /// The statement would change data.
    #[error("SQL access is read-only: {what} is not allowed")]
    ReadOnly {
        /// The attempted operation.
        what: String,
    },
    /// The statement exceeded its time limit.
    #[error("stopped after {seconds} s, the time limit for a statement")]
    TimeLimit {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The archive keeps no such facts, or no history of them.
    #[error("{0}")]
    NoFacts(String),
    /// The catalogue of files is missing, in use, or unreadable.
    #[error(transparent)]
    Files(#[from] CatalogueError),
    /// The location of the tables is invalid.
    #[error("{address}: {why}")]
    FactsFolder {
        /// The folder.
        address: String,
        /// The reason.
        why: String,
    },
    /// The table of facts cannot be read.
    #[error("facts/{table}: {source}")]
    Facts {
        /// The table.
        table: &'static str,
        /// The cause.
        source: Box<DeltaTableError>,
    },
    /// Files of the facts are damaged.
    #[error("{0}")]
    Damaged(String),
    /// The table of facts does not have the requested epoch.
    #[error("facts/{table}: {why}")]
    Epoch {
        /// The table.
        table: &'static str,
        /// The reason, with advice.
        why: String,
    },
    /// An operator of the statement exceeds the memory limit or the space for temporary files.
    #[error("not enough memory for this statement (raise it with --memory): {0}")]
    NoMemory(String),
    /// Another failure during execution.
    #[error("{0}")]
    Execution(String),
}

/// Why the facts of an archive cannot be read here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FactsAbsence {
    /// The archive keeps none.
    #[error("this archive keeps no facts")]
    None,
    /// Their address is invalid.
    #[error("the facts of this archive are unreachable: {0}")]
    Unreachable(SqlError),
}

fn position_text(line: u64, column: u64) -> String {
    match line {
        0 => String::new(),
        1 => format!(" (column {column})"),
        line => format!(" (line {line}, column {column})"),
    }
}

impl SqlError {
    pub(crate) fn facts(table: &'static str) -> impl Fn(DeltaTableError) -> SqlError {
        move |source| SqlError::Facts {
            table,
            source: Box::new(source),
        }
    }

    /// Returns whether the statement is at fault, not the archive or the machine.
    pub fn is_of_statement(&self) -> bool {
        matches!(
            self,
            SqlError::Statement { .. }
                | SqlError::ReadOnly { .. }
                | SqlError::NoFacts(_)
                | SqlError::Files(CatalogueError::Missing { .. })
        )
    }

    /// Returns whether damaged files of the facts may be the cause.
    pub(crate) fn may_be_of_facts(&self) -> bool {
        matches!(self, SqlError::Facts { .. } | SqlError::Execution(_))
    }

    /// Returns whether another process uses what the statement needs, so that a later attempt may
    /// succeed.
    pub fn is_in_use(&self) -> bool {
        matches!(self, SqlError::Files(CatalogueError::InUse { .. }))
    }
}

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> DataFusionError {
        DataFusionError::External(Box::new(error))
    }
}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> SqlError {
        SqlError::of(error)
    }
}

impl SqlError {
    fn of(error: DataFusionError) -> SqlError {
        if let DataFusionError::ResourcesExhausted(what) = error.find_root() {
            return SqlError::NoMemory(what.lines().next().unwrap_or_default().to_owned());
        }
        match error {
            // Unwraps our own errors.
            DataFusionError::External(inner) => match inner.downcast::<SqlError>() {
                Ok(ours) => *ours,
                Err(other) => SqlError::Execution(other.to_string()),
            },
            DataFusionError::Context(_, inner) => SqlError::of(*inner),
            DataFusionError::Diagnostic(diagnostic, inner) => {
                let start = diagnostic.span.map(|span| span.start);
                match SqlError::of(*inner) {
                    SqlError::Statement { mut message, .. } => {
                        for help in &diagnostic.helps {
                            message.push_str("; ");
                            message.push_str(&help.message);
                        }
                        SqlError::Statement {
                            message,
                            line: start.map_or(0, |start| start.line),
                            column: start.map_or(0, |start| start.column),
                        }
                    }
                    other => other,
                }
            }
            DataFusionError::Shared(shared) => SqlError::of_text(&shared.to_string()),
            DataFusionError::Collection(all) => match all.into_iter().next() {
                Some(first) => SqlError::of(first),
                None => SqlError::Execution("no reason was given".into()),
            },
            error @ (DataFusionError::SQL(..)
            | DataFusionError::Plan(_)
            | DataFusionError::SchemaError(..)
            | DataFusionError::NotImplemented(_)) => SqlError::of_text(&error.strip_backtrace()),
            other => SqlError::Execution(without_kind(&other.strip_backtrace()).to_owned()),
        }
    }

    /// Converts a message of the planner or the parser, which contains the position as text.
    fn of_text(text: &str) -> SqlError {
        let text = without_kind(text);
        if let Some(what) = text
            .strip_prefix("DDL not supported: ")
            .or_else(|| text.strip_prefix("DML not supported: "))
            .or_else(|| text.strip_prefix("Statement not supported: "))
        {
            return SqlError::ReadOnly {
                what: what.to_owned(),
            };
        }
        if let Some((_, expression)) = text.split_once("Physical plan does not support logical expression ") {
            let message = if expression.starts_with("ScalarSubquery") {
                SCALAR
            } else {
                ELSEWHERE
            };
            return SqlError::Statement {
                message: message.to_owned(),
                line: 0,
                column: 0,
            };
        }
        let mut error = (text.to_owned(), 0, 0);
        if let Some((message, place)) = text.rsplit_once(" at Line: ")
            && let Some((line, column)) = place.split_once(", Column: ")
            && let (Ok(line), Ok(column)) = (line.trim().parse(), digits(column).parse())
        {
            error = (message.to_owned(), line, column);
        }
        SqlError::Statement {
            message: error.0,
            line: error.1,
            column: error.2,
        }
    }
}

/// The message for a scalar subquery that the engine cannot plan.
const SCALAR: &str = "a scalar subquery can compare columns of the outer statement only with =; write \
                      other comparisons with a join and GROUP BY";

fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// Removes prefixes that name the kind of an error.
fn without_kind(text: &str) -> &str {
    let mut rest = text;
    for kind in [
        "Error during planning: ",
        "SQL error: ",
        "Schema error: ",
        "Execution error: ",
        "This feature is not implemented: ",
        "External error: ",
        "Arrow error: ",
    ] {
        rest = rest.strip_prefix(kind).unwrap_or(rest);
    }
    match rest
        .strip_prefix("ParserError(\"")
        .and_then(|rest| rest.strip_suffix("\")"))
    {
        Some(inner) => inner,
        None => rest,
    }
}

/// Returns the error of a statement whose thread failed.
pub(crate) fn thread_error(error: tokio::task::JoinError) -> SqlError {
    SqlError::Execution(format!("a thread failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_messages_become_positions() {
        let text = r#"SQL error: ParserError("Expected: an expression, found: FROM at Line: 2, Column: 8")"#;
        let error = SqlError::of_text(text);
        assert_eq!(
            error.to_string(),
            "Expected: an expression, found: FROM (line 2, column 8)"
        );
    }

    #[test]
    fn subqueries_without_a_plan_are_told_in_our_words() {
        let text = "This feature is not implemented: Physical plan does not support logical expression InSubquery(InSubquery { expr";
        assert_eq!(SqlError::of_text(text).to_string(), ELSEWHERE);
        let text = "Physical plan does not support logical expression ScalarSubquery(<subquery>)";
        assert!(SqlError::of_text(text).to_string().contains("scalar subquery"));
    }

    #[test]
    fn what_would_change_something_is_refused_in_our_words() {
        let error = SqlError::of_text("Error during planning: DDL not supported: CreateExternalTable");
        assert!(matches!(error, SqlError::ReadOnly { .. }), "{error:?}");
    }
}
