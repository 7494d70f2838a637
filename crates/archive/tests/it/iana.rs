//! The captures of a real crawl, compared with the index that its makers published.

use archive::question::{Body, CdxBody, CdxQuestion, CdxRow, MatchType, Question};
use serde_json::Value;

use crate::data::{self, load, own};

/// A line of the reference.
#[derive(Debug, PartialEq)]
struct Line {
    url_key: String,
    timestamp: String,
    status: Option<String>,
    offset: String,
    length: String,
}

fn reference(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let mut part = || parts.next().unwrap().to_owned();
        let (url_key, timestamp) = (part(), part());
        let fields: Value = serde_json::from_str(&part()).unwrap();
        let field = |name: &str| fields.get(name).map(|value| value.as_str().unwrap().to_owned());
        Line {
            url_key,
            timestamp,
            status: field("status"),
            offset: field("offset").unwrap(),
            length: field("length").unwrap(),
        }
    };
    text.lines().map(line).collect()
}

fn captured(row: CdxRow) -> Line {
    Line {
        url_key: row.url_key,
        timestamp: row.timestamp,
        status: Some(row.status.to_string()),
        offset: row.offset.to_string(),
        length: row.length.to_string(),
    }
}

/// Returns the explanation of a difference between the reference and our line, if it is a known
/// one.
fn explained(reference: &Line, ours: &Line) -> Option<&'static str> {
    let place = |line: &Line| (line.offset.clone(), line.length.clone(), line.timestamp.clone());
    if place(reference) != place(ours) || reference.url_key != ours.url_key {
        return None;
    }
    match (reference.status.as_deref(), ours.status.as_deref()) {
        (None, Some(_)) => Some("the reference leaves out the status of revisits, whose HTTP header has one"),
        _ => None,
    }
}

#[test]
fn captures_agree_with_the_reference_line_by_line() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let mut expected = reference(&std::fs::read_to_string(shared.join("crawls/iana.cdxj")).unwrap());
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    load(&archive, &data::request(&shared, &["crawls/iana.warc.gz"]));
    let question = CdxQuestion {
        url: "iana.org".into(),
        match_type: MatchType::Domain,
        limit: 10_000,
        ..CdxQuestion::default()
    };
    let Body::Cdx(CdxBody { rows, next: None, .. }) = data::ask(&archive, Question::Cdx(question)) else {
        panic!()
    };
    let mut ours: Vec<Line> = rows.into_iter().map(captured).collect();
    for lines in [&mut expected, &mut ours] {
        lines.sort_by_key(|line| line.offset.parse::<u64>().unwrap());
    }
    let mut differences = Vec::new();
    let mut explanations = 0;
    for line in &expected {
        match ours.iter().find(|ours| ours.offset == line.offset) {
            Some(found) if found == line => {}
            Some(found) if explained(line, found).is_some() => explanations += 1,
            found => differences.push((line, found)),
        }
    }
    let extra: Vec<&Line> = ours
        .iter()
        .filter(|ours| expected.iter().all(|line| line.offset != ours.offset))
        .collect();
    assert!(
        differences.is_empty(),
        "{} lines of {}: {differences:#?}",
        differences.len(),
        expected.len()
    );
    assert!(
        extra.is_empty(),
        "captures that the reference has not: {extra:#?}"
    );
    println!(
        "{} lines, {explanations} without a status in the reference",
        expected.len()
    );
}
