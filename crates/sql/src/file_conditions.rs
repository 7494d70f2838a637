//! Pushes conditions on the path or directory of a file down to the catalogue of files.
//!
//! Paths are bytes in the catalogue and text in statements (a byte that is not UTF-8 becomes
//! `\xNN`). So conditions with a backslash are evaluated as text after the rows are read.

use std::os::unix::ffi::OsStrExt as _;

use catalogue::NameCondition;
use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use crate::keys::{is_column, text_of};

/// The part of a condition that the catalogue can evaluate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pushdown {
    pub(crate) condition: NameCondition,
    /// Whether this is the whole condition.
    pub(crate) is_exact: bool,
}

/// Returns the part of a condition that restricts paths or directories, if any.
pub(crate) fn pushdown_of(condition: &Expr) -> Option<Pushdown> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Eq => {
            let (column, text) = match text_of(right) {
                Some(text) => (left, text),
                None => (right, text_of(left)?),
            };
            let path = path_bytes(text)?;
            let condition = match path_column(column)? {
                PathColumn::Path => NameCondition::Is(path),
                PathColumn::Directory => NameCondition::In(path),
            };
            Some(Pushdown {
                condition,
                is_exact: true,
            })
        }
        Expr::Like(like) if !like.negated && !like.case_insensitive && like.escape_char.is_none() => {
            like_pushdown(like)
        }
        _ => None,
    }
}

enum PathColumn {
    Path,
    Directory,
}

fn path_column(column: &Expr) -> Option<PathColumn> {
    match column {
        column if is_column(column, "path") => Some(PathColumn::Path),
        column if is_column(column, "directory") => Some(PathColumn::Directory),
        _ => None,
    }
}

/// Returns the bytes of the path with this text form; `None` if no path has it.
fn path_bytes(text: &str) -> Option<Vec<u8>> {
    let path = inputs::path_of(text);
    (inputs::path_text(&path) == text).then(|| path.as_os_str().as_bytes().to_vec())
}

fn like_pushdown(like: &Like) -> Option<Pushdown> {
    let column = path_column(&like.expr)?;
    let (begin, is_exact) = literal_prefix(text_of(&like.pattern)?);
    let pushdown = Pushdown {
        // The path of an entry begins like its directory's path, but so do other paths.
        is_exact: is_exact && matches!(column, PathColumn::Path),
        condition: NameCondition::Begins(begin.into_bytes()),
    };
    (pushdown.condition != NameCondition::Begins(Vec::new())).then_some(pushdown)
}

/// Returns the characters before the first wildcard of a pattern, and whether a single `%` is all
/// that follows them.
fn literal_prefix(pattern: &str) -> (String, bool) {
    let mut begin = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => return (begin, characters.next().is_none()),
            '_' => return (begin, false),
            '\\' => match characters.next() {
                Some(wildcard @ ('%' | '_')) => begin.push(wildcard),
                // A backslash in a path, where it may be part of an escape.
                _ => return (begin, false),
            },
            character => begin.push(character),
        }
    }
    // Without a wildcard only the whole text matches.
    (begin, false)
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};
    use expect_test::{Expect, expect};

    use super::*;

    fn check(condition: Expr, expected: Expect) {
        let shown = match pushdown_of(&condition) {
            Some(Pushdown { condition, is_exact }) => {
                let (kind, path) = match condition {
                    NameCondition::Is(path) => ("is", path),
                    NameCondition::Begins(path) => ("begins", path),
                    NameCondition::In(path) => ("in", path),
                };
                let rest = if is_exact { "" } else { ", and more" };
                format!("{kind} {}{rest}", path.escape_ascii())
            }
            None => "nothing".to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn conditions_on_paths_and_directories_are_understood() {
        check(col("path").eq(lit("/a/b")), expect!["is /a/b"]);
        check(lit("/a/b").eq(col("directory")), expect!["in /a/b"]);
        check(col("path").like(lit("/a/%")), expect!["begins /a/"]);
        check(col("path").like(lit("/a%b%")), expect!["begins /a, and more"]);
        check(
            col("path").like(lit("/my_crawls/%")),
            expect!["begins /my, and more"],
        );
        // The form in which `starts_with` arrives here.
        check(
            col("path").like(lit("/my\\_crawls/%")),
            expect!["begins /my_crawls/"],
        );
        check(
            col("directory").like(lit("/a/%")),
            expect!["begins /a/, and more"],
        );
    }

    #[test]
    fn paths_that_are_no_text_are_compared_as_bytes_where_that_is_exact() {
        check(col("path").eq(lit("/a\\xff")), expect![[r"is /a\xff"]]);
        // No path has this text form.
        check(col("path").eq(lit("/a\\x41")), expect!["nothing"]);
        check(col("path").like(lit("/a\\\\xf%")), expect!["begins /a, and more"]);
    }

    #[test]
    fn others_are_not() {
        for condition in [
            col("name").eq(lit("a")),
            col("path").not_eq(lit("a")),
            col("path").eq(lit(1)),
            col("path").eq(col("target")),
            col("path").like(lit("%a")),
            col("path").not_like(lit("/a%")),
            col("path").ilike(lit("/a%")),
            col("path").gt(lit("/a")),
        ] {
            check(condition, expect!["nothing"]);
        }
    }
}
