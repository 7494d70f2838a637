//! Captures in other orders, filtered, collapsed, and in blocks: each compared with the list of all
//! captures, for several numbers of rows per answer.

use std::collections::BTreeSet;

use archive::question::{
    Body, CdxBlocksBody, CdxBlocksQuestion, CdxBody, CdxQuestion, CdxRow, JobState, LoadRequest, MatchType,
    Question, ResolveRevisits,
};
use archive::{Archive, OpenSettings};
use cdx::{Collapse, Dialect, Filter, Order, Original, SkippedCounts};
use inputs::LoadInput;
use tempfile::TempDir;
use warc::{Compression, Draft, Writer};

/// 2014-01-26T20:06:24Z
const FIRST_MS: i64 = 1_390_766_784_000;

const DAY_MS: i64 = 86_400_000;

struct Made {
    archive: Archive,
    _dir: TempDir,
}

/// Forty captures of one URL, ten days apart and two of them at the same time, and some of other
/// URLs.
fn made() -> Made {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawls/many.warc.gz");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let mut writer = Writer::create(&path, Compression::GZIP).unwrap();
    let mut add = |url: &str, time_ms: i64, status: u16, body: &str| {
        let block = format!("HTTP/1.1 {status} X\r\nContent-Type: text/html\r\n\r\n{body}");
        writer
            .write(&Draft::response(url, time_ms, block.into_bytes()))
            .unwrap();
    };
    for n in 0..40 {
        let days = if n == 7 { 6 } else { n };
        let status = if n % 5 == 4 { 503 } else { 200 };
        add(
            "http://a.example/x",
            FIRST_MS + days * 10 * DAY_MS,
            status,
            &format!("<p>{}", n / 4),
        );
    }
    for (n, url) in [
        "http://a.example/",
        "http://a.example/xy",
        "http://b.a.example/x",
        "http://ab.example/x",
    ]
    .into_iter()
    .enumerate()
    {
        add(url, FIRST_MS + n as i64 * DAY_MS, 200, "<p>beside");
    }
    writer.finish().unwrap();
    let mut settings = OpenSettings::default();
    settings.create = true;
    let archive = Archive::open(&dir.path().join("archive"), settings).unwrap();
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "crawls/many.warc.gz".into(),
            path: path.display().to_string(),
        }],
        ..LoadRequest::default()
    };
    let (_, job) = archive.load(&request, &mut |_, _| true).unwrap();
    assert_eq!((job.state, job.captures), (JobState::Done, 44));
    Made { archive, _dir: dir }
}

fn question(url: &str, match_type: MatchType) -> CdxQuestion {
    CdxQuestion {
        url: url.into(),
        match_type,
        ..CdxQuestion::default()
    }
}

/// Returns all rows, `limit` per answer.
fn all(archive: &Archive, question: &CdxQuestion, limit: usize) -> Vec<CdxRow> {
    let mut question = CdxQuestion {
        limit,
        ..question.clone()
    };
    let mut all = Vec::new();
    loop {
        let Body::Cdx(CdxBody { rows, next, .. }) =
            archive.ask(Question::Cdx(question.clone())).unwrap().body
        else {
            panic!("another answer");
        };
        assert!(rows.len() <= limit);
        all.extend(rows);
        let Some(next) = next else { return all };
        question.after = Some(next);
    }
}

fn times(rows: &[CdxRow]) -> Vec<&str> {
    rows.iter().map(|row| row.fetch_time.as_str()).collect()
}

#[track_caller]
fn check(archive: &Archive, question: &CdxQuestion, expected: &[CdxRow]) {
    for limit in [1, 2, 3, 7, 1000] {
        let found = all(archive, question, limit);
        assert_eq!(times(&found), times(expected), "by {limit}: {question:?}");
    }
}

