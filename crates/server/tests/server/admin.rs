//! Administration is separate from reading: which clients get which routes, with rules and without.

use std::collections::BTreeSet;

use access::{Groups, TokenHolder};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use server::ServerSettings;
use tower::ServiceExt;

use crate::fake::owned;
use crate::port::Running;
use crate::rights::TwoHosts;

/// Clients that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Audience {
    /// All clients. They get what they may see.
    Everybody,
    /// Administrators.
    Admins,
    /// Administrators from whom nothing is hidden.
    AdminsWhoReadAll,
    /// Clients that the settings allow to post.
    Posters,
}

use Audience::{Admins, AdminsWhoReadAll, Everybody, Posters};

/// Every route, with an address for it.
const ROUTES: &[(&str, &str, Audience)] = &[
    ("GET", "/healthz", Everybody),
    ("GET", "/robots.txt", Everybody),
    ("GET", "/api/v1/openapi.json", Everybody),
    ("GET", "/", Everybody),
    ("GET", "/search", Everybody),
    ("GET", "/trends", Everybody),
    ("GET", "/images", Everybody),
    ("GET", "/images/thumbnail", Everybody),
    ("GET", "/events", Everybody),
    ("GET", "/page", Everybody),
    ("GET", "/page/diff", Everybody),
    ("GET", "/page/inlinks", Everybody),
    ("GET", "/page/outlinks", Everybody),
    ("GET", "/domain", Everybody),
    ("GET", "/domains", Everybody),
    ("GET", "/graph", Everybody),
    ("GET", "/ranking", Everybody),
    ("GET", "/captures", Everybody),
    ("GET", "/collections", Everybody),
    ("GET", "/pages", Everybody),
    ("GET", "/report", Everybody),
    ("GET", "/about", Everybody),
    ("GET", "/sign-in", Everybody),
    ("GET", "/sandbox/content", Everybody),
    ("GET", "/timegate/http://open.org/page", Everybody),
    ("GET", "/timemap/link/http://open.org/page", Everybody),
    ("GET", "/replay", Everybody),
    ("GET", "/replay/2014/http://open.org/page", Everybody),
    ("GET", "/replay-check", Everybody),
    ("GET", "/nowhere", Everybody),
    ("GET", "/api/v1/search", Everybody),
    ("GET", "/api/v1/search/concordance", Everybody),
    ("GET", "/api/v1/search/export", Everybody),
    ("GET", "/api/v1/suggest", Everybody),
    ("GET", "/api/v1/trends", Everybody),
    ("GET", "/api/v1/images", Everybody),
    ("GET", "/api/v1/events", Everybody),
    ("GET", "/api/v1/report", Everybody),
    ("GET", "/api/v1/collections", Everybody),
    ("GET", "/api/v1/diff", Everybody),
    ("GET", "/api/v1/page", Everybody),
    ("GET", "/api/v1/attachments", Everybody),
    ("GET", "/api/v1/calendar", Everybody),
    ("GET", "/api/v1/inlinks", Everybody),
    ("GET", "/api/v1/inlinks/counts", Everybody),
    ("GET", "/api/v1/outlinks", Everybody),
    ("GET", "/api/v1/domain", Everybody),
    ("GET", "/api/v1/domains", Everybody),
    ("GET", "/api/v1/top", Everybody),
    ("GET", "/api/v1/captures", Everybody),
    ("GET", "/api/v1/pages", Everybody),
    ("GET", "/api/v1/record", Everybody),
    ("GET", "/cdx", Everybody),
    ("GET", "/api/v1/cdx", Everybody),
    ("GET", "/{collection}/cdx", Everybody),
    ("GET", "/{collection}-index", Everybody),
    ("GET", "/collinfo.json", Everybody),
    ("GET", "/outbackcdx/{collection}", Everybody),
    ("GET", "/cdx/search/cdx", Everybody),
    ("GET", "/search.atom", Everybody),
    ("GET", "/record", Everybody),
    ("POST", "/mcp", Everybody),
    ("POST", "/outbackcdx/{collection}", Posters),
    ("POST", "/outbackcdx/{collection}/delete", Posters),
    ("GET", "/api/v1/status", Admins),
    ("GET", "/api/v1/stages", Admins),
    ("GET", "/api/v1/ledger", Admins),
    ("GET", "/api/v1/quarantine", Admins),
    ("GET", "/api/v1/takedowns", Admins),
    ("GET", "/api/v1/rights", Admins),
    ("GET", "/api/v1/jobs", Admins),
    ("GET", "/api/v1/jobs/{id}", Admins),
    ("POST", "/api/v1/loads", Admins),
    ("POST", "/api/v1/upload", Admins),
    ("POST", "/api/v1/jobs/{id}/cancel", Admins),
    ("GET", "/api/v1/store", Admins),
    ("GET", "/api/v1/files", Admins),
    ("GET", "/api/v1/files/tree", Admins),
    ("GET", "/metrics", Admins),
    ("GET", "/loads", Admins),
    ("GET", "/loads/live", Admins),
    ("GET", "/cache", Admins),
    ("GET", "/cache/live", Admins),
    ("GET", "/quarantine", Admins),
    ("GET", "/statistics", Admins),
    ("GET", "/statistics/live", Admins),
    ("GET", "/store", Admins),
    ("GET", "/store/live", Admins),
    ("GET", "/files", Admins),
    ("GET", "/files/tree", Admins),
    ("GET", "/rights", Admins),
    ("GET", "/takedowns", Admins),
    ("GET", "/sql", AdminsWhoReadAll),
    ("GET", "/api/v1/sql", AdminsWhoReadAll),
    ("POST", "/api/v1/sql", AdminsWhoReadAll),
    ("GET", "/api/v1/sql/tables", AdminsWhoReadAll),
];

