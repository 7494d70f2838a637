//! Archived sites in their own origins.

use std::sync::atomic::Ordering;

use server::REPLAY_DOMAIN;

use super::crawls::Proxy;
use super::trap::{Port, REALMS, XHTML_REALMS, code, realm, xhtml_realm};
use super::*;

const TIME: &str = "20140126200624";
const SITE: &str = "http--a-example";

/// Headers of a browser for a request of the worker, for a frame, and for a window.
const DATA: &str = "Sec-Fetch-Dest: empty\r\nSec-Fetch-Mode: same-origin\r\nSec-Fetch-Site: same-origin\r\n";
const FRAME: &str = "Sec-Fetch-Dest: iframe\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\n";
const WINDOW: &str = "Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\n";

fn scene(captures: &[(&str, i64, &str)]) -> Scene {
    over(Scene::of(captures))
}

/// Returns the scene with a server that gives sites origins.
pub(super) fn over(scene: Scene) -> Scene {
    let mut settings = with_replay();
    if let Some(replay) = &mut settings.replay {
        replay.domain = Some(REPLAY_DOMAIN.to_owned());
    }
    Scene {
        server: Running::start_over(ServerParts::from(scene.loaded.archive.clone()), settings),
        ..scene
    }
}

/// Returns the response to a request for a path of the origin with `label`.
fn at(scene: &Scene, label: &str, path: &str, headers: &str) -> String {
    let port = scene.replay().port();
    scene.exchange(&format!(
        "GET {path} HTTP/1.1\r\nHost: {label}.{TIME}.{REPLAY_DOMAIN}:{port}\r\nConnection: close\r\n{headers}\r\n"
    ))
}

/// Returns the path with which the worker asks for a URL.
fn asked(purpose: &str, url: &str) -> String {
    let url: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();
    format!("/__weft/get?for={purpose}&url={url}")
}

#[test]
fn only_the_worker_gets_content() {
    let scene = scene(&[("http://a.example/p?q", 0, &format!("{HTML}<p>secret"))]);
    let page = asked("iframe", "/p?q");
    check(
        &at(&scene, SITE, &page, DATA),
        200,
        &["<p>secret", "/__weft/head.js"],
    );
    check(
        &at(&scene, SITE, "/p?q", FRAME),
        200,
        &[
            "<script src=\"/__weft/install.js\"",
            "content-security-policy: default-src 'none'; script-src 'self'",
        ],
    );
    let main = scene.server.address.port();
    check(
        &at(&scene, SITE, "/p?q", WINDOW),
        302,
        &[&format!(
            "location: http://localhost:{main}/replay/{TIME}/http://a.example/p?q\r\n"
        )],
    );
    let with = |known: &str, other: &str| DATA.replace(known, other);
    for (label, path, headers) in [
        (SITE, "/p?q", String::new()),
        (SITE, "/p?q", DATA.to_owned()),
        (SITE, page.as_str(), String::new()),
        (SITE, page.as_str(), FRAME.to_owned()),
        (SITE, page.as_str(), WINDOW.to_owned()),
        (SITE, page.as_str(), with("empty", "image")),
        (SITE, page.as_str(), with("empty", "serviceworker")),
        (SITE, page.as_str(), with("Mode: same-origin", "Mode: navigate")),
        (SITE, page.as_str(), with("Site: same-origin", "Site: same-site")),
        (SITE, page.as_str(), with("Site: same-origin", "Site: cross-site")),
        (
            "web",
            page.as_str(),
            with("Site: same-origin", "Site: cross-site"),
        ),
        ("web", "/", FRAME.to_owned()),
        (
            "d--0123456789012345678901234567890123456789",
            "/p?q",
            FRAME.to_owned(),
        ),
        (SITE, "/__weft/worker.js", DATA.to_owned()),
        (SITE, "/sw.js", with("empty", "serviceworker")),
        (SITE, "/__weft/other", FRAME.to_owned()),
    ] {
        let answer = at(&scene, label, path, &headers);
        check(&answer, 403, &["content-security-policy: default-src 'none'"]);
        assert!(!answer.contains("secret"), "{label} {path} {headers}");
    }
    // A site has no other sites in its own origin, where its scripts could read them.
    let other = asked("fetch", "http://b.example/");
    check(&at(&scene, SITE, &other, DATA), 400, &[]);
    let worker = at(&scene, SITE, "/__weft/worker.js", &with("empty", "serviceworker"));
    check(
        &worker,
        200,
        &[
            "service-worker-allowed: /\r\n",
            "const SITE = \"http://a.example\";",
        ],
    );
    // The API and the pages of the archive are not there, and other names are not known.
    check(&at(&scene, SITE, "/api/v1/search?q=secret", ""), 403, &[]);
    check(
        &at(&scene, "www", "/", FRAME),
        404,
        &["content-security-policy: sandbox"],
    );
}

