//! Conditions on the path or the directory of a file, as the catalogue of files knows them.
//!
//! Paths are bytes there and text here (a byte that is no UTF-8 is `\xNN`), so that what contains a backslash is compared as
//! text, after the rows were read.

use std::os::unix::ffi::OsStrExt as _;

use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use files::NameCondition;

use crate::keys::{is_column, text_of};

/// What a condition of a statement says of names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Understood {
    pub(crate) condition: NameCondition,
    /// Whether that is all it says.
    pub(crate) is_all: bool,
}

/// What a condition says of names, if it says something about where they lie.
pub(crate) fn understood(condition: &Expr) -> Option<Understood> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::Eq => {
            let (column, text) = match text_of(right) {
                Some(text) => (left, text),
                None => (right, text_of(left)?),
            };
            let path = bytes_of(text)?;
            let condition = match named(column)? {
                Named::Path => NameCondition::Is(path),
                Named::Directory => NameCondition::In(path),
            };
            Some(Understood {
                condition,
                is_all: true,
            })
        }
        Expr::Like(like) if !like.negated && !like.case_insensitive && like.escape_char.is_none() => {
            of_like(like)
        }
        _ => None,
    }
}

enum Named {
    Path,
    Directory,
}

fn named(column: &Expr) -> Option<Named> {
    match column {
        column if is_column(column, "path") => Some(Named::Path),
        column if is_column(column, "directory") => Some(Named::Directory),
        _ => None,
    }
}

/// The bytes of a path that is written like this; `None` if no path is.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let path = inputs::path_of(text);
    (inputs::path_text(&path) == text).then(|| path.as_os_str().as_bytes().to_vec())
}

fn of_like(like: &Like) -> Option<Understood> {
    let column = named(&like.expr)?;
    let (begin, is_all) = beginning(text_of(&like.pattern)?);
    let understood = Understood {
        // What lies in a directory has a path that begins as that of the directory does; others have, too.
        is_all: is_all && matches!(column, Named::Path),
        condition: NameCondition::Begins(begin.into_bytes()),
    };
    (understood.condition != NameCondition::Begins(Vec::new())).then_some(understood)
}

/// The characters before the first wildcard of a pattern, and whether one `%` is all that comes after them.
fn beginning(pattern: &str) -> (String, bool) {
    let mut begin = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => return (begin, characters.next().is_none()),
            '_' => return (begin, false),
            '\\' => match characters.next() {
                Some(wildcard @ ('%' | '_')) => begin.push(wildcard),
                // A backslash in a path, which may be half of an escape there.
                _ => return (begin, false),
            },
            character => begin.push(character),
        }
    }
    // Without a wildcard only the whole text fits.
    (begin, false)
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};
    use expect_test::{Expect, expect};

    use super::*;

    fn check(condition: Expr, expected: Expect) {
        let shown = match understood(&condition) {
            Some(Understood { condition, is_all }) => {
                let (kind, path) = match condition {
                    NameCondition::Is(path) => ("is", path),
                    NameCondition::Begins(path) => ("begins", path),
                    NameCondition::In(path) => ("in", path),
                };
                let rest = if is_all { "" } else { ", and more" };
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
        // So `starts_with` arrives here.
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
        // No path is written like this.
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
