//! Real crawls, loaded as users do.

use std::collections::BTreeMap;

use crate::support::{Run, Workspace, json_lines};

/// Number of records of each crawl, according to another reader.
const RECORDS: &[(&str, u64)] = &[
    ("blackbook.arc.gz", 300),
    ("blackbook.warc.gz", 822),
    ("etig.warc.gz", 802),
    ("hackfest.warc.gz", 104),
    ("iana.warc.gz", 343),
];

#[test]
fn real_crawls_load_and_answer() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let place = Workspace::new();
    let crawls = data.join("crawls").display().to_string();
    let run = place.run(&["load", &crawls, "--json"]);
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    let records: BTreeMap<String, u64> = json_lines(&place.good(&["dump", "ledger", "--json"]))
        .iter()
        .map(|row| {
            let input = row["input"]
                .as_str()
                .expect("a name")
                .rsplit('/')
                .next()
                .expect("a name")
                .to_owned();
            (input, row["records"].as_u64().expect("a number"))
        })
        .collect();
    for (name, expected) in RECORDS {
        assert_eq!(records.get(*name), Some(expected), "{name} in {records:?}");
    }
    let inlinks = place.json(&["inlinks", "http://www.archive.org/"]);
    assert!(
        inlinks["total"].as_u64().is_some_and(|total| total > 0),
        "{inlinks}"
    );
    let cdx = place.good(&["cdx", "http://www.iana.org/"]);
    assert!(
        cdx.starts_with("org,iana)/ 20140126200624 {\"url\": \"http://www.iana.org/\""),
        "{cdx}"
    );
    let hits = place.json(&["search", "root", "zone", "site:iana.org"]);
    assert!(hits["total"].as_u64().is_some_and(|total| total > 0), "{hits}");
}

#[test]
fn files_that_break_readers_load_with_reasons() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let place = Workspace::new();
    let edge = data.join("edge").display().to_string();
    let run: Run = place.run(&["load", &edge, "--verify"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let lost = place.good(&["dump", "quarantine"]);
    assert!(lost.lines().count() > 0, "{lost}");
    assert!(lost.lines().all(|line| line.split('\t').count() == 4), "{lost}");
}