/// The names of the server are those of the archive's pages.
#[test]
fn behind_a_proxy_only_the_archive_shows_sites_in_frames() {
    let scene = Scene::of(&[("http://a.example/", 0, &format!("{HTML}x"))]);
    let mut settings = with_replay();
    settings.hosts = vec!["archive.example.org".to_owned()];
    if let Some(replay) = &mut settings.replay {
        replay.url = Some("https://replay.example.org:8443".to_owned());
        replay.domain = Some("replay.example.org".to_owned());
    }
    let scene = Scene {
        server: Running::start_over(ServerParts::from(scene.loaded.archive.clone()), settings),
        ..scene
    };
    let small = scene.exchange(&format!(
        "GET / HTTP/1.1\r\nHost: {SITE}.{TIME}.replay.example.org:8443\r\nConnection: close\r\n{FRAME}\r\n"
    ));
    check(
        &small,
        200,
        &[
            "/__weft/install.js",
            "; frame-ancestors https://*.replay.example.org:8443 https://archive.example.org:*\r\n",
        ],
    );
}

#[test]
fn documents_are_as_captured_but_for_their_script() {
    let document = "<!doctype html>\r\n<html><head><base href=/d/><style>@import '//b.example/';</style></head>\
        <body onload=\"location = 'http://b.example/'\"><img src=http://b.example/x integrity=y><a href=//b.example ping=z></a>";
    let data = "{\"html\": \"<iframe src='https://b.example/'>\"}";
    let scene = scene(&[
        (
            "http://a.example/",
            0,
            &format!("Set-Cookie: a=b\r\n{HTML}{document}"),
        ),
        ("http://a.example/data", 0, &format!("{HTML}{data}")),
        (
            "http://a.example/feed.xml",
            0,
            "Content-Type: application/xml\r\n\r\n<feed/>",
        ),
        (
            "http://a.example/s.css",
            0,
            "Content-Type: text/css\r\n\r\na{b:url(/c)}",
        ),
        (
            "http://a.example/w.js",
            0,
            "Content-Type: text/javascript\r\n\r\n'use strict'; 1",
        ),
    ]);
    let data_as_frame = at(&scene, SITE, &asked("iframe", "/feed.xml"), DATA);
    check(
        &data_as_frame,
        200,
        &["script-src 'none'; frame-src http://*.", "permissions-policy: "],
    );
    let port = scene.replay().port();
    let head = format!(
        "<script src=\"http://{SITE}.{TIME}.{REPLAY_DOMAIN}:{port}/__weft/head.js\" data-url=\"http://a.example/\" data-time=\"{TIME}\"></script>\
         <script>document.currentScript.remove();self.weftHead?delete self.weftHead:stop()</script>"
    );
    let shown = at(&scene, SITE, &asked("iframe", "/"), DATA);
    check(
        &shown,
        200,
        &[
            &document.replacen("<head>", &format!("<head>{head}"), 1),
            "content-type: text/html; charset=UTF-8\r\n",
            "x-archive-orig-set-cookie: a=b\r\n",
            "x-content-type-options: nosniff\r\n",
            "memento-datetime: Sun, 26 Jan 2014 20:06:24 GMT\r\n",
            &format!("frame-src http://*.{REPLAY_DOMAIN}:{port}; "),
            &format!(
                "frame-ancestors http://*.{REPLAY_DOMAIN}:{port} http://localhost:{}",
                scene.server.address.port()
            ),
        ],
    );
    assert!(!shown.contains("\r\nset-cookie"), "{shown}");
    for (purpose, path, body) in [
        ("fetch", "/data", data),
        ("style", "/s.css", "a{b:url(/c)}"),
        ("worker", "/w.js", "self.weftInWorker();\n'use strict'; 1"),
    ] {
        let answer = at(&scene, SITE, &asked(purpose, path), DATA);
        check(&answer, 200, &[body]);
    }
    let missing = at(&scene, SITE, &asked("iframe", "/none"), DATA);
    check(
        &missing,
        404,
        &["Not captured", "data-url=\"http://a.example/none\""],
    );
    check(
        &at(&scene, SITE, &asked("image", "/none"), DATA),
        404,
        &["text/plain"],
    );
}

