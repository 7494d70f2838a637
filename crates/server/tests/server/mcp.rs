//! The Model Context Protocol over HTTP: tools see what the client of the request may see.

use access::Groups;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use server::ServerSettings;
use tower::ServiceExt;

use crate::rights::{OPEN, SECRET, TwoHosts, WORD};

async fn post(router: &Router, headers: &[(&str, &str)], body: impl Into<Body>) -> (StatusCode, String) {
    let mut request = Request::post("/mcp").header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(body.into()).unwrap());
    let response = response.await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

/// Calls a tool and returns its text.
async fn call(router: &Router, headers: &[(&str, &str)], tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let (status, text) = post(router, headers, request.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let reply: Value = serde_json::from_str(&text).unwrap();
    let text = reply["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[tokio::test]
async fn tools_see_what_the_client_may_see() {
    let place = TwoHosts::new();
    place.hide_secret();
    let token = place
        .tokens()
        .issue("room", Groups::listed("staff"), None)
        .unwrap();
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    let bearer = format!("Bearer {token}");
    for (headers, sees) in [(vec![], false), (vec![("authorization", bearer.as_str())], true)] {
        // A refusal repeats the URL that was asked for, so each tool is known by something else.
        for (tool, arguments, shown) in [
            ("search", json!({ "query": "river" }), WORD),
            ("page", json!({ "url": SECRET }), WORD),
            ("versions", json!({ "url": SECRET }), WORD),
            ("inlinks", json!({ "url": OPEN }), WORD),
            ("captures", json!({ "url": "*.org" }), SECRET),
        ] {
            let text = call(&router, &headers, tool, arguments).await;
            assert_eq!(text.contains(shown), sees, "{tool}: {text}");
        }
    }
}

#[tokio::test]
async fn requests_that_are_no_calls_are_refused() {
    let place = TwoHosts::new();
    let router = server::router(place.archive.clone(), ServerSettings::default());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let old = [("mcp-protocol-version", "2025-06-18")];
    assert_eq!(post(&router, &old, ping).await.0, StatusCode::OK);
    assert_eq!(
        post(&router, &[], told).await,
        (StatusCode::ACCEPTED, String::new())
    );
    let unknown = [("mcp-protocol-version", "1999-01-01")];
    for (headers, body, expected) in [
        (&unknown[..], ping.to_owned(), StatusCode::BAD_REQUEST),
        (&[], "nonsense".to_owned(), StatusCode::BAD_REQUEST),
        (&[], "x".repeat(2 << 20), StatusCode::PAYLOAD_TOO_LARGE),
        (
            &[("origin", "http://elsewhere.org")],
            ping.to_owned(),
            StatusCode::FORBIDDEN,
        ),
        (
            &[("sec-fetch-site", "cross-site")],
            ping.to_owned(),
            StatusCode::FORBIDDEN,
        ),
    ] {
        assert_eq!(post(&router, headers, body).await.0, expected, "{headers:?}");
    }
    let get = Request::get("/mcp")
        .header("host", "localhost")
        .body(Body::empty());
    let response = router.clone().oneshot(get.unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
}
