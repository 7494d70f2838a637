//! Queries as people write them for Common Crawl's index table, in the dialect of Athena.

use std::path::{Path, PathBuf};

use sql::Database;
use tokio::runtime::Runtime;

use crate::data::{Workspace, ask, refused};

/// A segment of a crawl, as Common Crawl names it.
const SEGMENT: &str = "crawl-data/CC-MAIN-2026-43/segments/1789.5";

fn runtime() -> Runtime {
    Runtime::new().unwrap()
}

/// Makes an archive of a small web whose file is in a segment of a crawl.
fn crawl() -> Workspace {
    let place = Workspace::new();
    let folder = place.path(SEGMENT).join("warc");
    std::fs::create_dir_all(&folder).unwrap();
    let web = folder.join("part.warc.gz");
    std::fs::rename(place.web(120, 1), &web).unwrap();
    place.load_by_path(&place.own(), &[web]);
    place
}

fn queries_in(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|end| end == "sql"))
        .collect();
    files.sort();
    files
}

#[test]
fn queries_for_the_index_table_have_answers() {
    let place = crawl();
    let (database, runtime) = (place.database(), runtime());
    let files = queries_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ccindex"));
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        let statement = std::fs::read_to_string(&file).unwrap();
        let rows = runtime.block_on(ask(&database, &statement));
        assert!(!rows.is_empty(), "{}: no rows", file.display());
    }
}

#[test]
fn columns_have_the_values_of_the_index_table() {
    let place = crawl();
    let (database, runtime) = (place.database(), runtime());
    let count = |condition: &str| -> u64 {
        let statement = format!("SELECT count(*) FROM ccindex.ccindex WHERE {condition}");
        runtime.block_on(ask(&database, &statement)).parse().unwrap()
    };
    let all = count("true");
    assert!(all >= 120, "{all}");
    for condition in [
        "crawl = 'CC-MAIN-2026-43' AND warc_segment = '1789.5' AND subset = 'warc'",
        "url_host_name_reversed LIKE url_host_tld || '.%'",
        "url_host_name LIKE '%' || url_host_2nd_last_part || '.' || url_host_tld",
        "url_host_name LIKE '%' || url_host_registry_suffix",
        "fetch_redirect IS NULL",
    ] {
        assert_eq!(count(condition), all, "{condition}");
    }
    assert_eq!(
        count("length(content_languages) = 3"),
        count("content_languages IS NOT NULL")
    );
    // The same rows under the short name, and those of the facts.
    let short = runtime.block_on(ask(&database, "SELECT count(*) FROM ccindex"));
    assert_eq!(short, all.to_string());
    assert_eq!(
        runtime.block_on(ask(&database, "SELECT count(*) FROM captures")),
        short
    );
}

/// Queries of Common Crawl's that need something that is not here, and the errors.
const UNSUPPORTED: [(&str, &str); 8] = [
    // They compare with a table of other data.
    ("count-domains-alexa-top-1m", "alexa_top_1m"),
    ("get-records-home-pages", "alexa_top_1m"),
    ("get-records-robotstxt", "alexa_top_1m"),
    // Sorting by a lambda of two rows, and casts to rows and JSON.
    ("average-warc-record-length-by-mime-type", ""),
    ("discovery-of-non-english-sites", ""),
    ("site-discovery-by-language", ""),
    // A lambda over an unnested list, with a condition on a computed column.
    ("count-url-path-elements", "LambdaVariable"),
    // A pattern that looks behind its match.
    ("get-language-translations-url-path", ""),
];

/// The sample queries of github.com/commoncrawl/cc-index-table, if they are in the shared data.
#[test]
fn common_crawls_own_queries_run_as_they_are() {
    let Some(folder) = test_env::shared_data().map(|data| data.join("cc-index-table")) else {
        return;
    };
    if !folder.is_dir() {
        println!("skipped: there is no folder {}", folder.display());
        return;
    }
    let place = crawl();
    let (database, runtime) = (place.database(), runtime());
    let files = queries_in(&folder);
    assert_eq!(files.len(), 27, "{files:?}");
    let mut wrong = Vec::new();
    for file in &files {
        if let Err(error) = check_sample(&database, &runtime, file) {
            wrong.push(error);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_sample(database: &Database, runtime: &Runtime, file: &Path) -> Result<(), String> {
    let statement = std::fs::read_to_string(file).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy();
    let answered = runtime.block_on(async {
        let mut answer = database.query(&statement, &sql::QuerySettings::default()).await?;
        while let Some(rows) = answer.next().await {
            rows?;
        }
        Ok::<_, sql::SqlError>(())
    });
    let unsupported = UNSUPPORTED.iter().find(|(unsupported, _)| *unsupported == name);
    match (answered, unsupported) {
        (Ok(()), None) => Ok(()),
        (Err(error), Some((_, why))) if error.is_of_statement() && error.to_string().contains(why) => Ok(()),
        (answered, _) => Err(format!("{name}: {answered:?}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_of_one_statement() {
    let place = Workspace::small();
    let database = place.database();
    let created = "CREATE VIEW v AS SELECT count(*) AS n FROM pages; SELECT n FROM v";
    assert_ne!(ask(&database, created).await, "0");
    let error = refused(&database, "SELECT n FROM v").await;
    assert!(error.to_string().contains("there is no table v"), "{error}");
}