#[test]
fn orders_are_those_of_the_whole_list_whatever_the_page_size() {
    let made = made();
    let archive = &made.archive;
    for (url, match_type, count) in [
        ("http://a.example/x", MatchType::Exact, 40),
        ("http://a.example/x", MatchType::Prefix, 41),
        ("a.example", MatchType::Domain, 43),
    ] {
        let plain = all(archive, &question(url, match_type), 1000);
        assert_eq!(plain.len(), count);
        let mut reversed = plain.clone();
        reversed.reverse();
        let mut back = question(url, match_type);
        back.order = Order::Reverse;
        check(archive, &back, &reversed);
    }
}

/// A walk with a limited range on each side would miss captures, or return one twice when it
/// continues.
#[test]
fn the_closest_come_first_and_each_once_whatever_the_page_size() {
    let made = made();
    let exact = question("http://a.example/x", MatchType::Exact);
    let plain = all(&made.archive, &exact, 1000);
    for wanted in [
        "2014",
        "20140401",
        "20140417200624",
        "1990",
        "2030",
        "20140327200624",
    ] {
        let mut closest = exact.clone();
        closest.order = Order::Closest(wanted.into());
        let seconds = |row: &CdxRow| {
            let padded = format!("{wanted}{}", &"00000101000000"[wanted.len()..]);
            (epoch_s(&row.timestamp) - epoch_s(&padded)).abs()
        };
        let mut expected = plain.clone();
        // The sort is stable: if two are equally near, the earlier stays first. Captures with the
        // same time and distance may be in either order.
        expected.sort_by_key(seconds);
        for limit in [1, 3, 1000] {
            let found = all(&made.archive, &closest, limit);
            assert_eq!(times(&found), times(&expected), "{wanted} by {limit}");
            let mut offsets: Vec<u64> = found.iter().map(|row| row.offset).collect();
            offsets.sort_unstable();
            offsets.dedup();
            assert_eq!(offsets.len(), 40, "each once");
        }
    }
}

