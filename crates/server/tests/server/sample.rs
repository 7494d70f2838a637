//! One complete answer of each kind. Every optional field is set and every list has one row, so
//! that the documented schemas can be compared with all fields.

use ::access::{Access, AccessRule, Condition, Groups};
use archive::question::*;
use server::storage::{ConnectionCount, NodeReport, StoreReport, VolumeCondition, VolumeReport};
use store::upkeep::Census;
use store::{RequestCount, WorkerState, WorkerStatus};

/// Returns the name of each kind of answer in JSON, and an answer of that kind with all its fields.
pub(crate) fn samples() -> Vec<(&'static str, Answer)> {
    let next = || Some("com,example)/b".to_owned());
    let bodies = vec![
        ("status", Body::Status(status())),
        (
            "stages",
            Body::Stages(StagesBody {
                stages: vec![stage()],
            }),
        ),
        (
            "ledger",
            Body::Ledger(LedgerBody {
                rows: vec![ledger()],
                next: next(),
            }),
        ),
        (
            "quarantine",
            Body::Quarantine(QuarantineBody {
                rows: vec![quarantine()],
                next: next(),
            }),
        ),
        (
            "takedowns",
            Body::Takedowns(TakedownsBody {
                rows: vec![takedown()],
                captures_taken_down: 3,
                inputs_taken_down: 1,
            }),
        ),
        ("rights", Body::Rights(rights())),
        ("rights_test", Body::RightsTest(rights_test())),
        ("page", Body::Page(page())),
        (
            "attachments",
            Body::Attachments(AttachmentsBody {
                url_key: "com,example)/".into(),
                rows: vec![attachment()],
            }),
        ),
        ("calendar", Body::Calendar(calendar())),
        ("diff", Body::Diff(diff())),
        (
            "links",
            Body::Links(LinksBody {
                url_key: "com,example)/".into(),
                rows: vec![link()],
                total: Some(1),
                looked_at: Some(10_000),
                next: next(),
            }),
        ),
        ("domain", Body::Domain(domain())),
        (
            "domains",
            Body::Domains(DomainsBody {
                rows: vec![domain_row()],
                next: next(),
            }),
        ),
        (
            "link_counts",
            Body::LinkCounts(LinkCountsBody {
                rows: vec![LinkCountRow {
                    value: "the archive".into(),
                    links: 3,
                    links_external: 2,
                    first: "2014-01-26T20:06:24.000Z".into(),
                    last: "2014-01-26T20:06:24.000Z".into(),
                }],
                links: 3,
                total: Some(1),
                next: next(),
                first_links: Vec::new(),
            }),
        ),
        (
            "top",
            Body::Top(TopBody {
                rows: vec![top()],
                next: next(),
            }),
        ),
        (
            "cdx",
            Body::Cdx(CdxBody {
                rows: vec![capture()],
                skipped: None,
                next: next(),
            }),
        ),
        ("search", Body::Search(search())),
        ("concordance", Body::Concordance(concordance())),
        ("images", Body::Images(images())),
        (
            "trends",
            Body::Trends(TrendsBody {
                search_epoch: 12,
                rows: ["example", "<b>other"].map(trend).into(),
            }),
        ),
        ("events", Body::Events(events())),
        ("report", Body::Report(report())),
        ("collections", Body::Collections(collections())),
        (
            "suggestions",
            Body::Suggestions(SuggestionsBody {
                text: "an ex".into(),
                search_epoch: 12,
                rows: vec![SuggestionRow {
                    text: "an example".into(),
                    word: "example".into(),
                    pages: 3,
                }],
            }),
        ),
        (
            "record",
            Body::Record(RecordBody {
                capture: capture(),
                location: "/record?url=http%3A%2F%2Fexample.com%2F".into(),
                original: Some(Box::new(RecordBody {
                    capture: capture(),
                    location: "/record?url=http%3A%2F%2Fexample.com%2F".into(),
                    original: None,
                    fuzzy: None,
                })),
                fuzzy: Some("cache-buster".into()),
            }),
        ),
        ("listed_pages", Body::ListedPages(listed_pages())),
        ("job", Body::Job(job())),
        ("jobs", Body::Jobs(JobsBody { rows: vec![job()] })),
    ];
    bodies
        .into_iter()
        .map(|(name, body)| (name, Answer { epoch: 12, body }))
        .collect()
}

