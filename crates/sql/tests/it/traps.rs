//! Difficult SQL where engines are known to fail, compared with DuckDB: NULL, subqueries, outer
//! joins, grouping, numbers, texts, times, window frames.
//!
//! Each statement has the same result as in DuckDB, is refused, or differs as documented in
//! docs/sql.md.

use std::io::Write as _;
use std::process::Stdio;

use sql::QuerySettings;

use crate::data::{Workspace, ask, ask_with, refused};

/// Small tables with NULL at each relevant place.
const TABLES: &str = "WITH o(id, g) AS (VALUES (1, 1), (2, 2), (3, 3), (NULL, 4), (5, NULL)), \
     i(id, g) AS (VALUES (1, 1), (NULL, 2), (7, 4)), n(id, g) AS (VALUES (1, 1), (7, 4)) ";

/// The same result as in DuckDB.
const SAME: &[&str] = &[
    // NOT IN and NULL: constants and expressions, at every place of a condition, correlated or not.
    "SELECT id FROM o WHERE 3 NOT IN (SELECT id FROM i)",
    "SELECT id FROM o WHERE 3 NOT IN (SELECT id FROM n)",
    "SELECT id FROM o WHERE NULL NOT IN (SELECT id FROM n)",
    "SELECT id FROM o WHERE NULL NOT IN (SELECT id FROM n WHERE false)",
    "SELECT id FROM o WHERE NOT (3 IN (SELECT id FROM i))",
    "SELECT id FROM o WHERE 3 NOT IN (SELECT id FROM i) OR id = 1",
    "SELECT id FROM o WHERE (3 NOT IN (SELECT id FROM i)) IS NULL",
    "SELECT id FROM o WHERE nullif(id, 2) NOT IN (SELECT id FROM n)",
    "SELECT id FROM o WHERE id NOT IN (SELECT id FROM i)",
    "SELECT id FROM o WHERE id NOT IN (SELECT id FROM n)",
    "SELECT id FROM o WHERE id NOT IN (SELECT id FROM i) OR g = 2",
    "SELECT id FROM o WHERE id NOT IN (SELECT id FROM n) OR g = 2",
    "SELECT id FROM o WHERE NOT (id IN (SELECT id FROM i) AND g = 1)",
    "SELECT id FROM o WHERE (id IN (SELECT id FROM i WHERE i.g = o.g)) IS NULL",
    "SELECT id FROM o WHERE 3 NOT IN (SELECT id FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE id NOT IN (SELECT id FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE id NOT IN (SELECT i.id FROM i WHERE i.g < o.g)",
    "SELECT id FROM o WHERE id NOT IN (SELECT i.id FROM i WHERE i.id = o.id)",
    "SELECT id FROM o WHERE id NOT IN (SELECT DISTINCT id FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE id NOT IN (SELECT max(id) FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE CASE WHEN g = 2 THEN id NOT IN (SELECT id FROM i) ELSE true END",
    "SELECT g, count(*) FROM o GROUP BY g HAVING count(*) NOT IN (SELECT id FROM i)",
    "SELECT o.id FROM o JOIN n ON o.id = n.id AND 3 NOT IN (SELECT id FROM i)",
    "SELECT id FROM o WHERE id NOT IN (1, NULL)",
    "SELECT id FROM o WHERE id < ALL (SELECT id FROM i)",
    "SELECT id FROM o WHERE id <> ALL (SELECT id FROM i WHERE i.g = o.g)",
    // EXISTS, and aggregates of empty inputs in subqueries.
    "SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.g > o.g) OR id IS NULL",
    "SELECT id FROM o WHERE EXISTS (SELECT max(id) FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE 0 IN (SELECT count(*) FROM i WHERE i.g = o.g)",
    "SELECT id FROM o WHERE NOT (0 IN (SELECT count(*) FROM i WHERE i.g = o.g))",
    "SELECT id, (SELECT count(*) FROM i WHERE i.g = o.g) FROM o",
    "SELECT id FROM o WHERE id <> (SELECT coalesce(max(id), 9) FROM i WHERE i.g = o.g)",
    "SELECT (SELECT id FROM n WHERE false) IS NULL",
    "SELECT coalesce((SELECT id FROM n WHERE false), 0)",
    "SELECT count(*) FROM o WHERE (SELECT id FROM n WHERE id > 99) IS NULL",
    // LIMIT in subqueries.
    "SELECT id FROM o WHERE id IN (SELECT id FROM n ORDER BY id LIMIT 1)",
    "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.g = o.g LIMIT 1)",
    "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i OFFSET 5)",
    // Outer joins with conditions on either side.
    "SELECT o.id, n.g FROM o LEFT JOIN n ON o.id = n.id WHERE n.g IS NULL",
    "SELECT o.id, n.g FROM o LEFT JOIN n ON o.id = n.id AND o.g > 2",
    "SELECT o.id, n.g FROM o LEFT JOIN n ON o.id = n.id WHERE n.g > 2 OR n.g IS NULL",
    "SELECT o.id, n.g FROM o FULL JOIN n ON o.id = n.id AND o.g < 3 AND n.g < 3",
    // DISTINCT, grouping and sets with NULL.
    "SELECT count(*), count(id), sum(id), count(DISTINCT id) FROM o",
    "SELECT DISTINCT id FROM (SELECT id FROM i UNION ALL SELECT NULL) AS a",
    "SELECT id FROM o EXCEPT SELECT id FROM i",
    "SELECT id FROM o INTERSECT SELECT id FROM i",
    "SELECT g, id, count(*) FROM i GROUP BY GROUPING SETS ((g), (id), ())",
    // Aggregates of empty inputs.
    "SELECT count(*), min(id), max(id), avg(id), sum(id) FROM o WHERE false",
    "SELECT count(*) FROM o WHERE false GROUP BY g",
    "SELECT bool_and(id > 0), bool_or(id > 4) FROM o WHERE id IS NULL",
    // Three-valued logic.
    "SELECT NULL = NULL, 1 IS DISTINCT FROM NULL, true OR NULL, false AND NULL, NOT (NULL AND true)",
    "SELECT id FROM o WHERE NOT (id = 1 OR g = 2)",
    "SELECT 'a' || NULL, coalesce(NULL, 3), nullif(1, NULL), greatest(1, NULL)",
    // CASE evaluates only the branch it needs.
    "SELECT CASE WHEN id - 1 = 0 THEN 0 ELSE 6 % (id - 1) END FROM o",
    "SELECT CASE NULL WHEN NULL THEN 1 ELSE 2 END",
    // Types of sets and comparisons; numbers.
    "SELECT 1 AS a UNION SELECT 1.5",
    "SELECT 1 = 1.0, 1 < 1.5, 7 % 3, -7 % 3",
    "SELECT CAST('0.1' AS DECIMAL(3,1)) + CAST('0.2' AS DECIMAL(3,1)) = CAST('0.3' AS DECIMAL(3,1))",
    "SELECT sum(DISTINCT id), avg(DISTINCT id) FROM (VALUES (1), (1), (2)) AS t(id)",
    // Texts.
    "SELECT 'a_b' LIKE 'a__', 'ab' LIKE 'a_', '' LIKE '%', '' LIKE '_', 'A' LIKE 'a', NULL LIKE 'a'",
    "SELECT length('日本'), substr('hello', 2), left('hello', -2), split_part('a.b.c', '.', 2)",
    "SELECT 'a' < 'B', 'a' = 'a ', 'ä' > 'z'",
    // Times and intervals.
    "SELECT TIMESTAMP '2024-01-31 00:00:00' + INTERVAL '1 month' = TIMESTAMP '2024-02-29 00:00:00'",
    "SELECT TIMESTAMP '2024-12-31 23:59:59.999999' + INTERVAL '1 microsecond' = TIMESTAMP '2025-01-01 00:00:00'",
    "SELECT date_trunc('week', TIMESTAMP '2024-01-07 10:00:00') = TIMESTAMP '2024-01-01 00:00:00'",
    "SELECT extract(dow FROM DATE '2024-01-07'), extract(week FROM DATE '2024-12-30')",
    // Window frames.
    "SELECT id, last_value(id) OVER (ORDER BY g) FROM o WHERE g IS NOT NULL",
    "SELECT g, sum(g) OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM o WHERE g IS NOT NULL",
    "SELECT g, sum(g) OVER (ORDER BY g RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM o WHERE g IS NOT NULL",
    "SELECT g, rank() OVER (ORDER BY g NULLS FIRST) FROM o",
    "SELECT id, count(*) OVER (PARTITION BY id) FROM i",
];

