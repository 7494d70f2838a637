//! Lists as tables.

use std::cell::Cell;

use archive::question::{
    Answer, CdxRow, DomainRow, Domains, ImageCapture, ImageHit, ImagePage, LinkCountRow, LinkCounts,
    LinkCountsBody, LinkRow, LinkVersion, ListedPageRow, Status, TopRow, TrendRow, Trends, YearCount,
};
use serde_json::Value;

use super::*;

/// Every column leads to a field of the row, so that a renamed field is noticed.
#[track_caller]
fn check_columns<R: Serialize + Default>(columns: Columns, row: R, optional: &[&str]) {
    let json = serde_json::to_value(row).unwrap();
    let texts: Vec<String> = columns.texts(&json).collect();
    for (name, text) in columns.names().zip(texts) {
        let is_there = !text.is_empty() || optional.contains(&name);
        assert!(is_there, "{name} is not in {json}");
    }
}

fn text() -> String {
    "x".to_owned()
}

#[test]
fn columns_lead_to_fields() {
    let link = LinkRow {
        source_key: text(),
        source_title: text(),
        target_key: text(),
        anchor: text(),
        source_fetch_time: Some(text()),
        ..LinkRow::default()
    };
    check_columns(LINKS, link.clone(), &[]);
    let of_version = LinkRow {
        source_fetch_time: None,
        version: Some(LinkVersion {
            first_seen: text(),
            fetch_time: text(),
            is_current: true,
        }),
        ..link
    };
    check_columns(VERSION_LINKS, of_version, &[]);
    let counts = LinkCountRow {
        value: text(),
        first: text(),
        last: text(),
        ..LinkCountRow::default()
    };
    for by in LinkGrouping::ALL {
        check_columns(link_counts(by), counts.clone(), &[]);
        assert_eq!(link_counts(by).names().next(), Some(by.name()));
    }
    let top = TopRow {
        url: text(),
        title: text(),
        ..TopRow::default()
    };
    check_columns(RANKING, top, &[]);
    let domain = serde_json::json!({ "domain": "x", "uris": 1, "pages": 1, "inlinks_external": 0 });
    assert!(DOMAINS.texts(&domain).all(|text| !text.is_empty()));
    let capture = CdxRow {
        url_key: text(),
        url: text(),
        fetch_time: text(),
        mime: text(),
        method: text(),
        digest: text(),
        filename: text(),
        collection: text(),
        ..CdxRow::default()
    };
    check_columns(CAPTURES, capture.clone(), &[]);
    let page = ListedPageRow {
        package: text(),
        list: text(),
        url: text(),
        fetch_time: text(),
        title: text(),
        id: text(),
        capture: Some(capture),
        ..ListedPageRow::default()
    };
    check_columns(LISTED_PAGES, page, &[]);
    let image = ImageHit {
        url: text(),
        alt: text(),
        title: text(),
        caption: text(),
        width: Some(1),
        height: Some(1),
        page: Some(ImagePage {
            url_key: text(),
            url: text(),
            title: text(),
            fetch_time: text(),
            language: text(),
            collection: text(),
        }),
        pages: Some(1),
        capture: Some(ImageCapture {
            url: text(),
            fetch_time: text(),
            since: Some(text()),
            until: Some(text()),
            mime: text(),
            hash: Some(text()),
            exif_time: Some(text()),
            exif_location: Some(text()),
        }),
        ..ImageHit::default()
    };
    check_columns(IMAGES, image, &[]);
}

/// Returns an answer with the domain `a` or `b`, in two parts.
fn domains(question: Question) -> Result<Answer, AskError> {
    let Question::Domains(question) = question else {
        return Err(AskError::internal("another question"));
    };
    let (name, next) = match question.after.as_deref() {
        None => ("=a", Some("1".to_owned())),
        Some(_) => ("b", None),
    };
    let row = DomainRow {
        domain: name.to_owned(),
        uris: 2,
        pages: 1,
        inlinks_external: 0,
    };
    let body = DomainsBody {
        rows: vec![row],
        next,
    };
    Ok(Answer { epoch: 1, body }.any())
}

fn written(format: ExportFormat) -> Vec<u8> {
    let mut export = ListExport::new(Domains::default().into(), format).unwrap();
    let mut out = Vec::new();
    while export.next(&domains, &mut out).unwrap().is_none() {}
    out
}