#[test]
fn redirects_lead_to_the_origin_of_their_target() {
    let moved = "HTTP/1.1 302 Found\r\nLocation: https://b.example/x?y\r\n\r\n";
    let long = format!("https://{}.example/", "a".repeat(60));
    let circle = |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n");
    let scene = scene(&[
        ("http://a.example/moved", 0, moved),
        (&long, 0, &format!("{HTML}long name")),
        ("http://a.example/one", 0, &circle("/two")),
        ("http://a.example/two", 0, &circle("/one")),
    ]);
    let rest = format!("{TIME}.{REPLAY_DOMAIN}:{}", scene.replay().port());
    check(
        &at(&scene, SITE, &asked("iframe", "/moved"), DATA),
        302,
        &[&format!("location: http://https--b-example.{rest}/x?y\r\n")],
    );
    check(
        &at(&scene, SITE, &asked("image", "/moved"), DATA),
        302,
        &[&format!(
            "location: http://web.{rest}/__weft/get/https/b.example/x?for=image&url=https%3A%2F%2Fb.example%2Fx%3Fy\r\n"
        )],
    );
    check(
        &at(&scene, SITE, &asked("iframe", "/one"), DATA),
        508,
        &["Redirects without an end", "data-url=\"http://a.example/one\""],
    );
    // The server knows the digest of a long name once it has given it out.
    let url: String = url::form_urlencoded::byte_serialize(long.as_bytes()).collect();
    let to = at(&scene, SITE, &format!("/__weft/to?url={url}"), FRAME);
    check(&to, 302, &["location: http://d--"]);
    let label = to
        .split("location: http://")
        .nth(1)
        .and_then(|rest| rest.split('.').next());
    check(
        &at(&scene, label.expect("a label"), &asked("iframe", "/"), DATA),
        200,
        &["long name"],
    );
}

#[test]
fn a_page_reads_of_other_sites_what_they_allow() {
    let allowing =
        |who: &str| format!("Access-Control-Allow-Origin: {who}\r\nContent-Type: text/plain\r\n\r\nx");
    let scene = scene(&[
        ("http://b.example/all", 0, &allowing("*")),
        ("http://b.example/one", 0, &allowing("http://a.example")),
        ("http://b.example/other", 0, &allowing("http://c.example")),
        ("http://b.example/none", 0, "Content-Type: text/plain\r\n\r\nx"),
    ]);
    let rest = format!("{TIME}.{REPLAY_DOMAIN}:{}", scene.replay().port());
    let cors = |origin: &str| {
        format!(
            "Sec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: same-site\r\nOrigin: {origin}\r\n"
        )
    };
    let page = format!("http://{SITE}.{rest}");
    for (name, parameters, origin, is_read) in [
        ("all", "", &*page, true),
        ("one", "", &*page, true),
        ("other", "", &*page, false),
        ("none", "", &*page, false),
        ("none", "&loaded=1", &*page, true),
        ("one", "", "null", false),
        ("all", "", "http://evil.example", false),
    ] {
        let path = format!(
            "{}{parameters}",
            asked("fetch", &format!("http://b.example/{name}"))
        );
        let answer = at(&scene, "web", &path, &cors(origin));
        check(&answer, 200, &[]);
        let is_shared = answer.contains(&format!("access-control-allow-origin: {origin}\r\n"));
        assert_eq!(is_shared, is_read, "{name}{parameters} for {origin}: {answer}");
    }
}