/// Refused with this text: the engine cannot plan them, or plans them wrongly.
const REFUSED: &[(&str, &str)] = &[
    ("SELECT id, id IN (SELECT id FROM i) FROM o", "in WHERE, HAVING"),
    (
        "SELECT id, EXISTS (SELECT 1 FROM i WHERE i.g = o.g) FROM o",
        "in WHERE, HAVING",
    ),
    (
        "SELECT o.id FROM o LEFT JOIN n ON o.id = n.id AND o.id NOT IN (SELECT id FROM i)",
        "in WHERE, HAVING",
    ),
    (
        "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.g = o.g OFFSET 1)",
        "with LIMIT and OFFSET",
    ),
    (
        "SELECT id FROM o WHERE id NOT IN (SELECT id FROM i WHERE i.g = o.g ORDER BY id LIMIT 1)",
        "with LIMIT and OFFSET",
    ),
    (
        "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.g = o.g HAVING count(*) = 0)",
        "aggregates without GROUP BY",
    ),
    (
        "SELECT id FROM o WHERE EXISTS (SELECT 1 FROM n WHERE o.id NOT IN (SELECT id FROM i))",
        "two levels further out",
    ),
    ("SELECT 1 / 0", "Divide by zero"),
    ("SELECT (SELECT id FROM o)", "more than one row"),
    ("SELECT CAST('2024-02-30' AS DATE)", "Cannot cast"),
];

