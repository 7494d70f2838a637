//! Reports, compared with the rows of the view `captures`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use access::Groups;
use archive::Archive;
use archive::question::{
    Dump, DumpFormat, LoadRequest, Report, ReportBody, ReportDuplicates, ReportFailure, ReportMonth,
    ReportRow, ReportStatus,
};
use inputs::LoadInput;
use proptest::prelude::*;

use crate::data::{self, dump, load, own};

/// A capture: host and page, year and month, status, type, number of its payload, and whether it is
/// a revisit.
type Made = ((usize, usize), (u16, u8), usize, usize, u8, bool);

const HOSTS: [&str; 5] = ["a.org", "www.a.org", "shop.a.org", "b.co.uk:8080", "192.168.1.7"];
const STATUSES: [u16; 5] = [200, 200, 301, 404, 503];
const MIMES: [&str; 3] = ["text/html", "image/png", "text/plain"];

fn input(dir: &Path, name: &str, captures: &[Made]) -> LoadInput {
    let records = captures.iter().map(
        |((host, page), (year, month), status, mime, payload, is_revisit)| {
            let url = format!("http://{}/{page}", HOSTS[*host]);
            let date = format!("{year}-{month:02}-11T10:00:00Z");
            let digest = format!(
                "WARC-Payload-Digest: sha1:{}\r\n",
                "ABCDEFGH".repeat(4).replace('A', &(payload % 7 + 2).to_string())
            );
            let body = "x".repeat(usize::from(*payload) * 40);
            let http = format!(
                "HTTP/1.1 {} X\r\nContent-Type: {}\r\n\r\n",
                STATUSES[*status], MIMES[*mime]
            );
            if *is_revisit {
                data::response(&url, &date, &digest, &http)
                    .replace("WARC-Type: response", "WARC-Type: revisit")
            } else {
                data::response(&url, &date, &digest, &(http + &body))
            }
        },
    );
    data::write(dir, name, &records.collect::<String>())
}

/// Computes the expected report from the rows of the view and of their kinds.
fn model(archive: &Archive, question: &Report) -> ReportBody {
    let mut kinds = Vec::new();
    archive
        .dump("kinds".parse::<Dump>().unwrap(), DumpFormat::Tsv, &mut kinds)
        .unwrap();
    let kinds = String::from_utf8(kinds).unwrap();
    // By input and offset: kind and collection.
    let kinds: BTreeMap<(&str, &str), (&str, &str)> = kinds
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            ((cells[7], cells[6]), (cells[2], cells[5]))
        })
        .collect();
    let captures = dump(archive, "captures");
    let mut body = ReportBody {
        complete: true,
        ..ReportBody::default()
    };
    let (mut hosts, mut mimes, mut statuses) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut months: BTreeMap<String, ReportMonth> = BTreeMap::new();
    let mut failures: BTreeMap<(String, u16), u64> = BTreeMap::new();
    let (mut urls, mut times) = (BTreeSet::new(), BTreeSet::new());
    let mut payloads: BTreeMap<String, Vec<(i64, u64)>> = BTreeMap::new();
    let mut revisits: Vec<(String, u64)> = Vec::new();
    for line in captures.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [
            url_key,
            time,
            url,
            mime,
            status,
            digest,
            length,
            offset,
            input,
            _method,
        ] = cells[..]
        else {
            panic!("{line}")
        };
        let (kind, collection) = kinds[&(input, offset)];
        let year = &time[..4];
        let wanted = question.from.as_deref().is_none_or(|from| from <= year)
            && question.to.as_deref().is_none_or(|to| year <= to)
            && question
                .collection
                .as_deref()
                .is_none_or(|wanted| wanted == collection);
        if !wanted {
            continue;
        }
        let (status, bytes): (u16, u64) = (status.parse().unwrap(), length.parse().unwrap());
        body.captures += 1;
        body.bytes += bytes;
        times.insert(time.to_owned());
        let authority = url.split('/').nth(2).unwrap();
        let host = authority.strip_prefix("www.").unwrap_or(authority).to_owned();
        for (sums, name) in [(&mut hosts, host.clone()), (&mut mimes, mime.to_owned())] {
            let sum: &mut (u64, u64) = sums.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + bytes);
        }
        let sum: &mut (u64, u64) = statuses.entry(status).or_default();
        *sum = (sum.0 + 1, sum.1 + bytes);
        let month = months.entry(time[..7].to_owned()).or_insert_with(|| ReportMonth {
            month: time[..7].to_owned(),
            ..ReportMonth::default()
        });
        month.captures += 1;
        month.bytes += bytes;
        // Rows of a key are sorted by time.
        month.urls_new += u64::from(urls.insert(url_key.to_owned()));
        if status >= 400 {
            body.failures += 1;
            *failures.entry((host, status)).or_default() += 1;
        }
        let time_ms = format::date::ms_of_iso(time).unwrap();
        match kind {
            "Revisit" => revisits.push((digest.to_owned(), bytes)),
            _ => payloads
                .entry(digest.to_owned())
                .or_default()
                .push((time_ms, bytes)),
        }
    }
    for payload in payloads.values_mut() {
        payload.sort_unstable();
    }
    let saved = revisits.iter().map(|(digest, bytes)| {
        payloads
            .get(digest)
            .map_or(0, |payload| payload[0].1.saturating_sub(*bytes))
    });
    let repeated = || payloads.values().flat_map(|payload| &payload[1..]);
    body.duplicates = ReportDuplicates {
        revisits: revisits.len() as u64,
        revisit_bytes: revisits.iter().map(|(_, bytes)| bytes).sum(),
        saved_bytes: saved.sum(),
        repeated: repeated().count() as u64,
        repeated_bytes: repeated().map(|(_, bytes)| bytes).sum(),
    };
    body.urls = urls.len() as u64;
    (body.hosts, body.mimes) = (hosts.len() as u64, mimes.len() as u64);
    (body.fetch_time_first, body.fetch_time_last) = (times.first().cloned(), times.last().cloned());
    let rows = |sums: BTreeMap<String, (u64, u64)>| {
        let row = |(name, (captures, bytes))| ReportRow {
            name,
            captures,
            bytes,
        };
        let mut rows: Vec<ReportRow> = sums.into_iter().map(row).collect();
        rows.sort_by(|a, b| (b.captures, &a.name).cmp(&(a.captures, &b.name)));
        rows
    };
    (body.by_host, body.by_mime) = (rows(hosts), rows(mimes));
    let status = |(status, (captures, bytes))| ReportStatus {
        status,
        captures,
        bytes,
    };
    body.by_status = statuses.into_iter().map(status).collect();
    body.by_month = months.into_values().collect();
    let failure = |((host, status), captures)| ReportFailure {
        host,
        status,
        captures,
    };
    body.failures_most = failures.into_iter().map(failure).collect();
    body.failures_most
        .sort_by(|a, b| (b.captures, &a.host, a.status).cmp(&(a.captures, &b.host, b.status)));
    body
}

