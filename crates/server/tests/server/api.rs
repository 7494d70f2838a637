//! The JSON API: routes behave as documented in OpenAPI.

use archive::ErrorCode;
use archive::question::{Answer, Body, CdxBody, CdxRow, Inlinks, Question, TopBody, TopRow};
use axum::body::Body as Content;
use axum::http::Request;
use serde_json::Value;

use crate::fake::{error, get, router, sample, send};
use crate::files::Scanned;

/// Returns an address for a documented path, with every required parameter.
pub(crate) fn address(path: &str, operation: &Value) -> String {
    let mut address = path.replace("{id}", "1");
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    for parameter in parameters
        .iter()
        .filter(|p| p["required"] == true && p["in"] == "query")
    {
        let mark = if address.contains('?') { '&' } else { '?' };
        address.push_str(&format!(
            "{mark}{}=example.com",
            parameter["name"].as_str().expect("a name")
        ));
    }
    address
}

/// Returns the schema of an operation's answer, if it is JSON.
pub(crate) fn schema<'a>(document: &'a Value, operation: &Value) -> Option<&'a Value> {
    let reference = &operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
    let name = reference.as_str()?.strip_prefix("#/components/schemas/")?;
    Some(&document["components"]["schemas"][name])
}

#[tokio::test]
async fn every_documented_route_answers_with_the_documented_fields() {
    let scanned = Scanned::sample();
    let router = scanned.router();
    let document = get(&router, "/api/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut checked = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let Some(operation) = operations.get("get") else {
            continue;
        };
        if path.starts_with("/record") {
            continue; // Needs a file: see the tests over a real archive.
        }
        if path.starts_with("/outbackcdx") {
            continue; // Needs one of three parameters: see the tests of dialects.
        }
        if path.starts_with("/api/v1/sql") {
            continue; // Answered by another program, which has its own tests.
        }
        let address = address(path, operation);
        let reply = get(&router, &address).await;
        assert_eq!(reply.status, 200, "{address}: {}", reply.body);
        checked += 1;
        let Some(schema) = schema(&document, operation) else {
            continue;
        };
        let answer = reply.json();
        let described = schema["properties"].as_object().expect("properties");
        for name in described.keys() {
            assert!(
                !answer[name].is_null(),
                "{address}: described field {name} is missing"
            );
        }
        for name in answer.as_object().expect("an object").keys() {
            assert!(
                described.contains_key(name),
                "{address}: field {name} is not described"
            );
        }
        assert_eq!(answer["epoch"], 12, "{address}");
    }
    assert!(checked >= 17, "{checked} routes");
}

#[tokio::test]
async fn parameters_reach_the_question() {
    let router = router(|question| {
        match question {
            Question::Inlinks(Inlinks {
                url,
                after,
                limit,
                at,
                ever,
                ..
            }) => {
                assert_eq!(
                    (url.as_str(), after.as_deref(), *limit),
                    ("http://a/?b=c&d", Some("k 1"), 7)
                );
                assert_eq!((at.as_deref(), *ever), (Some("201205"), true));
            }
            Question::Search(search) => {
                assert_eq!(
                    (search.query.as_str(), search.limit, search.explain, search.facets),
                    ("a b", 20, true, false)
                );
            }
            Question::Cdx(cdx) => {
                assert_eq!(
                    (cdx.url.as_str(), cdx.match_type),
                    ("example.com/", archive::question::MatchType::Prefix)
                );
                assert_eq!((cdx.from.as_deref(), cdx.to.as_deref()), (Some("2014"), None));
            }
            _ => {}
        }
        sample(question)
    });
    for path in [
        "/api/v1/inlinks?url=http%3A%2F%2Fa%2F%3Fb%3Dc%26d&after=k+1&limit=7&at=201205&ever=1",
        "/api/v1/search?q=a+b&explain=1",
        "/api/v1/captures?url=example.com/*&from=2014",
    ] {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    }
}

