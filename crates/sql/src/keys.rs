//! Converts conditions on a key column to ranges of keys.

use archive::question::DumpRange;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// Returns the keys that a condition admits, if it is a condition on the column `key` that exactly
/// equals a range.
pub(crate) fn range_of(condition: &Expr, key: &str) -> Option<DumpRange> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == Operator::And => {
            Some(both(&range_of(left, key)?, &range_of(right, key)?))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (op, value) = match (is_column(left, key), text_of(right)) {
                (true, Some(value)) => (*op, value),
                _ if is_column(right, key) => (op.swap()?, text_of(left)?),
                _ => return None,
            };
            of_comparison(op, value)
        }
        Expr::Between(between) if !between.negated && is_column(&between.expr, key) => Some(DumpRange {
            from: Some(text_of(&between.low)?.to_owned()),
            to: Some(after(text_of(&between.high)?)),
            rows_max: None,
        }),
        Expr::Like(like)
            if !like.negated
                && !like.case_insensitive
                && like.escape_char.is_none()
                && is_column(&like.expr, key) =>
        {
            let prefix = text_of(&like.pattern)?.strip_suffix('%')?;
            // `_` matches any character, and a backslash escapes the next one.
            (!prefix.contains(['%', '_', '\\'])).then(|| of_prefix(prefix))
        }
        _ => None,
    }
}

/// Returns the intersection of two ranges.
pub(crate) fn both(a: &DumpRange, b: &DumpRange) -> DumpRange {
    let to = match (&a.to, &b.to) {
        (Some(a), Some(b)) => Some(a.min(b).clone()),
        (a, b) => a.as_ref().or(b.as_ref()).cloned(),
    };
    DumpRange {
        from: a.from.as_ref().max(b.from.as_ref()).cloned(),
        to,
        rows_max: None,
    }
}

/// Returns the range of a single key.
pub(crate) fn of_key(key: &str) -> DumpRange {
    DumpRange {
        from: Some(key.to_owned()),
        to: Some(after(key)),
        rows_max: None,
    }
}

fn of_comparison(op: Operator, value: &str) -> Option<DumpRange> {
    let mut range = DumpRange::default();
    match op {
        Operator::Eq => return Some(of_key(value)),
        Operator::Lt => range.to = Some(value.to_owned()),
        Operator::LtEq => range.to = Some(after(value)),
        Operator::Gt => range.from = Some(after(value)),
        Operator::GtEq => range.from = Some(value.to_owned()),
        _ => return None,
    }
    Some(range)
}

fn of_prefix(prefix: &str) -> DumpRange {
    DumpRange {
        from: Some(prefix.to_owned()),
        to: after_prefix(prefix),
        rows_max: None,
    }
}

/// Returns the immediate successor of a text.
fn after(text: &str) -> String {
    format!("{text}\0")
}

/// Returns the first text after all texts with this prefix: its last character incremented. UTF-8
/// sorts in the order of characters.
fn after_prefix(prefix: &str) -> Option<String> {
    let (at, _) = prefix
        .char_indices()
        .rfind(|(_, character)| *character != char::MAX)?;
    let raised = match prefix[at..].chars().next()? {
        '\u{d7ff}' => '\u{e000}',
        character => char::from_u32(u32::from(character) + 1)?,
    };
    Some(format!("{}{raised}", &prefix[..at]))
}

pub(crate) fn is_column(expression: &Expr, key: &str) -> bool {
    match expression {
        Expr::Column(column) => column.name == key,
        Expr::Cast(cast) => is_column(&cast.expr, key),
        _ => false,
    }
}

pub(crate) fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            _,
        ) => Some(text),
        Expr::Cast(cast) => text_of(&cast.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};
    use expect_test::{Expect, expect};

    use super::*;

    fn check(condition: Expr, expected: Expect) {
        let shown = match range_of(&condition, "k") {
            Some(range) => format!("{:?} .. {:?}", range.from, range.to),
            None => "no range".to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn conditions_become_ranges() {
        check(col("k").eq(lit("a")), expect![[r#"Some("a") .. Some("a\0")"#]]);
        check(lit("a").lt(col("k")), expect![[r#"Some("a\0") .. None"#]]);
        check(
            col("k").gt_eq(lit("a")).and(col("k").lt(lit("c"))),
            expect![[r#"Some("a") .. Some("c")"#]],
        );
        check(
            col("k").between(lit("a"), lit("b")),
            expect![[r#"Some("a") .. Some("b\0")"#]],
        );
        check(
            col("k").like(lit("org,a)/%")),
            expect![[r#"Some("org,a)/") .. Some("org,a)0")"#]],
        );
        check(
            col("k").like(lit("\u{d7ff}%")),
            expect![[r#"Some("\u{d7ff}") .. Some("\u{e000}")"#]],
        );
        check(col("k").like(lit("%")), expect![[r#"Some("") .. None"#]]);
    }

    #[test]
    fn others_do_not() {
        for condition in [
            col("other").eq(lit("a")),
            col("k").not_eq(lit("a")),
            col("k").eq(lit(1)),
            col("k").eq(col("other")),
            col("k").like(lit("a_b%")),
            col("k").like(lit("a%b")),
            col("k").not_like(lit("a%")),
            col("k").ilike(lit("a%")),
            col("k").eq(lit("a")).or(col("k").eq(lit("b"))),
        ] {
            check(condition, expect!["no range"]);
        }
    }

    #[test]
    fn ranges_meet() {
        let range = |from: Option<&str>, to: Option<&str>| DumpRange {
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
            rows_max: None,
        };
        let met = both(&range(Some("a"), None), &range(Some("b"), Some("c")));
        assert_eq!(met, range(Some("b"), Some("c")));
        let met = both(&range(None, Some("z")), &range(None, Some("c")));
        assert_eq!(met, range(None, Some("c")));
    }
}