#[track_caller]
fn check(archive: &Archive, question: &Report) {
    let found = archive.ask(question.clone()).unwrap().body;
    assert_eq!(found, model(archive, question), "{question:?}");
    let sum = |captures: &mut dyn Iterator<Item = u64>| captures.sum::<u64>();
    assert_eq!(
        sum(&mut found.by_host.iter().map(|row| row.captures)),
        found.captures
    );
    assert_eq!(
        sum(&mut found.by_status.iter().map(|row| row.captures)),
        found.captures
    );
    assert_eq!(sum(&mut found.by_month.iter().map(|row| row.bytes)), found.bytes);
    assert_eq!(
        sum(&mut found.by_month.iter().map(|row| row.urls_new)),
        found.urls
    );
}

fn question(from: Option<&str>, to: Option<&str>, collection: Option<&str>) -> Report {
    let text = |text: Option<&str>| text.map(str::to_owned);
    Report {
        from: text(from),
        to: text(to),
        collection: text(collection),
        captures_max: None,
    }
}

fn any_captures() -> impl Strategy<Value = Vec<Made>> {
    let capture = (
        (0..HOSTS.len(), 0..3usize),
        (2010u16..2014, 1u8..13),
        0..STATUSES.len(),
        0..MIMES.len(),
        0u8..10,
        proptest::bool::weighted(0.3),
    );
    proptest::collection::vec(capture, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 40, ..ProptestConfig::with_cases(4) })]
    #[test]
    fn reports_are_what_the_rows_of_captures_come_to(old in any_captures(), new in any_captures()) {
        let dir = tempfile::tempdir().unwrap();
        let archive = own(&dir.path().join("archive"));
        for (collection, captures) in [("old", &old), ("new", &new)] {
            load(&archive, &LoadRequest {
                inputs: vec![input(dir.path(), collection, captures)],
                collection: Some(collection.to_owned()),
                ..LoadRequest::default()
            });
        }
        for (from, to) in [(None, None), (Some("2012"), None), (None, Some("2011")), (Some("2011"), Some("2012"))] {
            for collection in [None, Some("old")] {
                check(&archive, &question(from, to, collection));
            }
        }
    }
}

#[test]
fn hidden_captures_are_in_no_count_and_bounds_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    let capture = |host, payload, is_revisit| ((host, 0), (2012, 5), 0, 0, payload, is_revisit);
    let captures = [
        capture(0, 3, false),
        capture(2, 3, false),
        capture(4, 5, false),
        capture(2, 5, true),
    ];
    load(
        &archive,
        &LoadRequest {
            inputs: vec![input(dir.path(), "x", &captures)],
            ..LoadRequest::default()
        },
    );
    check(&archive, &Report::default());
    let all = archive.ask(Report::default()).unwrap().body;
    assert_eq!(
        (all.captures, all.duplicates.repeated, all.duplicates.revisits),
        (4, 1, 1)
    );
    let rules = "[[rule]]\naccess = \"deny\"\nprefix = \"org,a,shop)/\"\n";
    std::fs::write(archive.rights_path(), rules).unwrap();
    let public = archive.seen_by(Groups::public());
    let seen = public.ask(Report::default()).unwrap().body;
    assert_eq!((seen.captures, seen.hosts, seen.complete), (2, 2, true));
    assert_eq!(seen.duplicates, ReportDuplicates::default());
    let bounded = |most| {
        let question = Report {
            captures_max: Some(most),
            ..Report::default()
        };
        let body = public.ask(question).unwrap().body;
        (body.captures, body.complete)
    };
    assert_eq!((bounded(1), bounded(2)), ((1, false), (2, true)));
}

#[test]
fn a_report_of_nothing_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let archive = own(&dir.path().join("archive"));
    check(&archive, &Report::default());
}
