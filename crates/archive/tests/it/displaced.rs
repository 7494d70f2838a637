//! Records that must or must not replace a page: responses to other methods, partial and empty
//! responses, conversions and names of inputs, in every order of loading, with small epochs, pauses
//! and growing files.

use std::path::{Path, PathBuf};

use archive::question::{Body, InputState, LoadRequest, OptionalStage, Page, PageBody, Question};
use export::Subset;
use extract::{Belonging, Documents, Extracted, LinkScope, RequestFacts, Settings};
use index::model::Model;
use index::{Batch, DumpFormat, InputProgress, LedgerRow, View};
use inputs::LoadInput;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sha2::{Digest, Sha256};
use warc::{Entry, Reader, ReaderSettings, Record};

use crate::data::{self, assert_same, dumps, load, own};

/// Number of records in the documented window.
const WINDOW: usize = 16;

/// Returns a record with an id to which others can refer.
fn record(kind: &str, id: &str, url: &str, date: &str, headers: &str, block: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:{id}>\r\nWARC-Date: {date}\r\n\
         WARC-Target-URI: {url}\r\n{headers}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

fn answer(id: &str, url: &str, date: &str, head: &str, body: &str) -> String {
    let http = format!("HTTP/1.1 {head}\r\nContent-Type: text/html\r\n\r\n{body}");
    record("response", id, url, date, "", &http)
}

fn request(method: &str, id: &str, of: &str, url: &str, date: &str) -> String {
    let headers = match of {
        "" => String::new(),
        of => format!("WARC-Concurrent-To: <urn:{of}>\r\n"),
    };
    let http = format!("{method} / HTTP/1.1\r\nHost: a.org\r\n\r\nx=1");
    record("request", id, url, date, &headers, &http)
}

fn html(title: &str, target: &str) -> String {
    format!("<html><title>{title}</title><body>{title}word <a href=\"{target}\">t</a></body></html>")
}

fn page(archive: &archive::Archive, url: &str) -> PageBody {
    match data::ask(archive, Question::Page(Page { url: url.to_owned() })) {
        Body::Page(page) => page,
        other => panic!("{other:?}"),
    }
}

const URL: &str = "http://a.org/";
const FIRST: &str = "2020-01-01T00:00:00Z";
const LATER: &str = "2020-02-01T00:00:00Z";

fn the_page() -> String {
    answer("p", URL, FIRST, "200 OK", &html("Page", "http://b.org/"))
}

/// The page stays, and was last seen when the later records were made.
#[track_caller]
fn check_stays(later: &str, last_seen: &str) {
    let root = tempfile::tempdir().unwrap();
    let input = data::write(root.path(), "x", &format!("{}{later}", the_page()));
    let archive = own(&root.path().join("archive"));
    load(
        &archive,
        &LoadRequest {
            inputs: vec![input],
            ..LoadRequest::default()
        },
    );
    let page = page(&archive, URL);
    assert!(page.is_page, "{later}");
    assert_eq!((page.title.as_str(), page.links), ("Page", 1), "{later}");
    assert_eq!(
        page.fetch_time.as_deref(),
        Some("2020-01-01T00:00:00.000Z"),
        "{later}"
    );
    let seen = format!("{}.000Z", last_seen.trim_end_matches('Z'));
    assert_eq!(page.last_seen.as_deref(), Some(seen.as_str()), "{later}");
    assert_eq!(page.captures.len(), 2, "{later}");
}

#[test]
fn an_answer_to_another_method_than_get_displaces_no_page() {
    for method in ["POST", "PUT", "HEAD", "OPTIONS", "post"] {
        let later = answer("a", URL, LATER, "200 OK", &html("Thanks", "http://c.org/"));
        let naming = later.replacen("WARC-Date", "WARC-Concurrent-To: <urn:r>\r\nWARC-Date", 1);
        for (answer, of) in [(&later, "a"), (&naming, ""), (&later, "")] {
            let request = request(method, "r", of, URL, LATER);
            check_stays(&format!("{answer}{request}"), LATER);
            check_stays(&format!("{request}{answer}"), LATER);
        }
    }
}

#[test]
fn an_answer_without_content_or_with_a_part_displaces_no_page() {
    let of = |head: &str, body: &str| answer("a", URL, LATER, head, body);
    for later in [
        of("200 OK", ""),
        of("200 OK\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        of("200 OK\r\nRefresh: 30", ""),
        of("200 OK\r\nRefresh: 0; url=https://www.a.org/", ""),
        of("204 No Content", ""),
        of("205 Reset Content", ""),
        of("304 Not Modified", ""),
        of("302 Found", "nowhere"),
        of(
            "206 Partial Content\r\nContent-Range: bytes 0-9/100",
            "<html>part",
        ),
        of("206 Partial Content", "<html>part"),
        record("resource", "a", URL, LATER, "Content-Type: text/html\r\n", ""),
    ] {
        check_stays(&later, LATER);
    }
    // An error does not replace the page, and neither does a conversion to a format other than
    // text.
    check_stays(&of("404 Not Found", "gone"), FIRST);
    check_stays(
        &record(
            "conversion",
            "a",
            URL,
            LATER,
            "Content-Type: application/pdf\r\n",
            "%PDF-1.4",
        ),
        FIRST,
    );
}

/// A 206 that covers the whole is complete, and a page cut by the crawler is used as far as it
/// goes.
#[test]
fn a_range_of_the_whole_and_what_was_cut_are_versions() {
    let body = html("Whole", "http://c.org/");
    let range = format!(
        "206 Partial Content\r\nContent-Range: bytes 0-{}/{}",
        body.len() - 1,
        body.len()
    );
    let cut = answer("a", URL, LATER, "200 OK\r\nContent-Length: 100000", &body).replacen(
        "WARC-Date",
        "WARC-Truncated: length\r\nWARC-Date",
        1,
    );
    for later in [answer("a", URL, LATER, &range, &body), cut] {
        let root = tempfile::tempdir().unwrap();
        let input = data::write(root.path(), "x", &format!("{}{later}", the_page()));
        let archive = own(&root.path().join("archive"));
        load(
            &archive,
            &LoadRequest {
                inputs: vec![input],
                ..LoadRequest::default()
            },
        );
        assert_eq!(page(&archive, URL).title, "Whole", "{later}");
    }
}

/// Loads files of the shared data, if they exist.
fn field(names: &[&str]) -> Option<(tempfile::TempDir, archive::Archive)> {
    let shared = test_env::shared_data()?;
    if !names.iter().all(|name| shared.join(name).exists()) {
        println!("skipped: no {names:?} in {}", shared.display());
        return None;
    }
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    load(&archive, &data::request(&shared, names));
    Some((root, archive))
}

#[test]
fn the_answer_to_a_post_under_the_url_of_a_page_leaves_the_page() {
    let Some((_root, archive)) = field(&["field/c65-post-same-url.warc.gz"]) else {
        return;
    };
    let front = page(&archive, "https://c65.example/");
    assert!(front.is_page && front.title == "Front page");
    assert_eq!(front.last_seen.as_deref(), Some("2020-01-01T00:00:05.000Z"));
    let beacon = page(&archive, "https://c65.example/beacon");
    assert_eq!((beacon.is_page, beacon.title.as_str()), (true, "Beacon doc"));
    let captures = data::dump(&archive, "captures");
    let count = |method: &str| captures.lines().filter(|line| line.ends_with(method)).count();
    assert_eq!((count("\tGET"), count("\tPOST")), (2, 2), "{captures}");
}

#[test]
fn answers_to_posts_alone_are_no_pages() {
    let Some((_root, archive)) = field(&["field/c21-post.warc.gz"]) else {
        return;
    };
    let page = page(&archive, "https://c21.example/ajax_more.php");
    assert!(page.captured && !page.is_page && page.fetch_time.is_none());
    assert!(page.captures.iter().all(|capture| capture.method == "POST"));
}

#[test]
fn a_response_of_status_304_leaves_the_page() {
    let Some((_root, archive)) = field(&["field/c71-response304.warc.gz"]) else {
        return;
    };
    let page = page(&archive, "http://c71.example/");
    assert!(page.is_page && page.title == "Page of 304" && page.links == 1);
    assert_eq!(page.last_seen.as_deref(), Some("2020-02-01T00:00:00.000Z"));
}

/// Pages without content have one digest. A revisit with it does not get the links of another page.
#[test]
fn a_page_without_content_that_refreshes_is_a_version() {
    let root = tempfile::tempdir().unwrap();
    let moved = answer("a", URL, FIRST, "200 OK\r\nRefresh: 0; url=http://c.org/", "");
    let digest = "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n";
    let same = record(
        "revisit",
        "b",
        "http://b.org/",
        LATER,
        digest,
        "HTTP/1.1 200 OK\r\n\r\n",
    );
    let inputs = vec![data::write(root.path(), "x", &format!("{moved}{same}"))];
    let archive = own(&root.path().join("archive"));
    load(
        &archive,
        &LoadRequest {
            inputs,
            ..LoadRequest::default()
        },
    );
    let moved = page(&archive, URL);
    assert_eq!((moved.is_page, moved.links), (true, 1));
    let same = page(&archive, "http://b.org/");
    assert!(same.captured && !same.is_page);
    // The same with the file of another crawler.
    let Some((_root, archive)) = field(&["field/c04-refresh-header.warc.gz"]) else {
        return;
    };
    for url in ["http://c04.example/", "http://c04b.example/"] {
        let page = page(&archive, url);
        assert_eq!((page.is_page, page.links), (true, 1), "{url}");
    }
}

#[test]
fn a_conversion_is_text_only_where_it_says_so() {
    let Some((_root, archive)) = field(&["field/conversion-not-text.warc"]) else {
        return;
    };
    let page_of = |url: &str| page(&archive, url);
    let first = page_of("http://a.example/");
    assert!(first.is_page && first.title == "Page");
    assert_eq!(first.fetch_time.as_deref(), Some("2010-01-01T00:00:00.000Z"));
    let picture = page_of("http://a.example/pic.tif");
    assert!(!picture.is_page && picture.captures.len() == 2);
    assert_eq!(picture.captures[0].kind, extract::CaptureKind::Conversion);
}

/// Each input under two names, in every order: the least name counts. It decides between captures
/// that are otherwise equal.
#[test]
fn one_input_under_two_names_has_the_least() {
    let root = tempfile::tempdir().unwrap();
    let contents = ["http://a.org/", "https://a.org/"]
        .map(|url| answer("p", url, FIRST, "200 OK", &html("Page", "http://b.org/")));
    // The captures of both inputs have the same digest, so their names decide.
    let names = [("k", 0), ("z", 0), ("kk", 1), ("a", 1)];
    let inputs = names.map(|(name, content)| data::write(root.path(), name, &contents[content]));
    let mut expected: Option<Vec<(&str, String)>> = None;
    for order in permutations(4) {
        let archive = own(&root.path().join(format!("{order:?}")));
        for input in &order {
            let request = LoadRequest {
                inputs: vec![inputs[*input].clone()],
                stages_off: vec![OptionalStage::Search],
                ..LoadRequest::default()
            };
            load(&archive, &request);
        }
        match &expected {
            None => {
                let found = dumps(&archive);
                assert!(
                    found[0].1.contains("a.warc") && found[0].1.contains("k.warc"),
                    "{}",
                    found[0].1
                );
                expected = Some(found.into_iter().filter(|(view, _)| *view != "ledger").collect());
            }
            Some(expected) => assert_same(&archive, expected, &format!("{order:?}")),
        }
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let longer = all.iter().flat_map(|shorter: &Vec<usize>| {
            (0..=shorter.len()).map(move |place| {
                let mut order = shorter.clone();
                order.insert(place, next);
                order
            })
        });
        all = longer.collect();
    }
    all
}

/// An export is loaded again: the response to a POST is not a page there either.
#[test]
fn exports_bring_the_requests_that_keep_a_post_from_being_a_page() {
    let root = tempfile::tempdir().unwrap();
    let between: String = (0..3)
        .map(|n| {
            answer(
                &format!("o{n}"),
                &format!("http://o.org/{n}"),
                FIRST,
                "200 OK",
                &html("Other", "http://b.org/"),
            )
        })
        .collect();
    let records = format!(
        "{}{}{between}{}{}",
        the_page(),
        request("POST", "r", "a", URL, LATER),
        answer("a", URL, LATER, "200 OK", &html("Thanks", "http://c.org/")),
        request("GET", "g", "p", URL, FIRST),
    );
    let archive = own(&root.path().join("archive"));
    let request = |input| LoadRequest {
        inputs: vec![input],
        ..LoadRequest::default()
    };
    load(&archive, &request(data::write(root.path(), "x", &records)));
    let all = Subset::Part {
        url_prefix: None,
        collection: None,
    };
    let pages = data::dump(&archive, "pages");
    assert!(pages.contains("Page") && !pages.contains("Thanks"), "{pages}");
    for with_requests in [false, true] {
        let mut out = Vec::new();
        let exported = export::write_warc(&archive, &all, with_requests, &mut out, &mut |_| true).unwrap();
        assert_eq!(
            (exported.results, exported.related),
            (5, 1 + u64::from(with_requests))
        );
        assert_eq!(
            (exported.problems.len(), exported.left_out.len()),
            (0, 0),
            "{exported:?}"
        );
        let path = root.path().join(format!("{with_requests}.warc.gz"));
        std::fs::write(&path, out).unwrap();
        let again = own(&root.path().join(format!("again-{with_requests}")));
        load(
            &again,
            &request(LoadInput {
                path: inputs::path_text(&path),
                name: "again.warc.gz".into(),
            }),
        );
        assert_eq!(
            data::dump(&again, "pages"),
            pages,
            "with requests: {with_requests}"
        );
    }
}

/// One record of a random history.
#[derive(Debug, Clone)]
struct WrittenRecord {
    kind: u8,
    url: u8,
    second: u8,
    names: Option<u8>,
    method: &'static str,
}

fn written() -> impl Strategy<Value = WrittenRecord> {
    (
        0..13u8,
        0..3u8,
        0..3u8,
        prop::option::weighted(0.7, 0..40u8),
        prop::sample::select(vec!["GET", "GET", "POST", "HEAD"]),
    )
        .prop_map(|(kind, url, second, names, method)| WrittenRecord {
            kind,
            url,
            second,
            names,
            method,
        })
}

fn file(records: &[WrittenRecord], salt: usize) -> String {
    let text = |(id, written): (usize, &WrittenRecord)| {
        let url = ["http://a.org/", "https://www.a.org/", "http://b.org/x"][usize::from(written.url)];
        let date = format!("2020-01-01T00:00:0{}Z", written.second);
        let id_text = format!("{salt}.{id}");
        let names = written.names.map_or(String::new(), |of| format!("{salt}.{of}"));
        let body = html(
            &format!("Title {}", id % 3),
            ["http://c.org/", "http://a.org/"][id % 2],
        );
        let of = |head: &str, body: &str| {
            let answer = answer(&id_text, url, &date, head, body);
            match names.as_str() {
                "" => answer,
                // Responses name requests, too.
                names if id % 2 == 0 => answer.replacen(
                    "WARC-Date",
                    &format!("WARC-Concurrent-To: <urn:{names}>\r\nWARC-Date"),
                    1,
                ),
                _ => answer,
            }
        };
        match written.kind {
            0..=3 => of("200 OK", &body),
            4 => of("200 OK", ""),
            5 => of(["204 No Content", "304 Not Modified"][id % 2], ""),
            6 => of("206 Partial Content\r\nContent-Range: bytes 0-9/100", &body[..10]),
            7 => of("302 Found\r\nLocation: http://d.org/", ""),
            8 => record(
                "conversion",
                &id_text,
                url,
                &date,
                [
                    "Content-Type: text/plain\r\n",
                    "Content-Type: application/pdf\r\n",
                ][id % 2],
                "some words",
            ),
            _ => request(written.method, &id_text, &names, url, &date),
        }
    };
    records.iter().enumerate().map(text).collect()
}

/// Returns the method of a response, searching all records of the window.
fn method_of(records: &[Record], at: usize) -> String {
    let names = extract::answer_names(&records[at]);
    let mut found: Option<(bool, bool, usize, String)> = None;
    for (other, record) in records.iter().enumerate() {
        let distance = at.abs_diff(other);
        let Some(request) = RequestFacts::from_record(record).filter(|_| distance <= WINDOW) else {
            continue;
        };
        let Some(belonging) = request.belongs(&names) else {
            continue;
        };
        // A linked request takes precedence. Among linked ones, those before the response do,
        // because later ones are then not waited for.
        let is_named = belonging == Belonging::Named;
        let rank = (!is_named, is_named && other > at, distance, request.method);
        let is_better = found
            .as_ref()
            .is_none_or(|best| (rank.0, rank.1, rank.2) < (best.0, best.1, best.2));
        if is_better {
            found = Some(rank);
        }
    }
    found.map(|(.., method)| method).unwrap_or_default()
}

/// Returns the views of the model for these files.
fn model_of(files: &[(String, PathBuf)]) -> Vec<(&'static str, String)> {
    let mut model = Model::default();
    for (name, path) in files {
        let bytes = std::fs::read(path).unwrap();
        let digest = format!(
            "sha256:{}",
            data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes))
        );
        let size = bytes.len() as u64;
        let input = model.register_input(LedgerRow::pending(name, "", &digest, size, ""), None);
        let mut records = Vec::new();
        let mut reader = Reader::open(path, ReaderSettings::default()).unwrap();
        while let Some(entry) = reader.next_entry().unwrap() {
            if let Entry::Record(record) = entry {
                records.push(record);
            }
        }
        let settings = Settings {
            links: LinkScope::All,
            text: true,
            documents: Documents::NONE,
        };
        let mut batch = Batch::default();
        for (at, record) in records.iter().enumerate() {
            if let Extracted::Capture(mut capture) = extract::extract(record, &settings) {
                if extract::is_answer(record) {
                    capture.method = method_of(&records, at);
                }
                batch.captures.push((input, *capture));
            }
        }
        // The content is known, so it is not read a second time.
        let is_first = !files
            .iter()
            .take_while(|(other, _)| other != name)
            .any(|(_, other)| std::fs::read(other).unwrap() == bytes);
        batch.progress.push(InputProgress {
            input,
            bytes_done: size,
            exchange_from: 0,
            records: if is_first { records.len() as u64 } else { 0 },
            captures_recounted: 0,
            quarantined: Vec::new(),
            state: InputState::Done,
            cut: None,
            digested: None,
        });
        model.apply(batch);
    }
    let dump = |view: &View| {
        let mut out = Vec::new();
        model.dump(*view, DumpFormat::Tsv, &mut out).unwrap();
        (view.name(), String::from_utf8(out).unwrap())
    };
    View::ALL.iter().map(dump).collect()
}