/// The route `/record/{*file}`, whose parameter is a path.
const STORED: &str = "/record/{file}";

fn address(path: &str) -> String {
    path.replace("{collection}", "all").replace("{id}", "1")
}

async fn status(router: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let mut request = Request::builder()
        .method(method)
        .uri(address(path))
        .header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.clone().oneshot(request.body(Body::empty()).unwrap());
    let response = response.await.unwrap();
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await.unwrap();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether a client gets a route.
fn gets(audience: Audience, is_admin: bool, reads_all: bool) -> bool {
    match audience {
        Everybody => true,
        Admins => is_admin,
        AdminsWhoReadAll => is_admin && reads_all,
        // The settings of these servers allow nobody to post.
        Posters => false,
    }
}

/// Requests all routes as one client.
async fn walk(router: &Router, who: &str, headers: &[(&str, &str)], is_admin: bool, reads_all: bool) {
    for (method, path, audience) in ROUTES {
        let (status, text) = status(router, method, path, headers).await;
        // Loads over HTTP are disabled here. The response says so only to clients that could start
        // one.
        let is_refused = status == StatusCode::FORBIDDEN && !text.contains("loads over HTTP are disabled");
        let expected = gets(*audience, is_admin, reads_all);
        assert_eq!(!is_refused, expected, "{who}: {method} {path}: {status} {text}");
        if *audience == Admins && !expected {
            assert!(
                text.contains("weft rights token NAME --admin"),
                "{who}: {method} {path}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn every_route_says_for_whom_it_is_and_is_for_nobody_else() {
    let place = TwoHosts::new();
    let token = |name: &str, groups: &str, is_admin| {
        let bearer = TokenHolder {
            groups: Groups::listed(groups),
            is_admin,
        };
        let token = place.tokens().issue_for(name, bearer, None).unwrap();
        format!("Bearer {token}")
    };
    let reader = token("reader", "staff", false);
    let admin = token("admin", "", true);
    let reading_admin = token("reading-admin", "staff", true);
    let of_group = token("of-group", "operators", false);
    let mut settings = place.settings("10.0.0.0/8");
    settings.admin_groups = vec!["operators".to_owned()];
    let router = server::router(place.archive.clone(), settings);
    // First without rules, then with one.
    for has_rules in [false, true] {
        if has_rules {
            place.hide_secret();
        }
        walk(&router, "a stranger", &[], false, !has_rules).await;
        walk(&router, "a reader", &[("authorization", &reader)], false, true).await;
        walk(
            &router,
            "an admin",
            &[("authorization", &admin)],
            true,
            !has_rules,
        )
        .await;
        walk(
            &router,
            "an admin by group",
            &[("authorization", &of_group)],
            true,
            !has_rules,
        )
        .await;
        walk(
            &router,
            "an admin who reads",
            &[("authorization", &reading_admin)],
            true,
            true,
        )
        .await;
        // A header with groups from an untrusted address, with a name like the role.
        walk(
            &router,
            "a liar",
            &[("x-groups", "admin, operators")],
            false,
            !has_rules,
        )
        .await;
    }
    // An administrator does not see hidden pages.
    let (_, found) = status(
        &router,
        "GET",
        "/api/v1/search?q=vellichor",
        &[("authorization", &admin)],
    )
    .await;
    assert!(found.contains("\"total\":0"), "{found}");
    // Unless the rules allow it.
    let rules = "[[rule]]\naccess = \"deny\"\ndomain = \"secret.org\"\nexcept = [\"admin\"]\n";
    std::fs::write(place.archive.rights_path(), rules).unwrap();
    walk(
        &router,
        "an admin named by rules",
        &[("authorization", &admin)],
        true,
        true,
    )
    .await;
}

#[tokio::test]
async fn no_route_of_the_api_is_left_out_of_the_walk() {
    let place = TwoHosts::new();
    let router = server::router(place.archive.clone(), ServerSettings::default());
    let (_, text) = status(&router, "GET", "/api/v1/openapi.json", &[]).await;
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let paths = document["paths"].as_object().expect("paths");
    let told = paths.iter().flat_map(|(path, operations)| {
        let methods = operations.as_object().into_iter().flat_map(|it| it.keys());
        let methods = methods.filter(|method| ["get", "post"].contains(&method.as_str()));
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    let told: BTreeSet<(String, String)> = told.filter(|(_, path)| path != STORED).collect();
    let walked: BTreeSet<(String, String)> = ROUTES
        .iter()
        .map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    let left_out: Vec<_> = told.difference(&walked).collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

/// Regression: the owner of an archive on a local machine wrote one rule, and the page of loads
/// refused them.
#[test]
fn the_owner_on_loopback_administers_and_strangers_do_not() {
    let place = TwoHosts::new();
    place.hide_secret();
    let running = Running::start_over(place.archive.clone(), ServerSettings::default());
    let ask = |method: &str, path: &str, more: &str| {
        let path = address(path);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n{more}\r\n"
        );
        running.raw(request.as_bytes())
    };
    let is_refused =
        |text: &str| text.starts_with("HTTP/1.1 403") && !text.contains("loads over HTTP are disabled");
    for (method, path, audience) in ROUTES {
        let text = ask(method, path, "");
        // A rule hides a page from the owner, too.
        assert_eq!(
            !is_refused(&text),
            gets(*audience, true, false),
            "{method} {path}: {text}"
        );
    }
    for (method, path, _) in ROUTES.iter().filter(|(.., audience)| *audience == Admins) {
        for from in [
            "X-Forwarded-For: 10.0.0.7\r\n",
            "Via: 1.1 proxy\r\n",
            "Origin: http://evil.example\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
            "Sec-Fetch-Site: same-site\r\n",
        ] {
            let text = ask(method, path, from);
            assert!(is_refused(&text), "{method} {path} {from}: {text}");
        }
    }
    // A server with another name is behind a proxy.
    let named = ServerSettings {
        hosts: vec!["archive.example".into()],
        ..ServerSettings::default()
    };
    let running = Running::start_over(place.archive.clone(), named);
    let text = running.raw(b"GET /loads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(is_refused(&text), "{text}");
}

#[tokio::test]
async fn answers_to_admins_stay_out_of_caches_of_others() {
    let place = TwoHosts::new();
    let strangers = server::router(place.archive.clone(), ServerSettings::default());
    let owners = owned(strangers.clone());
    let kept = async |router: &Router| {
        let request = Request::get("/")
            .header("host", "localhost")
            .body(Body::empty())
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        response.headers()["cache-control"].to_str().unwrap().to_owned()
    };
    assert!(!kept(&strangers).await.contains("private"));
    assert!(kept(&owners).await.contains("private"));
}