/// Returns a collection, and inputs without one.
fn collections() -> CollectionsBody {
    let row = |name: &str, captures| CollectionRow {
        name: name.into(),
        inputs: 2,
        captures,
        fetch_time_first: Some("2012-05-03T10:20:30.000Z".into()),
        fetch_time_last: Some("2014-01-26T20:06:24.000Z".into()),
    };
    CollectionsBody {
        rows: vec![row("", 3), row("local <b>news", 1_234)],
        complete: false,
    }
}

fn report() -> ReportBody {
    let row = |name: &str| ReportRow {
        name: name.into(),
        captures: 12,
        bytes: 340_000,
    };
    ReportBody {
        captures: 14,
        bytes: 360_000,
        urls: 9,
        hosts: 2,
        mimes: 2,
        fetch_time_first: Some("2014-01-26T20:06:24.000Z".into()),
        fetch_time_last: Some("2014-02-26T20:06:24.000Z".into()),
        complete: false,
        by_host: vec![row("example.com")],
        by_status: vec![ReportStatus {
            status: 404,
            captures: 2,
            bytes: 20_000,
        }],
        by_mime: vec![row("text/html")],
        by_month: vec![ReportMonth {
            month: "2014-01".into(),
            captures: 14,
            bytes: 360_000,
            urls_new: 9,
        }],
        failures: 2,
        failures_most: vec![ReportFailure {
            host: "example.com".into(),
            status: 404,
            captures: 2,
        }],
        duplicates: ReportDuplicates {
            revisits: 3,
            revisit_bytes: 1500,
            saved_bytes: 90_000,
            repeated: 1,
            repeated_bytes: 30_000,
        },
    }
}

/// Returns a store's report with all its fields.
pub(crate) fn store() -> StoreReport {
    let requests = |operation: &str| RequestCount {
        operation: operation.to_owned(),
        count: 1250,
        failures: 1,
        bytes_in: 31_000_000,
        bytes_out: 52_000_000,
        micros: 4_100_000,
        buckets: vec![0, 0, 40, 900, 300, 10],
    };
    StoreReport {
        time_ms: 1_390_766_784_000,
        layout: 3,
        layouts_older: vec![2],
        replicas: 2,
        replicas_asked: Some(3),
        nodes: vec![NodeReport {
            id: "local".into(),
            zone: "local".into(),
            address: "127.0.0.1:41234".into(),
            reachable: true,
            problem: String::new(),
            program: "0.1.0".into(),
            started_ms: 1_390_760_000_000,
            layout: 3,
            workers: vec![worker()],
            requests: vec![requests("get"), requests("put")],
        }],
        volumes: vec![
            volume("local/a", VolumeCondition::InService),
            volume("local/b", VolumeCondition::Rebuilding),
        ],
        census: Some(census()),
        s3: vec![requests("GetObject"), requests("PutObject")],
        s3_connections: Some(ConnectionCount { open: 3, refused: 1 }),
    }
}

fn worker() -> WorkerStatus {
    WorkerStatus {
        name: "scrub local/a".into(),
        state: WorkerState::Busy,
        done: 310,
        total: Some(1100),
        bytes: 1_800_000_000,
        found: 2,
        repaired: 1,
        last_pass_ms: Some(1_390_700_000_000),
        last_error: "node b cannot be reached".into(),
    }
}

fn volume(id: &str, state: VolumeCondition) -> VolumeReport {
    VolumeReport {
        id: id.to_owned(),
        node: "local".into(),
        zone: id.to_owned(),
        weight: 1,
        share: 0.5,
        state,
        problem: String::new(),
        path: "/disks/a".into(),
        capacity_bytes: 4_000_000_000_000,
        free_bytes: 1_300_000_000_000,
        replicas: 1100,
        replica_bytes: 2_600_000_000_000,
        tombstones: 4,
        bad: 1,
        staged: 2,
    }
}