/// Computes seconds from 14 digits by counting days one at a time.
fn epoch_s(digits: &str) -> i64 {
    let part = |from: usize, to: usize| digits[from..to].parse::<i64>().unwrap();
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let year_days: i64 = (1970..part(0, 4))
        .map(|year| if leap(year) { 366 } else { 365 })
        .sum();
    let lengths = [
        31,
        28 + i64::from(leap(part(0, 4))),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let month_days: i64 = lengths[..part(4, 6) as usize - 1].iter().sum();
    (year_days + month_days + part(6, 8) - 1) * 86_400 + part(8, 10) * 3600 + part(10, 12) * 60 + part(12, 14)
}

#[test]
fn filters_and_collapsing_are_those_of_the_whole_list_whatever_the_page_size() {
    let made = made();
    let archive = &made.archive;
    let exact = question("http://a.example/x", MatchType::Exact);
    let plain = all(archive, &exact, 1000);
    let mut found = exact.clone();
    found.filters = vec![Filter::read("!status:503", Dialect::Pywb).unwrap()];
    let good: Vec<CdxRow> = plain.iter().filter(|row| row.status == 200).cloned().collect();
    assert_eq!(good.len(), 32);
    check(archive, &found, &good);
    found.collapse = vec![Collapse::read("digest").unwrap()];
    let mut distinct = good.clone();
    distinct.dedup_by_key(|row| row.digest.clone());
    assert_eq!(distinct.len(), 10);
    check(archive, &found, &distinct);
    let mut months = exact.clone();
    months.collapse = vec![Collapse::read("timestamp:6").unwrap()];
    let mut expected = plain.clone();
    expected.dedup_by_key(|row| row.timestamp[..6].to_owned());
    check(archive, &months, &expected);
    months.collapse.push(Collapse::read("status").unwrap());
    let mut expected = plain;
    expected.dedup_by_key(|row| (row.timestamp[..6].to_owned(), row.status));
    check(archive, &months, &expected);
}

#[test]
fn names_are_told_whole_or_by_their_last_part() {
    let made = made();
    let mut asked = question("http://a.example/", MatchType::Exact);
    assert_eq!(all(&made.archive, &asked, 1)[0].filename, "crawls/many.warc.gz");
    asked.base_names = true;
    assert_eq!(all(&made.archive, &asked, 1)[0].filename, "many.warc.gz");
}

/// Pages by number are the ranges between the ends of blocks: together they are the whole list,
/// each row once.
#[test]
fn blocks_are_the_whole_list_in_pieces() {
    let made = made();
    let archive = &made.archive;
    for (url, match_type) in [
        ("a.example", MatchType::Domain),
        ("a.example", MatchType::Host),
        ("http://a.example/x", MatchType::Exact),
        ("nothing.example", MatchType::Domain),
    ] {
        let plain = all(archive, &question(url, match_type), 1000);
        for rows in [1, 4, 39, 40, 41, 1000] {
            let ends = ends(archive, url, match_type, rows);
            assert_eq!(ends.len(), plain.len().div_ceil(rows), "{url} by {rows}");
            let mut found = Vec::new();
            for (n, end) in ends.iter().enumerate() {
                let mut piece = question(url, match_type);
                piece.after = n.checked_sub(1).map(|n| ends[n].clone());
                piece.until = Some(end.clone());
                found.extend(all(archive, &piece, 3));
            }
            assert_eq!(times(&found), times(&plain), "{url} by {rows}");
        }
    }
}

fn ends(archive: &Archive, url: &str, match_type: MatchType, rows: usize) -> Vec<String> {
    let mut asked = CdxBlocksQuestion {
        url: url.into(),
        match_type,
        rows,
        after: None,
    };
    let mut all = Vec::new();
    loop {
        let answer = archive.ask(Question::CdxBlocks(asked.clone())).unwrap();
        let Body::CdxBlocks(CdxBlocksBody { ends, next }) = answer.body else {
            panic!("another answer");
        };
        all.extend(ends);
        let Some(next) = next else { return all };
        asked.after = Some(next);
    }
}

#[test]
fn a_key_as_it_is_and_all_keys_from_one_on() {
    let made = made();
    let archive = &made.archive;
    let everything = CdxQuestion {
        everything: true,
        ..CdxQuestion::default()
    };
    let everything = all(archive, &everything, 1000);
    let keyed = |url_key: &str, match_type| CdxQuestion {
        as_key: true,
        ..question(url_key, match_type)
    };
    for (key, match_type, prefixes) in [
        ("example,a)/x", MatchType::Exact, &["example,a)/x "][..]),
        ("example,a)/x", MatchType::Prefix, &["example,a)/x"]),
        ("example,a)/x", MatchType::Host, &["example,a)"]),
        ("example,a)/x", MatchType::Domain, &["example,a)", "example,a,"]),
    ] {
        let fits = |row: &&CdxRow| {
            let place = format!("{} ", row.url_key);
            prefixes.iter().any(|prefix| place.starts_with(prefix))
        };
        let expected: Vec<CdxRow> = everything.iter().filter(fits).cloned().collect();
        assert!(!expected.is_empty(), "{key} {match_type:?}");
        check(archive, &keyed(key, match_type), &expected);
    }
    for from in ["example,a)/x", "example,a)/xx", "example,a)", "example,b"] {
        let expected: Vec<CdxRow> = everything
            .iter()
            .filter(|row| row.url_key.as_str() >= from)
            .cloned()
            .collect();
        let onward = CdxQuestion {
            onward: true,
            ..keyed(from, MatchType::Exact)
        };
        check(archive, &onward, &expected);
    }
    let of_url = CdxQuestion {
        onward: true,
        ..question("http://a.example/x", MatchType::Exact)
    };
    let expected: Vec<CdxRow> = everything
        .iter()
        .filter(|row| row.url_key.as_str() >= "example,a)/x")
        .cloned()
        .collect();
    check(archive, &of_url, &expected);
}

/// Captures left out after each row are counted for any number of rows per answer. Those at the
/// beginning of an answer belong to the last row of the previous answer.
#[test]
fn captures_left_out_are_counted_behind_the_one_before() {
    let made = made();
    let archive = &made.archive;
    let plain = all(archive, &question("http://a.example/x", MatchType::Exact), 1000);
    let question = CdxQuestion {
        filters: vec![Filter::read("!=status:503", Dialect::Pywb).unwrap()],
        collapse: vec![Collapse::read("digest").unwrap()],
        count_skipped: true,
        count_digests: true,
        ..question("http://a.example/x", MatchType::Exact)
    };
    for limit in [1, 2, 7, 1000] {
        let mut asked = CdxQuestion {
            limit,
            ..question.clone()
        };
        let mut found: Vec<(String, SkippedCounts)> = Vec::new();
        loop {
            let CdxBody { rows, skipped, next } = archive.ask(asked.clone()).unwrap().body;
            if let Some((_, last)) = found.last_mut() {
                last.add(&skipped.unwrap());
            }
            let counted = |row: CdxRow| (row.timestamp, row.computed.unwrap().skipped.unwrap());
            found.extend(rows.into_iter().map(counted));
            match next {
                Some(next) => asked.after = Some(next),
                None => break,
            }
        }
        let count: u64 = found.iter().map(|(_, skipped)| skipped.count + 1).sum();
        assert_eq!(count, plain.len() as u64, "by {limit}");
        for (n, (timestamp, skipped)) in found.iter().enumerate() {
            let from = plain.iter().position(|row| row.timestamp == *timestamp).unwrap();
            let last = plain[from..]
                .iter()
                .take(skipped.count as usize + 1)
                .next_back()
                .unwrap();
            let digests = plain[from..].iter().take(skipped.count as usize + 1);
            let digests: BTreeSet<String> = digests.map(|row| row.digest.clone()).collect();
            assert_eq!(skipped.digests, digests, "by {limit}, {n}");
            match skipped.count {
                0 => assert_eq!(skipped.last_timestamp, "", "by {limit}, {n}"),
                _ => assert_eq!(skipped.last_timestamp, last.timestamp, "by {limit}, {n}"),
            }
        }
    }
}

#[test]
fn revisits_are_resolved_before_or_after_filters() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut settings = OpenSettings::default();
    settings.create = true;
    let archive = Archive::open(&dir.path().join("archive"), settings).unwrap();
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "crawls/dupes.warc.gz".into(),
            path: data.join("crawls/dupes.warc.gz").display().to_string(),
        }],
        ..LoadRequest::default()
    };
    archive.load(&request, &mut |_, _| true).unwrap();
    let ask = |revisits, filter: &str| {
        let question = CdxQuestion {
            everything: true,
            revisits,
            base_names: true,
            filters: vec![Filter::read(filter, Dialect::Pywb).unwrap()],
            ..CdxQuestion::default()
        };
        all(&archive, &question, 1000)
    };
    let plain = ask(None, "=mime:warc/revisit");
    assert!(!plain.is_empty() && plain.iter().all(|row| row.computed.is_none()));
    // A later filter does not match a revisit whose original is known.
    let unresolved = ask(Some(ResolveRevisits::BeforeFilters), "=mime:warc/revisit");
    assert!(unresolved.len() < plain.len());
    let resolved = ask(Some(ResolveRevisits::AfterFilters), "=mime:warc/revisit");
    assert_eq!(resolved.len(), plain.len());
    let mut known = 0;
    for row in &resolved {
        let Some(Original {
            length,
            offset,
            filename,
        }) = row
            .computed
            .as_ref()
            .and_then(|computed| computed.original.clone())
        else {
            continue;
        };
        known += 1;
        let same = question(&row.url, MatchType::Exact);
        let original = all(&archive, &same, 1000)
            .into_iter()
            .find(|other| (other.offset, other.length) == (offset, length))
            .expect("the original is a capture of the same URL");
        assert_eq!(filename, "dupes.warc.gz");
        assert_eq!((&original.digest, &original.mime), (&row.digest, &row.mime));
        assert_ne!(original.mime, "warc/revisit");
    }
    assert_eq!(known, plain.len() - unresolved.len());
}
