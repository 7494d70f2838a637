//! The pages: they exist, are helpful without data, and have headers that confine archived text.

use std::sync::{Arc, Mutex};

use archive::ErrorCode;
use archive::question::{
    Answer, Body, CaptureKind, CdxBody, DomainsBody, ImagesBody, JobsBody, LedgerBody, PageBody,
    QuarantineBody, Question, Record, RecordBody, SearchBody, StagesBody, StatusBody, TopBody,
};

use crate::fake::{error, get, router, sample};

/// Every page, with the parameters it needs.
pub(crate) const PAGES: [&str; 39] = [
    "/",
    "/search?q=example",
    "/search?q=example&explain=1&before=20&after=x",
    "/search?q=example&show=concordance",
    "/trends",
    "/trends?q=example&q=other",
    "/images",
    "/images?q=example&every_page=1&after=x",
    "/images?same=0123456789abcdef",
    "/events",
    "/events?q=example&from=2012-04&to=2012-06",
    "/page?url=http://example.com/",
    "/page?url=http://example.com/&at=2014",
    "/page/inlinks?url=http://example.com/",
    "/page/inlinks?url=http://example.com/&ever=1",
    "/page/inlinks?url=http://example.com/&at=2010",
    "/page/outlinks?url=http://example.com/",
    "/domain?name=example.com",
    "/domains",
    "/domains?order=inlinks",
    "/domains?order=name&after=x",
    "/graph",
    "/graph?by=host&from=2014&nodes=3",
    "/graph?around=%3Cb%3Eother&nodes=2",
    "/ranking",
    "/ranking?domain=example.com",
    "/captures?url=http://example.com/",
    "/collections",
    "/pages?input=crawl.wacz",
    "/report?from=2014",
    "/loads",
    "/quarantine?input=iana.warc.gz",
    "/statistics",
    "/store",
    "/cache",
    "/about",
    "/rights",
    "/rights?url=http://example.com/&as=readers&mime=text/html",
    "/takedowns",
];

#[tokio::test]
async fn every_page_is_there_with_landmarks_and_policy() {
    let router = router(sample);
    for path in PAGES {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        for part in [
            "<html lang=\"en\">",
            "<main id=\"main\"",
            "class=\"skip\"",
            "<title>",
            "<h1",
            "aria-label=\"Main\"",
        ] {
            assert!(reply.body.contains(part), "{path} has no {part}");
        }
        assert_eq!(reply.body.matches("<h1").count(), 1, "{path}");
        let policy = reply.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
            "{path}"
        );
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert!(reply.headers.get("set-cookie").is_none());
    }
}

/// Every address in a page that a browser would load is this server's.
#[tokio::test]
async fn nothing_is_loaded_from_elsewhere() {
    let router = router(sample);
    for path in PAGES {
        let body = get(&router, path).await.body;
        for attribute in [
            "src=\"",
            "rel=\"stylesheet\" href=\"",
            "action=\"",
            "data-live=\"",
        ] {
            for part in body.split(attribute).skip(1) {
                assert!(
                    part.starts_with('/') && !part.starts_with("//"),
                    "{path}: {attribute}{}",
                    &part[..20]
                );
            }
        }
        assert!(
            !body.contains("style=\"") && !body.contains("<style"),
            "{path}: inline style"
        );
        assert!(
            !body.contains("onclick") && !body.contains("<script>"),
            "{path}: inline script"
        );
    }
}

#[tokio::test]
async fn styles_and_script_are_served_and_kept() {
    let router = router(sample);
    for (path, media) in [
        ("/static/weft.css", "text/css"),
        ("/static/weft.js", "text/javascript"),
        ("/static/weft.svg", "image/svg+xml"),
    ] {
        let reply = get(&router, path).await;
        assert!(
            reply.status == 200 && reply.header("content-type").starts_with(media),
            "{path}"
        );
        assert!(reply.header("cache-control").contains("immutable"));
        assert!(
            !reply.body.contains("http://") || path.ends_with("svg"),
            "{path} reaches elsewhere"
        );
    }
}

