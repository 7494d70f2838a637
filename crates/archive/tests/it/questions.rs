//! Every question, asked of real crawls.

use std::io::Read as _;
use std::sync::OnceLock;

use archive::question::{
    Body, CaptureKind, CdxBody, CdxQuestion, CdxRow, Domain, DomainOrder, Domains, DomainsBody, Dump,
    DumpFormat, Inlinks, LinkCounts, LinkFilter, LinkGrouping, LinkRow, LinksBody, MatchType, Outlinks, Page,
    PageBody, Question, Record, RecordBody, SearchQuestion, Stages, StagesBody, Status, Top, TopBody,
};
use archive::{Archive, ErrorCode, Interrupt, open_record};

use crate::data::{self, dump, load, own};

const FILES: [&str; 5] = [
    "crawls/iana.warc.gz",
    "crawls/etig.warc.gz",
    "crawls/dupes.warc.gz",
    "crawls/govuk-1.warc.gz",
    "crawls/govuk-2-revisits.warc.gz",
];

/// One archive for all questions.
fn archive() -> Option<&'static Archive> {
    static ARCHIVE: OnceLock<Option<(tempfile::TempDir, Archive)>> = OnceLock::new();
    let made = ARCHIVE.get_or_init(|| {
        let shared = test_env::shared_data()?;
        let root = tempfile::tempdir().unwrap();
        let archive = own(root.path());
        load(&archive, &data::request(&shared, &FILES));
        Some((root, archive))
    });
    made.as_ref().map(|(_, archive)| archive)
}

/// Returns the rows of a dump without the header line, if there is one.
fn rows(archive: &Archive, view: &str) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let count = archive
        .dump(view.parse::<Dump>().unwrap(), DumpFormat::Tsv, &mut out)
        .unwrap() as usize;
    let text = dump(archive, view);
    let lines: Vec<&str> = text.lines().collect();
    let cells = |line: &&str| line.split('\t').map(str::to_owned).collect();
    lines[lines.len() - count..].iter().map(cells).collect()
}

/// Follows cursors to the end in steps of `limit`.
fn all<R>(
    archive: &Archive,
    mut ask: impl FnMut(Option<String>) -> Question,
    take: fn(Body) -> (Vec<R>, Option<String>),
) -> Vec<R> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let (rows, next) = take(data::ask(archive, ask(after)));
        all.extend(rows);
        match next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
}

fn cdx(archive: &Archive, url: &str, match_type: MatchType, limit: usize) -> Vec<CdxRow> {
    let ask = |after| {
        Question::Cdx(CdxQuestion {
            url: url.into(),
            match_type,
            limit,
            after,
            ..Default::default()
        })
    };
    all(archive, ask, |body| match body {
        Body::Cdx(CdxBody { rows, next, .. }) => (rows, next),
        other => panic!("{other:?}"),
    })
}

#[test]
fn cdx_matches_as_its_type_says_whatever_the_page_size() {
    let Some(archive) = archive() else { return };
    let captures = rows(archive, "captures");
    let of = |keep: &dyn Fn(&str) -> bool| captures.iter().filter(|row| keep(&row[0])).count();
    let cases: [(MatchType, &str, usize); 6] = [
        (
            MatchType::Exact,
            "http://www.iana.org/",
            of(&|key| key == "org,iana)/"),
        ),
        (MatchType::Exact, "iana.org", of(&|key| key == "org,iana)/")),
        (MatchType::Exact, "org,iana)/", of(&|key| key == "org,iana)/")),
        (
            MatchType::Prefix,
            "http://www.iana.org/domains",
            of(&|key| key.starts_with("org,iana)/domains")),
        ),
        (
            MatchType::Host,
            "http://www.iana.org/x",
            of(&|key| key.starts_with("org,iana)") || key.starts_with("org,iana:")),
        ),
        (
            MatchType::Domain,
            "iana.org",
            of(&|key| {
                ["org,iana)", "org,iana,", "org,iana:"]
                    .iter()
                    .any(|p| key.starts_with(p))
            }),
        ),
    ];
    for (match_type, url, expected) in cases {
        assert!(expected > 0, "{url}");
        for limit in [1, 7, 10_000] {
            let found = cdx(archive, url, match_type, limit);
            assert_eq!(found.len(), expected, "{match_type:?} {url} by {limit}");
            assert!(found.is_sorted_by_key(|row| (row.url_key.clone(), row.fetch_time.clone())));
        }
    }
}