fn census() -> Census {
    Census {
        time_ms: 1_390_766_000_000,
        layout: 3,
        objects: 1096,
        object_bytes: 2_600_000_000_000,
        replicas_expected: 2200,
        replicas_good: 2198,
        replicas_bad: 1,
        replicas_missing: 1,
        files_missing: 1,
        replicas_surplus: 3,
        objects_lost: 0,
        lost: vec!["crawls/lost.warc.gz".into()],
        lost_bytes: vec!["crawls/lost.warc.gz: bytes 0-262143 of 700000 have no intact replica".into()],
        conflicts: 0,
        conflicting: vec!["crawls/odd.warc.gz".into()],
        tombstones: 4,
        strays: 1,
        volumes_unreachable: vec!["b/2".into()],
        by_volume: vec![("local/a".into(), 1100)],
    }
}

fn status() -> StatusBody {
    StatusBody {
        archive: "weft-archive".into(),
        fetch_time_first: Some("2014-01-26T20:06:24.000Z".into()),
        fetch_time_last: Some("2014-01-26T20:10:55.000Z".into()),
        collections: vec!["news".into()],
        links_scope: LinkScope::All,
        ..StatusBody::default()
    }
}

fn stage() -> StageRow {
    StageRow {
        stage: "read".into(),
        threads: 1,
        done: 343,
        total: 343,
        ms_per_item: 0.2,
        ..StageRow::default()
    }
}

fn ledger() -> LedgerRow {
    LedgerRow {
        input: "iana.warc.gz".into(),
        state: InputState::Done,
        records: 343,
        ..LedgerRow::default()
    }
}

fn takedown() -> TakedownRow {
    let time = || Some("2014-01-26T20:06:24.000Z".to_owned());
    TakedownRow {
        id: 1,
        at: "2026-01-26T20:06:24.000Z".into(),
        who: "librarian".into(),
        reason: "request 12".into(),
        kind: "before".into(),
        before: time(),
        captures: 3,
        pages: 1,
        inputs: 1,
        undone: time(),
        undone_by: Some("librarian".into()),
    }
}

fn rights() -> RightsBody {
    let some = |text: &str| Some(text.to_owned());
    RightsBody {
        has_rules: true,
        default: Access::Deny,
        strict: true,
        rules: vec![NumberedRule {
            number: 1,
            in_force: true,
            rule: AccessRule {
                access: Access::Deny,
                groups: vec!["public".into()],
                except: vec!["staff".into()],
                condition: Condition {
                    url: some("com,example)/a"),
                    prefix: some("com,example)/"),
                    but_not: vec!["com,example)/press".into()],
                    host: some("example.com"),
                    domain: some("example.com"),
                    collection: some("news"),
                    mime: some("image/*"),
                    digest: some("OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB"),
                    from: some("2014"),
                    to: some("2015"),
                    younger_than_days: Some(365),
                    until: some("2030-01-01"),
                },
                note: "asked for by the site".into(),
            },
            matches: Some(RuleMatches {
                keys: vec![("com,example)/".into(), "com,example)0".into())],
                hosts: vec!["example.com".into()],
                hosts_total: 1,
                urls: 2,
                captures: 3,
                counted_all: true,
            }),
        }],
    }
}

fn rights_test() -> RightsTestBody {
    RightsTestBody {
        url_key: "com,example)/".into(),
        groups: Groups::listed("readers"),
        captured: true,
        default: Access::Allow,
        captures: vec![TestedCapture {
            fetch_time: "2014-01-26T20:06:24.000Z".into(),
            mime: "text/html".into(),
            collection: "news".into(),
            seen: false,
            rules: vec![1],
            decided_by: vec![1],
        }],
    }
}

fn quarantine() -> QuarantineRow {
    QuarantineRow {
        input: "iana.warc.gz".into(),
        offset: 334,
        reason: "truncated-member".into(),
        detail: "found the end of the file, expected 120 more bytes".into(),
    }
}