fn write_all(root: &Path, contents: &[String]) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        let name = format!("{}.warc", ["m", "c", "x"][number]);
        std::fs::write(root.join(&name), content).unwrap();
        files.push((name.clone(), root.join(name)));
    }
    // The first content again, under a lesser name.
    let name = "b.warc".to_owned();
    std::fs::write(root.join(&name), &contents[0]).unwrap();
    files.push((name.clone(), root.join(name)));
    files
}

fn request_of((name, path): &(String, PathBuf), epoch_bytes: Option<u64>) -> LoadRequest {
    LoadRequest {
        inputs: vec![LoadInput {
            name: name.clone(),
            path: inputs::path_text(path),
        }],
        stages_off: vec![OptionalStage::Search],
        epoch_bytes,
        ..LoadRequest::default()
    }
}

/// Compares the views that are not lists of inputs. Which of two files with the same content the
/// ledger names is not part of any view.
#[track_caller]
fn assert_views(archive: &archive::Archive, expected: &[(&str, String)], what: &str) {
    for (view, expected) in expected {
        assert_eq!(data::dump(archive, view), *expected, "{what}: view {view}");
    }
}

/// Random histories in every order of their files, in small epochs, and as growing files always
/// give the model's views.
#[test]
fn random_histories_give_the_views_of_the_model() {
    let histories = prop::collection::vec(prop::collection::vec(written(), 1..40), 2..3);
    let config = Config {
        cases: 4,
        max_shrink_iters: 30,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&histories, |histories| {
        let root = tempfile::tempdir().unwrap();
        let contents: Vec<String> = histories
            .iter()
            .enumerate()
            .map(|(salt, records)| file(records, salt))
            .collect();
        let files = write_all(root.path(), &contents);
        let expected = model_of(&files);
        for (number, order) in permutations(files.len()).iter().enumerate() {
            let archive = own(&root.path().join(format!("order-{number}")));
            for file in order {
                // Every other archive has epochs of one record each.
                load(
                    &archive,
                    &request_of(&files[*file], (number % 2 == 1).then_some(1)),
                );
            }
            assert_views(&archive, &expected, &format!("order {order:?}"));
        }
        grow(root.path(), &contents[0], &files[0].0);
        Ok(())
    });
    run.unwrap();
}

/// A file loaded each time it grows has the same views as when it is loaded completely.
fn grow(root: &Path, content: &str, name: &str) {
    let whole = model_of(&[(name.to_owned(), root.join(name))]);
    let folder = root.join("growing");
    std::fs::create_dir(&folder).unwrap();
    let open = (format!("{name}.open"), folder.join(format!("{name}.open")));
    let archive = own(&root.join("grown"));
    for part in [3, 4, 7, 9, 10] {
        std::fs::write(&open.1, &content[..content.len() * part / 10]).unwrap();
        load(&archive, &request_of(&open, None));
    }
    let closed = (name.to_owned(), folder.join(name));
    std::fs::rename(&open.1, &closed.1).unwrap();
    load(&archive, &request_of(&closed, None));
    assert_views(&archive, &whole, "grown");
}