/// The worker asks as the public, whatever the reader may see elsewhere.
#[test]
fn access_rules_hold_for_every_request() {
    let scene = scene(&[
        ("http://a.example/", 0, &format!("{HTML}open")),
        ("http://a.example/closed", 0, &format!("{HTML}secret")),
    ]);
    let rules = "[[rule]]\naccess = \"deny\"\nprefix = \"example,a)/closed\"\n";
    std::fs::write(scene.loaded.archive.rights_path(), rules).expect("written");
    check(&at(&scene, SITE, &asked("iframe", "/"), DATA), 200, &["open"]);
    for purpose in ["iframe", "image", "fetch"] {
        let headers = format!("{DATA}Cookie: weft_token=x\r\nAuthorization: Bearer x\r\n");
        let answer = at(&scene, SITE, &asked(purpose, "/closed"), &headers);
        check(&answer, 404, &[]);
        assert!(!answer.contains("secret"), "{answer}");
    }
}

#[test]
fn what_a_site_stored_is_deleted() {
    let scene = scene(&[("http://a.example/", 0, &format!("{HTML}x"))]);
    check(
        &at(&scene, SITE, "/__weft/clear", FRAME),
        200,
        &["/__weft/install.js"],
    );
    // It would remove the worker, too.
    assert!(!at(&scene, SITE, "/__weft/clear", FRAME).contains("clear-site-data"));
    check(&at(&scene, SITE, "/__weft/clear", DATA), 403, &[]);
}

/// Opens a page below the bar and waits for a title with this prefix. Returns the title.
fn title_of(browser: &Browser, scene: &Scene, url: &str, prefix: &str) -> String {
    browser.go(&format!("http://{}/replay/{TIME}/{url}", scene.server.address));
    let title = || {
        let title = browser.script_in_frame("iframe.replay", "return document.title");
        title.ok().and_then(|title| title.as_str().map(str::to_owned))
    };
    wait_for(browser, url, || {
        title().is_some_and(|title| title.starts_with(prefix))
    });
    title().unwrap_or_default()
}

/// Also checks that nothing is requested from the live web.
#[test]
fn a_page_works_as_it_did() {
    let proxy = Proxy::start();
    let Some(browser) = Browser::start(&proxy.flags()) else {
        return;
    };
    let page = format!(
        "{HTML}<title>one</title><link rel=stylesheet href=https://cdn.example/s.css><h1>x</h1><iframe id=f src=https://frame.example/></iframe><script src=//cdn.example/x.js></script><script>\
         const said = [location.pathname + location.search, document.URL, loaded];\
         localStorage.setItem('a', 'stored'); document.cookie = 'c=cookie; domain=.a.example; path=/'; history.pushState({{}}, '', 'https://a.example/pushed?r');\
         said.push(localStorage.getItem('a'), document.cookie, location.pathname, getComputedStyle(document.querySelector('h1')).color, parent === self);\
         addEventListener('message', async (event) => {{ said.push(event.origin, event.data, event.source === f.contentWindow);\
         said.push(await (await fetch('/data?x')).text(), await (await fetch('https://a.example/data?x')).text(), (await import('https://cdn.example/m.js')).default);\
         const inner = document.createElement('iframe'); inner.srcdoc = `<script>fetch('https://cdn.example/text').then((answer) => answer.text()).then((text) => parent.got(text))</scr` + `ipt>`;\
         said.push(await new Promise((resolve) => {{ self.got = resolve; document.body.append(inner) }}));\
         const worker = new Worker('/w.js'); worker.onmessage = (event) => {{ document.title = 'said ' + said.concat(event.data).join(' ') }} }}, {{ once: true }})</script>"
    );
    let script =
        |text: &str| format!("Access-Control-Allow-Origin: *\r\nContent-Type: text/javascript\r\n\r\n{text}");
    let scene = scene(&[
        ("https://a.example/page?q=1", 0, &page),
        (
            "https://a.example/data?x",
            0,
            "Content-Type: text/plain\r\n\r\ndata",
        ),
        (
            "https://a.example/w.js",
            0,
            &script(
                "fetch('https://cdn.example/m.js').then((answer) => answer.text()).then((text) => postMessage(text.length))",
            ),
        ),
        (
            "https://cdn.example/s.css",
            0,
            "Content-Type: text/css\r\n\r\nh1{color:rgb(1,2,3)}",
        ),
        ("https://cdn.example/text", 0, &script("srcdoc")),
        ("https://cdn.example/x.js", 0, &script("var loaded = 'loaded'")),
        ("https://cdn.example/m.js", 0, &script("export default 'module'")),
        (
            "https://frame.example/",
            0,
            &format!(
                "{HTML}<title>framed</title><script>setInterval(() => parent.postMessage('hello', 'https://a.example'), 100)</script>"
            ),
        ),
    ]);
    let title = title_of(&browser, &scene, "https://a.example/page?q=1", "said");
    assert_eq!(
        title,
        "said /page?q=1 https://a.example/page?q=1 loaded stored c=cookie /pushed rgb(1, 2, 3) true https://frame.example hello true data data module srcdoc 23"
    );
    assert_eq!(proxy.take(), [""; 0]);
}