#[test]
fn all_parts_are_written_in_each_format() {
    let csv = String::from_utf8(written(ExportFormat::Csv)).unwrap();
    assert_eq!(
        csv,
        "domain,uris,pages,inlinks_external\r\n'=a,2,1,0\r\nb,2,1,0\r\n"
    );
    let lines = String::from_utf8(written(ExportFormat::Jsonl)).unwrap();
    let names: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["domain"].take())
        .collect();
    assert_eq!(names, ["=a", "b"]);
    let parquet = written(ExportFormat::Parquet);
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn a_list_ends_after_as_many_rows_as_asked_for() {
    for (rows, expected) in [(1, "domain\n=a"), (2, "domain\n=a\nb"), (3, "domain\n=a\nb")] {
        let mut export = ListExport::new(Domains::default().into(), ExportFormat::Csv).unwrap();
        export = export.at_most(rows);
        let mut out = Vec::new();
        while export.next(&domains, &mut out).unwrap().is_none() {}
        let csv = String::from_utf8(out).unwrap();
        let first = |line: &str| {
            line.split(',')
                .next()
                .unwrap_or_default()
                .trim_matches('\'')
                .to_owned()
        };
        let names: Vec<String> = csv.lines().map(first).collect();
        assert_eq!(names.join("\n"), expected);
    }
}

#[test]
fn what_is_no_list_is_refused() {
    assert!(ListExport::new(Status {}.into(), ExportFormat::Csv).is_none());
    let wrong = ListWriter::begin(List::Links, ExportFormat::Warc, &mut Vec::new());
    assert!(wrong.is_err());
}

/// Returns counts in two parts, of which both have the group `a`.
fn counts(question: Question) -> Result<Answer, AskError> {
    let Question::LinkCounts(question) = question else {
        return Err(AskError::internal("another question"));
    };
    let row = |value: &str, links: u64, time: &str| LinkCountRow {
        value: value.to_owned(),
        links,
        links_external: 1,
        first: time.to_owned(),
        last: time.to_owned(),
    };
    let (rows, next) = match question.links.after {
        None => (
            vec![row("b", 2, "2012"), row("a", 1, "2013")],
            Some("x".to_owned()),
        ),
        Some(_) => (vec![row("a", 4, "2011")], None),
    };
    let body = LinkCountsBody {
        rows,
        next,
        ..LinkCountsBody::default()
    };
    Ok(Answer {
        epoch: 1,
        body: body.into(),
    })
}

#[test]
fn trends_have_a_row_for_each_query_and_year() {
    let asked = Cell::new(0);
    let trends = |_: Question| {
        asked.set(asked.get() + 1);
        let row = |query: &str, counts: &[u64]| TrendRow {
            query: query.to_owned(),
            years: (2013..)
                .zip(counts)
                .map(|(year, count)| YearCount {
                    year,
                    count: *count,
                    documents: 5,
                })
                .collect(),
            ..TrendRow::default()
        };
        let rows = vec![row("a, b", &[2, 0]), row("c", &[1])];
        let body = TrendsBody {
            rows,
            ..TrendsBody::default()
        };
        Ok(Answer { epoch: 1, body }.any())
    };
    let mut export = ListExport::new(Trends::default().into(), ExportFormat::Csv).unwrap();
    let mut out = Vec::new();
    while export.next(&trends, &mut out).unwrap().is_none() {}
    assert_eq!(
        String::from_utf8(out.clone()).unwrap(),
        "query,year,matches,versions\r\n\"a, b\",2013,2,5\r\n\"a, b\",2014,0,5\r\nc,2013,1,5\r\n"
    );
    // With the answer to the first question, it is not asked again.
    let mut again = ListExport::new(Trends::default().into(), ExportFormat::Csv).unwrap();
    again.take_first(trends(again.first_row()).unwrap().body);
    asked.set(0);
    let mut written = Vec::new();
    while again.next(&trends, &mut written).unwrap().is_none() {}
    assert_eq!((asked.get(), written), (0, out));
}

#[test]
fn counts_of_all_parts_are_added() {
    let mut export = ListExport::new(LinkCounts::default().into(), ExportFormat::Csv).unwrap();
    let mut out = Vec::new();
    while export.next(&counts, &mut out).unwrap().is_none() {}
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "anchor,links,links_external,first,last\r\na,5,2,2011,2013\r\nb,2,1,2012,2012\r\n"
    );
}
