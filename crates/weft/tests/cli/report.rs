//! `weft report`: crawl statistics that add up.

use expect_test::expect;

use crate::fixture::{record, small_web, warc};
use crate::support::Workspace;

/// Loads [`small_web`], a page fetched and stored again unchanged, and two failed ones.
fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write("web.warc", &small_web());
    let response = |url: &str, date: &str, status: &str, body: &str| {
        let headers = [
            ("WARC-Target-URI", url),
            ("WARC-Date", date),
            ("Content-Type", "application/http; msgtype=response"),
        ];
        let block = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n\r\n{body}");
        record("response", &headers, block.as_bytes())
    };
    let mut more = response(
        "http://files.example:8080/a.txt",
        "2016-02-01T00:00:00Z",
        "200 OK",
        "the same text",
    );
    more.extend(response(
        "http://files.example:8080/b.txt",
        "2016-02-02T00:00:00Z",
        "200 OK",
        "the same text",
    ));
    for page in ["x", "y"] {
        let url = format!("http://files.example:8080/{page}");
        more.extend(response(&url, "2016-02-03T00:00:00Z", "404 Not Found", page));
    }
    place.write("more.warc", &more);
    place.good(&["load", "web.warc", "--collection", "web"]);
    place.good(&["load", "more.warc", "--collection", "more"]);
    place
}

#[test]
fn a_report_of_many_hosts_says_that_it_shows_the_first() {
    let place = Workspace::new();
    let urls: Vec<String> = (0..21).map(|host| format!("http://h{host}.example/")).collect();
    let pages: Vec<(&str, &str, &str)> = urls
        .iter()
        .map(|url| (url.as_str(), "2014-01-01T00:00:00Z", "<title>One</title>"))
        .collect();
    place.write_old("many.warc", &warc(&pages));
    place.good(&["load", "many.warc"]);
    let report = place.good(&["report"]);
    assert!(
        report.contains("\nthe first 20 of 21 hosts; --json has 100\n"),
        "{report}"
    );
    assert!(!report.contains("types;"), "{report}");
}

#[test]
fn a_report_says_what_was_crawled() {
    let place = loaded();
    place.check(
        &["report"],
        &expect![[r#"
        exit code 0
        9 captures, 3.2 KiB, of 8 URLs on 3 hosts
        from 2014-01-26T20:06:24.000Z to 2016-02-03T00:00:00.000Z

        month    captures    bytes  new URLs
        2014-01         2    883 B         2
        2015-03         2    862 B         2
        2016-01         1    400 B         0
        2016-02         4  1.1 KiB         4

        status  captures    bytes
        200            7  2.7 KiB
        404            2    552 B

        type        captures    bytes
        text/html          5  2.1 KiB
        text/plain         4  1.1 KiB

        host                captures    bytes
        files.example:8080         4  1.1 KiB
        library.example            3  1.3 KiB
        museum.example             2    862 B

        failures of         status  captures
        files.example:8080     404         2

        0 revisits in 0 B, which saved 0 B
        1 capture stored again with the payload of an earlier one, in 285 B
    "#]],
    );
    let told = place.json(&[
        "report",
        "--collection",
        "web",
        "--from",
        "2015",
        "--to",
        "2015-03",
    ]);
    assert_eq!(
        (&told["captures"], &told["urls"], &told["hosts"]),
        (&2.into(), &2.into(), &1.into())
    );
    assert_eq!(place.json(&["report", "--collection", "none"])["captures"], 0);
}

#[test]
fn a_page_of_html_needs_nothing_beside_it() {
    let place = loaded();
    let said = place.good(&["report", "--html", "-o", "report.html", "--collection", "more"]);
    assert_eq!(said, "report of 4 captures written to report.html\n");
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    for part in [
        "<style>",
        "files.example:8080",
        "captures of the collection more",
        "404",
        "<svg",
        "</html>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["<script", "<link", "href=\"/", "src="] {
        assert!(!page.contains(part), "{part} would need something beside it");
    }
    for (arguments, said) in [
        (vec!["report", "--html", "-o", "report.html"], "not overwritten"),
        (vec!["report", "--html"], "--output"),
        (vec!["report", "-o", "x.html"], "--html"),
        (
            vec!["report", "--html", "-o", "x.html", "--json"],
            "cannot be used together",
        ),
        (vec!["report", "--from", "2012-13"], "--from takes a date"),
    ] {
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
    assert!(!place.path("x.html").exists());
}