/// The browser resolves what a response refers to against the address of the response.
#[test]
fn modules_styles_and_workers_refer_to_what_is_next_to_them() {
    let proxy = Proxy::start();
    let Some(browser) = Browser::start(&proxy.flags()) else {
        return;
    };
    let page = format!(
        "{HTML}<title>page</title><link rel=stylesheet href=css/s.css><link rel=stylesheet href=https://cdn.example/a/s.css><h1>x</h1><script type=module>\
         import own from './js/main.js'; import moved from '/lib';\
         const worker = new Worker('js/w.js'); worker.onmessage = async ({{ data }}) => {{ const {{ url }} = await fetch('data');\
         const {{ color, fontSize, letterSpacing }} = getComputedStyle(document.querySelector('h1'));\
         document.title = ['said', own, moved, data, new URL(url).pathname, color, fontSize, letterSpacing].join(' ') }}</script>"
    );
    let part = "export { default } from './part.js'";
    // No script may read the styles of the other site.
    let files = [
        ("a.example/app/css/s.css", "css", "@import 'more.css';"),
        ("a.example/app/css/more.css", "css", "h1{color:rgb(1,2,3)}"),
        (
            "cdn.example/a/s.css",
            "css",
            "@import 'near.css'; @import '/root.css';",
        ),
        ("cdn.example/a/near.css", "css", "h1{font-size:7px}"),
        ("cdn.example/root.css", "css", "h1{letter-spacing:3px}"),
        ("a.example/app/js/main.js", "javascript", part),
        (
            "a.example/app/js/part.js",
            "javascript",
            "export default new URL(import.meta.url).pathname",
        ),
        ("a.example/lib@3/index.js", "javascript", part),
        ("a.example/lib@3/part.js", "javascript", "export default 'moved'"),
        (
            "a.example/app/js/w.js",
            "javascript",
            "importScripts('sieve.js'); postMessage(found + location.pathname)",
        ),
        (
            "a.example/app/js/sieve.js",
            "javascript",
            "const found = 'sieve '",
        ),
        ("a.example/app/data", "plain", "data"),
    ];
    let files = files.map(|(url, kind, text)| {
        (
            format!("https://{url}"),
            format!("Content-Type: text/{kind}\r\n\r\n{text}"),
        )
    });
    let moved = "HTTP/1.1 302 Found\r\nLocation: /lib@3/index.js\r\n\r\n";
    let mut captures = vec![
        ("https://a.example/app/", 0, page.as_str()),
        ("https://a.example/lib", 0, moved),
    ];
    captures.extend(
        files
            .iter()
            .map(|(url, message)| (url.as_str(), 0, message.as_str())),
    );
    let scene = scene(&captures);
    assert_eq!(
        title_of(&browser, &scene, "https://a.example/app/", "said"),
        "said /app/js/part.js moved sieve /app/js/w.js /app/data rgb(1, 2, 3) 7px 3px"
    );
    assert_eq!(proxy.take(), [""; 0]);
}