fn empty(question: &Question) -> Result<Answer, archive::AskError> {
    let body = match question {
        Question::Status(_) => Body::Status(StatusBody::default()),
        Question::Stages(_) => Body::Stages(StagesBody { stages: Vec::new() }),
        Question::Ledger(_) => Body::Ledger(LedgerBody {
            rows: Vec::new(),
            next: None,
        }),
        Question::Quarantine(_) => Body::Quarantine(QuarantineBody {
            rows: Vec::new(),
            next: None,
        }),
        Question::Domains(_) => Body::Domains(DomainsBody {
            rows: Vec::new(),
            next: None,
        }),
        Question::Top(_) => Body::Top(TopBody {
            rows: Vec::new(),
            next: None,
        }),
        Question::Cdx(_) => Body::Cdx(CdxBody {
            rows: Vec::new(),
            skipped: None,
            next: None,
        }),
        Question::Search(_) => Body::Search(SearchBody::default()),
        Question::Images(_) => Body::Images(ImagesBody::default()),
        Question::Jobs(_) => Body::Jobs(JobsBody { rows: Vec::new() }),
        _ => return Err(error(ErrorCode::NotFound)),
    };
    Ok(Answer { epoch: 0, body })
}

#[tokio::test]
async fn an_empty_archive_says_what_to_do_next() {
    let router = router(empty);
    for (path, status, words) in [
        ("/", 200, "This archive is empty"),
        ("/", 200, "weft load crawl.warc.gz crawl.wacz"),
        ("/search?q=x", 200, "No results"),
        ("/search?q=x+y", 200, "No page has enough of these words"),
        ("/search?q=x+y", 200, "href=\"/search?q=x+OR+y\""),
        ("/search?q=x", 200, "href=\"/search?q=x&amp;all_versions=1\""),
        ("/search?q=example.org", 200, "Is it a URL?"),
        ("/search", 200, "What are you looking for?"),
        ("/page?url=http://a/", 404, "This URL is not in the archive"),
        ("/page", 400, "parameter url is missing"),
        ("/domain?name=a", 404, "Not found"),
        ("/domains", 200, "weft load"),
        ("/ranking", 200, "Nothing to rank"),
        ("/ranking", 200, "weft load"),
        ("/captures", 200, "A capture is the archived response"),
        ("/captures?url=*.a.org/x", 400, "takes no path and no port"),
        ("/page/inlinks?url=*.a.org:8080", 400, "takes no path and no port"),
        ("/captures?url=http://a/", 200, "No captures"),
        ("/captures?url=http://a/", 200, "Look up the whole domain"),
        (
            "/captures?url=http://a/&status=2xx",
            200,
            "Look up without filters",
        ),
        ("/trends", 200, "Enter one query or several"),
        ("/images", 200, "Images are found by the words"),
        ("/images?q=x", 200, "No images"),
        ("/images/thumbnail", 404, "Not found"),
        ("/events", 200, "Enter a query"),
        ("/loads", 200, "weft load"),
        ("/quarantine", 200, "Nothing in quarantine"),
        ("/statistics", 200, "No load has run"),
        ("/cache", 200, "No data was read through the cache yet"),
        ("/nowhere", 404, "There is nothing at this address"),
    ] {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, status, "{path}");
        assert!(
            reply.body.contains(words),
            "{path} does not say {words:?}:\n{}",
            reply.body
        );
        assert!(reply.header("content-type").starts_with("text/html"), "{path}");
    }
}