/// Different from DuckDB, as documented in docs/sql.md ("Differences between dialects").
const OTHERWISE: &[(&str, &str)] = &[
    ("SELECT 7 / 2, -7 / 2", "3\t-3"),
    (
        "SELECT CAST(9223372036854775807 AS BIGINT) + 1",
        "-9223372036854775808",
    ),
    ("SELECT CAST(2.5 AS INT), CAST(-2.5 AS INT)", "2\t-2"),
    ("SELECT 2 ^ 3", "1"),
    (r"SELECT 'a%b' LIKE 'a\%b', 'axb' LIKE 'a\%b'", "true\tfalse"),
    ("SELECT substr('hello', -2)", "hello"),
];

/// Runs the statements in DuckDB. Prints a line and returns `None` if DuckDB is missing.
fn of_duckdb(statements: &[String]) -> Option<Vec<Option<Vec<String>>>> {
    let Some(python) = test_env::python(&["duckdb"]) else {
        println!("skipped: there is no Python with duckdb");
        return None;
    };
    let home = std::env::temp_dir();
    let mut child = test_env::command(python, &home)
        .args(["-c", include_str!("traps.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let asked = serde_json::to_vec(statements).unwrap();
    child.stdin.take().unwrap().write_all(&asked).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn traps_are_answered_as_duckdb_does_or_refused() {
    let place = Workspace::small();
    let database = place.database();
    let with = |statement: &str| {
        if statement.starts_with("SELECT") {
            format!("{TABLES}{statement}")
        } else {
            statement.to_owned()
        }
    };
    for (statement, said) in REFUSED {
        let error = refused(&database, &with(statement)).await.to_string();
        assert!(error.contains(said), "{statement}: {error}");
    }
    for (statement, expected) in OTHERWISE {
        assert_eq!(ask(&database, &with(statement)).await, *expected, "{statement}");
    }
    let statements: Vec<String> = SAME.iter().map(|statement| with(statement)).collect();
    let Some(expected) = of_duckdb(&statements) else {
        return;
    };
    let mut wrong = Vec::new();
    for (statement, expected) in SAME.iter().zip(expected) {
        let found = match ask_with(&database, &with(statement), &QuerySettings::default()).await {
            Ok((_, rows)) => Some(sorted(rows.split('\n').map(str::to_owned).collect())),
            Err(error) => Some(vec![error.to_string()]),
        };
        // No row and one empty row have the same text.
        let expected = expected.map(|rows| {
            if rows.is_empty() {
                vec![String::new()]
            } else {
                sorted(rows)
            }
        });
        if found != expected {
            wrong.push(format!("{statement}\n  here   {found:?}\n  DuckDB {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every form of a condition with `[NOT] IN`, over rows with and without NULL, and every
/// correlation.
#[tokio::test(flavor = "multi_thread")]
async fn not_in_has_three_values_everywhere() {
    let place = Workspace::small();
    let database = place.database();
    let mut statements = Vec::new();
    for value in ["3", "o.id", "NULL", "nullif(o.id, 2)", "o.id + 1"] {
        for table in ["i", "n"] {
            for chosen in [
                "true",
                "T.g = o.g",
                "T.g < o.g",
                "T.id = o.id",
                "T.g = o.g AND T.id > 3",
                "false",
            ] {
                let chosen = chosen.replace('T', table);
                let is_in = format!("{value} IN (SELECT {table}.id FROM {table} WHERE {chosen})");
                for condition in [
                    format!("NOT ({is_in})"),
                    format!("{is_in} OR g = 2"),
                    format!("NOT ({is_in}) OR g = 2"),
                    format!("({is_in}) IS NULL"),
                    format!("NOT ({is_in} AND g = 1)"),
                    format!("({is_in}) IS NOT TRUE AND g > 0"),
                ] {
                    statements.push(format!("{TABLES}SELECT g FROM o WHERE {condition}"));
                }
            }
        }
    }
    let Some(expected) = of_duckdb(&statements) else {
        return;
    };
    for (statement, expected) in statements.iter().zip(expected) {
        let found = ask(&database, statement).await;
        let found: Vec<String> = found.split('\n').map(str::to_owned).collect();
        let rows = expected.unwrap();
        let expected = if rows.is_empty() {
            vec![String::new()]
        } else {
            sorted(rows)
        };
        assert_eq!(sorted(found), expected, "{statement}");
    }
}

/// The anchor of a link may be NULL.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_facts_with_nulls_hide_no_rows() {
    let place = Workspace::small();
    let database = place.database();
    let nulls = "SELECT CASE WHEN anchor = 'x' THEN anchor END FROM links";
    // Columns of live tables are never NULL, but an empty subquery is.
    let absent = "SELECT coalesce((SELECT title FROM pages WHERE url_key = 'x'), 'none')";
    assert_eq!(ask(&database, absent).await, "none");
    for condition in [
        format!("'nothing' NOT IN ({nulls})"),
        format!("url NOT IN ({nulls})"),
        format!(
            "'nothing' NOT IN ({nulls} WHERE links.source_surtkey = captures.url_surtkey) AND url IN (SELECT source_url FROM links)"
        ),
    ] {
        let rows = ask(
            &database,
            &format!("SELECT count(*) FROM captures WHERE {condition}"),
        )
        .await;
        assert_eq!(rows, "0", "{condition}");
    }
}

/// A condition that is never true hides every row, also beside one that a scan applies.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_without_a_column_hold() {
    let place = Workspace::small();
    let database = place.database();
    let both = "url LIKE 'http%'";
    let all = ask(&database, &format!("SELECT count(*) FROM captures WHERE {both}")).await;
    assert_ne!(all, "0");
    for (condition, count) in [
        ("fetch_status = NULL", "0"),
        ("NULL", "0"),
        ("1 = 2", "0"),
        ("random() < 0", "0"),
        ("1 = 1", &*all),
        ("random() >= 0", &*all),
    ] {
        let statement = format!("SELECT count(*) FROM captures WHERE {condition} AND {both}");
        assert_eq!(ask(&database, &statement).await, count, "{condition}");
    }
}

/// Damage is reported by file name, not in the words of the engine that reads it.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_files_of_facts_are_told_in_a_sentence() {
    let place = Workspace::small();
    let folder = place.path("archive/facts/captures");
    let mut files = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = files
        .find(|path| path.extension().is_some_and(|kind| kind == "parquet"))
        .unwrap();
    let whole = std::fs::read(&file).unwrap();
    for (bytes, said) in [
        (Some(&whole[..whole.len() - 40]), "bytes, the log says"),
        (Some(vec![0x55; whole.len()].as_slice()), "that are not Parquet"),
        (None, "it is missing, the log says"),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let error = refused(&place.database(), "SELECT max(url) FROM captures")
            .await
            .to_string();
        let named = error.starts_with(&format!("facts file {} is damaged: ", file.display()));
        assert!(
            named && error.contains(said) && error.lines().count() == 1,
            "{error}"
        );
        // LiveTableProvider views do not read the facts.
        ask(&place.database(), "SELECT count(*) FROM pages").await;
    }
}