#[test]
fn the_site_of_the_demo_opens_in_its_own_origin() {
    let proxy = Proxy::start();
    let Some(browser) = Browser::start(&proxy.flags()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let web = generate::demo::write(folder.path()).expect("the site of the demo");
    let scene = over(Scene::over(load(&web.files, None), true));
    browser.go(&format!(
        "http://{}/replay/{TIME}/{}",
        scene.server.address, web.start_url
    ));
    let expected = format!(
        "http://https--docs-weft-example.{TIME}.{REPLAY_DOMAIN}:{} {}",
        scene.replay().port(),
        web.start_url
    );
    let shown = "return document.styleSheets[0].cssRules.length && self.origin + ' ' + document.URL";
    wait_for(&browser, "the start page with its style", || {
        browser
            .script_in_frame("iframe.replay", shown)
            .is_ok_and(|shown| shown == expected)
    });
    assert_eq!(proxy.take(), [""; 0]);
}

/// Script of a page that tries to read what `victim.example` has, and pages of the archive. The
/// title names the ways that succeeded.
const SPY: &str = r#"<!doctype html><title>spy</title><iframe id=v src="https://victim.example/p"></iframe><img id=i src="https://victim.example/i.svg">
<link id=l rel=stylesheet href="https://victim.example/secret.css"><script>window.errors = []; onerror = (message) => { errors.push(message); return true; }</script>
<script src="https://victim.example/secret.js"></script><script>
const V = "https://victim.example/p", rest = location.host.slice(location.host.indexOf(".")), O = "http://https--victim-example" + rest, WEB = "http://web" + rest, API = location.ancestorOrigins[0];
const text = async (url, init) => (await fetch(url, init)).text();
const until = (make, ms) => new Promise((resolve) => { make(resolve); setTimeout(() => resolve(""), ms); });
const request = (type) => until((resolve) => { const x = new XMLHttpRequest(); x.open("GET", V); x.responseType = type; x.onload = () => resolve(type ? x.response.body.innerText : x.responseText); x.onerror = () => resolve(""); x.send(); }, 900);
const blob = (code) => URL.createObjectURL(new Blob([code]));
const asks = (url) => "fetch('" + url + "').then((a) => a.text()).then((t) => postMessage(t), () => postMessage(''))";
const works = (url) => until((resolve) => { const worker = new Worker(url); worker.onmessage = (event) => resolve(event.data); worker.onerror = () => resolve(""); }, 900);
const ways = {
  fetch: () => text(V), json: () => text(V + "/data.json"), opaque: () => text(V, { mode: "no-cors" }), origin: () => text(O + "/p"),
  origin_get: () => text(O + "/__weft/get?for=fetch&url=/p"), web: () => text(WEB + "/__weft/get?for=font&loaded=1&url=" + V),
  web_path: () => text(WEB + "/__weft/get/https/victim.example/p?for=font&loaded=1&url=" + V), web_own: () => until((resolve) => { const script = document.createElement("script"); script.crossOrigin = ""; script.onload = () => resolve("secret"); script.onerror = () => resolve(""); script.src = WEB + "/__weft/get/http/" + location.host + "/__weft/get?for=font&loaded=1&url=https://victim.example/secret.js"; document.body.append(script); }, 900),
  web_no_url: () => text(WEB + "/__weft/get/https/%/?for=font&loaded=1&url=" + V), own_get: () => text("/__weft/get?for=fetch&url=/"),
  clear: () => text("/__weft/clear"), request: () => request(""), request_document: () => request("document"),
  frame: () => v.contentDocument.body.innerText, frame_window: () => v.contentWindow.document.body.innerText, frame_storage: () => v.contentWindow.localStorage.k, frame_index: () => window[0].document.body.innerText,
  domain: () => { document.domain = rest.split(".").slice(2).join(".").split(":")[0]; return window[0].document.body.innerText; },
  storage: () => JSON.stringify(localStorage) + JSON.stringify(sessionStorage), cookie: () => document.cookie, databases: async () => JSON.stringify(await indexedDB.databases()), caches: async () => JSON.stringify(await caches.keys()),
  canvas: async () => { await i.decode(); const canvas = document.createElement("canvas"); canvas.getContext("2d").drawImage(i, 0, 0); return canvas.toDataURL() + "secret"; },
  css: () => [...l.sheet.cssRules].map((rule) => rule.cssText).join(), errors: () => errors.join(), module: async () => JSON.stringify(await import(V + "/data.json", { with: { type: "json" } })),
  worker: () => works("https://victim.example/secret.js"), worker_blob: () => works(blob(asks(V))), worker_get: () => works(blob(asks(location.origin + "/__weft/get?for=fetch&url=" + V))),
  srcdoc: () => until((resolve) => { const frame = document.createElement("iframe"); self.got = resolve; frame.srcdoc = "<script>fetch('" + V + "').then((a) => a.text()).then((t) => parent.got(t), () => parent.got(''))</scr" + "ipt>"; document.body.append(frame); }, 900),
  api: () => text(API + "/api/v1/search?q=secret"), cdx: () => text(API + "/cdx?url=victim.example/*"), record: () => text(API + "/record?url=" + V), load: () => text(API + "/api/v1/loads", { method: "POST", body: "{}" }),
  bar: () => parent.document.body.innerText.replace(document.body.innerText, ""), top: () => top.document.body.innerText, address: () => top.location.href,
  path: () => text("http://localhost" + rest.slice(rest.lastIndexOf(":")) + "/replay/2014/" + V),
  history: () => { history.pushState({}, "", O + "/"); return location.host.includes("victim") ? "secret" : ""; },
};
(async () => {
  // The other site is there, and has stored what it stores.
  await new Promise((resolve) => addEventListener("message", resolve, { once: true }));
  const read = [];
  for (const [name, way] of Object.entries(ways)) { try { if (/secret|weft|victim/i.test(await way())) read.push(name); } catch { } }
  document.title = "read " + read.join(" ");
})();
</script>"#;

#[test]
fn two_sites_read_nothing_of_each_other_nor_of_the_archive() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let victim = format!(
        "{HTML}<title>victim</title><p id=s>secret</p><script>localStorage.setItem('k', 'secret'); sessionStorage.k = 'secret'; document.cookie = 'c=secret'; indexedDB.open('secret'); caches.open('secret').then(() => setInterval(() => parent.postMessage('here', '*'), 100))</script>"
    );
    let spy = format!("{HTML}{SPY}");
    let scene = scene(&[
        ("https://victim.example/p", 0, &victim),
        (
            "https://victim.example/p/data.json",
            0,
            "Content-Type: application/json\r\n\r\n{\"a\":\"secret\"}",
        ),
        (
            "https://victim.example/secret.js",
            0,
            "Content-Type: text/javascript\r\n\r\nthrow new Error('secret')",
        ),
        (
            "https://victim.example/secret.css",
            0,
            "Content-Type: text/css\r\n\r\np{content:'secret'}",
        ),
        (
            "https://victim.example/i.svg",
            0,
            "Content-Type: image/svg+xml\r\n\r\n<svg xmlns='http://www.w3.org/2000/svg' width='7' height='9'/>",
        ),
        ("https://spy.example/", 0, &spy),
    ]);
    assert_eq!(title_of(&browser, &scene, "https://spy.example/", "read"), "read");
}

