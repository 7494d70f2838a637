//! Signing in and out, over the router and in a real browser.

use std::net::SocketAddr;

use access::{Groups, TokenHolder};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use server::ServerSettings;

use crate::browser::govern;
use crate::driver::Browser;
use crate::fake::{Reply, get, send};
use crate::loaded::load;
use crate::port::{Running, exchange, with_replay};
use crate::rights::{OPEN, SECRET, TwoHosts, WORD};
use crate::web;

/// Returns an archive with pages only for staff, a token of staff, and a router.
fn scene() -> (TwoHosts, String, Router) {
    let place = TwoHosts::new();
    place.hide_secret();
    let token = place
        .tokens()
        .issue("room", Groups::listed("staff"), None)
        .unwrap();
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    (place, token, router)
}

async fn post(router: &Router, path: &str, headers: &[(&str, &str)], body: String) -> Reply {
    let mut request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(router, request.body(Body::from(body)).unwrap()).await
}

async fn get_with(router: &Router, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(router, request.body(Body::empty()).unwrap()).await
}

/// Returns the cookie that a browser sends after a `Set-Cookie`.
fn kept(reply: &Reply) -> String {
    let (pair, _) = reply.header("set-cookie").split_once(';').expect("a cookie");
    pair.to_owned()
}

/// Returns a server with a replay origin over the archive.
fn with_replay_origin(place: &TwoHosts) -> Running {
    let settings = ServerSettings {
        replay: with_replay().replay,
        ..place.settings("10.0.0.0/8")
    };
    Running::start_over(place.archive.clone(), settings)
}

fn asked(address: SocketAddr, path: &str, header: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\r\n");
    exchange(address, request.as_bytes())
}

/// A reader who is signed in sees a restricted page in the sandbox, and reads why it is not
/// replayed.
#[test]
fn a_page_that_only_the_reader_may_see_is_not_replayed_and_says_so() {
    let (place, token, _) = scene();
    let running = with_replay_origin(&place);
    let cookie = format!("Cookie: weft_token={token}\r\n");
    let sandbox = "class=\"button\" href=\"/sandbox/content?url=http%3A%2F%2Fsecret.org%2Fpage";
    for path in [
        format!("/page?url={SECRET}"),
        format!("/page?url={SECRET}&at=2014"),
        format!("/replay/20140311100000/{SECRET}"),
    ] {
        let shown = asked(running.address, &path, &cookie);
        assert!(shown.starts_with("HTTP/1.1 200"), "{path}: {shown}");
        for part in ["Access rules hide this page", sandbox, "href=\"/record?url="] {
            assert!(shown.contains(part), "{path} has no {part}: {shown}");
        }
        assert!(
            !shown.contains("mp_/") && !shown.contains("Embed<"),
            "{path}: {shown}"
        );
        let public = asked(running.address, &path, "");
        assert!(
            !public.contains("Access rules") && !public.contains(WORD),
            "{path}: {public}"
        );
    }
    // What the public may see is replayed. The bar says that restricted parts are missing.
    let partly = "without your access rights";
    for (path, header, part) in [
        (format!("/page?url={OPEN}"), &*cookie, "mp_/http://open.org/page"),
        (format!("/replay/20140311100000/{OPEN}"), &*cookie, partly),
        (format!("/replay/20140311100000/{OPEN}"), "", "mp_/"),
    ] {
        let shown = asked(running.address, &path, header);
        assert!(shown.contains(part), "{path} has no {part}: {shown}");
        assert_eq!(shown.contains(partly), part == partly, "{path}: {shown}");
    }
}

/// Regression: a page that rules hide was called "not captured", and administrators were not told
/// where to find the rule.
#[test]
fn a_url_that_is_not_found_may_be_hidden() {
    let (place, _, _) = scene();
    let admin = TokenHolder {
        groups: Groups::public(),
        is_admin: true,
    };
    let token = place.tokens().issue_for("operator", admin, None).unwrap();
    let admin = format!("Authorization: Bearer {token}\r\n");
    let running = with_replay_origin(&place);
    let rule = "href=\"/rights?url=http%3A%2F%2Fsecret.org%2Fpage&amp;as=admin#who\"";
    let absent = "http://secret.org/absent";
    for (url, header, part) in [
        (SECRET, &*admin, rule),
        (SECRET, "", "href=\"/sign-in\""),
        (absent, "", "href=\"/sign-in\""),
    ] {
        for path in [format!("/page?url={url}"), format!("/replay/2014/{url}")] {
            let shown = asked(running.address, &path, header);
            for part in ["or is hidden from you", part] {
                assert!(shown.contains(part), "{path} has no {part}: {shown}");
            }
        }
    }
    place.open_secret();
    for path in [format!("/page?url={absent}"), format!("/replay/2014/{absent}")] {
        let shown = asked(running.address, &path, "");
        assert!(!shown.contains("or is hidden from you"), "{path}: {shown}");
    }
}