#[tokio::test]
async fn odd_requests_get_an_error_with_a_code() {
    let router = router(sample);
    let long = format!("/api/v1/page?url={}", "a".repeat(59_999));
    let too_long = format!("/api/v1/page?url={}", "a".repeat(60_000));
    let cases: [(&str, u16, &str); 18] = [
        ("/api/v1/page", 400, "bad_request"),
        ("/api/v1/page?url=", 400, "bad_request"),
        ("/api/v1/page?url=a&url=b", 400, "bad_request"),
        ("/api/v1/page?url=a&uri=b", 400, "bad_request"),
        ("/api/v1/status?x=1", 400, "bad_request"),
        ("/api/v1/top?limit=0", 400, "bad_request"),
        ("/api/v1/top?limit=1e3", 400, "bad_request"),
        ("/api/v1/top?limit=1001", 400, "bad_request"),
        ("/api/v1/captures?url=a&matchType=all", 400, "bad_request"),
        ("/api/v1/captures?url=a&from=yesterday", 400, "bad_request"),
        ("/api/v1/captures?url=*.a.org/x/*", 400, "bad_request"),
        ("/api/v1/inlinks?url=*.a.org/x/*", 400, "bad_request"),
        ("/api/v1/inlinks?url=*.a.org:8080&format=csv", 400, "bad_request"),
        ("/api/v1/inlinks/counts?url=http://*.a.org/*", 400, "bad_request"),
        ("/api/v1/jobs/one", 400, "bad_request"),
        ("/api/v1/nothing", 404, "not_found"),
        ("/cdx", 400, "bad_request"),
        ("/cdx?url=a&filter=colour:red", 400, "bad_request"),
    ];
    for (path, status, code) in cases {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.body);
        assert_eq!(reply.json()["error"]["code"], code, "{path}");
        assert!(reply.json()["error"]["message"].is_string(), "{path}");
    }
    assert_eq!(get(&router, &long).await.status, 200);
    let reply = get(&router, &too_long).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
        (414, Some("too_long"))
    );
    assert_eq!(get(&router, "/healthz").await.body, "ok\n");
    assert!(get(&router, "/robots.txt").await.body.contains("Disallow: /\n"));
    assert_eq!(get(&router, "/api/v1/page?url=%00%01%ff%0d%0a").await.status, 200);
    let post = Request::post("/api/v1/status")
        .body(Content::empty())
        .expect("a request");
    let reply = send(&router, post).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
        (405, Some("method_not_allowed"))
    );
}

#[tokio::test]
async fn errors_of_the_archive_have_their_status() {
    for (code, status) in [
        (ErrorCode::NotFound, 404),
        (ErrorCode::BadRequest, 400),
        (ErrorCode::Unavailable, 503),
        (ErrorCode::Internal, 500),
    ] {
        let router = router(move |_| Err(error(code)));
        let reply = get(&router, "/api/v1/page?url=a").await;
        let code = code.name();
        assert_eq!(reply.status, status, "{code}");
        assert_eq!(reply.header("retry-after").is_empty(), status != 503);
        assert!(
            reply.json()["error"]["message"]
                .as_str()
                .expect("a message")
                .contains(code)
        );
        assert_eq!(get(&router, "/cdx?url=a").await.status, status, "{code}");
    }
}

#[tokio::test]
async fn a_panic_of_the_archive_is_an_error_and_nothing_else() {
    let router = router(|_| panic!("on purpose, in a test"));
    let reply = get(&router, "/api/v1/status").await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
        (500, Some("internal"))
    );
    assert!(!reply.body.contains("on purpose"));
}

#[tokio::test]
async fn a_record_answer_tells_no_path_of_the_server() {
    let router = router(|question| {
        let mut answer = sample(question)?;
        if let Body::Record(record) = &mut answer.body {
            record.location = "/secret/place".into();
        }
        Ok(answer)
    });
    let reply = get(&router, "/api/v1/record?url=a").await;
    assert!(!reply.body.contains("secret"), "{}", reply.body);
    assert_eq!(
        reply.json()["location"],
        "/record?url=http%3A%2F%2Fexample.com%2F&at=20140126200624&capture=334%2Ciana.warc.gz"
    );
}

/// Returns an archive with `count` captures that returns at most `limit` of them at once, by
/// cursor.
fn many_captures(count: usize) -> axum::Router {
    router(move |question| {
        let Question::Cdx(cdx) = question else {
            return sample(question);
        };
        let start: usize = cdx
            .after
            .as_deref()
            .unwrap_or("0")
            .parse()
            .map_err(|_| error(ErrorCode::BadRequest))?;
        let end = (start + cdx.limit).min(count);
        let row = |n: usize| CdxRow {
            url_key: format!("com,example)/{n}"),
            ..CdxRow::default()
        };
        Ok(archive::question::Answer {
            epoch: 3,
            body: Body::Cdx(CdxBody {
                rows: (start..end).map(row).collect(),
                skipped: None,
                next: (end < count).then(|| end.to_string()),
            }),
        })
    })
}

#[tokio::test]
async fn cdx_goes_through_all_pages_or_to_the_limit() {
    let router = many_captures(2345);
    for (query, expected) in [
        ("", 2345),
        ("&limit=1", 1),
        ("&limit=1000", 1000),
        ("&limit=1001", 1001),
        ("&limit=99999", 2345),
    ] {
        let reply = get(&router, &format!("/cdx?url=example.com/*{query}")).await;
        assert_eq!((reply.status.as_u16(), reply.header("weft-epoch")), (200, "3"));
        let lines: Vec<&str> = reply.body.lines().collect();
        assert_eq!(lines.len(), expected, "{query}");
        for (n, line) in lines.iter().enumerate() {
            assert!(line.starts_with(&format!("com,example)/{n} ")), "{line}");
        }
    }
    let reply = get(&router, "/cdx?url=a&limit=2&output=ndjson").await;
    let rows: Vec<Value> = reply
        .body
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(rows[1]["urlkey"], "com,example)/1");
    assert_eq!(rows[1]["length"], "0");
    assert_eq!(get(&many_captures(0), "/cdx?url=a").await.body, "");
}

