//! Queries on a loaded archive: each answer as text and as JSON.

use expect_test::{Expect, expect};

use crate::fixture;
use crate::support::{VIEWS, Workspace, json_lines};

fn loaded() -> Workspace {
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
fn inlinks() {
    check(
        &["inlinks", "http://www.library.example/"],
        &expect![[r#"
        exit code 0
        3 pages link to example,library)/ (epoch 1, newest versions)
        from                                  kind         anchor       title
        http://www.library.example/catalogue  same domain  Home         Catalogue
        http://museum.example/                external     Library      The Museum
        http://museum.example/maps            external     The library  Maps
    "#]],
    );
}

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
    let first = "http://a0.example/,'=1+1,http://target.example/,\"one, \"\"two\"\"\",true,false,,2010-01-01T00:00:00.000Z,";
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
fn links_to_a_whole_site_and_their_counts() {
    check(
        &["inlinks", "library.example/*"],
        &expect![[r#"
        exit code 0
        4 links to URLs of example,library)/ (epoch 1, newest versions)
        from                                  to                                    kind         anchor         title
        http://www.library.example/catalogue  http://www.library.example/           same domain  Home           Catalogue
        http://museum.example/                http://www.library.example/           external     Library        The Museum
        http://museum.example/maps            http://www.library.example/           external     The library    Maps
        http://www.library.example/           http://www.library.example/catalogue  same domain  The catalogue  The New Library
    "#]],
    );
    check(
        &["inlinks", "*.library.example", "--external", "--by", "domain"],
        &expect![[r#"
            exit code 0
            2 links by domain, 1 of 1 (epoch 1)
            links  external  first                last                 domain
                2         2  2015-03-01 08:00:00  2015-03-01 08:00:01  museum.example
        "#]],
    );
    check(
        &["inlinks", "*.library.example", "--by", "anchor", "--limit", "1"],
        &expect![[r#"
            exit code 0
            4 links by anchor, 1 of 4 (epoch 1)
            links  external  first                last                 anchor
                1         0  2014-01-26 20:06:25  2014-01-26 20:06:25  Home
            all:  weft inlinks '*.library.example' --by anchor --all
        "#]],
    );
    check(
        &["inlinks", "*.library.example", "--by", "month", "--format", "csv"],
        &expect![[r#"
            exit code 0
            value,links,links_external,first,last
            2015-03,2,2,2015-03-01T08:00:00.000Z,2015-03-01T08:00:01.000Z
            2014-01,1,0,2014-01-26T20:06:25.000Z,2014-01-26T20:06:25.000Z
            2016-01,1,0,2016-01-01T00:00:00.000Z,2016-01-01T00:00:00.000Z
        "#]],
    );
    check(
        &[
            "inlinks",
            "http://www.library.example/",
            "--anchor",
            "THE",
            "--from-domain",
            "museum.example",
        ],
        &expect![[r#"
            exit code 0
            1 page links to example,library)/ (epoch 1, newest versions)
            from                        kind      anchor       title
            http://museum.example/maps  external  The library  Maps
        "#]],
    );
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
        (&["inlinks", "two.example", "--by", "page"], "value,links,"),
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
    let wrong = place.run(&["top", "--format", "csv", "--limit", "3"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn inlinks_of_older_versions() {
    let place = Workspace::new();
    let link = |words: &str| format!("<title>Page</title><a href=http://target.example/>{words}</a>");
    let (first, second) = (link("our friends"), link("friends"));
    let gone = "<title>Page</title>no links any more";
    let pages = [
        ("http://one.example/", "2010-01-01T00:00:00Z", first.as_str()),
        ("http://one.example/", "2012-06-01T00:00:00Z", second.as_str()),
        ("http://one.example/", "2014-01-01T00:00:00Z", gone),
        ("http://two.example/", "2013-01-01T00:00:00Z", first.as_str()),
        ("http://two.example/", "2015-01-01T00:00:00Z", first.as_str()),
    ];
    place.write("web.warc", &fixture::warc(&pages));
    place.good(&["load", "web.warc"]);
    place.check(
        &["inlinks", "http://target.example/", "--ever"],
        &expect![[r#"
            exit code 0
            2 pages link to example,target)/ (epoch 1, all versions)
            from                 first                last                 now  kind      anchor       title
            http://one.example/  2010-01-01 00:00:00  2012-06-01 00:00:00       external  friends      Page
            http://two.example/  2013-01-01 00:00:00  2015-01-01 00:00:00  now  external  our friends  Page
        "#]],
    );
    place.check(
        &["inlinks", "http://target.example/", "--at", "2012-05"],
        &expect![[r#"
            exit code 0
            1 page links to example,target)/ (epoch 1, versions at 201205)
            from                 first                version              now  kind      anchor       title
            http://one.example/  2010-01-01 00:00:00  2010-01-01 00:00:00       external  our friends  Page
        "#]],
    );
    place.check(
        &["inlinks", "http://target.example/", "--at", "2009"],
        &expect![[r#"
            exit code 0
            0 pages link to example,target)/ (epoch 1, versions at 2009)
        "#]],
    );
    place.check(
        &["inlinks", "http://target.example/", "--ever", "--limit", "1"],
        &expect![[r#"
            exit code 0
            1 page links to example,target)/, and more (epoch 1, all versions)
            from                 first                last                 now  kind      anchor   title
            http://one.example/  2010-01-01 00:00:00  2012-06-01 00:00:00       external  friends  Page
            all:  weft inlinks http://target.example/ --ever --all
            more: weft inlinks http://target.example/ --ever --after ImV4YW1wbGUsb25lKS8i
        "#]],
    );
    let rows = "http://one.example/,Page,http://target.example/,friends,true,false,\
                2010-01-01T00:00:00.000Z,2012-06-01T00:00:00.000Z,false";
    let csv = place.good(&["inlinks", "http://target.example/", "--ever", "--format", "csv"]);
    assert_eq!(
        (csv.lines().nth(1), csv.lines().count()),
        (Some(rows), 3),
        "{csv}"
    );
    let ever = place.json(&["inlinks", "http://target.example/", "--ever"]);
    assert_eq!(ever["total"], serde_json::Value::Null);
    assert_eq!(
        ever["rows"][0]["version"],
        serde_json::json!({
            "first_seen": "2010-01-01T00:00:00.000Z",
            "fetch_time": "2012-06-01T00:00:00.000Z",
            "is_current": false,
        })
    );
    let both = place.run(&["inlinks", "http://target.example/", "--ever", "--at", "2012"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    // After a takedown they are missing from this answer too.
    place.good(&["forget", "--url", "http://one.example/"]);
    let ever = place.json(&["inlinks", "http://target.example/", "--ever"]);
    assert_eq!(ever["rows"].as_array().map(Vec::len), Some(1), "{ever}");
}

#[test]
fn outlinks() {
    check(
        &["outlinks", "http://museum.example/maps"],
        &expect![[r#"
        exit code 0
        2 links from example,museum)/maps (epoch 1, newest versions)
        to                           kind      anchor
        http://gone.example/         external  Gone
        http://www.library.example/  external  The library
    "#]],
    );
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

#[test]
fn domain() {
    check(
        &["domain", "library.example"],
        &expect![[r#"
        exit code 0
        library.example
        URIs 2   pages 2   in-links from other domains 2

        rank  external  in-links  url                                   title
           1         2         3  http://www.library.example/           The New Library
           2         0         1  http://www.library.example/catalogue  Catalogue

        links  from domain
            2  museum.example
    "#]],
    );
}

#[test]
fn top_of_what_was_captured() {
    check(
        &["top", "--captured"],
        &expect![[r#"
        exit code 0
        rank  external  in-links  url                                   title
           1         2         3  http://www.library.example/           The New Library
           2         1         2  http://museum.example/maps            Maps
           4         0         1  http://www.library.example/catalogue  Catalogue
           5         0         0  http://museum.example/                The Museum
    "#]],
    );
    check(
        &["top", "gone.example", "--captured"],
        &expect![[r#"
        exit code 0
        no captured pages of gone.example
    "#]],
    );
    let place = loaded();
    let all = place.json(&["top", "--captured", "--all"]);
    // Pages of every length, joined by their cursors, are the whole list.
    for limit in ["1", "2", "3"] {
        let (mut rows, mut after) = (Vec::new(), String::new());
        loop {
            let mut arguments = vec!["top", "--captured", "--limit", limit];
            if !after.is_empty() {
                arguments.extend(["--after", &after]);
            }
            let page = place.json(&arguments);
            rows.extend(page["rows"].as_array().expect("rows").clone());
            match page["next"].as_str() {
                Some(next) => after = next.to_owned(),
                None => break,
            }
        }
        assert_eq!(all["rows"], serde_json::Value::Array(rows), "pages of {limit}");
    }
}

#[test]
fn top() {
    check(
        &["top"],
        &expect![[r#"
        exit code 0
        rank  external  in-links  url                                   title
           1         2         3  http://www.library.example/           The New Library
           2         1         2  http://museum.example/maps            Maps
           3         1         1  http://gone.example/                  (not captured)
           4         0         1  http://www.library.example/catalogue  Catalogue
           5         0         0  http://museum.example/                The Museum
    "#]],
    );
    check(
        &["top", "museum.example"],
        &expect![[r#"
        exit code 0
        rank  external  in-links  url                         title
           1         1         2  http://museum.example/maps  Maps
           2         0         0  http://museum.example/      The Museum
    "#]],
    );
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
fn a_domain_says_how_many_urls_it_has() {
    let place = Workspace::new();
    let links: String = (0..25)
        .map(|number| format!("<a href='http://many.example/{number}'>{number}</a> "))
        .collect();
    place.write(
        "web.warc",
        &fixture::warc(&[("http://one.example/", "2010-01-01T00:00:00Z", &links)]),
    );
    place.good(&["load", "web.warc"]);
    let said = place.good(&["domain", "many.example"]);
    let last = said.lines().last();
    assert_eq!(last, Some("20 of 25 URIs; all: weft top many.example --all"));
    let all = place.good(&["top", "many.example", "--all"]);
    assert_eq!(all.lines().count(), 26, "{all}");
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
    assert_eq!(std::fs::read_to_string(place.path("one.warc")).ok(), Some(whole));
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