#[test]
fn no_document_in_its_own_origin_has_a_way_out() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let control = Port::open();
    browser.go(&format!(
        "data:text/html,<head></head><script>{}</script>",
        code(control.number).replace('#', "%23")
    ));
    wait_for(&browser, "the trap", || control.came.load(Ordering::SeqCst) > 0);
    let pages = REALMS
        .into_iter()
        .map(|(name, markup)| (name, markup, realm as fn(&str, u16) -> String));
    let xhtml = XHTML_REALMS
        .into_iter()
        .map(|(name, markup)| (name, markup, xhtml_realm as fn(&str, u16) -> String));
    let ways: Vec<_> = pages
        .chain(xhtml)
        .map(|(name, markup, page)| {
            let port = Port::open();
            let page = page(markup, port.number);
            (name, page, port)
        })
        .collect();
    let captures: Vec<(String, &str)> = ways
        .iter()
        .enumerate()
        .map(|(number, (_, page, _))| (format!("http://hostile.example/{number}"), page.as_str()))
        .collect();
    let captures: Vec<_> = captures
        .iter()
        .map(|(url, page)| (url.as_str(), 0, *page))
        .collect();
    let scene = scene(&captures);
    for (url, ..) in &captures {
        title_of(&browser, &scene, url, "tried");
    }
    // STUN repeats its requests.
    std::thread::sleep(Duration::from_millis(600));
    let out: Vec<&str> = ways
        .iter()
        .filter(|(.., port)| port.came.load(Ordering::SeqCst) > 0)
        .map(|(name, ..)| *name)
        .collect();
    assert_eq!(out, [""; 0]);
}