#[test]
fn cdx_filters_by_time_and_collection() {
    let Some(archive) = archive() else { return };
    let ask = |from: Option<&str>, to: Option<&str>, collection: Option<&str>| {
        let question = CdxQuestion {
            url: "iana.org".into(),
            match_type: MatchType::Host,
            from: from.map(Into::into),
            to: to.map(Into::into),
            collection: collection.map(Into::into),
            limit: 10_000,
            ..CdxQuestion::default()
        };
        match archive.ask(Question::Cdx(question)).map(|answer| answer.body) {
            Ok(Body::Cdx(CdxBody { rows, .. })) => Ok(rows.len()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code),
        }
    };
    let everything = cdx(archive, "iana.org", MatchType::Host, 10_000).len();
    let before = ask(None, Some("201401262006"), None).unwrap();
    let after = ask(Some("201401262007"), None, None).unwrap();
    assert!(before > 0 && after > 0);
    assert_eq!(before + after, everything);
    assert_eq!(ask(Some("2014"), Some("2014"), None), Ok(everything));
    assert_eq!(ask(None, None, Some("other")), Ok(0));
    assert_eq!(ask(Some("yesterday"), None, None), Err(ErrorCode::BadRequest));
}

fn page(archive: &Archive, url: &str) -> PageBody {
    match data::ask(archive, Question::Page(Page { url: url.into() })) {
        Body::Page(page) => page,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_agrees_with_the_views() {
    let Some(archive) = archive() else { return };
    for row in rows(archive, "pages").iter().step_by(23) {
        let page = page(archive, &row[1]);
        assert!(page.captured && page.is_page);
        let found = [
            page.url_key,
            page.url,
            page.status.to_string(),
            page.mime,
            page.digest,
            page.links.to_string(),
            page.inlinks.to_string(),
            page.inlinks_external.to_string(),
        ];
        let expected = [
            &row[0], &row[1], &row[3], &row[4], &row[5], &row[7], &row[8], &row[9],
        ];
        assert_eq!(found.each_ref(), expected);
        assert!(!page.captures.is_empty());
        assert!(page.captures.is_sorted_by(|a, b| a.fetch_time >= b.fetch_time));
    }
    // The newest capture of the home page is a redirect to itself, which does not hide the page.
    let home = page(archive, "http://www.iana.org/");
    assert!(home.is_page && home.title.starts_with("Internet Assigned Numbers"));
    assert!(home.last_seen > home.fetch_time);
    let domains = page(archive, "iana.org/domains");
    assert_eq!(
        (domains.host.as_str(), domains.domain.as_str()),
        ("iana.org", "iana.org")
    );
    assert!(!domains.title.is_empty() && !domains.text_preview.is_empty());
}

#[test]
fn a_uri_that_is_only_linked_to_has_a_page_too() {
    let Some(archive) = archive() else { return };
    let uris = rows(archive, "uris");
    let row = uris.iter().find(|row| row[1] == "0" && row[2] != "0").unwrap();
    let page = page(archive, &row[0]);
    assert!(!page.captured && !page.is_page && page.captures.is_empty());
    assert_eq!(page.inlinks.to_string(), row[2]);
    assert!(page.url.starts_with("http"));
}

fn links(archive: &Archive, ask: impl FnMut(Option<String>) -> Question) -> Vec<LinkRow> {
    all(archive, ask, |body| match body {
        Body::Links(LinksBody { rows, next, .. }) => (rows, next),
        other => panic!("{other:?}"),
    })
}

#[test]
fn links_agree_with_the_views_whatever_the_page_size() {
    let Some(archive) = archive() else { return };
    let (outgoing, incoming) = (rows(archive, "links"), rows(archive, "inlinks"));
    let key = "org,iana)/domains".to_owned();
    for limit in [1, 3, 1000] {
        let out = links(archive, |after| {
            Question::Outlinks(Outlinks {
                url: key.clone(),
                after,
                limit,
            })
        });
        let expected: Vec<_> = outgoing
            .iter()
            .filter(|row| row[0] == key)
            .map(|row| (&row[1], &row[3]))
            .collect();
        assert_eq!(
            out.iter()
                .map(|row| (&row.target_key, &row.anchor))
                .collect::<Vec<_>>(),
            expected
        );
        let inward = links(archive, |after| {
            Question::Inlinks(Inlinks {
                url: key.clone(),
                after,
                limit,
                ..Inlinks::default()
            })
        });
        let expected: Vec<_> = incoming
            .iter()
            .filter(|row| row[0] == key)
            .map(|row| (&row[1], &row[2]))
            .collect();
        assert_eq!(
            inward
                .iter()
                .map(|row| (&row.source_key, &row.anchor))
                .collect::<Vec<_>>(),
            expected
        );
        assert!(inward.len() > 3 && out.len() > 3);
    }
}

#[test]
fn links_to_a_site_agree_with_the_views_whatever_the_conditions() {
    let Some(archive) = archive() else { return };
    let incoming = rows(archive, "inlinks");
    let is_iana = |key: &str| key.starts_with("org,iana)") || key.starts_with("org,iana,");
    let site = Inlinks {
        url: "iana.org".into(),
        match_type: MatchType::Domain,
        ..Inlinks::default()
    };
    check_selection(archive, &incoming, &site, &|row| is_iana(&row[0]));
    let with = |filter: LinkFilter| Inlinks {
        filter,
        ..site.clone()
    };
    let external = LinkFilter {
        external: true,
        ..LinkFilter::default()
    };
    check_selection(archive, &incoming, &with(external), &|row| {
        is_iana(&row[0]) && !urlkey::same_domain(&row[0], &row[1])
    });
    let anchor = LinkFilter {
        anchor: Some("DOMAIN".into()),
        from_domain: Some("iana.org".into()),
        ..LinkFilter::default()
    };
    check_selection(archive, &incoming, &with(anchor), &|row| {
        is_iana(&row[0]) && is_iana(&row[1]) && row[2].to_lowercase().contains("domain")
    });
    let prefix = Inlinks {
        url: "iana.org/domains".into(),
        match_type: MatchType::Prefix,
        ..Inlinks::default()
    };
    check_selection(archive, &incoming, &prefix, &|row| {
        row[0].starts_with("org,iana)/domains")
    });
    let years = |from: &str, to: &str| {
        let filter = LinkFilter {
            from: Some(from.into()),
            to: Some(to.into()),
            ..LinkFilter::default()
        };
        links(archive, |after| {
            Question::Inlinks(Inlinks {
                after,
                limit: 10_000,
                ..with(filter.clone())
            })
        })
        .len()
    };
    let all = links(archive, |after| {
        Question::Inlinks(Inlinks {
            after,
            limit: 10_000,
            ..site.clone()
        })
    });
    let is_2014 = |time: &Option<String>| time.as_deref().is_some_and(|time| time.starts_with("2014"));
    let in_2014 = all.iter().filter(|row| is_2014(&row.source_fetch_time)).count();
    assert!(in_2014 > 100, "{in_2014}");
    assert_eq!(
        (years("2014", "2014"), years("1990", "2100")),
        (in_2014, all.len())
    );
    let older = Question::Inlinks(Inlinks {
        ever: true,
        ..site.clone()
    });
    assert_eq!(archive.ask(older).unwrap_err().code, ErrorCode::BadRequest);
}

/// Links to many URLs, with conditions, are those that the dumped views have.
#[track_caller]
fn check_selection(
    archive: &Archive,
    incoming: &[Vec<String>],
    selection: &Inlinks,
    fits: &dyn Fn(&[String]) -> bool,
) {
    let mut expected: Vec<_> = incoming.iter().filter(|row| fits(row)).collect();
    expected.sort();
    for limit in [1, 7, 10_000] {
        let found = links(archive, |after| {
            Question::Inlinks(Inlinks {
                after,
                limit,
                ..selection.clone()
            })
        });
        let found: Vec<_> = found
            .iter()
            .map(|row| (&row.target_key, &row.source_key, &row.anchor))
            .collect();
        let expected: Vec<_> = expected.iter().map(|row| (&row[0], &row[1], &row[2])).collect();
        assert_eq!(found, expected, "{selection:?}");
    }
    for by in LinkGrouping::ALL {
        let counts = archive
            .ask(LinkCounts {
                links: selection.clone(),
                by,
                first_links: 3,
            })
            .unwrap()
            .body;
        let first: Vec<_> = counts
            .first_links
            .iter()
            .map(|row| (&row.target_key, &row.source_key, &row.anchor))
            .collect();
        let expected_first: Vec<_> = expected.iter().map(|row| (&row[0], &row[1], &row[2])).collect();
        assert_eq!(first, expected_first[..expected.len().min(3)], "{by}");
        let sum: u64 = counts.rows.iter().map(|row| row.links).sum();
        assert_eq!(
            (counts.links, sum),
            (expected.len() as u64, expected.len() as u64),
            "{by}"
        );
    }
}

/// In name order a list begins with digits and odd hosts; in count order it begins with the largest
/// domains.
#[test]
fn domains_by_pages_or_in_links_are_all_there_whatever_the_page_size() {
    let Some(archive) = archive() else { return };
    for (order, column) in [(DomainOrder::Pages, 2), (DomainOrder::Inlinks, 3)] {
        let mut expected = rows(archive, "domains");
        let count = |row: &Vec<String>| row[column].parse::<u64>().unwrap();
        expected.sort_by_key(|row| (std::cmp::Reverse(count(row)), row[0].clone()));
        for limit in [70, 5000] {
            let found = all(
                archive,
                |after| Question::Domains(Domains { order, after, limit }),
                |body| match body {
                    Body::Domains(DomainsBody { rows, next }) => (rows, next),
                    other => panic!("{other:?}"),
                },
            );
            let found: Vec<_> = found.iter().map(|row| &row.domain).collect();
            assert_eq!(found, expected.iter().map(|row| &row[0]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn domains_and_rankings_agree_with_the_views() {
    let Some(archive) = archive() else { return };
    let domains = rows(archive, "domains");
    for limit in [2, 5000] {
        let found = all(
            archive,
            |after| {
                Question::Domains(Domains {
                    order: DomainOrder::Name,
                    after,
                    limit,
                })
            },
            |body| match body {
                Body::Domains(DomainsBody { rows, next }) => (rows, next),
                other => panic!("{other:?}"),
            },
        );
        let found: Vec<_> = found.iter().map(|row| &row.domain).collect();
        assert_eq!(found, domains.iter().map(|row| &row[0]).collect::<Vec<_>>());
    }
    let all_uris = rows(archive, "uris").len();
    let top = all(
        archive,
        |after| {
            Question::Top(Top {
                domain: None,
                after,
                limit: 500,
            })
        },
        |body| match body {
            Body::Top(TopBody { rows, next }) => (rows, next),
            other => panic!("{other:?}"),
        },
    );
    assert_eq!(top.len(), all_uris);
    assert!(top.iter().zip(1..).all(|(row, rank)| row.rank == rank));
    let order = |row: &archive::question::TopRow| (!row.inlinks_external, !row.inlinks, row.url_key.clone());
    assert!(top.is_sorted_by_key(order));
    assert!(top.iter().all(|row| !row.url.is_empty()));
    let Body::Domain(domain) = data::ask(
        archive,
        Question::Domain(Domain {
            name: "www.iana.org".into(),
        }),
    ) else {
        panic!()
    };
    let row = domains.iter().find(|row| row[0] == "iana.org").unwrap();
    assert_eq!(
        [
            domain.uris.to_string(),
            domain.pages.to_string(),
            domain.inlinks_external.to_string()
        ],
        row[1..4]
    );
    assert!(!domain.top.is_empty());
}

#[test]
fn what_is_not_there_is_said_with_its_key() {
    let Some(archive) = archive() else { return };
    let url = || "http://nowhere.example/Page".to_owned();
    let questions = [
        Question::Page(Page { url: url() }),
        Question::Inlinks(Inlinks {
            url: url(),
            limit: 1,
            ..Inlinks::default()
        }),
        Question::Inlinks(Inlinks {
            url: url(),
            limit: 1,
            ever: true,
            ..Inlinks::default()
        }),
        Question::Outlinks(Outlinks {
            url: url(),
            after: None,
            limit: 1,
        }),
        Question::Record(Record {
            url: url(),
            at: None,
            capture: None,
            fuzzy: false,
            with_content: false,
        }),
    ];
    for question in questions {
        let error = archive.ask(question).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.contains("example,nowhere)/page"), "{error}");
    }
    assert_eq!(
        archive
            .ask(Question::Domain(Domain {
                name: "nowhere.example".into()
            }))
            .unwrap_err()
            .code,
        ErrorCode::NotFound
    );
    let bad = Question::Inlinks(Inlinks {
        url: "iana.org".into(),
        after: Some("?".into()),
        limit: 1,
        ..Inlinks::default()
    });
    assert_eq!(archive.ask(bad).unwrap_err().code, ErrorCode::BadRequest);
    let both = Question::Inlinks(Inlinks {
        url: "iana.org".into(),
        at: Some("2014".into()),
        ever: true,
        ..Inlinks::default()
    });
    assert_eq!(archive.ask(both).unwrap_err().code, ErrorCode::BadRequest);
}

fn record(archive: &Archive, url: &str, at: Option<&str>) -> RecordBody {
    match data::ask(
        archive,
        Question::Record(Record {
            url: url.into(),
            at: at.map(Into::into),
            capture: None,
            fuzzy: false,
            with_content: false,
        }),
    ) {
        Body::Record(record) => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn records_are_found_by_time_and_read() {
    let Some(archive) = archive() else { return };
    let captures = cdx(
        archive,
        "http://www.iana.org/_css/2013.1/fonts/Inconsolata.otf",
        MatchType::Exact,
        100,
    );
    assert!(captures.len() > 2);
    for capture in &captures {
        let found = record(archive, &capture.url, Some(&capture.timestamp));
        assert_eq!(
            (&found.capture.timestamp, found.capture.offset),
            (&capture.timestamp, capture.offset)
        );
        let interrupt = Interrupt::new();
        let read = open_record(archive.sources(), &found, &interrupt).unwrap();
        assert_eq!(read.headers().get("WARC-Target-URI"), Some(capture.url.as_str()));
        if capture.kind == CaptureKind::Revisit {
            let original = found.original.clone().expect("the payload is in the archive");
            assert_eq!(original.capture.digest, capture.digest);
            assert_eq!(original.capture.kind, CaptureKind::Response);
            let mut block = Vec::new();
            let mut original = open_record(archive.sources(), &original, &interrupt).unwrap();
            original.read_to_end(&mut block).unwrap();
            assert!(block.len() > 1000);
            // The caller no longer waits.
            interrupt.ask();
            let error = open_record(archive.sources(), &found, &interrupt).err().unwrap();
            assert!(error.to_string().contains("took too long"), "{error}");
        }
    }
    assert_eq!(
        record(archive, &captures[0].url, Some("1999")).capture.timestamp,
        captures[0].timestamp
    );
    let last = &captures[captures.len() - 1].timestamp;
    assert_eq!(
        &record(archive, &captures[0].url, Some("2030")).capture.timestamp,
        last
    );
    // Without a time: the current version, which is never a revisit.
    assert_eq!(
        record(archive, &captures[0].url, None).capture.kind,
        CaptureKind::Response
    );
}

#[test]
fn search_finds_what_was_loaded() {
    let Some(archive) = archive() else { return };
    let ask = |query: &str, after| {
        Question::Search(SearchQuestion {
            query: query.into(),
            limit: 3,
            after,
            explain: true,
            facets: true,
            ..SearchQuestion::default()
        })
    };
    let Body::Search(found) = data::ask(archive, ask("internet numbers authority", None)) else {
        panic!()
    };
    assert!(found.summary.total > 3 && found.hits.len() == 3 && found.next.is_some());
    assert!(
        found
            .hits
            .iter()
            .all(|hit| hit.domain == "iana.org" && hit.explanation.is_some())
    );
    assert!(found.hits[0].snippet.parts.iter().any(|part| part.matched));
    assert!(!found.facets.is_empty());
    let Body::Search(second) = data::ask(archive, ask("internet numbers authority", found.next)) else {
        panic!()
    };
    assert_eq!(second.summary.total, found.summary.total);
    assert!(
        second
            .hits
            .iter()
            .all(|hit| found.hits.iter().all(|first| first.url_key != hit.url_key))
    );
    let status = data::status(archive);
    assert_eq!(status.search_documents, status.pages);
    assert_eq!(
        found.summary.search_epoch,
        archive.ask(Question::Status(Status {})).unwrap().epoch
    );
}

/// Regression: a page with decomposed text, as some systems write it, was not found by composed
/// words, as people type them, and vice versa.
#[test]
fn words_are_found_composed_or_decomposed() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    load(&archive, &data::request(&shared, &["regress/nfd.warc"]));
    for query in [
        "Київ",
        "Ки\u{457}в",
        "раи\u{306}он",
        "район",
        "データベース",
        "ﾃﾞｰﾀﾍﾞｰｽ",
        "대한민국",
        "cafe\u{301}",
        "cafe",
    ] {
        let question = SearchQuestion {
            query: query.into(),
            limit: 10,
            ..Default::default()
        };
        let Body::Search(found) = data::ask(&archive, Question::Search(question)) else {
            panic!()
        };
        assert_eq!(found.summary.total, 2, "{query}");
        assert!(
            found
                .hits
                .iter()
                .all(|hit| hit.snippet.parts.iter().any(|part| part.matched)),
            "{query}"
        );
    }
}

#[test]
fn status_sums_up() {
    let Some(archive) = archive() else { return };
    let status = data::status(archive);
    for (view, count) in [
        ("captures", status.captures),
        ("pages", status.pages),
        ("links", status.links),
        ("uris", status.uris),
        ("domains", status.domains),
        ("ledger", status.inputs),
        ("quarantine", status.quarantined),
    ] {
        assert_eq!(rows(archive, view).len() as u64, count, "{view}");
    }
    assert!(status.disk_bytes > 0 && status.memory_bytes > 0);
    let Body::Stages(StagesBody { stages }) = data::ask(archive, Question::Stages(Stages {})) else {
        panic!()
    };
    let names: Vec<&str> = stages.iter().map(|stage| stage.stage.as_str()).collect();
    assert_eq!(
        names,
        ["digest", "register", "read", "extract", "weave", "search"]
    );
}