/// Scripts of archived pages run at the replay origin, and must not act as the reader who is signed
/// in at the archive.
#[test]
fn the_replay_origin_takes_no_cookie_and_no_token() {
    let (place, token, _) = scene();
    let running = with_replay_origin(&place);
    let replay = running.replay.expect("a replay origin");
    let page = format!("/replay/20140311100000mp_/{SECRET}");
    let check = format!("/replay-check?url={SECRET}");
    for header in [
        format!("Cookie: weft_token={token}\r\n"),
        format!("Authorization: Bearer {token}\r\n"),
    ] {
        // The archive's own port accepts the token.
        let checked = asked(running.address, &check, &header);
        assert!(checked.starts_with("HTTP/1.1 200"), "{checked}");
        let shown = asked(replay, &page, &header);
        assert!(
            shown.starts_with("HTTP/1.1 404") && !shown.contains(WORD),
            "{shown}"
        );
    }
    let checked = asked(running.address, &check, "");
    assert!(checked.starts_with("HTTP/1.1 404"), "{checked}");
    place.open_secret();
    let shown = asked(replay, &page, "");
    assert!(
        shown.starts_with("HTTP/1.1 200") && shown.contains(WORD),
        "{shown}"
    );
}

#[tokio::test]
async fn a_token_becomes_a_cookie_that_counts_as_the_token_does() {
    let (place, token, router) = scene();
    let page = get(&router, "/sign-in").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    assert!(
        page.body.contains("<h1>Sign in</h1>") && page.body.contains("type=\"password\""),
        "{}",
        page.body
    );
    // Otherwise browsers would not send the origin of the form.
    assert_eq!(page.header("referrer-policy"), "same-origin");

    let form = format!("token=+{token}%0A");
    let reply = post(
        &router,
        "/sign-in",
        &[("sec-fetch-site", "same-origin")],
        form.clone(),
    )
    .await;
    assert_eq!(
        (reply.status, reply.header("location")),
        (StatusCode::SEE_OTHER, "/")
    );
    let cookie = format!("weft_token={token}; Path=/; HttpOnly; SameSite=Strict");
    assert_eq!(reply.header("set-cookie"), cookie);
    assert!(
        reply.header("cache-control").contains("private"),
        "{:?}",
        reply.headers
    );
    for secure in [("origin", "https://localhost"), ("x-forwarded-proto", "https")] {
        let reply = post(&router, "/sign-in", &[secure], form.clone()).await;
        assert_eq!(
            reply.header("set-cookie"),
            format!("{cookie}; Secure"),
            "{secure:?}"
        );
    }

    let cookie = format!("other=1; {}; last=2", kept(&reply));
    let with = [("cookie", &*cookie)];
    let found = get_with(&router, &format!("/page?url={SECRET}"), &with).await;
    assert!(
        found.status.is_success() && found.body.contains(WORD),
        "{}",
        found.body
    );
    assert!(
        found.body.contains("<bdi>staff") && found.body.contains(">Sign out<"),
        "{}",
        found.body
    );
    assert_eq!(found.header("cache-control"), "private, no-cache");
    assert!(found.header("vary").contains("cookie"), "{:?}", found.headers);
    // Permission to read everything does not make an administrator.
    for path in ["/api/v1/status", "/rights", "/takedowns", "/loads"] {
        assert_eq!(
            get_with(&router, path, &with).await.status,
            StatusCode::FORBIDDEN,
            "{path}"
        );
    }
    // The header takes precedence over the cookie.
    let both = [("cookie", &*cookie), ("authorization", "Bearer x")];
    assert_eq!(
        get_with(&router, "/", &both).await.status,
        StatusCode::UNAUTHORIZED
    );

    let page = get_with(&router, "/sign-in", &with).await;
    assert!(
        page.body.contains("action=\"/sign-out\"") && !page.body.contains(&token),
        "{}",
        page.body
    );
    let reply = post(&router, "/sign-out", &with, String::new()).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER);
    assert_eq!(
        reply.header("set-cookie"),
        "weft_token=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    );

    // In effect from the next request on, and never treated as the public.
    place.tokens().revoke("room").unwrap();
    for path in [
        "/",
        "/search?q=river",
        "/sandbox/content?url=http://open.org/page",
        "/api/v1/top",
        "/rights",
    ] {
        let refused = get_with(&router, path, &with).await;
        assert_eq!(
            refused.status,
            StatusCode::UNAUTHORIZED,
            "{path}: {}",
            refused.body
        );
    }
    let refused = get_with(&router, "/", &with).await;
    assert!(
        refused.body.contains("Sign in again") && refused.body.contains("href=\"/sign-in\""),
        "{}",
        refused.body
    );
    let page = get_with(&router, "/sign-in", &with).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.body.contains("withdrawn") && page.body.contains("action=\"/sign-out\""),
        "{}",
        page.body
    );
    let styles = get_with(&router, ui::ASSETS[0].path, &with).await;
    assert_eq!(styles.status, StatusCode::OK);
    assert_eq!(
        post(&router, "/sign-out", &with, String::new()).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn a_wrong_token_signs_nobody_in_and_is_told_nothing() {
    let (place, token, router) = scene();
    let over = place
        .tokens()
        .issue("over", Groups::listed("staff"), Some("1990-01-01".to_owned()))
        .unwrap();
    let mut said = Vec::new();
    for wrong in [
        "x",
        "",
        &token[1..],
        &over,
        "<script>alert(1)</script>",
        &"y".repeat(3000),
    ] {
        let body: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("token", wrong)
            .finish();
        let reply = post(&router, "/sign-in", &[], body).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{wrong}");
        assert!(reply.headers.get("set-cookie").is_none(), "{wrong}");
        assert!(
            reply.body.contains("role=\"alert\"") && reply.body.contains("Not signed in"),
            "{}",
            reply.body
        );
        said.push(reply.body);
    }
    said.dedup();
    assert_eq!(
        said.len(),
        1,
        "the same for all of them, and nothing of what was typed"
    );
    let large = post(&router, "/sign-in", &[], format!("token={}", "y".repeat(5000))).await;
    assert_eq!(large.status, StatusCode::BAD_REQUEST);
    let in_address = get(&router, &format!("/sign-in?token={token}")).await;
    assert!(in_address.headers.get("set-cookie").is_none());
    let post_in_address = post(&router, &format!("/sign-in?token={token}"), &[], String::new()).await;
    assert_eq!(post_in_address.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_form_of_another_site_signs_nobody_in_or_out() {
    let (_place, token, router) = scene();
    let cookie = format!("weft_token={token}");
    for from in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://evil.example"),
        // An archived page in its sandbox.
        ("origin", "null"),
        ("origin", "http://localhost:81"),
    ] {
        for path in ["/sign-in", "/sign-out"] {
            let headers = [("cookie", &*cookie), from];
            let reply = post(&router, path, &headers, format!("token={token}")).await;
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{path} {from:?}");
            assert!(reply.headers.get("set-cookie").is_none(), "{path} {from:?}");
        }
    }
    let same = [("origin", "http://localhost")];
    let reply = post(&router, "/sign-in", &same, format!("token={token}")).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn where_no_tokens_are_taken_nobody_signs_in() {
    let place = TwoHosts::new();
    let router = server::router(place.archive.clone(), ServerSettings::default());
    assert_eq!(get(&router, "/sign-in").await.status, StatusCode::NOT_FOUND);
    let reply = post(&router, "/sign-in", &[], "token=x".to_owned()).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    // A cookie of another server on this machine is ignored here.
    let reply = get_with(&router, "/", &[("cookie", "weft_token=x")]).await;
    assert_eq!(reply.status, StatusCode::OK);
}

/// Only navigations to pages are redirected, and only to this server.
#[tokio::test]
async fn whoever_follows_a_link_of_another_site_arrives_with_the_cookie() {
    let (_place, token, router) = scene();
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    let path = "/page?url=http%3A%2F%2Fopen.org%2Fpage&x=%22%3E<script>";
    let reply = get_with(&router, &path.replace("<script>", "%3Cscript%3E"), &link).await;
    let on = "content=\"0;url=/page?url=http%3A%2F%2Fopen.org%2Fpage&amp;x=%22%3E%3Cscript%3E\"";
    assert!(reply.body.contains(on), "{}", reply.body);
    assert_eq!(reply.header("cache-control"), "no-store");
    assert!(!reply.body.contains("river"), "{}", reply.body);
    let cookie = format!("weft_token={token}");
    let known = [&link[..], &[("cookie", &cookie)]].concat();
    assert!(
        get_with(&router, "/search?q=river", &known)
            .await
            .body
            .contains("river")
    );
    for path in [
        "/api/v1/search?q=river",
        "//evil.example/x",
        "/sandbox/content?url=http://open.org/page",
        "/nowhere",
    ] {
        let reply = get_with(&router, path, &link).await;
        assert!(
            !reply.body.contains("http-equiv=\"refresh\""),
            "{path}: {}",
            reply.body
        );
    }
    for other in [
        [link[0], link[1], ("sec-fetch-dest", "iframe")],
        [link[0], ("sec-fetch-mode", "no-cors"), link[2]],
        [("sec-fetch-site", "same-origin"), link[1], link[2]],
    ] {
        let reply = get_with(&router, "/search?q=river", &other).await;
        assert!(!reply.body.contains("http-equiv=\"refresh\""), "{other:?}");
    }
}

/// A browser and a server with tokens over the sample web, some of which is hidden from readers.
struct Room {
    browser: Browser,
    running: Running,
    token: String,
    _folders: [tempfile::TempDir; 2],
}

impl Room {
    fn set() -> Option<Room> {
        let browser = Browser::start(&[])?;
        let [files, keys] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
        let file = web::write(files.path(), "http://trap.example");
        let loaded = load(&[file], Some("made up"));
        govern(&loaded.archive);
        let tokens = access::TokensFile::at(keys.path().join("tokens.toml"));
        let token = tokens
            .issue("room", Groups::listed("readers"), None)
            .expect("a token");
        let settings = ServerSettings {
            tokens: Some(tokens.path().to_owned()),
            ..ServerSettings::default()
        };
        let running = Running::start_over(loaded.archive.clone(), settings);
        // The archive's folder stays until the process ends.
        std::mem::forget(loaded);
        Some(Room {
            browser,
            running,
            token,
            _folders: [files, keys],
        })
    }

    fn go(&self, path: &str) {
        self.browser.go(&format!("http://{}{path}", self.running.address));
    }

    fn wait_for(&self, path: &str) {
        let address = format!("http://{}{path}", self.running.address);
        let begun = std::time::Instant::now();
        while !self.browser.address().starts_with(&address) {
            assert!(begun.elapsed().as_secs() < 30, "at {}", self.browser.address());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

#[test]
fn a_reader_signs_in_follows_archived_links_and_signs_out() {
    let Some(room) = Room::set() else { return };
    let browser = &room.browser;
    let viewer = || browser.text(".viewer");
    room.go("/");
    // The owner, on the server's own machine.
    assert_eq!(viewer(), "admin");
    browser.click("header.site a[href='/sign-in']");
    room.wait_for("/sign-in");
    browser.click("#token");
    browser.press("wrong");
    browser.press(crate::driver::ENTER);
    assert!(browser.text("[role=alert]").contains("Not signed in"));
    browser.click("#token");
    browser.press(&room.token);
    browser.press(crate::driver::ENTER);
    browser.text(".hero");
    assert_eq!(viewer(), "readers");
    // No script can read it, neither ours nor that of an archived page.
    assert_eq!(browser.script("return document.cookie"), "");

    // A link in an archived page leads to one of our pages, with the reader's permissions.
    room.go(&format!("/sandbox/content?url={}", web::HOSTILE));
    assert_eq!(
        browser.script("try { return document.cookie } catch (error) { return error.name }"),
        "SecurityError"
    );
    browser.click("a[href*='looms']");
    room.wait_for("/page?url=");
    assert_eq!(viewer(), "readers");
    room.go(&format!("/page?url={}", web::HOSTILE));
    assert_eq!(viewer(), "readers");

    browser.click("header.site a[href='/sign-in']");
    room.wait_for("/sign-in");
    assert_eq!(browser.text("h1"), "Signed in");
    browser.click("form[action='/sign-out'] button");
    browser.text(".hero");
    // The owner, on the server's own machine.
    assert_eq!(viewer(), "admin");
}

#[test]
fn the_pages_of_signing_in_fit_and_can_be_read() {
    let Some(room) = Room::set() else { return };
    for width in [320, 390, 1280] {
        room.browser.size(width, 844);
        for dark in [false, true] {
            room.browser.dark(dark);
            for path in ["/sign-in", "/rights", "/"] {
                room.go(path);
                crate::browser::check_readable(&room.browser, &format!("{path} at {width}, dark: {dark}"));
            }
        }
    }
}
