//! Queries on links, domains and ranks.

use expect_test::expect;

use super::ask::loaded;
use crate::fixture;
use crate::support::{Workspace, words};

#[test]
fn answers_as_people_read_them() {
    let place = loaded();
    for (command, expected) in [
        (
            "inlinks http://www.library.example/",
            expect![[r#"
        exit code 0
        3 pages link to example,library)/ (epoch 1, newest versions)
        from                                  kind         anchor       title
        http://www.library.example/catalogue  same domain  Home         Catalogue
        http://museum.example/                external     Library      The Museum
        http://museum.example/maps            external     The library  Maps
    "#]],
        ),
        (
            "inlinks library.example/*",
            expect![[r#"
        exit code 0
        4 links to URLs of example,library)/ (epoch 1, newest versions)
        from                                  to                                    kind         anchor         title
        http://www.library.example/catalogue  http://www.library.example/           same domain  Home           Catalogue
        http://museum.example/                http://www.library.example/           external     Library        The Museum
        http://museum.example/maps            http://www.library.example/           external     The library    Maps
        http://www.library.example/           http://www.library.example/catalogue  same domain  The catalogue  The New Library
    "#]],
        ),
        (
            "inlinks *.library.example --external --by domain",
            expect![[r#"
            exit code 0
            2 links by domain, 1 of 1 domain (epoch 1)
            links  external  first                last                 domain
                2         2  2015-03-01 08:00:00  2015-03-01 08:00:01  museum.example
        "#]],
        ),
        (
            "inlinks *.library.example --by anchor --limit 1",
            expect![[r#"
            exit code 0
            4 links by anchor, 1 of 4 anchors (epoch 1)
            links  external  first                last                 anchor
                1         0  2014-01-26 20:06:25  2014-01-26 20:06:25  Home
            all:  weft inlinks '*.library.example' --by anchor --all
            more: weft inlinks '*.library.example' --by anchor --after 1
        "#]],
        ),
        (
            "inlinks *.library.example --by month --format csv",
            expect![[r#"
            exit code 0
            month,links,links_external,first,last
            2015-03,2,2,2015-03-01T08:00:00.000Z,2015-03-01T08:00:01.000Z
            2014-01,1,0,2014-01-26T20:06:25.000Z,2014-01-26T20:06:25.000Z
            2016-01,1,0,2016-01-01T00:00:00.000Z,2016-01-01T00:00:00.000Z
        "#]],
        ),
        (
            "inlinks http://www.library.example/ --anchor THE --from-domain museum.example",
            expect![[r#"
            exit code 0
            1 page links to example,library)/ (epoch 1, newest versions)
            from                        kind      anchor       title
            http://museum.example/maps  external  The library  Maps
        "#]],
        ),
        (
            "outlinks http://museum.example/maps",
            expect![[r#"
        exit code 0
        2 links from example,museum)/maps (epoch 1, newest versions)
        to                           kind      anchor
        http://gone.example/         external  Gone
        http://www.library.example/  external  The library
    "#]],
        ),
        (
            "domain library.example",
            expect![[r#"
        exit code 0
        library.example
        URIs 2   pages 2   in-links from other domains 2

        rank  external  in-links  url                                   title
           1         2         3  http://www.library.example/           The New Library
           2         0         1  http://www.library.example/catalogue  Catalogue

        links  from domain
            2  museum.example
        (all domains that link here)
    "#]],
        ),
        (
            "top",
            expect![[r#"
        exit code 0
        rank  external  in-links  url                                   title
           1         2         3  http://www.library.example/           The New Library
           2         1         2  http://museum.example/maps            Maps
           3         1         1  http://gone.example/                  (not captured)
           4         0         1  http://www.library.example/catalogue  Catalogue
           5         0         0  http://museum.example/                The Museum
    "#]],
        ),
        (
            "top museum.example",
            expect![[r#"
        exit code 0
        rank  external  in-links  url                         title
           1         1         2  http://museum.example/maps  Maps
           2         0         0  http://museum.example/      The Museum
    "#]],
        ),
        (
            "top --captured",
            expect![[r#"
        exit code 0
        rank  external  in-links  url                                   title
           1         2         3  http://www.library.example/           The New Library
           2         1         2  http://museum.example/maps            Maps
           4         0         1  http://www.library.example/catalogue  Catalogue
           5         0         0  http://museum.example/                The Museum
    "#]],
        ),
        (
            "top gone.example --captured",
            expect![[r#"
        exit code 0
        no captured pages of gone.example
    "#]],
        ),
        (
            "inlinks *.library.example/catalogue",
            expect![[r#"
            exit code 2
            2> error: "*.library.example/catalogue": a domain with subdomains takes no path and no port, found "/catalogue"; write "*.library.example" for the domain, or "library.example/catalogue*" for the URLs of one host
        "#]],
        ),
    ] {
        place.check(&words(command), &expected);
    }
}

#[test]
fn a_pattern_of_which_a_part_would_be_ignored_is_refused() {
    let place = loaded();
    for command in ["inlinks", "cdx"] {
        for pattern in ["*.library.example/nosuch/*", "*.library.example:8080", "*"] {
            let run = place.run(&[command, pattern]);
            assert_eq!(run.code, Some(2), "{command} {pattern}: {}", run.stderr);
            assert!(
                run.stderr.contains("*.") && run.stdout.is_empty(),
                "{}",
                run.stderr
            );
        }
        let run = place.run(&[command, "http://*.library.example/"]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(run.stderr.contains("an ordinary character"), "{}", run.stderr);
    }
}

#[test]
fn dates_that_do_not_exist_are_refused() {
    let place = loaded();
    let url = "http://www.library.example/";
    for flag in ["--from", "--to", "--at"] {
        for date in ["2014-13", "2014-00", "2014-1", "2014-02-30", "20149", "99999"] {
            let run = place.run(&["inlinks", url, flag, date]);
            assert_eq!(run.code, Some(2), "{flag} {date}: {}", run.text());
            assert!(run.stderr.contains(&format!("found '{date}'")), "{}", run.stderr);
        }
    }
    for date in [
        "2015",
        "2015-03",
        "201503",
        "2015-03-01",
        "2015-03-01T08:00:00.000Z",
        "2015-03-01 08:00:00",
    ] {
        let found = place.good(&["inlinks", url, "--from", date]);
        assert!(found.starts_with("2 pages link"), "{date}: {found}");
    }
    let run = place.run(&["cdx", url, "--from", "2014-13"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn groups_of_links_are_paged_and_counted_in_json() {
    let place = loaded();
    let counts = |more: &[&str]| {
        let mut arguments = vec!["inlinks", "*.library.example", "--by", "anchor"];
        arguments.extend(more);
        let counts = place.json(&arguments);
        let rows = counts["rows"].as_array().expect("rows").len();
        (rows, counts["total"].clone(), counts["next"].clone())
    };
    assert_eq!(counts(&[]), (4, 4.into(), serde_json::Value::Null));
    assert_eq!(counts(&["--limit", "3"]), (3, 4.into(), "3".into()));
    let last = counts(&["--limit", "3", "--after", "3"]);
    assert_eq!(last, (1, 4.into(), serde_json::Value::Null));
    let arguments = ["inlinks", "*.library.example", "--by", "anchor", "--after", "abc"];
    let run = place.run(&arguments);
    assert_eq!(run.code, Some(2), "{}", run.text());
    let said = "--after takes the cursor";
    assert!(
        run.stderr.contains(said) && run.stdout.is_empty(),
        "{}",
        run.text()
    );
}

#[test]
fn a_domain_of_sources_may_have_a_star() {
    let place = loaded();
    let url = "http://www.library.example/";
    let plain = place.good(&["inlinks", url, "--from-domain", "museum.example"]);
    assert!(plain.contains("2 pages link"), "{plain}");
    assert_eq!(
        place.good(&["inlinks", url, "--from-domain", "*.museum.example"]),
        plain
    );
    let run = place.run(&["inlinks", url, "--from-domain", "museum.example/maps"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("is not a domain such as example.org"),
        "{}",
        run.stderr
    );
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
    for (command, expected) in [
        (
            "inlinks http://target.example/ --ever",
            expect![[r#"
            exit code 0
            2 pages link to example,target)/ (epoch 1, all versions)
            from                 first                last                 now  kind      anchor       title
            http://one.example/  2010-01-01 00:00:00  2012-06-01 00:00:00       external  friends      Page
            http://two.example/  2013-01-01 00:00:00  2015-01-01 00:00:00  now  external  our friends  Page
        "#]],
        ),
        (
            "inlinks http://target.example/ --at 2012-05",
            expect![[r#"
            exit code 0
            1 page links to example,target)/ (epoch 1, versions at 201205)
            from                 first                version              now  kind      anchor       title
            http://one.example/  2010-01-01 00:00:00  2010-01-01 00:00:00       external  our friends  Page
        "#]],
        ),
        (
            "inlinks http://target.example/ --at 2009",
            expect![[r#"
            exit code 0
            0 pages link to example,target)/ (epoch 1, versions at 2009)
        "#]],
        ),
        (
            "inlinks http://target.example/ --ever --limit 1",
            expect![[r#"
            exit code 0
            1 page links to example,target)/, and more (epoch 1, all versions)
            from                 first                last                 now  kind      anchor   title
            http://one.example/  2010-01-01 00:00:00  2012-06-01 00:00:00       external  friends  Page
            all:  weft inlinks http://target.example/ --ever --all
            more: weft inlinks http://target.example/ --ever --after ImV4YW1wbGUsb25lKS8i
        "#]],
        ),
    ] {
        place.check(&words(command), &expected);
    }
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
    // No table begins, not even with its header.
    for flags in [
        "--ever",
        "--at 2012",
        "--ever --format csv",
        "--at 2012 --by domain",
    ] {
        let many = place.run(&words(&format!("inlinks *.target.example {flags}")));
        assert_eq!(
            (many.code, &*many.stdout),
            (Some(2), ""),
            "{flags}: {}",
            many.stderr
        );
        assert!(
            many.stderr.contains("to one URL only"),
            "{flags}: {}",
            many.stderr
        );
    }
    // After a takedown they are missing from this answer too.
    place.good(&["forget", "--url", "http://one.example/"]);
    let ever = place.json(&["inlinks", "http://target.example/", "--ever"]);
    assert_eq!(ever["rows"].as_array().map(Vec::len), Some(1), "{ever}");
}

/// A column that is always empty looks like data that is missing.
#[test]
fn a_table_of_links_has_times_of_versions_only_if_asked_for() {
    let place = loaded();
    let header = |flags: &str| {
        let line = format!("inlinks http://www.library.example/ --format csv {flags}");
        let csv = place.good(&words(&line));
        csv.lines().next().unwrap_or_default().to_owned()
    };
    let shared = "source_url,source_title,target_url,anchor,external,nofollow";
    assert_eq!(header(""), format!("{shared},fetch_time"));
    for flags in ["--ever", "--at 2016"] {
        assert_eq!(
            header(flags),
            format!("{shared},first_seen,fetch_time,is_current")
        );
    }
}

/// An answer of the archive looks at 10,000 links; the command reads on behind them.
#[test]
fn a_list_with_conditions_reads_on_until_it_is_full_or_ends() {
    let place = Workspace::new();
    let links = |from: usize| -> String {
        let link = |number| format!("<a href='http://big.example/{number:05}'>{number}</a> ");
        (from..from + 6000).map(link).collect()
    };
    let (first, second) = (links(10_000), links(20_000));
    let other = "<a href='http://big.example/z1'>one</a> <a href='http://big.example/z2'>two</a>";
    place.write(
        "web.warc",
        &fixture::warc(&[
            ("http://a.big.example/", "2010-01-01T00:00:00Z", &first),
            ("http://b.big.example/", "2010-01-01T00:00:00Z", &second),
            ("http://other.example/", "2012-01-01T00:00:00Z", other),
        ]),
    );
    place.good(&["load", "web.warc"]);
    for (conditions, head) in [
        ("--external", "2 links to URLs of"),
        ("--external --limit 2", "2 links to URLs of"),
        ("--external --limit 1", "1 link, and more to URLs of"),
        ("--from-domain nothing.example", "0 links to URLs of"),
        ("--from 2099", "0 links to URLs of"),
        // No link after the last row matches.
        ("--anchor 10007", "1 link to URLs of"),
        ("--anchor 10007 --limit 1", "1 link to URLs of"),
    ] {
        let mut arguments = vec!["inlinks", "*.big.example"];
        arguments.extend(words(conditions));
        let said = place.good(&arguments);
        assert!(said.starts_with(head), "{conditions}: {said}");
        assert_eq!(said.contains("more:"), head.contains("and more"), "{said}");
    }
    let some = place.json(&["inlinks", "*.big.example", "--external"]);
    assert_eq!(
        (&some["next"], some.get("looked_at")),
        (&serde_json::Value::Null, None)
    );
}

#[test]
fn a_list_is_written_to_a_file_that_does_not_exist() {
    let place = loaded();
    for list in [
        "inlinks http://www.library.example/",
        "inlinks *.library.example --by domain",
        "outlinks http://museum.example/maps",
        "top",
        "domain",
        "cdx *.example",
    ] {
        let printed = place.good(&words(&format!("{list} --format csv")));
        let to_file = format!("{list} --format csv -o list.csv");
        assert_eq!(place.good(&words(&to_file)), "");
        let written = std::fs::read_to_string(place.path("list.csv")).expect("a file");
        assert_eq!(written, printed, "{list}");
        place
            .run(&words(&to_file))
            .expect(2, &[], &["list.csv already exists and is not overwritten"]);
        std::fs::remove_file(place.path("list.csv")).expect("removed");
        place
            .run(&words(&format!("{list} -o list.csv")))
            .expect(2, &[], &["--format <FORMAT>"]);
    }
}

#[test]
fn pages_of_every_length_are_the_whole_list() {
    let place = loaded();
    let all = place.json(&["top", "--captured", "--all"]);
    // Pages of every length, joined by their cursors.
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
