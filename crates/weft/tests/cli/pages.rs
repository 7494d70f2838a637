//! `weft pages`, and page lists in exported packages.

use serde_json::{Value, json};
use zip::CompressionMethod;

use crate::fixture;
use crate::packages::{WARC, described, sha256, zipped};
use crate::support::{Workspace, words};
use crate::web::{Behaviour, Web};

const LIBRARY: &str = "http://www.library.example/";

/// The pages listed by the package: `(list, page)`. The third page was captured at another time,
/// the fourth never.
fn listed() -> Vec<(&'static str, Value)> {
    vec![
        (
            "pages.jsonl",
            json!({"id": "p1", "url": LIBRARY, "ts": "2014-01-26T20:06:24Z", "title": "As listed", "seed": true, "depth": 0, "text": "in a browser"}),
        ),
        (
            "pages.jsonl",
            json!({"id": "p2", "url": "http://museum.example/#top", "ts": "2015-03-01T08:20:00+00:00", "title": "Museum"}),
        ),
        (
            "pages.jsonl",
            json!({"id": "p3", "url": "http://museum.example/maps", "ts": "2019-01-01T00:00:00Z"}),
        ),
        (
            "pages.jsonl",
            json!({"id": "p4", "url": "http://never.example/", "ts": "2014-01-01T00:00:00Z"}),
        ),
        (
            "extraPages.jsonl",
            json!({"id": "e1", "url": "http://www.library.example/catalogue", "ts": "2014-01-26T20:06:25.123Z", "title": "Catalogue"}),
        ),
    ]
}

/// Returns the small web as a package with page lists; `damage` is appended to the first list.
fn package(method: CompressionMethod, damage: &str) -> Vec<u8> {
    let list = |name: &str| {
        let of_list = listed().into_iter().filter(|(list, _)| *list == name);
        let lines: String = of_list.map(|(_, page)| format!("{page}\n")).collect();
        format!("{{\"format\": \"json-pages-1.0\", \"id\": \"pages\"}}\n{lines}")
    };
    let (main, extra) = (list("pages.jsonl") + damage, list("extraPages.jsonl"));
    let warc = fixture::small_web();
    let members: [(&str, &[u8]); 3] = [
        ("pages/extraPages.jsonl", extra.as_bytes()),
        ("pages/pages.jsonl", main.as_bytes()),
        (WARC, &warc),
    ];
    let declared = members.map(|(name, bytes)| (name, sha256(bytes)));
    let described = described(&declared);
    zipped(
        &[&members[..], &[("datapackage.json", &described)]].concat(),
        method,
    )
}

/// Returns a place with the package loaded.
fn crawl() -> Workspace {
    let place = Workspace::new();
    place.write_old("crawl.wacz", &package(CompressionMethod::Stored, ""));
    place.good(&["load", "crawl.wacz", "--collection", "autumn"]);
    place
}

/// Returns the ids of the pages that `weft pages` lists, with the times of their captures.
fn ids(place: &Workspace, arguments: &[&str]) -> Vec<(String, String)> {
    let answer = place.json(&[&["pages"], arguments].concat());
    let rows = answer["rows"].as_array().expect("rows").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (text(&row["id"]), text(&row["capture"]["timestamp"])))
        .collect()
}

#[track_caller]
fn check(found: &[(String, String)], expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> = found.iter().map(|(id, time)| (&**id, &**time)).collect();
    assert_eq!(found, expected);
}

const ALL: [(&str, &str); 5] = [
    ("p1", "20140126200624"),
    ("p2", "20150301080000"),
    ("p3", ""),
    ("p4", ""),
    ("e1", "20140126200625"),
];

