//! Lists: tables for spreadsheets, cursors, and where a list is cut.

use super::ask::loaded;
use crate::fixture;
use crate::support::{Workspace, words};

/// A list has 20 rows by default; the table for spreadsheets has all rows.
#[test]
fn lists_as_tables_are_all_of_them() {
    let place = Workspace::new();
    let urls: Vec<String> = (0..30)
        .map(|number| format!("http://a{number}.example/"))
        .collect();
    let link = "<title>=1+1</title><a href='http://target.example/'>one, \"two\"</a>";
    let pages: Vec<_> = urls
        .iter()
        .map(|url| (url.as_str(), "2010-01-01T00:00:00Z", link))
        .collect();
    place.write("web.warc", &fixture::warc(&pages));
    place.good(&["load", "web.warc"]);
    let csv = place.good(&["inlinks", "http://target.example/", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 31, "{csv}");
    let first = "http://a0.example/,'=1+1,http://target.example/,\"one, \"\"two\"\"\",true,false,2010-01-01T00:00:00.000Z";
    assert_eq!(csv.lines().nth(1), Some(first));
    let out = place.good(&["outlinks", "http://a7.example/", "--format", "csv"]);
    assert_eq!(out.lines().count(), 2, "{out}");
    let list = place.json(&["inlinks", "http://target.example/"]);
    assert_eq!(
        (&list["total"], list["next"].is_string()),
        (&serde_json::json!(30), true)
    );
    let all = place.json(&["inlinks", "http://target.example/", "--all"]);
    let rows = all["rows"].as_array().map(Vec::len);
    assert_eq!((rows, all["next"].is_null()), (Some(30), true));
}

#[test]
fn every_list_is_written_as_a_table() {
    let place = Workspace::new();
    let page = "<title>One</title><a href='http://two.example/'>two</a>";
    place.write(
        "web.warc",
        &fixture::warc(&[("http://one.example/", "2010-01-01T00:00:00Z", page)]),
    );
    place.good(&["load", "web.warc"]);
    for (words, head) in [
        (&["inlinks", "*.two.example"][..], "source_url,"),
        (&["outlinks", "http://one.example/"], "source_url,"),
        (&["inlinks", "two.example", "--by", "page"], "page,links,"),
        (&["cdx", "*.one.example"], "url,fetch_time,"),
        (&["top"], "rank,url,"),
        (&["domain"], "domain,uris,"),
        (&["pages"], "url,fetch_time,"),
        (&["search", "one"], "url_key,url,"),
    ] {
        let csv = place.good(&[words, &["--format", "csv"]].concat());
        assert!(csv.starts_with(head), "{words:?}: {csv}");
        let rows = csv.lines().count() - 1;
        let lines = place.good(&[words, &["--format", "jsonl"]].concat());
        assert_eq!(lines.lines().count(), rows, "{words:?}: {lines}");
        let parquet = [words, &["--format", "parquet"]].concat();
        let parquet = place.command(&parquet).output().expect("it runs").stdout;
        assert!(
            parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"),
            "{words:?}"
        );
    }
}

/// `--limit` and `--after` select rows of a table as of any list.
#[test]
fn a_part_of_a_list_is_written_as_a_table() {
    let place = loaded();
    for list in [
        "top",
        "domain",
        "cdx *.example",
        "inlinks *.library.example",
        "inlinks *.library.example --by anchor",
    ] {
        let csv = |flags: &str| place.good(&words(&format!("{list} --format csv {flags}")));
        let whole = csv("");
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        assert!(lines.len() > 3, "{list}: {whole}");
        assert_eq!(csv("--limit 2"), lines[..3].concat(), "{list}");
        assert_eq!(csv("--limit 10000"), whole, "{list}");
    }
    let next = place.json(&words("top --limit 2"))["next"].clone();
    let rest = format!("top --format csv --after {}", next.as_str().expect("a cursor"));
    let (whole, rest) = (place.good(&words("top --format csv")), place.good(&words(&rest)));
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(rest, [&lines[..1], &lines[3..]].concat().concat());
}

#[test]
fn lists_can_be_continued() {
    let place = loaded();
    let first = place.good(&["outlinks", "http://museum.example/maps", "--limit", "1"]);
    let more = first.lines().last().expect("a last line");
    let cursor = more
        .strip_prefix("more: weft outlinks http://museum.example/maps --after ")
        .expect(more);
    let cursor = cursor.trim_matches('\'');
    let second = place.json(&["outlinks", "http://museum.example/maps", "--after", cursor]);
    assert_eq!(second["rows"].as_array().map(Vec::len), Some(1), "{second}");
    let all = place.json(&["outlinks", "http://museum.example/maps"]);
    assert_eq!(all["rows"][1], second["rows"][0]);
}

/// A list that is cut names the command that prints all of it.
#[test]
fn a_cut_list_says_so() {
    let place = loaded();
    for (arguments, all) in [
        (
            &["inlinks", "http://www.library.example/"][..],
            "weft inlinks http://www.library.example/ --all",
        ),
        (
            &["outlinks", "http://museum.example/maps"],
            "weft outlinks http://museum.example/maps --all",
        ),
        (&["top"], "weft top --all"),
        (&["search", "room"], "weft search room --export csv"),
    ] {
        let said = place.good(&[arguments, &["--limit", "1"]].concat());
        assert!(said.contains(&format!("\nall:  {all}\nmore: weft ")), "{said}");
        let whole: Vec<&str> = all.split(' ').skip(1).collect();
        let whole = place.good(&whole);
        assert!(!whole.contains("more: "), "{whole}");
    }
    let cut = place.run(&["cdx", "*.library.example", "--limit", "1"]);
    assert_eq!((cut.code, cut.stdout.lines().count()), (Some(0), 1));
    assert_eq!(
        cut.stderr,
        "note: more captures follow; without --limit all are printed\n"
    );
    let json = place.run(&["cdx", "*.library.example", "--limit", "1", "--json"]);
    assert_eq!(json.stderr, "");
    assert_eq!(place.good(&["cdx", "*.library.example"]).lines().count(), 3);
}

#[test]
fn what_is_no_cursor_is_refused_by_search_as_by_lists() {
    let place = loaded();
    for arguments in [
        ["search", "library", "--after", "zzz"],
        ["inlinks", "http://www.library.example/", "--after", "zzz"],
    ] {
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stdout);
        assert!(
            run.stderr.contains("cursor belongs to another query"),
            "{}",
            run.stderr
        );
    }
}
