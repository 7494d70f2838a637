//! `/cdx` and `/cdx/search/cdx`: responses are those of the servers that they imitate.

use std::sync::Arc;
use std::time::Duration;

use archive::question::{Answer, Body, CdxBody, Question};
use axum::Router;
use axum::body::Body as Content;
use axum::http::Request;
use serde_json::Value;
use server::ServerSettings;
use tower::ServiceExt;

use crate::fake::{self, Reply, get};
use crate::field::{MANY, field};

const STORY: &str = "url=http://www.story.example/";

fn router() -> Router {
    server::router(field().loaded.archive.clone(), ServerSettings::default())
}

async fn pywb(query: &str) -> Reply {
    get(&router(), &format!("/cdx?{query}")).await
}

async fn wayback(query: &str) -> Reply {
    get(&router(), &format!("/cdx/search/cdx?{query}")).await
}

/// Returns the time of every line.
fn times(body: &str) -> Vec<&str> {
    body.lines()
        .map(|line| line.split(' ').nth(1).unwrap_or(""))
        .collect()
}

#[tokio::test]
async fn each_address_has_its_own_forms() {
    let reply = pywb(&format!("{STORY}&limit=1")).await;
    assert_eq!(reply.header("content-type"), "text/x-cdxj; charset=utf-8");
    assert!(
        reply
            .body
            .starts_with("example,story)/ 20140126200624 {\"url\": \"http://www.story.example/\""),
        "{}",
        reply.body
    );
    let reply = wayback(&format!("{STORY}&limit=1")).await;
    assert_eq!(reply.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(reply.body.split(' ').count(), 7, "{}", reply.body);
    let reply = wayback(&format!("{STORY}&output=json&limit=2")).await;
    let rows = reply.json();
    let names = [
        "urlkey",
        "timestamp",
        "original",
        "mimetype",
        "statuscode",
        "digest",
        "length",
    ];
    assert_eq!(rows[0], serde_json::json!(names));
    assert_eq!(
        (rows[2][1].as_str(), rows[2][4].as_str()),
        (Some("20140225200624"), Some("200"))
    );
    for output in ["json", "ndjson"] {
        let body = pywb(&format!("{STORY}&output={output}&limit=1")).await.body;
        let line: Value = serde_json::from_str(&body).expect("one line");
        assert_eq!(
            (&line["status"], &line["filename"]),
            (&"200".into(), &"field.warc".into())
        );
    }
    let text = pywb(&format!("{STORY}&output=text&limit=1")).await.body;
    assert_eq!(text.split(' ').count(), 11, "{text}");
    let columns = wayback(&format!("{STORY}&fl=statuscode,timestamp,languages&limit=1"))
        .await
        .body;
    assert_eq!(columns, "200 20140126200624 -\n");
}

#[tokio::test]
async fn white_space_in_an_address_does_not_break_a_line() {
    let body = wayback("url=www.story.example/b*").await.body;
    assert_eq!(body.split(' ').count(), 7, "{body}");
    assert!(body.contains(" http://www.story.example/b?c=d%20e "), "{body}");
}

/// All clients accept these responses: some treat a 404 as a failure, others an empty response as
/// invalid JSON.
#[tokio::test]
async fn nothing_captured_is_an_empty_answer() {
    let arrays = wayback("url=nothing.example&output=json").await;
    assert_eq!((arrays.status.as_u16(), arrays.body.as_str()), (200, "[]\n"));
    assert_eq!(pywb("url=nothing.example&output=json").await.body, "");
    for (query, body) in [
        ("url=nothing.example", ""),
        ("url=nothing.example&output=text", ""),
        ("url=nothing.example&showResumeKey=true&limit=1", ""),
        ("url=nothing.example&sort=closest&closest=2014&limit=100", ""),
        ("url=nothing.example&limit=-3", ""),
    ] {
        for reply in [pywb(query).await, wayback(query).await] {
            assert_eq!(
                (reply.status.as_u16(), reply.body.as_str()),
                (200, body),
                "{query}"
            );
        }
    }
}

#[tokio::test]
async fn parameters_of_other_servers_are_left_aside_and_wrong_values_are_not() {
    let plain = wayback(STORY).await.body;
    for more in [
        "fastLatest=true",
        "resolveRevisits=false",
        "crawl=x&nosource=true",
        "limit=",
        "limit=0",
        "gzip=true",
    ] {
        assert_eq!(wayback(&format!("{STORY}&{more}")).await.body, plain, "{more}");
    }
    for wrong in [
        "filter=colour:red",
        "filter=~url:(",
        "collapse=timestamp:x",
        "sort=sideways",
        "output=xml",
        "limit=many",
        "limit=-10001",
        "pageSize=0",
        "pageSize=-1",
        "page=-2",
        "offset=-5",
        "page=0&sort=reverse",
        "resumeKey=unheard-of",
        "from=yesterday",
    ] {
        let reply = pywb(&format!("{STORY}&{wrong}")).await;
        assert_eq!(
            (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
            (400, Some("bad_request")),
            "{wrong}"
        );
    }
    let strict = get(&router(), &format!("/api/v1/captures?{STORY}&fastLatest=true")).await;
    assert_eq!(strict.status, 400);
}

#[tokio::test]
async fn an_answer_that_is_to_stay_plain_is_named_so() {
    assert_eq!(
        wayback(&format!("{STORY}&gzip=false"))
            .await
            .header("content-encoding"),
        "identity"
    );
    assert_ne!(wayback(STORY).await.header("content-encoding"), "identity");
}

#[tokio::test]
async fn captures_come_in_the_order_asked_for() {
    let all = pywb(STORY).await.body;
    let all = times(&all);
    assert_eq!(all.len(), 12);
    let reversed: Vec<&str> = all.iter().rev().copied().collect();
    assert_eq!(
        times(&pywb(&format!("{STORY}&sort=reverse")).await.body),
        reversed
    );
    assert_eq!(times(&pywb(&format!("{STORY}&limit=-3")).await.body), all[9..]);
    assert_eq!(
        times(&pywb(&format!("{STORY}&sort=reverse&limit=2")).await.body),
        reversed[..2]
    );
    assert_eq!(
        times(&pywb(&format!("{STORY}&offset=10&limit=5")).await.body),
        all[10..]
    );
    let near = "20140601000000";
    for query in [
        format!("{STORY}&closest={near}&sort=closest&limit=3"),
        format!("{STORY}&closest={near}&limit=3"),
    ] {
        assert_eq!(
            times(&pywb(&query).await.body),
            ["20140526200624", "20140625200624", "20140426200624"]
        );
    }
    // pywb's request for a calendar. The Internet Archive requires both parameters.
    assert_eq!(
        times(
            &pywb(&format!("{STORY}&closest=&sort=closest&limit=100"))
                .await
                .body
        ),
        all
    );
    assert_eq!(
        times(&wayback(&format!("{STORY}&closest={near}")).await.body),
        all
    );
}

#[tokio::test]
async fn filters_and_collapsing_are_each_servers_own() {
    let count = async |reply: Reply| reply.body.lines().count();
    assert_eq!(
        count(pywb(&format!("{STORY}&filter=!=status:200")).await).await,
        3
    );
    assert_eq!(
        count(pywb(&format!("{STORY}&filter=statuscode:5..")).await).await,
        3
    );
    assert_eq!(
        count(wayback(&format!("{STORY}&filter=statuscode:5..")).await).await,
        3
    );
    let host = "url=story.example&matchType=host";
    assert_eq!(
        count(pywb(&format!("{host}&filter=mime:html&filter==status:200")).await).await,
        10
    );
    assert_eq!(
        count(wayback(&format!("{host}&filter=mimetype:html")).await).await,
        0
    );
    assert_eq!(
        count(wayback(&format!("{host}&filter=!mimetype:text/html")).await).await,
        2
    );
    assert_eq!(count(wayback(&format!("{host}&collapse=urlkey")).await).await, 4);
    assert_eq!(
        count(wayback(&format!("{STORY}&collapse=timestamp:4")).await).await,
        1
    );
    assert_eq!(count(wayback(&format!("{STORY}&collapse=digest")).await).await, 4);
}

#[tokio::test]
async fn resumption_keys_lead_through_all_of_it() {
    for collapse in ["", "&collapse=digest"] {
        let whole = wayback(&format!("{STORY}{collapse}")).await.body;
        for limit in [1, 3, 5] {
            let (mut found, mut key) = (String::new(), String::new());
            loop {
                let resume = if key.is_empty() {
                    String::new()
                } else {
                    format!("&resumeKey={key}")
                };
                let query = format!("{STORY}{collapse}&limit={limit}&showResumeKey=true{resume}");
                let body = wayback(&query).await.body;
                let (rows, next) = body.split_once("\n\n").unwrap_or((&body, ""));
                found.push_str(rows.trim_end());
                found.push('\n');
                key = next.trim().to_owned();
                if key.is_empty() {
                    break;
                }
            }
            assert_eq!(found, whole, "by {limit}{collapse}");
        }
    }
    let arrays = wayback(&format!("{STORY}&limit=2&showResumeKey=true&output=json"))
        .await
        .json();
    let rows = arrays.as_array().expect("rows");
    assert_eq!(
        (
            rows.len(),
            rows[3].as_array().map(Vec::len),
            rows[4].as_array().map(Vec::len)
        ),
        (5, Some(0), Some(1))
    );
}

#[tokio::test]
async fn pages_are_the_whole_list_each_capture_once() {
    let host = "url=many.example&matchType=host";
    let whole = pywb(host).await.body;
    assert_eq!(whole.lines().count(), MANY);
    for (size, pages) in [
        ("", 1),
        ("&pageSize=1", 3),
        ("&pageSize=2", 2),
        ("&pageSize=999", 1),
    ] {
        assert_eq!(
            wayback(&format!("{host}&showNumPages=true{size}")).await.body,
            format!("{pages}\n")
        );
        let counted = pywb(&format!("{host}&showNumPages=true{size}")).await.json();
        assert_eq!(
            (counted["blocks"].as_u64(), counted["pages"].as_u64()),
            (Some(3), Some(pages))
        );
        let router = router();
        let mut found = String::new();
        for page in 0..pages {
            found.push_str(&get(&router, &format!("/cdx?{host}&page={page}{size}")).await.body);
        }
        assert_eq!(found, whole, "{size}");
        let after = format!("{host}&page={pages}{size}");
        assert_eq!(pywb(&after).await.status, 400);
        let reply = wayback(&format!("{after}&output=json")).await;
        assert_eq!((reply.status.as_u16(), reply.body.as_str()), (200, ""));
    }
    let filtered = pywb(&format!("{host}&pageSize=1&page=1&filter=~url:.*999$"))
        .await
        .body;
    assert_eq!(filtered.lines().count(), 3, "of the second 3,000: {filtered}");
    assert_eq!(wayback("url=nothing.example&showNumPages=true").await.body, "1\n");
    assert_eq!(wayback("url=nothing.example&page=0").await.body, "");
    assert_eq!(
        wayback(&format!("{STORY}&page=-1")).await.body,
        wayback(STORY).await.body
    );
}

/// Answers without rows are not sent, so sending does not show that the client has gone.
#[tokio::test]
async fn a_search_that_finds_nothing_ends_when_its_client_has_gone() {
    let source = Arc::new(());
    let held = Arc::clone(&source);
    let router = fake::router(move |question| match question {
        Question::Cdx(_) => {
            let _held = &held;
            let (rows, skipped, next) = (Vec::new(), None, Some("x".to_owned()));
            let body = Body::Cdx(CdxBody { rows, skipped, next });
            Ok(Answer { epoch: 12, body })
        }
        other => fake::sample(other),
    });
    let request = Request::get("/cdx?url=http://a.org/&filter=status:999")
        .header("host", "localhost")
        .body(Content::empty())
        .expect("a request");
    let response = router.oneshot(request).await.expect("routers do not fail");
    assert_eq!(response.status(), 200);
    drop(response);
    // The router has been dropped, so only the search can still hold its source.
    let ends = async {
        while Arc::strong_count(&source) > 1 {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(30), ends).await;
    assert!(ended.is_ok(), "the search continues");
}