#[test]
fn pages_are_listed_with_their_captures() {
    let place = crawl();
    check(&ids(&place, &[]), &ALL);
    let answer = place.json(&["pages", "--whole"]);
    for ((list, page), row) in listed().iter().zip(answer["rows"].as_array().expect("rows")) {
        assert_eq!(row["listed"], *page);
        assert_eq!(row["list"], json!(format!("pages/{list}")));
        assert_eq!(row["package"], "crawl.wacz");
    }
    let first = &answer["rows"][0];
    let expected = json!([
        "As listed",
        true,
        true,
        format!("/replay/20140126200624/{LIBRARY}")
    ]);
    let found = json!([first["title"], first["seed"], first["has_text"], first["replay"]]);
    assert_eq!(found, expected);
    assert_eq!(answer["rows"][2]["nearest"], "2015-03-01T08:00:01.000Z");
    assert_eq!(answer["problems"], json!([]));

    let table = place.good(&["pages"]);
    for expected in [
        "As listed",
        "none at that time, nearest 2015-03-01 08:00:01",
        "crawl.wacz#pages/extraPages.jsonl",
    ] {
        assert!(table.contains(expected), "{expected}\n{table}");
    }
    for some in [
        &["--input", "crawl.wacz"][..],
        &["--input", "crawl.wacz#archive/web.warc"],
        &["--collection", "autumn"],
    ] {
        check(&ids(&place, some), &ALL);
    }
    for none in [&["--input", "web.wacz"][..], &["--collection", "spring"]] {
        check(&ids(&place, none), &[]);
    }
    // An archive with other lists must not look like one without any.
    for (flags, named) in [
        (&["--input", "web.wacz"][..], "named \"web.wacz\" lists pages"),
        (
            &["--collection", "spring"],
            "in collection \"spring\" lists pages",
        ),
    ] {
        let run = place.run(&[&["pages"][..], flags].concat());
        run.expect(1, &[], &["no package (WACZ) ", named]);
    }
}

