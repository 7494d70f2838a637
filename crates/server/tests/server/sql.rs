//! Requests that are forwarded to the program for SQL. An echo server on a socket replaces it here.
//! `weft-sql`'s own tests run the real one behind `weft serve`.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use axum::routing::any;
use server::{ServerParts, ServerSettings, SqlServer};
use tokio::net::UnixStream;

use crate::fake::{sample, send, served};

/// Responds with the request.
struct Echo;

#[async_trait::async_trait]
impl SqlServer for Echo {
    async fn connect(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        let echo = any(async |uri: Uri, headers: HeaderMap, body: String| {
            let named = |name: &str| {
                headers
                    .get(name)
                    .map_or("none".into(), |value| format!("{value:?}"))
            };
            let text = format!(
                "{uri} host={} te={} media={} {body}",
                named("host"),
                named("te"),
                named("content-type")
            );
            ([("weft-epoch", "7"), ("connection", "close")], text)
        });
        let routes = hyper_util::service::TowerToHyperService::new(Router::new().fallback(echo));
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .serve_connection(hyper_util::rt::TokioIo::new(theirs), routes),
        );
        Ok(ours)
    }
}

/// Cannot be started.
struct Broken;

#[async_trait::async_trait]
impl SqlServer for Broken {
    async fn connect(&self) -> io::Result<UnixStream> {
        Err(io::Error::other("/secret/path is missing"))
    }
}

fn router(sql: Option<Arc<dyn SqlServer>>) -> Router {
    let served = ServerParts {
        sql,
        ..served(sample)
    };
    crate::fake::owned(server::router(served, ServerSettings::default()))
}

fn get(target: &str) -> Request<Body> {
    Request::get(target).body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn requests_and_answers_pass_as_they_are() {
    let router = router(Some(Arc::new(Echo)));
    let reply = send(&router, get("/sql?q=select+1")).await;
    assert_eq!((reply.status, reply.header("weft-epoch")), (StatusCode::OK, "7"));
    assert_eq!(
        reply.body,
        "/sql?q=select+1 host=\"localhost\" te=none media=none "
    );
    assert_eq!(
        (reply.header("connection"), reply.header("x-content-type-options")),
        ("", "nosniff")
    );
    let request = Request::post("/api/v1/sql?format=csv")
        .header("content-type", "application/sql")
        .header("te", "trailers")
        .body(Body::from("select 2"))
        .expect("a request");
    let reply = send(&router, request).await;
    assert_eq!(
        reply.body,
        "/api/v1/sql?format=csv host=\"localhost\" te=none media=\"application/sql\" select 2"
    );
    assert!(send(&router, get("/about")).await.body.contains("href=\"/sql\""));
    let elsewhere = Request::get("/sql")
        .header("host", "evil.example")
        .body(Body::empty())
        .expect("a request");
    assert_eq!(
        send(&router, elsewhere).await.status,
        StatusCode::MISDIRECTED_REQUEST
    );
}

#[tokio::test]
async fn what_is_not_there_or_does_not_start_is_told_without_secrets() {
    let broken = router(Some(Arc::new(Broken)));
    let reply = send(&broken, get("/api/v1/sql?q=select+1")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.json()["error"]["code"], "unavailable");
    assert!(!reply.body.contains("secret"), "{}", reply.body);
    let page = send(&broken, get("/sql")).await;
    assert!(
        page.status == StatusCode::SERVICE_UNAVAILABLE && page.body.contains("<h1>"),
        "{}",
        page.body
    );
    let none = router(None);
    let reply = send(&none, get("/api/v1/sql/tables")).await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (StatusCode::NOT_FOUND, &serde_json::json!("not_found"))
    );
    assert!(!send(&none, get("/about")).await.body.contains("href=\"/sql\""));
}