fn diff() -> DiffBody {
    let version = |since: &str, until: Option<&str>, title: &str| DiffVersion {
        since: since.into(),
        fetch_time: since.into(),
        until: until.map(str::to_owned),
        title: title.into(),
        digest: "sha1:A".into(),
    };
    let part = |change, text: &str| DiffPart {
        change,
        text: text.into(),
    };
    DiffBody {
        url_key: "com,example)/".into(),
        from: version(
            "2010-03-01T00:00:00.000Z",
            Some("2014-01-26T20:06:24.000Z"),
            "As it was",
        ),
        to: version("2014-01-26T20:06:24.000Z", None, "Example"),
        parts: vec![
            part(DiffChange::Same, "an "),
            part(DiffChange::Gone, "old <b>"),
            part(DiffChange::New, "example"),
        ],
        words_gone: 2,
        words_new: 1,
    }
}

fn page() -> PageBody {
    let time = || Some("2014-01-26T20:06:24.000Z".to_owned());
    PageBody {
        url_key: "com,example)/".into(),
        url: "http://example.com/".into(),
        captured: true,
        is_page: true,
        fetch_time: time(),
        since: time(),
        last_seen: time(),
        past_versions: vec![PastVersionRow {
            since: "2010-03-01T00:00:00.000Z".into(),
            until: "2014-01-26T20:06:24.000Z".into(),
            fetch_time: "2012-05-03T10:20:30.000Z".into(),
            url: "http://example.com/".into(),
            title: "Example, as it was".into(),
            ..PastVersionRow::default()
        }],
        status: 200,
        mime: "text/html".into(),
        title: "Example".into(),
        canonical: Some("http://example.com/".into()),
        robots: Some("noindex".into()),
        current: Some(capture()),
        captures: vec![capture()],
        attachments: vec![attachment()],
        ..PageBody::default()
    }
}

fn attachment() -> AttachmentRow {
    AttachmentRow {
        kind: AttachmentKind::Thumbnail,
        capture: CdxRow {
            url: "urn:thumbnail:http://example.com/".into(),
            mime: "image/png".into(),
            status: 0,
            kind: CaptureKind::Resource,
            ..capture()
        },
    }
}

fn calendar() -> CalendarBody {
    let time = |hour: u8, is_changed| CalendarTime {
        timestamp: format!("20140126{hour:02}0624"),
        fetch_time: format!("2014-01-26T{hour:02}:06:24.000Z"),
        is_changed,
    };
    CalendarBody {
        url_key: "com,example)/".into(),
        captures: 3,
        contents: 2,
        is_cut: false,
        days: vec![CalendarDay {
            first: time(8, false).fetch_time,
            last: time(20, true).fetch_time,
            captures: 3,
            changes: 1,
        }],
        times: vec![time(8, false), time(9, false), time(20, true)],
        earlier: Some(time(8, false)),
        later: Some(time(20, true)),
    }
}

pub(crate) fn link() -> LinkRow {
    LinkRow {
        source_key: "com,example)/".into(),
        source_url: "http://example.com/".into(),
        target_key: "org,archive)/".into(),
        target_url: "http://www.archive.org/".into(),
        anchor: "the archive".into(),
        external: true,
        version: Some(LinkVersion {
            first_seen: "2008-01-26T20:06:24.000Z".into(),
            fetch_time: "2012-01-26T20:06:24.000Z".into(),
            is_current: true,
        }),
        ..LinkRow::default()
    }
}

fn domain() -> DomainBody {
    DomainBody {
        domain: "example.com".into(),
        top: vec![top()],
        linking_domains: vec![LinkingDomain {
            domain: "archive.org".into(),
            links: 3,
        }],
        ..DomainBody::default()
    }
}

fn domain_row() -> DomainRow {
    DomainRow {
        domain: "example.com".into(),
        uris: 3,
        pages: 2,
        inlinks_external: 1,
    }
}

fn top() -> TopRow {
    TopRow {
        rank: 1,
        url_key: "com,example)/".into(),
        url: "http://example.com/".into(),
        ..TopRow::default()
    }
}