#[test]
fn lists_go_on_at_their_cursors_wherever_the_package_is() {
    let place = Workspace::new();
    place.write_old("stored.wacz", &package(CompressionMethod::Stored, ""));
    place.write_old("deflated.wacz", &package(CompressionMethod::Deflated, ""));
    let web = Web::start(&package(CompressionMethod::Stored, ""), Behaviour::Ranges);
    let far = web.url("/x.wacz");
    for (archive, input) in [
        ("stored", "stored.wacz"),
        ("deflated", "deflated.wacz"),
        ("far", &far),
    ] {
        place.good(&["load", input, "--archive", archive]);
        let (mut after, mut found) = (None::<String>, Vec::new());
        for _ in 0..=ALL.len() {
            let mut arguments = vec!["pages", "--archive", archive, "--limit", "2"];
            arguments.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
            let answer = place.json(&arguments);
            let rows = answer["rows"].as_array().expect("rows").clone();
            assert!(rows.len() <= 2, "{answer}");
            found.extend(
                rows.iter()
                    .map(|row| row["id"].as_str().expect("an id").to_owned()),
            );
            after = answer["next"].as_str().map(str::to_owned);
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, ALL.map(|(id, _)| id), "{archive}");
    }
    let wrong = place.run(&["pages", "--archive", "stored", "--after", "x"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn nobody_is_told_of_pages_that_they_may_not_see() {
    let place = crawl();
    place.good(&words("rights add --deny --domain museum.example --except staff"));
    // Users from whom anything is hidden do not see pages that were never captured, or captured
    // only at another time.
    check(&ids(&place, &["--as", ""]), &[ALL[0], ALL[4]]);
    check(&ids(&place, &["--as", "staff"]), &ALL);
    let hidden = place.json(&["pages", "--as", "", "--whole"]).to_string();
    assert!(
        !hidden.contains("museum") && !hidden.contains("never.example"),
        "{hidden}"
    );
    place.good(&words("rights add --deny --collection autumn --except staff"));
    check(&ids(&place, &["--as", ""]), &[]);
}

#[test]
fn what_is_taken_down_is_not_listed() {
    let place = crawl();
    place.good(&["forget", "--prefix", "http://museum.example/", "--reason", "test"]);
    check(&ids(&place, &[]), &[ALL[0], ALL[3], ALL[4]]);
    place.good(&[
        "forget",
        "--url",
        &LIBRARY.replace("www.", ""),
        "--reason",
        "test",
    ]);
    check(&ids(&place, &[]), &[ALL[3], ALL[4]]);
    place.good(&["export", "--wacz", "left.wacz"]);
    place.good(&["load", "left.wacz", "--archive", "left"]);
    check(&ids(&place, &["--archive", "left"]), &[ALL[4]]);
    place.good(&[
        "forget",
        "--input",
        "crawl.wacz#archive/web.warc",
        "--reason",
        "test",
    ]);
    check(&ids(&place, &[]), &[]);
}

#[test]
fn what_cannot_be_used_of_a_list_is_told() {
    let place = Workspace::new();
    place.write_old("crawl.wacz", &package(CompressionMethod::Stored, "nothing\n{}"));
    assert_eq!(place.run(&["load", "crawl.wacz"]).code, Some(1));
    place.run(&["pages"]).expect(
        1,
        &["As listed", "catalogue"],
        &[
            "crawl.wacz pages/pages.jsonl line 6 at offset",
            "crawl.wacz pages/pages.jsonl line 7 at offset",
            ": found no url",
        ],
    );
    place.run(&["pages", "--format", "csv"]).expect(
        1,
        &["url,fetch_time,", "As listed"],
        &["crawl.wacz pages/pages.jsonl line 6 at offset"],
    );
    place.run(&["export", "--wacz", "x.wacz"]).expect(
        1,
        &[],
        &["crawl.wacz pages/pages.jsonl line 6 at offset", ": found no JSON"],
    );
    std::fs::remove_file(place.path("crawl.wacz")).expect("it is there");
    place
        .run(&["pages"])
        .expect(1, &[], &["crawl.wacz: cannot be read"]);
}

/// Returns the pages that a package lists, by `(list, id or URL)`.
fn pages_in(place: &Workspace, wacz: &str) -> Vec<(String, Value)> {
    let file = std::fs::File::open(place.path(wacz)).expect("a package");
    let mut package = zip::ZipArchive::new(file).expect("a ZIP file");
    let mut pages = Vec::new();
    for list in ["pages.jsonl", "extraPages.jsonl"] {
        let Ok(member) = package.by_name(&format!("pages/{list}")) else {
            continue;
        };
        let text = std::io::read_to_string(member).expect("text");
        let lines = text.lines().skip(1);
        pages.extend(lines.map(|line| (list.to_owned(), serde_json::from_str(line).expect("JSON"))));
    }
    pages
}

#[test]
fn an_exported_package_lists_what_packages_list() {
    let place = crawl();
    place.good(&["export", "--wacz", "again.wacz"]);
    let captured: Vec<(String, Value)> = listed()
        .into_iter()
        .filter(|(_, page)| !["p3", "p4"].contains(&page["id"].as_str().expect("an id")))
        .map(|(list, page)| (list.to_owned(), page))
        .collect();
    let by_id = |mut pages: Vec<(String, Value)>| {
        pages.sort_by_key(|(_, page)| page["id"].to_string());
        pages
    };
    assert_eq!(by_id(pages_in(&place, "again.wacz")), by_id(captured));
    place.good(&["load", "again.wacz", "--archive", "again"]);
    let mut found = ids(&place, &["--archive", "again"]);
    found.sort();
    let mut expected = [ALL[4], ALL[0], ALL[1]];
    expected.sort_unstable();
    check(&found, &expected);

    // With captures from other inputs, and with search results that are not listed.
    place.write_old("other.warc", &fixture::other_web());
    place.good(&["load", "other.warc"]);
    place.good(&["export", "--wacz", "mixed.wacz"]);
    let urls = |wacz: &str| {
        let pages = pages_in(&place, wacz);
        let mut urls: Vec<String> = pages.iter().map(|(_, page)| page["url"].to_string()).collect();
        urls.sort();
        urls
    };
    let mut expected = urls("again.wacz");
    expected.insert(1, "\"http://other.example/\"".to_owned());
    assert_eq!(urls("mixed.wacz"), expected);
    place.good(&["export", "--wacz", "found.wacz", "--pages-only", "maps"]);
    assert!(urls("found.wacz").contains(&"\"http://museum.example/maps\"".to_owned()));
}

#[test]
fn other_tools_accept_the_lists() {
    let Some(python) = test_env::python(&["wacz.main"]) else {
        println!("skipped: there is no python3 with wacz (make need-field)");
        return;
    };
    let place = crawl();
    place.good(&["export", "--wacz", "again.wacz", "--with-requests"]);
    let validated = test_env::command(&python, &place.path("home"))
        .args([
            "-c",
            "import sys; from wacz.main import main; sys.exit(main(['validate', '-f', sys.argv[1]]))",
        ])
        .arg(place.path("again.wacz"))
        .output()
        .expect("python runs");
    let told = String::from_utf8_lossy(&validated.stdout);
    let failed = String::from_utf8_lossy(&validated.stderr);
    assert!(validated.status.success(), "{told}{failed}");
}