#[tokio::test]
async fn a_cursor_that_the_archive_refuses_is_a_bad_request() {
    let reply = get(&many_captures(5), "/api/v1/captures?url=a&after=%F0%9F%92%A9").await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
        (400, Some("bad_request"))
    );
}

#[tokio::test]
async fn metrics_are_prometheus_text() {
    let router = router(sample);
    get(&router, "/api/v1/search?q=a").await;
    get(&router, "/nowhere").await;
    let reply = get(&router, "/metrics").await;
    assert!(
        reply
            .header("content-type")
            .starts_with("text/plain; version=0.0.4")
    );
    for line in [
        "weft_epoch 12",
        "weft_stage_items_done{stage=\"read\"} 343",
        "weft_http_requests_total{route=\"/api/v1/search\",status=\"200\"} 1",
        "weft_http_requests_total{route=\"none\",status=\"404\"} 1",
        "weft_search_seconds_count 1",
        "# TYPE weft_http_request_seconds histogram",
    ] {
        assert!(
            reply.body.lines().any(|l| l == line),
            "{line} is not in\n{}",
            reply.body
        );
    }
    let mut types: Vec<&str> = reply.body.lines().filter(|l| l.starts_with("# TYPE")).collect();
    let count = types.len();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), count, "a metric is declared twice");
    // If the archive is busy, its metrics are left out and the server's are kept.
    let reply = get(&self::router(|_| Err(error(ErrorCode::Unavailable))), "/metrics").await;
    assert_eq!(reply.status, 200);
    assert!(reply.body.contains("weft_up_seconds") && !reply.body.contains("weft_epoch"));
}

#[tokio::test]
async fn what_an_asker_has_is_not_sent_again_and_the_rest_is_compressed() {
    let router = router(sample);
    for path in [
        "/",
        "/api/v1/status",
        "/api/v1/openapi.json",
        "/page?url=example.com",
    ] {
        let ask = async |name: &str, value: &str| {
            let request = Request::get(path).header(name, value);
            send(&router, request.body(Content::empty()).expect("a request")).await
        };
        let first = get(&router, path).await;
        let tag = first.header("etag").to_owned();
        assert!(tag.starts_with("W/\""), "{path}: {tag}");
        let again = ask("if-none-match", &tag).await;
        assert_eq!((again.status.as_u16(), again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), tag);
        assert_eq!(ask("if-none-match", "\"x\"").await.status, 200);
        let packed = ask("accept-encoding", "gzip").await;
        // A response that fits into a packet is not compressed.
        let expected = if first.body.len() < 1024 { "" } else { "gzip" };
        assert_eq!(packed.header("content-encoding"), expected, "{path}");
    }
}

#[tokio::test]
async fn no_two_operations_have_one_id() {
    let document = get(&router(sample), "/api/v1/openapi.json").await.json();
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths
        .values()
        .flat_map(|path| path.as_object().expect("operations").values());
    for parameter in operations
        .clone()
        .filter_map(|operation| operation["parameters"].as_array())
        .flatten()
    {
        // OpenAPI allows it only there.
        assert!(
            parameter["in"] == "query" || parameter["allowEmptyValue"].is_null(),
            "{parameter}"
        );
    }
    let mut ids: Vec<&str> = operations
        .map(|operation| operation["operationId"].as_str().expect("an id"))
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[tokio::test]
async fn a_list_is_a_file_with_all_its_rows() {
    let router = router(|question| {
        let Question::Top(top) = question else {
            return Err(error(ErrorCode::NotFound));
        };
        let (rank, next) = match (top.after.as_deref(), top.limit) {
            // The first row alone tells whether there is a list.
            (None, 1) => (1, None),
            (None, _) => (1, Some("1".to_owned())),
            (Some(_), _) => (2, None),
        };
        let row = TopRow {
            rank,
            url_key: "com,example)/".into(),
            ..TopRow::default()
        };
        let rows = vec![row];
        let body = TopBody { rows, next };
        Ok(Answer { epoch: 1, body }.any())
    });
    let reply = get(&router, "/api/v1/top?format=csv&limit=1").await;
    assert_eq!(
        reply.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    assert_eq!(
        reply.header("content-disposition"),
        "attachment; filename=\"ranking.csv\""
    );
    assert_eq!(
        reply.body,
        "rank,url,title,captured,inlinks,inlinks_external\r\n\
         1,\"com,example)/\",,false,0,0\r\n\
         2,\"com,example)/\",,false,0,0\r\n"
    );
    let lines = get(&router, "/api/v1/top?format=jsonl").await;
    assert_eq!(lines.body.lines().count(), 2, "{}", lines.body);
    // What cannot be answered has its status, and is no file that was cut off.
    let missing = get(&router, "/api/v1/inlinks?url=a&format=csv").await;
    assert_eq!(missing.status.as_u16(), 404);
    let wrong = get(&router, "/api/v1/top?format=xlsx").await;
    assert_eq!(wrong.status.as_u16(), 400);
}
