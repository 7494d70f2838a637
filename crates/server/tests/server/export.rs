//! Complete search results over HTTP.

use archive::AskError;
use archive::question::{Answer, Body, Question, SearchBody, SearchHit};
use axum::Router;
use axum::body::{Body as Content, Bytes, to_bytes};
use axum::http::{HeaderMap, Request};
use http_body::Body as _;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use server::ServerSettings;
use tower::ServiceExt;

use crate::fake;
use crate::loaded::{Loaded, load};

fn loaded() -> Loaded {
    let dir = tempfile::tempdir().unwrap();
    let page = |n: usize| {
        let http = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Page {n}</title>a kestrel & {n}"
        );
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{n:032x}>\r\n\
             WARC-Date: 2014-03-11T10:00:{n:02}Z\r\nWARC-Target-URI: http://example.org/{n}\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        )
    };
    let path = dir.path().join("pages.warc");
    std::fs::write(&path, (0..20).map(page).collect::<String>()).unwrap();
    load(&[path], None)
}

async fn file(router: &Router, path: &str) -> (HeaderMap, Bytes) {
    // As browsers do. A response that is already compressed must not be compressed again.
    let request = Request::get(path)
        .header("host", "localhost")
        .header("accept-encoding", "gzip");
    let response = router.clone().oneshot(request.body(Content::empty()).unwrap());
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let headers = response.headers().clone();
    (headers, to_bytes(response.into_body(), usize::MAX).await.unwrap())
}

async fn text(router: &Router, path: &str) -> String {
    let reply = fake::get(router, path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    reply.body
}

fn rows(file: Bytes) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns()).collect()
}

#[tokio::test]
async fn results_come_as_a_parquet_file() {
    let loaded = loaded();
    let router = server::router(loaded.archive.clone(), ServerSettings::default());
    let (headers, found) = file(&router, "/api/v1/search/export?q=kestrel&format=parquet").await;
    assert_eq!(headers["content-type"], "application/vnd.apache.parquet");
    assert_eq!(
        headers["content-disposition"],
        "attachment; filename=\"results.parquet\""
    );
    assert_eq!(headers.get("content-encoding"), None);
    // The same as on the command line.
    let question = archive::question::SearchQuestion {
        query: "kestrel".into(),
        ..Default::default()
    };
    let mut expected = Vec::new();
    let format = export::ExportFormat::Parquet;
    export::write_results(&loaded.archive, &question, format, &mut expected, &mut |_, _| {
        true
    })
    .unwrap();
    assert_eq!(found, expected);
    let rows = self::rows(found);
    assert_eq!(rows.len(), 20);
    let cell = |name: &str| {
        rows[0]
            .iter()
            .find(|(column, _)| column == name)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(cell("url"), Field::Str("http://example.org/0".into()));
    assert_eq!(cell("fetch_time"), Field::TimestampMillis(1_394_532_000_000));
    assert_eq!(cell("until"), Field::Null);
    assert_eq!(cell("inlinks"), Field::Long(0));
    assert_eq!(cell("snippet"), Field::Str("a kestrel & 0".into()));
    let (_, nothing) = file(&router, "/api/v1/search/export?q=pelican&format=parquet").await;
    assert_eq!(self::rows(nothing).len(), 0);
}

/// Regression: a search showed three results of a site, but its export had all of them.
#[tokio::test]
async fn a_grouped_search_is_exported_as_it_is_shown() {
    let loaded = loaded();
    let router = server::router(loaded.archive.clone(), ServerSettings::default());
    for grouping in [
        "per_site=3",
        "distinct=1&sort=newest",
        "near=1",
        "per_site=2&near=1&sort=oldest",
    ] {
        let shown = text(&router, &format!("/api/v1/search?q=kestrel&limit=100&{grouping}")).await;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let urls: Vec<&str> = shown["hits"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|hit| hit["url"].as_str())
            .collect();
        assert!(!urls.is_empty());
        let address = |format: &str| format!("/api/v1/search/export?q=kestrel&format={format}&{grouping}");
        let lines = text(&router, &address("jsonl")).await;
        let of_lines: Vec<String> = lines
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["url"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(of_lines, urls, "{grouping}");
        let table = text(&router, &address("csv")).await;
        assert_eq!(table.lines().count(), urls.len() + 1, "{grouping}: {table}");
        let (_, parquet) = file(&router, &address("parquet")).await;
        let of_parquet: Vec<String> = self::rows(parquet)
            .iter()
            .map(
                |row| match &row.iter().find(|(column, _)| column == "url").unwrap().1 {
                    Field::Str(url) => url.clone(),
                    other => panic!("{other:?}"),
                },
            )
            .collect();
        assert_eq!(of_parquet, urls, "{grouping}");
    }
    let shown = text(&router, "/api/v1/search/export?q=kestrel&per_site=3&format=jsonl").await;
    assert_eq!(shown.lines().count(), 3);
}

/// Returns a page of results, then the archive fails.
fn first_page(question: &Question) -> Result<Answer, AskError> {
    let Question::Search(search) = question else {
        return Err(fake::error(archive::ErrorCode::Internal));
    };
    if search.after.is_some() {
        return Err(fake::error(archive::ErrorCode::Internal));
    }
    let time = "2014-03-11T10:00:00.000Z".to_owned();
    let hit = |n| SearchHit {
        // Larger than a row group.
        url: format!("http://example.org/{n}/{}", "x".repeat(1 << 20)),
        fetch_time: time.clone(),
        since: time.clone(),
        ..SearchHit::default()
    };
    let body = SearchBody {
        hits: (0..20).map(hit).collect(),
        next: Some("more".into()),
        ..SearchBody::default()
    };
    Ok(Answer {
        epoch: 12,
        body: Body::Search(body),
    })
}

#[tokio::test]
async fn a_file_that_breaks_off_is_no_file() {
    let router = fake::router(first_page);
    let request = Request::get("/api/v1/search/export?q=kestrel&format=parquet").header("host", "localhost");
    let response = router.oneshot(request.body(Content::empty()).unwrap());
    let mut body = Box::pin(response.await.unwrap().into_body());
    let (mut came, mut broke_off) = (Vec::new(), false);
    while let Some(piece) = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await {
        match piece {
            Ok(piece) => came.extend(piece.into_data().unwrap()),
            Err(_) => broke_off = true,
        }
    }
    assert!(broke_off);
    assert!(came.starts_with(b"PAR1") && came.len() > 1000, "{}", came.len());
    assert!(SerializedFileReader::new(Bytes::from(came)).is_err());
}