fn listed_pages() -> ListedPagesBody {
    let row = |capture: Option<CdxRow>, nearest: Option<&str>| ListedPageRow {
        package: "crawl.wacz".into(),
        list: "pages/pages.jsonl".into(),
        line: 2,
        url: "http://example.com/".into(),
        fetch_time: "2014-01-26T20:06:24.000Z".into(),
        title: "Example".into(),
        id: "p1".into(),
        seed: true,
        has_text: true,
        replay: capture
            .as_ref()
            .map(|_| "/replay/20140126200624/http://example.com/".into()),
        capture,
        nearest: nearest.map(str::to_owned),
        listed: Some(serde_json::Map::from_iter([("id".to_owned(), "p1".into())])),
    };
    ListedPagesBody {
        rows: vec![
            row(Some(capture()), None),
            row(None, Some("2013-01-01T00:00:00.000Z")),
            row(None, None),
        ],
        problems: vec![ListedPagesProblem {
            package: "crawl.wacz".into(),
            list: "pages/pages.jsonl".into(),
            line: 7,
            offset: 600,
            what: "found no url".into(),
        }],
        next: Some("WyIiXQ".into()),
    }
}

fn capture() -> CdxRow {
    CdxRow {
        url_key: "com,example)/".into(),
        timestamp: "20140126200624".into(),
        fetch_time: "2014-01-26T20:06:24.000Z".into(),
        url: "http://example.com/".into(),
        mime: "text/html".into(),
        status: 200,
        method: "GET".into(),
        digest: "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB".into(),
        length: 2258,
        offset: 334,
        filename: "iana.warc.gz".into(),
        collection: "news".into(),
        kind: CaptureKind::Response,
        index_only: false,
        computed: None,
    }
}

fn search() -> SearchBody {
    SearchBody {
        summary: SearchSummary {
            query: "example".into(),
            notes: vec![SearchNote::new(SearchNoteKind::UnknownField, "domain")],
            total: 3,
            total_is_exact: true,
            shown_total: 2,
            took_ms: 1.5,
            ..SearchSummary::default()
        },
        years: years(),
        hits: vec![
            SearchHit {
                url: "http://example.com/old".into(),
                title: "As it was".into(),
                fetch_time: "2012-05-03T10:20:30.000Z".into(),
                since: "2010-03-01T00:00:00.000Z".into(),
                until: Some("2013-01-26T20:06:24.000Z".into()),
                score: 8.5,
                ..SearchHit::default()
            },
            SearchHit {
                url: "http://example.com/".into(),
                fetch_time: "2014-01-26T20:06:24.000Z".into(),
                since: "2014-01-26T20:06:24.000Z".into(),
                domain: "example.com".into(),
                past_versions: 3,
                of_site: Some(2),
                of_digest: Some(2),
                of_near: Some(3),
                like: Some("like:0123456789abcdef".into()),
                thumbnail: Some(Box::new(attachment().capture)),
                missing: vec!["other".into()],
                snippet: Snippet {
                    parts: [("an ", false), ("example", true)]
                        .map(|(text, matched)| SnippetPart {
                            text: text.into(),
                            matched,
                        })
                        .into(),
                },
                score: 7.5,
                explanation: Some(serde_json::json!({ "value": 7.5 })),
                ..SearchHit::default()
            },
        ],
        facets: vec![Facet {
            field: "year".into(),
            values: vec![FacetValue {
                value: "2014".into(),
                count: 1,
                query: "example year:2014".into(),
            }],
        }],
        next: Some("7.5 com,example)/".into()),
    }
}

fn years() -> Vec<YearCount> {
    [(2012, 1, 4), (2013, 0, 2), (2014, 2, 5)]
        .map(|(year, count, documents)| YearCount {
            year,
            count,
            documents,
        })
        .into()
}

fn trend(query: &str) -> TrendRow {
    TrendRow {
        query: query.into(),
        understood: query.into(),
        notes: vec![SearchNote::new(SearchNoteKind::UnknownField, "domain")],
        total: 3,
        years: years(),
    }
}

