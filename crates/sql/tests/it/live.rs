//! Conditions, limits and orders pushed down to live views do not change results.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::data::{Workspace, ask, refused};

/// Tables with a key column.
const KEYED: [(&str, &str); 4] = [
    ("pages", "url_key"),
    ("uris", "url_key"),
    ("domains", "domain"),
    ("inlinks", "target_key"),
];

#[derive(Debug, Clone)]
enum Condition {
    Compare(&'static str, prop::sample::Index),
    Between(prop::sample::Index, prop::sample::Index),
    Prefix(prop::sample::Index, usize),
    Absent(String),
}

fn condition() -> impl Strategy<Value = Condition> {
    let operator = prop::sample::select(vec!["=", "<", "<=", ">", ">="]);
    prop_oneof![
        (operator, any::<prop::sample::Index>()).prop_map(|(op, key)| Condition::Compare(op, key)),
        any::<(prop::sample::Index, prop::sample::Index)>().prop_map(|(a, b)| Condition::Between(a, b)),
        (any::<prop::sample::Index>(), 0..12usize).prop_map(|(key, length)| Condition::Prefix(key, length)),
        "[a-z),/]{0,6}".prop_map(Condition::Absent),
    ]
}

impl Condition {
    fn on(&self, column: &str, keys: &[&str]) -> String {
        match self {
            Condition::Compare(op, key) => format!("{column} {op} '{}'", key.get(keys)),
            Condition::Between(a, b) => format!("{column} BETWEEN '{}' AND '{}'", a.get(keys), b.get(keys)),
            Condition::Prefix(key, length) => {
                let prefix: String = key.get(keys).chars().take(*length).collect();
                format!("{column} LIKE '{prefix}%'")
            }
            Condition::Absent(text) => format!("{column} >= '{text}'"),
        }
    }
}

#[test]
fn conditions_on_keys_give_what_they_give_without_help() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = Workspace::small();
    let database = place.database();
    let all: Vec<(&str, &str, String)> = KEYED
        .iter()
        .map(|(table, column)| {
            let keys = runtime.block_on(ask(&database, &format!("SELECT {column} FROM {table}")));
            (*table, *column, keys)
        })
        .collect();
    let config = Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (
        0..KEYED.len(),
        prop::collection::vec(condition(), 1..3),
        prop::option::of(0..30usize),
    );
    let outcome = TestRunner::new(config).run(&strategy, |(table, conditions, limit)| {
        let (table, column, keys) = &all[table];
        let keys: Vec<&str> = keys
            .lines()
            .filter(|key| !key.contains(['\'', '%', '_', '\\']))
            .collect();
        let with = |column: &str| {
            let conditions: Vec<String> = conditions.iter().map(|c| c.on(column, &keys)).collect();
            let limit = limit.map(|rows| format!(" LIMIT {rows}")).unwrap_or_default();
            format!(
                "SELECT * FROM {table} WHERE {} ORDER BY 1, 2{limit}",
                conditions.join(" AND ")
            )
        };
        let helped = runtime.block_on(ask(&database, &with(column)));
        // An expression that is not a range, so that every row is read and checked.
        let alone = runtime.block_on(ask(&database, &with(&format!("concat({column}, '')"))));
        prop_assert_eq!(helped, alone, "{}", with(column));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_and_orders_give_the_first_rows() {
    let place = Workspace::small();
    let database = place.database();
    for (table, order) in [
        ("top", "inlinks_external DESC, inlinks DESC, url_key"),
        ("pages", "url_key"),
        ("uris", "url_key"),
        ("domains", "domain"),
        ("inlinks", "target_key, source_key"),
        ("ledger", "input"),
    ] {
        let whole = ask(&database, &format!("SELECT * FROM {table} ORDER BY {order}")).await;
        for limit in [0, 1, 7, 100_000] {
            let expected: Vec<&str> = whole.lines().take(limit).collect();
            for order in [format!(" ORDER BY {order}"), String::new()] {
                let statement = format!("SELECT * FROM {table}{order} LIMIT {limit}");
                assert_eq!(
                    ask(&database, &statement).await,
                    expected.join("\n"),
                    "{statement}"
                );
            }
        }
    }
}

/// Only the requested columns, in the requested order.
#[tokio::test(flavor = "multi_thread")]
async fn columns_are_chosen() {
    let place = Workspace::small();
    let database = place.database();
    let whole = ask(&database, "SELECT url_key, captured, inlinks FROM uris LIMIT 5").await;
    let turned = ask(&database, "SELECT inlinks, url_key FROM uris LIMIT 5").await;
    for (whole, turned) in whole.lines().zip(turned.lines()) {
        let cells: Vec<&str> = whole.split('\t').collect();
        assert_eq!(turned, format!("{}\t{}", cells[2], cells[0]));
    }
    let count = ask(&database, "SELECT count(*) FROM uris").await;
    let counted = ask(&database, "SELECT count(url_key) FROM uris").await;
    assert_eq!(count, counted);
}

#[test]
fn inlinks_refuses_a_star_in_the_host() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = Workspace::small();
    let database = place.database();
    for url in ["*.example.org", "http://*.example.org/"] {
        let error = runtime.block_on(refused(&database, &format!("SELECT * FROM inlinks('{url}')")));
        assert!(
            error.to_string().contains("has a star, which is no pattern here"),
            "{error}"
        );
    }
}
