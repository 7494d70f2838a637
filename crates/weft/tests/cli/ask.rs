//! Queries on a loaded archive: each answer as text and as JSON.

use expect_test::{Expect, expect};

use crate::fixture;
use crate::support::{VIEWS, Workspace, json_lines};

pub(crate) fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place
}

fn check(arguments: &[&str], expected: &Expect) {
    loaded().check(arguments, expected);
}

#[test]
fn page() {
    check(
        &["page", "http://www.library.example/"],
        &expect![[r#"
            exit code 0
            The New Library
            http://www.library.example/
            example,library)/ · domain library.example · epoch 1

            state     page · status 200 · text/html
            fetched   2016-01-01 00:00:00
            since     2016-01-01 00:00:00
            last seen 2016-01-01 00:00:00
            language  en
            links     1
            in-links  3 (2 from other domains)
            digest    A2COTDAIHSZBJ4CVOJZXWOMUIFMLBCYF

            captured             status  type        size  input     offset
            2016-01-01 00:00:00     200  text/html  400 B  web.warc    1930
            2014-01-26 20:06:24     200  text/html  436 B  web.warc     185

            since                until                past version
            2014-01-26 20:06:24  2016-01-01 00:00:00  The Library

            Welcome to the new reading room.The catalogue
        "#]],
    );
}

#[test]
fn page_that_is_only_linked_to() {
    check(
        &["page", "http://gone.example/"],
        &expect![[r#"
        exit code 0
        http://gone.example/
        example,gone)/ · domain gone.example · epoch 1

        state     not captured, only linked
        links     0
        in-links  1 (1 from other domains)
    "#]],
    );
}

#[test]
fn a_url_nobody_knows_is_code_1() {
    check(
        &["page", "http://unknown.example/"],
        &expect![[r#"
        exit code 1
        2> error: no capture of http://unknown.example/ and no link to it (key example,unknown)/)
    "#]],
    );
    check(
        &["record", "http://unknown.example/"],
        &expect![[r#"
        exit code 1
        2> error: no capture of http://unknown.example/ and no link to it (key example,unknown)/)
    "#]],
    );
}

#[test]
fn the_text_of_a_version() {
    let url = "http://www.library.example/";
    let text = |more: &[&str]| loaded().good(&[&["page", url, "--text"][..], more].concat());
    assert!(text(&[]).contains("Welcome to the new reading room."));
    let old = text(&["--at", "2014-01"]);
    assert!(old.contains("Welcome to the reading room."), "{old}");
    let json = loaded().json(&["page", url, "--text", "--at", "2014"]);
    assert_eq!(json["text"].as_str().map(|text| format!("{text}\n")), Some(old));
    let run = loaded().run(&["page", url, "--at", "2014"]);
    assert_eq!(run.code, Some(2), "{}", run.text());
    assert!(run.stderr.contains("--text"), "{}", run.stderr);
}

#[test]
fn a_url_that_is_none_is_code_2() {
    check(
        &["inlinks", ""],
        &expect![[r#"
        exit code 2
        2> error: "" has no URL key: no host in an http or https URL
    "#]],
    );
}

#[test]
fn cdx() {
    check(
        &["cdx", "http://www.library.example/"],
        &expect![[r#"
        exit code 0
        example,library)/ 20140126200624 {"url": "http://www.library.example/", "mime": "text/html", "status": "200", "digest": "7D5EKC5EW4X56YDHSNPNNGUIWYQA6YQ3", "length": "436", "offset": "185", "filename": "web.warc"}
        example,library)/ 20160101000000 {"url": "http://www.library.example/", "mime": "text/html", "status": "200", "digest": "A2COTDAIHSZBJ4CVOJZXWOMUIFMLBCYF", "length": "400", "offset": "1930", "filename": "web.warc"}
    "#]],
    );
    check(
        &["cdx", "*.library.example", "--to", "2014"],
        &expect![[r#"
        exit code 0
        example,library)/ 20140126200624 {"url": "http://www.library.example/", "mime": "text/html", "status": "200", "digest": "7D5EKC5EW4X56YDHSNPNNGUIWYQA6YQ3", "length": "436", "offset": "185", "filename": "web.warc"}
        example,library)/catalogue 20140126200625 {"url": "http://www.library.example/catalogue", "mime": "text/html", "status": "200", "digest": "ITFBGIE5KFSAGKEBZR3KQXLCITM4DVLM", "length": "447", "offset": "621", "filename": "web.warc"}
    "#]],
    );
    check(
        &["cdx", "http://www.library.example/c*"],
        &expect![[r#"
        exit code 0
        example,library)/catalogue 20140126200625 {"url": "http://www.library.example/catalogue", "mime": "text/html", "status": "200", "digest": "ITFBGIE5KFSAGKEBZR3KQXLCITM4DVLM", "length": "447", "offset": "621", "filename": "web.warc"}
    "#]],
    );
}

/// Scripts rely on the exit code: an empty result must differ from success.
#[test]
fn cdx_of_nothing_ends_with_1() {
    check(
        &["cdx", "http://nowhere.example/"],
        &expect![[r#"
        exit code 1
        2> error: no capture of http://nowhere.example/
    "#]],
    );
    // Captures that a filter excludes do exist, so the message differs.
    check(
        &[
            "cdx",
            "http://www.library.example/",
            "--from",
            "2020",
            "--filter",
            "status:404",
        ],
        &expect![[r#"
        exit code 1
        2> error: no capture of http://www.library.example/ matches --from and --filter; without it there may be some
    "#]],
    );
    let run = loaded().run(&["cdx", "http://www.library.example/", "--from", "2020", "--json"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(
        json_lines(&run.stdout)[0]["rows"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn cdx_in_other_orders_and_narrowed() {
    let place = loaded();
    let times = |arguments: &[&str]| -> Vec<String> {
        let arguments: Vec<&str> = ["cdx", "http://www.library.example/"]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        let text = place.good(&arguments);
        text.lines().map(|line| line[18..22].to_owned()).collect()
    };
    assert_eq!(times(&["--reverse"]), ["2016", "2014"]);
    assert_eq!(times(&["--closest", "2017"]), ["2016", "2014"]);
    assert_eq!(times(&["--filter", "~timestamp:2014"]), ["2014"]);
    assert_eq!(times(&["--collapse", "urlkey"]), ["2014"]);
    assert_eq!(place.run(&["cdx", "a", "--filter", "colour:red"]).code, Some(2));
    let json = place.json(&["cdx", "*.library.example/"]);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(3));
}

#[test]
fn search() {
    let place = loaded();
    let text = place.good(&["search", "reading room site:library.example"]);
    assert!(
        text.contains("The New Library\n  http://www.library.example/\n"),
        "{text}"
    );
    let hits = place.json(&["search", "reading", "room"]);
    assert_eq!(hits["total"], 3, "{hits}");
    let explained = place.good(&["search", "maps", "--explain", "--facets"]);
    assert!(explained.contains("domain: museum.example"), "{explained}");
    assert!(
        place
            .good(&["search", "nosuchwordanywhere"])
            .starts_with("0 results")
    );
    assert_eq!(
        place.run(&["search", "\"unclosed ((( AND -"]).code,
        Some(0),
        "odd queries are no errors"
    );
}

#[test]
fn mistakes_of_a_query_are_told() {
    let place = loaded();
    for (query, note) in [
        (
            "\"reading room",
            "a quote is not closed: \"reading room\" was read as one phrase",
        ),
        (
            "domain:library.example",
            "domain: is not a field and was searched as a word; try site:",
        ),
        ("reading OR", "OR joins nothing here and was left out"),
        ("🍕", "nothing in this query can be searched"),
    ] {
        let text = place.good(&["search", query]);
        assert!(text.contains(&format!("note: {note}\n")), "{query}: {text}");
    }
    assert!(place.good(&["search", "..."]).starts_with("0 results"));
    let found = place.json(&["search", "readin*", "domain:x"]);
    assert_eq!(found["notes"][0]["kind"], "unknown_field", "{found}");
    assert_eq!(
        place.json(&["search", "title:library"])["total"],
        place.json(&["search", "title:librar*"])["total"]
    );
}

/// Help states which versions a command queries.
#[test]
fn what_is_asked_of_the_newest_version_alone_says_so() {
    let place = loaded();
    for (command, words) in [
        ("search", "current versions"),
        ("inlinks", "newest version"),
        ("outlinks", "newest version"),
    ] {
        let help = place.good(&[command, "--help"]);
        assert!(help.contains(words), "{command}: {help}");
    }
}

#[test]
fn record() {
    check(
        &[
            "record",
            "http://www.library.example/",
            "--at",
            "2014",
            "--headers",
        ],
        &expect![[r#"
            exit code 0
            WARC/1.0
            WARC-Type: response
            WARC-Record-ID: <urn:uuid:response>
            WARC-Target-URI: http://www.library.example/
            WARC-Date: 2014-01-26T20:06:24Z
            Content-Type: application/http; msgtype=response
            Content-Length: 212

            HTTP/1.1 200 OK
            Content-Type: text/html; charset=utf-8

        "#]],
    );
    let place = loaded();
    let payload = place.good(&["record", "http://www.library.example/", "--payload"]);
    assert!(
        payload.starts_with("<html lang=en><title>The New Library</title>"),
        "{payload}"
    );
    let whole = place.good(&["record", "http://www.library.example/"]);
    assert_eq!(
        whole,
        place.good(&["record", "http://www.library.example/", "--stored"]),
        "a plain file"
    );
    assert!(
        whole.starts_with("WARC/1.0\r\nWARC-Type: response\r\n"),
        "{whole}"
    );
    place.good(&["record", "http://www.library.example/", "--out", "one.warc"]);
    let run = place.run(&["record", "http://museum.example/", "--out", "one.warc"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("not overwritten"), "{}", run.stderr);
    assert_eq!(
        std::fs::read_to_string(place.path("one.warc")).ok().as_ref(),
        Some(&whole)
    );
    assert_eq!(
        place.good(&["record", "http://www.library.example/", "--out", "-"]),
        whole
    );
}

#[test]
fn a_record_whose_file_has_gone_says_so() {
    let place = loaded();
    std::fs::remove_file(place.path("web.warc")).expect("remove");
    let run = place.run(&["record", "http://www.library.example/"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("web.warc"), "{}", run.stderr);
}

#[test]
fn a_record_whose_file_was_replaced_by_another_says_so() {
    let place = loaded();
    let stored = std::fs::read_to_string(place.path("web.warc")).expect("text");
    // Same length as before, so that records begin at the same offsets.
    place.write(
        "web.warc",
        stored.replace("www.library", "www.gallery").as_bytes(),
    );
    for part in ["--headers", "--payload", "--stored"] {
        let run = place.run(&["record", "http://www.library.example/", part]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{part}");
        for words in [
            "found a response record of http://www.gallery.example/",
            "load it again",
        ] {
            assert!(run.stderr.contains(words), "{}", run.stderr);
        }
    }
}

#[test]
fn status() {
    let place = loaded();
    let text = place.good(&["status"]);
    assert!(text.contains("captures 5"), "{text}");
    place.check(
        &["status", "--ledger"],
        &expect![[r#"
        exit code 0
        input     state     size   read  records  captures  quarantined  label
        web.warc  done   2.3 KiB  100 %        6         5            0
    "#]],
    );
    place.check(
        &["status", "--quarantine"],
        &expect![[r#"
        exit code 0
        the quarantine is empty
    "#]],
    );
}

#[test]
fn dumps() {
    check(
        &["dump", "domains"],
        &expect![[r#"
        exit code 0
        gone.example	1	0	1
        library.example	2	2	2
        museum.example	2	2	1
    "#]],
    );
    check(
        &["dump", "links", "--format", "jsonl"],
        &expect![[r#"
        exit code 0
        {"source_key":"example,library)/","target_key":"example,library)/catalogue","target_url":"http://www.library.example/catalogue","anchor":"The catalogue","nofollow":0}
        {"source_key":"example,library)/catalogue","target_key":"example,library)/","target_url":"http://www.library.example/","anchor":"Home","nofollow":0}
        {"source_key":"example,library)/catalogue","target_key":"example,museum)/maps","target_url":"http://museum.example/maps","anchor":"Old maps","nofollow":1}
        {"source_key":"example,museum)/","target_key":"example,library)/","target_url":"http://www.library.example/","anchor":"Library","nofollow":0}
        {"source_key":"example,museum)/","target_key":"example,museum)/maps","target_url":"http://museum.example/maps","anchor":"Maps","nofollow":0}
        {"source_key":"example,museum)/maps","target_key":"example,gone)/","target_url":"http://gone.example/","anchor":"Gone","nofollow":0}
        {"source_key":"example,museum)/maps","target_key":"example,library)/","target_url":"http://www.library.example/","anchor":"The library","nofollow":0}
    "#]],
    );
}

#[test]
fn every_answer_is_valid_json() {
    let place = loaded();
    let url = "http://www.library.example/";
    for (arguments, kind) in [
        (&["status"] as &[&str], "status"),
        (&["status", "--stages"], "stages"),
        (&["status", "--ledger"], "ledger"),
        (&["status", "--quarantine"], "quarantine"),
        (&["page", url], "page"),
        (&["inlinks", url], "links"),
        (&["outlinks", url], "links"),
        (&["domain", "museum.example"], "domain"),
        (&["top"], "top"),
        (&["cdx", url], "cdx"),
        (&["search", "library"], "search"),
        (&["record", url], "record"),
    ] {
        let answer = place.json(arguments);
        assert_eq!(answer["answer"], kind, "weft {}", arguments.join(" "));
        assert!(
            answer["epoch"].as_u64().is_some_and(|epoch| epoch > 0),
            "{answer}"
        );
    }
    for view in VIEWS {
        json_lines(&place.good(&["dump", view, "--json"]));
    }
}

#[test]
fn views_are_verified() {
    let run = loaded().run(&["verify"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let place = loaded();
    let mut child = place.start(&["dump", "links"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).as_ref()
        ),
        (Some(0), "")
    );
}

#[test]
fn a_site_is_found_with_www_and_without() {
    let place = loaded();
    let hits = |query: &str| {
        let run = place.run(&["search", query, "--json"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        json_lines(&run.stdout)[0]["total"].as_u64()
    };
    let all = hits("site:library.example");
    assert!(all.is_some_and(|hits| hits > 0));
    for query in ["site:www.library.example", "site:http://www.library.example/"] {
        assert_eq!(hits(query), all, "{query}");
    }
}

#[test]
fn a_damaged_journal_is_named_with_what_to_do() {
    let place = loaded();
    let journal = place.path("weft-archive/index/0.jnl");
    let mut bytes = std::fs::read(&journal).expect("a journal");
    bytes[200..206].copy_from_slice(b"damage");
    std::fs::write(&journal, bytes).expect("write the journal");
    for arguments in [&["status"][..], &["verify"], &["load", "web.warc"]] {
        let run = place.run(arguments);
        assert_ne!(run.code, Some(0), "{}", run.stdout);
        for part in ["journal of the index", ".jnl", "is damaged", "restore a copy"] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
    }
}

/// Scenario: another user, without write permission, opens the archive.
#[test]
fn files_of_an_archive_are_as_readable_as_its_folders() {
    use std::os::unix::fs::PermissionsExt as _;
    fn check(folder: &std::path::Path) {
        let readable =
            |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o044;
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                check(&path);
            } else {
                assert_eq!(readable(&path), readable(folder), "{}", path.display());
            }
        }
    }
    let place = loaded();
    for folder in ["index", "search"] {
        check(&place.path("weft-archive").join(folder));
    }
}

#[test]
fn a_retry_of_nothing_is_an_answer_in_json_too() {
    let run = loaded().run(&["load", "--retry", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(json_lines(&run.stdout), [serde_json::json!({ "retried": 0 })]);
}