fn events() -> EventsBody {
    let page = |inlinks_external| EventPage {
        url_key: "com,example)/old".into(),
        url: "http://example.com/old".into(),
        title: "<b>An example".into(),
        since: "2012-05-03T10:20:30.000Z".into(),
        until: Some("2013-01-26T20:06:24.000Z".into()),
        inlinks_external,
    };
    let row = |period: &str, versions| EventRow {
        period: period.into(),
        versions,
        new_versions: Some(1),
        first: vec![page(None)],
        linked: vec![page(Some(7))],
    };
    EventsBody {
        query: "example from:2012-04 to:2012-06".into(),
        understood: "example".into(),
        notes: vec![SearchNote::new(SearchNoteKind::UnknownField, "domain")],
        search_epoch: 12,
        by_year: false,
        rows: vec![row("2012-04", 0), row("2012-05", 3), row("2012-06", 2)],
    }
}

fn concordance() -> ConcordanceBody {
    let line = |url: &str, until: Option<&str>| ConcordanceLine {
        left: "such <b>an ".into(),
        matched: "example".into(),
        right: " & more".into(),
        url: url.into(),
        url_key: url.replace("http://example.com", "com,example)"),
        title: "As it was".into(),
        fetch_time: "2012-05-03T10:20:30.000Z".into(),
        since: "2010-03-01T00:00:00.000Z".into(),
        until: until.map(str::to_owned),
    };
    ConcordanceBody {
        query: "example".into(),
        notes: vec![SearchNote::new(SearchNoteKind::UnknownField, "domain")],
        total: 3,
        took_ms: 1.5,
        lines: vec![
            line("http://example.com/old", Some("2013-01-26T20:06:24.000Z")),
            line("http://example.com/old", Some("2013-01-26T20:06:24.000Z")),
            line("http://example.com/", None),
        ],
        next: Some("a7.com,example)/".into()),
        ..ConcordanceBody::default()
    }
}

fn images() -> ImagesBody {
    let capture = |until: Option<&str>| ImageCapture {
        url: "http://example.com/boat.jpg".into(),
        fetch_time: "2014-01-26T20:06:24.000Z".into(),
        since: Some("2012-01-26T20:06:24.000Z".into()),
        until: until.map(str::to_owned),
        mime: "image/jpeg".into(),
        hash: Some("0123456789abcdef".into()),
        exif_time: Some("2012-05-06T07:08:09".into()),
        exif_location: Some("57.050000,9.920000".into()),
    };
    let page = ImagePage {
        url_key: "com,example)/".into(),
        url: "http://example.com/".into(),
        title: "An <b>example".into(),
        fetch_time: "2014-01-26T20:06:24.000Z".into(),
        language: "en".into(),
        collection: "news".into(),
    };
    let image = ImageHit {
        url: "http://example.com/boat.jpg".into(),
        alt: "A <b>boat".into(),
        title: "A title".into(),
        caption: "A caption".into(),
        width: Some(640),
        height: Some(480),
        page: Some(page),
        capture: Some(capture(None)),
        pages: Some(3),
        like: Some("like:0123456789abcdef".into()),
        score: 1.5,
        ..ImageHit::default()
    };
    let same = ImageHit {
        url: "http://example.com/boat.jpg".into(),
        capture: Some(capture(Some("2013-01-26T20:06:24.000Z"))),
        ..ImageHit::default()
    };
    ImagesBody {
        summary: SearchSummary {
            query: "example".into(),
            notes: vec![SearchNote::new(SearchNoteKind::UnknownField, "domain")],
            total: 5,
            shown_total: 3,
            took_ms: 1.5,
            ..SearchSummary::default()
        },
        hits: vec![
            image.clone(),
            same,
            ImageHit {
                capture: None,
                ..image
            },
        ],
        next: Some("a7.com,example)/".into()),
    }
}

fn job() -> JobBody {
    JobBody {
        id: 1,
        state: JobState::Running,
        error: Some("no space left on device".into()),
        left_ms: Some(8_000),
        problems: vec![ledger()],
        documents: 12,
        documents_unread: vec![UnreadRow {
            reason: "document-crash".into(),
            documents: 2,
        }],
        stages: vec![stage()],
        ..JobBody::default()
    }
}