#[tokio::test]
async fn a_page_stands_when_parts_of_it_have_no_answer() {
    let router = router(|question| match question {
        Question::Page(_) => Ok(Answer {
            epoch: 1,
            body: Body::Page(PageBody {
                url: "http://a/".into(),
                ..PageBody::default()
            }),
        }),
        Question::Status(_) => sample(question),
        _ => Err(error(ErrorCode::Unavailable)),
    });
    for path in ["/page?url=http://a/", "/", "/statistics"] {
        assert_eq!(get(&router, path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn odd_addresses_of_pages_are_taken_kindly() {
    let router = router(sample);
    let long = "x".repeat(50_000);
    for path in [
        "/search?q=%00%1b%5b31m%ff&unknown=1".to_owned(),
        "/search?q=a&q=b&before=-1&explain=".to_owned(),
        "/captures?url=a&match=none".to_owned(),
        format!("/search?q={long}"),
        format!("/page?url={long}"),
        format!("/domain?name={long}"),
    ] {
        let reply = get(&router, &path).await;
        assert_eq!(reply.status, 200, "{}", &path[..path.len().min(80)]);
    }
    let times = "/captures?url=a&from=last%20year&to=%F0%9F%92%A9";
    assert_eq!(get(&router, times).await.status, 400);
}

#[tokio::test]
async fn links_to_the_live_web_are_only_http() {
    let with_url = |url: &'static str| {
        router(move |question| match question {
            Question::Page(_) => Ok(Answer {
                epoch: 1,
                body: Body::Page(PageBody {
                    url: url.into(),
                    captured: true,
                    ..PageBody::default()
                }),
            }),
            _ => Err(error(ErrorCode::NotFound)),
        })
    };
    let shown = get(&with_url("https://example.com/x"), "/page?url=x").await.body;
    assert!(shown.contains("href=\"https://example.com/x\""));
    for url in ["javascript:alert(1)", "data:text/html,x", "//evil.example/"] {
        let shown = get(&with_url(url), "/page?url=x").await.body;
        assert!(!shown.contains(&format!("href=\"{url}")), "{url}");
    }
}

#[tokio::test]
async fn notes_on_a_query_are_shown_beside_its_results() {
    let body = get(&router(sample), "/search?q=domain:x").await.body;
    assert!(
        body.contains("domain: is not a field and was searched as a word; try site:"),
        "{body}"
    );
}

/// Pages that cover only current versions say so.
#[tokio::test]
async fn what_comes_from_the_newest_version_alone_says_so() {
    for (path, words) in [
        ("/search?q=example", "current version"),
        ("/page/inlinks?url=http://example.com/", "newest version"),
        (
            "/page/inlinks?url=http://example.com/&ever=1",
            "all versions of each page",
        ),
        (
            "/page/inlinks?url=http://example.com/&at=2010",
            "at the end of 2010",
        ),
        ("/about", "current version"),
    ] {
        let body = get(&router(sample), path).await.body;
        assert!(body.contains(words), "{path}: {body}");
    }
}

#[tokio::test]
async fn results_say_which_version_they_are_and_lead_to_it() {
    let body = get(&router(sample), "/search?q=example").await.body;
    for part in [
        "/page?url=http%3A%2F%2Fexample.com%2Fold&amp;at=20120503102030",
        "past version",
        "/page?url=http%3A%2F%2Fexample.com%2F#versions",
        "newest of 4 versions",
        "all 2 results of this site",
        "2 results with the same content",
        "href=\"/search?q=example+like%3A0123456789abcdef\">3 similar<",
        ", 2 after grouping",
        "<span>2014</span><span class=\"amount\">2 of 5</span>",
        "class=\"column few\"",
        "/search?q=example&amp;sort=newest",
        "/search?q=example&amp;all_versions=1",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    // A choice is kept when another is made, and can be undone.
    let body = get(&router(sample), "/search?q=example&distinct=1&sort=oldest")
        .await
        .body;
    assert!(
        body.contains("/search?q=example&amp;sort=oldest&amp;per_site=1&amp;distinct=1"),
        "{body}"
    );
    assert!(
        body.contains("href=\"/search?q=example&amp;sort=oldest\""),
        "{body}"
    );
    let body = get(&router(sample), "/page?url=http://example.com/").await.body;
    assert!(
        body.contains("Example, as it was") && body.contains("id=\"versions\""),
        "{body}"
    );
}

#[tokio::test]
async fn queries_are_compared_over_the_years() {
    let body = get(&router(sample), "/trends?q=example&q=&q=other").await.body;
    for part in [
        "Per 1,000 versions of the year, 2012 to 2014",
        "class=\"line series-1\"",
        "&lt;b&gt;other (3)",
        "/search?q=example+year%3A2014&amp;all_versions=1",
        "2 of 5</a>",
        "class=\"line uncertain series-0\"",
        "fewer than 30 versions",
        // One field more than there are queries.
        "id=\"trend-2\"",
        "/api/v1/trends?q=example&amp;q=other&amp;format=csv",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    let body = get(&router(sample), "/search?q=example").await.body;
    assert!(body.contains("href=\"/trends?q=example\""), "{body}");
    assert!(body.contains("href=\"/events?q=example\""), "{body}");
}

#[tokio::test]
async fn what_was_said_is_shown_month_by_month() {
    let body = get(&router(sample), "/events?q=example").await.body;
    for part in [
        "Versions by month",
        // Months without matches are in the chart only.
        "2012-04: 0",
        "/search?q=example+from%3A2012-05+to%3A2012-05",
        "&lt;b&gt;An example",
        "/page?url=http%3A%2F%2Fexample.com%2Fold&amp;at=20120503102030",
        "/page/inlinks?url=http%3A%2F%2Fexample.com%2Fold&amp;at=201205",
        "7 in-links",
        "href=\"/trends?q=example\"",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    assert!(!body.contains("from%3A2012-04"), "{body}");
}

#[tokio::test]
async fn matches_are_shown_in_context_by_page() {
    let body = get(&router(sample), "/search?q=example&show=concordance&sort=newest")
        .await
        .body;
    for part in [
        "such &lt;b&gt;an <",
        "<mark>example</mark>",
        " &amp; more",
        "past version",
        // The order is kept when the form changes.
        "/search?q=example&amp;sort=newest\"",
        "/search?q=example&amp;after=a7.com%2Cexample%29%2F&amp;sort=newest&amp;show=concordance",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    assert_eq!(body.matches("class=\"concordance\"").count(), 2, "{body}");
    assert_eq!(body.matches("<mark>").count(), 3, "{body}");
}

/// Regression: the sixth query was dropped without a word.
#[tokio::test]
async fn queries_that_trends_leave_out_are_named() {
    let page = get(&router(sample), "/trends?q=a&q=b&q=c&q=d&q=e&q=f").await.body;
    let note = "<bdi>f</bdi>: left out, because at most 5 queries are compared";
    assert!(page.contains(note), "{page}");
}

/// Regression: the pages said "200 found" of responses, and "Words are all to be found".
#[tokio::test]
async fn words_are_those_of_the_web() {
    let page = get(&router(sample), "/captures?url=http://example.com/")
        .await
        .body;
    assert!(page.contains("200 OK") && !page.contains("found"), "{page}");
    let prompt = get(&router(sample), "/search").await.body;
    assert!(prompt.contains("Pages with all words come first"), "{prompt}");
}

#[tokio::test]
async fn two_search_forms_on_a_page_have_names() {
    let page = get(&router(sample), "/images").await.body;
    for name in ["Pages", "Images"] {
        let form = format!("role=\"search\" aria-label=\"{name}\"");
        assert!(page.contains(&form), "{page}");
    }
}

/// A URL that is only linked to has no text, so its details are in the main column.
#[tokio::test]
async fn a_url_that_is_only_linked_to_has_no_empty_column() {
    let router = router(|question| match question {
        Question::Page(_) => Ok(Answer {
            epoch: 1,
            body: Body::Page(PageBody {
                url: "http://a/".into(),
                ..PageBody::default()
            }),
        }),
        other => sample(other),
    });
    let body = get(&router, "/page?url=http://a/").await.body;
    assert!(
        body.contains("Pages that link to it") && !body.contains("<aside"),
        "{body}"
    );
}

#[tokio::test]
async fn a_page_at_a_date_shows_the_capture_of_that_time() {
    let capture = |time: &str| archive::question::CdxRow {
        url: "http://a/".into(),
        filename: time.into(),
        fetch_time: time.into(),
        timestamp: time.into(),
        status: 200,
        mime: "text/html".into(),
        kind: CaptureKind::Response,
        ..archive::question::CdxRow::default()
    };
    let captures: Vec<_> = ["20160101000000", "20140126200624", "20100101000000"]
        .map(capture)
        .into();
    let router = router(move |question| match question {
        Question::Page(_) => Ok(Answer {
            epoch: 1,
            body: Body::Page(PageBody {
                url: "http://a/".into(),
                captured: true,
                fetch_time: Some("20160101000000".into()),
                text_preview: "the newest text".into(),
                current: Some(captures[0].clone()),
                captures: captures.clone(),
                ..PageBody::default()
            }),
        }),
        Question::Record(Record { at, capture, .. }) => {
            assert_eq!((at.as_deref(), capture), (Some("20140126"), &None));
            Ok(Answer {
                epoch: 1,
                body: Body::Record(RecordBody {
                    capture: captures[1].clone(),
                    ..RecordBody::default()
                }),
            })
        }
        _ => Err(error(ErrorCode::NotFound)),
    });
    let body = get(&router, "/page?url=http://a/&at=2014-01-26").await.body;
    assert!(
        body.contains("/sandbox/content?url=http%3A%2F%2Fa%2F&amp;at=20140126200624"),
        "{body}"
    );
    assert!(
        body.contains("at=20100101000000") && body.contains("at=20160101000000"),
        "{body}"
    );
    assert!(!body.contains("the newest text"), "{body}");
    let newest = get(&router, "/page?url=http://a/").await.body;
    assert!(
        newest.contains("the newest text") && newest.contains("rel=\"prev\""),
        "{newest}"
    );
}

/// A redirect and the page, captured in one second: every link leads to its own capture.
#[tokio::test]
async fn captures_of_one_second_have_addresses_of_their_own() {
    let capture = |offset: u64, status: u16| archive::question::CdxRow {
        url: "http://a/".into(),
        filename: "x.warc".into(),
        offset,
        fetch_time: "2020-01-01T00:00:00.000Z".into(),
        timestamp: "20200101000000".into(),
        status,
        mime: "text/html".into(),
        kind: CaptureKind::Response,
        ..archive::question::CdxRow::default()
    };
    let captures = [capture(70, 200), capture(9, 302)];
    let router = router(move |question| match question {
        Question::Page(_) => Ok(Answer {
            epoch: 1,
            body: Body::Page(PageBody {
                url: "http://a/".into(),
                captured: true,
                status: 200,
                mime: "text/html".into(),
                fetch_time: Some(captures[0].fetch_time.clone()),
                current: Some(captures[0].clone()),
                captures: captures.to_vec(),
                ..PageBody::default()
            }),
        }),
        Question::Record(Record { capture, .. }) => {
            let named = captures.iter().find(|row| Some(row.name()) == *capture);
            Ok(Answer {
                epoch: 1,
                body: Body::Record(RecordBody {
                    capture: named.expect("a capture that is listed").clone(),
                    ..RecordBody::default()
                }),
            })
        }
        _ => Err(error(ErrorCode::NotFound)),
    });
    let body = get(&router, "/page?url=http://a/").await.body;
    let address = |path: &str, offset: u64| {
        format!("\"{path}?url=http%3A%2F%2Fa%2F&amp;at=20200101000000&amp;capture={offset}%2Cx.warc\"")
    };
    for (path, offset) in [
        ("/sandbox/content", 70),
        ("/record", 70),
        ("/record", 9),
        ("/page", 70),
        ("/page", 9),
    ] {
        assert!(body.contains(&address(path, offset)), "{path} {offset}: {body}");
    }
    assert!(
        !body.contains(&address("/sandbox/content", 9)),
        "a redirect is not shown: {body}"
    );
    let body = get(&router, "/page?url=http://a/&at=20200101000000&capture=9,x.warc")
        .await
        .body;
    assert!(
        body.contains("302") && body.contains(&address("/record", 9)),
        "{body}"
    );
    assert!(
        body.contains(&address("/page", 70)),
        "the later one is a click away: {body}"
    );
}

#[tokio::test]
async fn a_time_that_is_none_is_refused() {
    let router = router(sample);
    for page in [
        "/captures?url=a&from=2014-13",
        "/page/inlinks?url=a&to=2014-00",
        "/page/inlinks?url=a&at=201413",
    ] {
        let reply = get(&router, page).await;
        assert_eq!(reply.status, 400, "{page}");
        assert!(reply.body.contains("not a time"), "{}", reply.body);
    }
    for at in [
        "abc",
        "2014x",
        "123456789012345678",
        "-",
        "2014-13",
        "2014-02-30",
        "20149",
    ] {
        let reply = get(&router, &format!("/page?url=http://example.com/&at={at}")).await;
        assert_eq!(reply.status, 400, "{at}");
        assert!(reply.body.contains("not a time"), "{}", reply.body);
    }
    assert_eq!(
        get(&router, "/page?url=http://example.com/&at=").await.status,
        200
    );
}

#[tokio::test]
async fn the_list_of_domains_keeps_its_order_from_page_to_page() {
    let body = get(&router(sample), "/domains?order=inlinks").await.body;
    assert!(body.contains("/domains?order=inlinks&amp;after="), "{body}");
    assert!(body.contains("/domains?order=name\""), "{body}");
}

/// On a phone the navigation is folded, and unfolds without a script.
#[tokio::test]
async fn the_navigation_folds_without_script() {
    let body = get(&router(sample), "/about").await.body;
    assert!(
        body.contains("<details class=\"menu\"><summary>Menu</summary></details><ul>"),
        "{body}"
    );
}

#[tokio::test]
async fn captures_of_one_url_come_newest_first() {
    let router = router(|question| match question {
        Question::Cdx(cdx) if cdx.order == cdx::Order::Reverse => sample(question),
        _ => Err(error(ErrorCode::Unavailable)),
    });
    assert_eq!(get(&router, "/captures?url=http://a/").await.status, 200);
    assert_eq!(
        get(&router, "/captures?url=http://a/&match=host").await.status,
        200
    );
    let oldest = get(&router, "/captures?url=http://a/&sort=oldest").await;
    assert_eq!(oldest.status, 503);
}

/// The filters of a list are those of the question, the next page and the CDXJ.
#[tokio::test]
async fn captures_are_filtered() {
    let router = router(|question| match question {
        Question::Cdx(cdx) => {
            let texts: Vec<_> = cdx.filters.iter().map(|filter| filter.text.as_str()).collect();
            assert_eq!(texts, ["4..", "ht&ml"]);
            assert_eq!(cdx.collection.as_deref(), Some("news"));
            sample(question)
        }
        _ => Err(error(ErrorCode::Unavailable)),
    });
    let filters = "status=4xx&mime=ht%26ml&collection=news";
    let reply = get(&router, &format!("/captures?url=http://a/&{filters}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    for part in [
        "match=exact&amp;status=4xx&amp;mime=ht%26ml&amp;collection=news&amp;after=",
        "filter=%7Estatus%3A4..&amp;filter=mime%3Aht%26ml&amp;collection=news\"",
        "<details class=\"more-fields\" open>",
        "<option value=\"4xx\" selected>",
    ] {
        assert!(reply.body.contains(part), "{part} is not in {}", reply.body);
    }
}

#[tokio::test]
async fn captures_of_a_collection_are_listed_without_a_url() {
    let router = router(|question| match question {
        Question::Cdx(cdx) => {
            assert!(cdx.everything && cdx.url.is_empty(), "{cdx:?}");
            assert_eq!(cdx.collection.as_deref(), Some("news"));
            sample(question)
        }
        _ => Err(error(ErrorCode::Unavailable)),
    });
    let reply = get(&router, "/captures?collection=news").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    for part in [
        "Captures of the collection news",
        "href=\"/captures?match=prefix&amp;collection=news&amp;after=",
    ] {
        assert!(reply.body.contains(part), "{part} is not in {}", reply.body);
    }
    assert!(!reply.body.contains("As CDXJ"), "{}", reply.body);
}

#[tokio::test]
async fn collections_have_figures_links_and_a_command() {
    let body = get(&router(sample), "/collections").await.body;
    for part in [
        "no collection",
        "1,234",
        "href=\"/search?q=collection%3A%22local+%3Cb%3Enews%22\"",
        "href=\"/captures?collection=local+%3Cb%3Enews\">Captures<span class=\"hidden\"> of local",
        "weft export --warc 'local &lt;b&gt;news.warc.gz' --collection 'local &lt;b&gt;news'",
        "The times are those of the first 500,000 captures",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    // The row of inputs without a label has no links and no command.
    assert_eq!(body.matches("weft export").count(), 1, "{body}");
}

/// A node leads to its neighbourhood with the same settings, and from there to its own page.
#[tokio::test]
async fn nodes_of_the_graph_lead_to_their_neighbours() {
    let body = get(&router(sample), "/graph?nodes=3&from=2014").await.body;
    let address = "/graph?by=domain&amp;from=2014&amp;nodes=3&amp;around=example.com";
    // In both drawings and in the list.
    assert_eq!(body.matches(address).count(), 3, "{body}");
    assert!(
        body.contains("example.com: 1 link from others, 3 to others, 2 within"),
        "{body}"
    );
    let body = get(&router(sample), "/graph?around=example.com").await.body;
    for part in [
        "Neighbours",
        "href=\"/domain?name=example.com\">About this domain",
        "href=\"/graph?by=domain\">All domains",
        "&lt;b&gt;other",
        "<input type=\"hidden\" name=\"around\" value=\"example.com\">",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
    let body = get(&router(sample), "/graph?around=nowhere.org").await.body;
    assert!(body.contains("No links match"), "{body}");
}

/// Inputs are reduced to a state, failures are listed first.
#[tokio::test]
async fn inputs_are_listed_by_state_and_failures_first() {
    use archive::question::{InputState, LedgerRow, LedgerState};
    let row = |input: &str, state| LedgerRow {
        input: input.into(),
        state,
        ..LedgerRow::default()
    };
    let lists = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&lists);
    let router = router(move |question| match question {
        Question::Ledger(ledger) => {
            asked.lock().unwrap().push(ledger.state);
            let reason = "no space".into();
            let failed = row("bad.wacz", InputState::Failed { reason });
            let rows = match ledger.state {
                None => vec![row("all.warc.gz", InputState::Done), failed],
                Some(LedgerState::Failed) => vec![failed],
                Some(_) => Vec::new(),
            };
            let body = Body::Ledger(LedgerBody { rows, next: None });
            // The epoch of the samples, so that nothing is asked again.
            Ok(Answer { epoch: 12, body })
        }
        other => sample(other),
    });
    let body = get(&router, "/loads").await.body;
    let place = |part: &str| body.find(part).unwrap_or_else(|| panic!("no {part}: {body}"));
    assert!(place("id=\"failed\"") < place("bad.wacz"), "{body}");
    assert!(place("bad.wacz") < place("all.warc.gz"), "{body}");
    let take = || std::mem::take(&mut *lists.lock().unwrap());
    assert_eq!(take(), [None, Some(LedgerState::Failed)]);
    let body = get(&router, "/loads?state=failed").await.body;
    assert_eq!(take(), [Some(LedgerState::Failed)]);
    assert!(
        !body.contains("all.warc.gz") && !body.contains("id=\"failed\""),
        "{body}"
    );
    assert!(
        body.contains("href=\"/loads?state=failed\" aria-current=\"true\""),
        "{body}"
    );
    let body = get(&router, "/loads?state=missing").await.body;
    assert!(body.contains("There are no such inputs."), "{body}");
}

/// Every page has one top-level heading, and no page skips a level.
#[tokio::test]
async fn headings_are_in_order() {
    let router = router(sample);
    let missing = crate::fake::router(|question| match question {
        Question::Page(_) => Err(error(ErrorCode::NotFound)),
        other => sample(other),
    });
    let level = |part: &str| part.chars().next().and_then(|c| c.to_digit(10));
    for (router, path) in [
        (&router, "/"),
        (&router, "/search"),
        (&router, "/search?q=a"),
        (&router, "/loads"),
        (&router, "/page?url=a"),
        (&router, "/nothing-here"),
        (&missing, "/page?url=a"),
    ] {
        let body = get(router, path).await.body;
        let levels: Vec<u32> = body.split("<h").filter_map(level).collect();
        assert_eq!(
            levels.iter().filter(|level| **level == 1).count(),
            1,
            "{path}: {levels:?}"
        );
        assert_eq!(levels.first(), Some(&1), "{path}: {levels:?}");
        assert!(
            levels.windows(2).all(|two| two[1] <= two[0] + 1),
            "{path}: {levels:?}"
        );
    }
}

/// The archived page comes first; text and links follow.
#[tokio::test]
async fn a_page_begins_with_the_archived_page() {
    let router = router(|question| match question {
        Question::Page(_) => {
            let mut answer = sample(question)?;
            if let Body::Page(page) = &mut answer.body {
                page.text_preview = "All of the text".into();
            }
            Ok(answer)
        }
        Question::LinkCounts(_) => {
            let mut answer = sample(question)?;
            if let Body::LinkCounts(counts) = &mut answer.body {
                counts.rows[0].value = "example.com".into();
            }
            Ok(answer)
        }
        // The counts come with the first links, so that links are read once.
        Question::Inlinks(_) => Err(error(ErrorCode::Unavailable)),
        other => sample(other),
    });
    let body = get(&router, "/page?url=http://example.com/").await.body;
    let parts = [
        "Open archived page</a>",
        "<iframe",
        "id=\"versions\"",
        "id=\"inlinks\"",
        "<details><summary>Show the text</summary>",
        "All of the text",
        "id=\"captures\"",
    ];
    let places = parts.map(|part| body.find(part).unwrap_or_else(|| panic!("no {part}: {body}")));
    assert!(places.is_sorted(), "{places:?}");
    // In-links are below their domain, with their anchors.
    let inlinks = &body[places[3]..places[4]];
    let domain = inlinks.find("href=\"/domain?name=example.com\"");
    assert!(
        domain.is_some() && domain < inlinks.find("the archive</q>"),
        "{inlinks}"
    );
}

#[tokio::test]
async fn in_links_of_one_domain_are_listed_and_downloaded() {
    let router = router(|question| {
        if let Question::Inlinks(inlinks) = question {
            assert_eq!(inlinks.filter.from_domain.as_deref(), Some("a.com"));
        }
        sample(question)
    });
    let body = get(&router, "/page/inlinks?url=http://example.com/&from_domain=a.com")
        .await
        .body;
    for part in [
        "href=\"/domain?name=a.com\"",
        "href=\"/api/v1/inlinks?url=http%3A%2F%2Fexample.com%2F&amp;from_domain=a.com",
    ] {
        assert!(body.contains(part), "{part} is not in {body}");
    }
}

/// An answer ends early when it has looked at many links: an empty part is not an empty list.
#[tokio::test]
async fn a_part_of_the_in_links_says_that_more_may_follow() {
    let router = router(|question| {
        let mut answer = sample(question)?;
        if let Body::Links(links) = &mut answer.body {
            (links.rows, links.total, links.looked_at) = (Vec::new(), None, Some(10_000));
        }
        if let Body::LinkCounts(counts) = &mut answer.body {
            counts.rows = Vec::new();
        }
        Ok(answer)
    });
    for (parameters, words) in [
        ("external=1", "10,000 links were looked at for this part"),
        ("ever=1", "10,000 linking pages were looked at for this part"),
        ("external=1&by=domain", "The next part may have some."),
    ] {
        let path = format!("/page/inlinks?url=http://example.com/&{parameters}");
        let body = get(&router, &path).await.body;
        assert!(body.contains(words) && body.contains("rel=\"next\""), "{body}");
        assert!(!body.contains("There are no such links"), "{body}");
    }
}

/// Each page is an entry of the navigation, and only its own entry is marked.
#[tokio::test]
async fn the_navigation_marks_the_page() {
    let router = router(sample);
    for path in [
        "/pages",
        "/domains",
        "/ranking",
        "/graph",
        "/captures",
        "/collections",
        "/trends",
        "/images",
        "/loads",
        "/quarantine",
        "/statistics",
        "/report",
        "/store",
        "/cache",
        "/rights",
        "/takedowns",
    ] {
        let body = get(&router, path).await.body;
        let header = body.split("</header>").next().unwrap_or_default();
        let marked = format!("<a href=\"{path}\" aria-current=\"page\">");
        assert!(header.contains(&marked), "{path}: {header}");
        assert_eq!(header.matches("aria-current").count(), 1, "{path}: {header}");
    }
}

#[tokio::test]
async fn counts_of_links_have_a_download_and_the_exact_command() {
    let path = "/page/inlinks?url=*.example.com&external=1&anchor=a+b&from=2014-01&by=domain";
    let body = get(&router(sample), path).await.body;
    for part in [
        "weft inlinks '*.example.com' --anchor 'a b' --from 201401 --external --by domain --all",
        "/api/v1/inlinks/counts?url=*.example.com&amp;external=1&amp;anchor=a+b&amp;from=201401&amp;by=domain&amp;format=csv",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
}
