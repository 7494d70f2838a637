//! Permitted statements, and the errors of others.

use std::time::Duration;

use sql::{FileTable, QuerySettings, SqlError, TABLES};

use crate::data::{Workspace, ask, ask_with, refused};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_and_nothing_outside_is_read() {
    let place = Workspace::small();
    let database = place.database();
    let secret = place.path("secret.csv");
    std::fs::write(&secret, "a,b\n1,2\n").unwrap();
    let secret = secret.display();
    let copied = place.path("copied.csv");
    for statement in [
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{secret}'"),
        format!("COPY pages TO '{}'", copied.display()),
        format!("COPY (SELECT 1) TO '{}' STORED AS CSV", copied.display()),
        format!("SELECT * FROM '{secret}'"),
        format!("SELECT * FROM 'file://{secret}'"),
        format!("SELECT * FROM read_csv('{secret}')"),
        format!("SELECT * FROM read_parquet('{secret}')"),
        format!("SELECT * FROM parquet_metadata('{secret}')"),
        format!("SELECT * FROM read_text('{secret}')"),
        "INSERT INTO pages SELECT * FROM pages".into(),
        "INSERT INTO captures SELECT * FROM captures".into(),
        "DELETE FROM captures".into(),
        "UPDATE captures SET url = ''".into(),
        "TRUNCATE TABLE captures".into(),
        "DROP TABLE captures".into(),
        "DROP VIEW pages".into(),
        "CREATE TABLE t AS SELECT 1".into(),
        "CREATE VIEW t AS SELECT 1".into(),
        "CREATE SCHEMA s".into(),
        "CREATE FUNCTION f(INT) RETURNS INT RETURN $1".into(),
        "SET datafusion.execution.batch_size = 1".into(),
        "RESET datafusion.execution.batch_size".into(),
        "PREPARE p AS SELECT 1".into(),
        "EXPLAIN ANALYZE INSERT INTO captures SELECT * FROM captures".into(),
        "SELECT 1; DROP TABLE captures".into(),
    ] {
        let error = refused(&database, &statement).await;
        assert!(error.is_of_statement(), "{statement}: {error:?}");
    }
    assert!(!copied.exists());
    let captures: u64 = ask(&database, "SELECT count(*) FROM captures")
        .await
        .parse()
        .unwrap();
    assert!(captures >= 120, "{captures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_statements_are_told_where_and_what_instead() {
    let place = Workspace::small();
    let database = place.database();
    for (statement, expected) in [
        ("SELEC 1", "(column 1)"),
        ("SELECT titel FROM pages", "'pages.title'"),
        ("SELECT\n  titel\nFROM pages", "(line 2, column 3)"),
        (
            "SELECT * FROM page",
            "there is no table page; the tables are captures, links,",
        ),
        ("SELECT * FROM texts", "--facts-text"),
        ("SELECT * FROM files", "weft files scan DIR"),
        ("SELECT url_kei(url) FROM pages", "url_key"),
        ("SELECT * FROM search(url)", "search('words of a query')"),
        ("SELECT 1 +", "found: EOF"),
        ("", "statement"),
    ] {
        let error = refused(&database, statement).await;
        assert!(error.to_string().contains(expected), "{statement}: {error}");
        assert!(error.is_of_statement(), "{statement}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_columns_can_be_listed_and_plans_be_shown() {
    let place = Workspace::small();
    let database = place.database();
    let shown = ask(&database, "SHOW TABLES").await;
    for table in TABLES {
        let is_there = shown.contains(&format!("\t{}\t", table.name));
        // No scan has run yet.
        let is_expected = table.name != "texts" && FileTable::named(table.name).is_none();
        assert_eq!(is_there, is_expected, "{}: {shown}", table.name);
    }
    assert!(
        ask(&database, "DESCRIBE captures")
            .await
            .contains("url_host_registered_domain")
    );
    let plan = ask(&database, "EXPLAIN ANALYZE SELECT * FROM top LIMIT 3").await;
    assert!(
        plan.contains("at most 3 rows") && plan.contains("output_rows=3"),
        "{plan}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_statement_is_stopped() {
    let place = Workspace::small();
    let database = place.database();
    let mut settings = QuerySettings::default();
    settings.time_max = Some(Duration::from_secs(1));
    let endless = "SELECT sum(sqrt(a.value * b.value)) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";
    let begun = std::time::Instant::now();
    let error = ask_with(&database, endless, &settings).await.unwrap_err();
    assert!(matches!(error, SqlError::TimeLimit { seconds: 1 }), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // The database still works.
    assert_eq!(ask(&database, "SELECT 1").await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn search_and_inlinks_are_tables() {
    let place = Workspace::small();
    let database = place.database();
    let title = ask(&database, "SELECT title FROM pages WHERE title <> '' LIMIT 1").await;
    let word = title.split_whitespace().next().unwrap().to_owned();
    let found = ask(
        &database,
        &format!("SELECT count(*), min(place), max(place) FROM search('{word}')"),
    )
    .await;
    let numbers: Vec<u64> = found.split('\t').map(|number| number.parse().unwrap()).collect();
    assert!(
        numbers[0] > 0 && numbers[1] == 1 && numbers[2] == numbers[0],
        "{found}"
    );
    let limited = ask(&database, &format!("SELECT place FROM search('{word}') LIMIT 1")).await;
    assert_eq!(limited, "1");

    let most = ask(
        &database,
        "SELECT url, inlinks, url_key FROM pages ORDER BY inlinks DESC LIMIT 1",
    )
    .await;
    let [url, inlinks, key] = *most.split('\t').collect::<Vec<_>>() else {
        panic!("{most}")
    };
    for source in [
        format!("inlinks('{url}')"),
        format!("inlinks WHERE target_key = '{key}'"),
    ] {
        assert_eq!(
            ask(&database, &format!("SELECT count(*) FROM {source}")).await,
            inlinks
        );
    }
    assert_eq!(ask(&database, &format!("SELECT url_key('{url}')")).await, key);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_without_facts_has_its_live_tables() {
    let place = Workspace::new();
    let web = place.web(20, 3);
    {
        let mut settings = archive::OpenSettings::default();
        settings.create = true;
        settings.facts = Some(archive::question::FactsPlace::None);
        let archive = archive::Archive::open(&place.path("archive"), settings).unwrap();
        place.load(&archive, &[web], None);
    }
    let database = place.database();
    assert!(
        ask(&database, "SELECT count(*) FROM pages")
            .await
            .parse::<u64>()
            .unwrap()
            > 0
    );
    let error = refused(&database, "SELECT count(*) FROM captures").await;
    assert!(matches!(error, SqlError::NoFacts(_)), "{error:?}");
}

/// The facts are at a location that this program cannot reach. The error says so, unless the
/// settings give another location.
#[tokio::test(flavor = "multi_thread")]
async fn facts_are_where_the_archive_says_or_the_settings() {
    let place = Workspace::small();
    let count = "SELECT count(*) FROM captures";
    let expected = ask(&place.database(), count).await;
    std::fs::rename(place.path("archive/facts"), place.path("moved")).unwrap();
    let settings = place.path("archive/weft.json");
    let mut chosen: serde_json::Value = serde_json::from_slice(&std::fs::read(&settings).unwrap()).unwrap();
    chosen["facts"]["place"] = "store://bucket/name".into();
    std::fs::write(&settings, chosen.to_string()).unwrap();
    let database = place.database();
    assert_ne!(ask(&database, "SELECT count(*) FROM pages").await, "0");
    let error = refused(&database, count).await;
    assert!(matches!(error, SqlError::NoFacts(_)), "{error:?}");
    let expected_words = "store://bucket/name: expected s3://";
    assert!(error.to_string().contains(expected_words), "{error}");
    let error = sql::maintain(&database, std::time::Duration::ZERO)
        .await
        .unwrap_err();
    assert!(error.to_string().contains(expected_words), "{error}");

    let mut settings = sql::Settings::default();
    settings.facts = Some(inputs::path_text(&place.path("moved")));
    let database = sql::Database::new(&place.path("archive"), &settings).unwrap();
    assert_eq!(ask(&database, count).await, expected);
}

/// For users who must not learn where files are, names of inputs are reduced to their last part in
/// every column.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_without_folders_where_these_are_hidden() {
    let place = Workspace::new();
    let web = place.web(120, 1);
    place.load_by_path(&place.own(), &[web]);
    let database = place.database();
    let mut hidden = QuerySettings::default();
    hidden.base_names = true;
    let folder = place.path("").display().to_string();
    let statements = [
        "SELECT DISTINCT warc_filename FROM captures",
        "SELECT DISTINCT warc_filename FROM links",
        "SELECT input FROM ledger",
        "SELECT warc_filename FROM captures WHERE warc_filename = 'web-1.warc.gz' GROUP BY 1",
        "SELECT DISTINCT c.warc_filename FROM captures c JOIN ledger l ON c.warc_filename = l.input",
    ];
    for statement in statements {
        let (_, rows) = ask_with(&database, statement, &hidden).await.unwrap();
        assert_eq!(rows, "web-1.warc.gz", "{statement}");
    }
    assert!(
        ask(&database, "SELECT input FROM ledger")
            .await
            .starts_with(&folder)
    );
    for (statement, expected) in [
        ("EXPLAIN SELECT * FROM captures", "EXPLAIN shows"),
        ("EXPLAIN ANALYZE SELECT * FROM captures", "EXPLAIN shows"),
        ("SELECT * FROM files", "only the archive's owner"),
    ] {
        let error = ask_with(&database, statement, &hidden).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(expected) && !text.contains(&folder),
            "{statement}: {text}"
        );
    }
    let count = "SELECT count(*), count(DISTINCT url) FROM captures";
    let (_, rows) = ask_with(&database, count, &hidden).await.unwrap();
    assert_eq!(rows, ask(&database, count).await);
    assert_eq!(ask(&database, "SELECT base_name('/a/b/c.warc')").await, "c.warc");
}
