//! Archived pages as they were: over the port that shows them, and in a real browser before a trap.

mod bar;
mod crawls;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use server::Served;
use warc::{Compression, Draft, Writer};

use crate::driver::Browser;
use crate::loaded::{Loaded, load};
use crate::port::{Running, exchange, with_replay};

/// 2014-01-26T20:06:24Z
const FIRST_MS: i64 = 1_390_766_784_000;

/// A server over a few captures, with a replay origin.
struct Scene {
    server: Running,
    loaded: Loaded,
    _folder: Option<tempfile::TempDir>,
}

impl Scene {
    fn of(captures: &[(&str, i64, &str)]) -> Scene {
        Scene::with(captures, true)
    }

    fn with(captures: &[(&str, i64, &str)], scripts: bool) -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let file = write(folder.path(), captures);
        Scene {
            _folder: Some(folder),
            ..Scene::over(load(&[file], None), scripts)
        }
    }

    fn over(loaded: Loaded, scripts: bool) -> Scene {
        let mut settings = with_replay();
        if let Some(replay) = &mut settings.replay {
            replay.scripts = scripts;
        }
        Scene {
            server: Running::start_over(Served::from(loaded.archive.clone()), settings),
            loaded,
            _folder: None,
        }
    }

    fn replay(&self) -> std::net::SocketAddr {
        self.server.replay.expect("a replay origin")
    }

    /// The answer of the replay origin, head and body.
    fn get(&self, path: &str, headers: &str) -> String {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.replay()
        ))
    }

    /// The same with the key of the server's documents in it.
    fn raw(&self, path: &str, headers: &str) -> String {
        self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.replay()
        ))
    }

    fn send(&self, request: &str) -> String {
        without_key(&self.exchange(request))
    }

    fn exchange(&self, request: &str) -> String {
        exchange(self.replay(), request.as_bytes())
    }
}

/// The same with addresses that have no key: it is another in each server.
fn without_key(answer: &str) -> String {
    let Some((_, rest)) = answer.split_once("/replay/~") else {
        return answer.to_owned();
    };
    let key = rest.split('/').next().unwrap_or("").to_owned();
    answer.replace(&format!("~{key}/"), "").replace(&key, "")
}

/// Writes captures: URL, seconds after the first, and the HTTP message after its status line.
fn write(folder: &Path, captures: &[(&str, i64, &str)]) -> PathBuf {
    let path = folder.join("replay.warc.gz");
    let mut writer = Writer::create(&path, Compression::GZIP).expect("a file");
    for (url, seconds, message) in captures {
        let block = match message.starts_with("HTTP/") {
            true => (*message).to_owned(),
            false => format!("HTTP/1.1 200 OK\r\n{message}"),
        };
        let draft = Draft::response(url, FIRST_MS + seconds * 1000, block.into_bytes());
        writer.write(&draft).expect("a record");
    }
    writer.finish().expect("written");
    path
}

const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n\r\n";

#[track_caller]
fn check(answer: &str, status: u16, parts: &[&str]) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    for part in parts {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
}

#[test]
fn captures_are_shown_with_references_to_captures() {
    let page = format!("X-Powered-By: looms\r\n{HTML}<img src=/a.png><style>a{{b:url(c.png)}}</style>");
    let css = "Content-Type: text/css\r\n\r\na{b:url(../d.png)}";
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        ("http://a.example/s/x.css", 5, css),
    ]);
    // A program gets what a frame gets, at the page's own time.
    let moved = scene.get("/replay/2014/http://a.example/", "");
    check(
        &moved,
        302,
        &["location: /replay/20140126200624/http://a.example/\r\n"],
    );
    let shown = scene.get("/replay/20140126200624mp_/http://a.example/", "");
    check(
        &shown,
        200,
        &[
            "memento-datetime: Sun, 26 Jan 2014 20:06:24 GMT\r\n",
            "content-type: text/html; charset=UTF-8\r\n",
            "x-archive-orig-x-powered-by: looms\r\n",
            "content-security-policy: sandbox allow-scripts allow-forms; default-src 'self'",
            "<script src=\"/static/replay.js\" data-key=\"\" data-time=\"20140126200624\" data-url=\"http://a.example/\"></script>",
            "<img src=\"/replay/20140126200624im_/http://a.example/a.png\">",
            "url('/replay/20140126200624im_/http://a.example/c.png')",
        ],
    );
    let css = scene.get("/replay/20140126200624cs_/http://a.example/s/x.css", "");
    check(
        &css,
        200,
        &[
            "text/css; charset=utf-8",
            "url('/replay/20140126200629im_/http://a.example/d.png')",
        ],
    );
    let raw = scene.get("/replay/20140126200624id_/http://a.example/", "");
    check(&raw, 200, &["<img src=/a.png>"]);
    check(&scene.get("/static/replay.js", ""), 200, &["text/javascript"]);
}

/// What a reader opens by itself is put into a frame, whose policy keeps it in the archive.
#[test]
fn a_page_opened_by_itself_is_in_a_frame() {
    let scene = Scene::of(&[("http://a.example/", 0, &format!("{HTML}hello"))]);
    for headers in ["Sec-Fetch-Dest: document\r\n", "Accept: text/html,*/*\r\n"] {
        let alone = scene.get("/replay/2014/http://a.example/", headers);
        check(
            &alone,
            200,
            &[
                "frame-src 'self'",
                "sandbox=\"allow-scripts allow-forms\"",
                "src=\"/replay/2014mp_/http://a.example/\"",
            ],
        );
        assert!(!alone.contains("hello"));
    }
    check(
        &scene.get(
            "/replay/20140126200624mp_/http://a.example/",
            "Sec-Fetch-Dest: iframe\r\n",
        ),
        200,
        &["hello"],
    );
}

#[test]
fn redirects_failures_and_codings_are_as_they_were() {
    let scene = Scene::of(&[
        (
            "http://a.example/old",
            0,
            "HTTP/1.1 301 Moved\r\nLocation: /new\r\n\r\n",
        ),
        (
            "http://a.example/gone",
            0,
            &format!("HTTP/1.1 404 Not Found\r\n{HTML}it is gone"),
        ),
        (
            "http://a.example/latin",
            0,
            "Content-Type: text/html; charset=iso-8859-1\r\n\r\n<p>caf\u{e9}<a href=x>",
        ),
        // The page moved to https, under the same key: that is no loop.
        (
            "http://a.example/page",
            10,
            "HTTP/1.1 302 Found\r\nLocation: https://a.example/page\r\n\r\n",
        ),
        ("https://a.example/page", 0, &format!("{HTML}the page")),
    ]);
    let old = scene.get("/replay/20140126200624mp_/http://a.example/old", "");
    check(
        &old,
        301,
        &["location: /replay/20140126200624mp_/http://a.example/new\r\n"],
    );
    check(
        &scene.get("/replay/20140126200624mp_/http://a.example/gone", ""),
        404,
        &["it is gone"],
    );
    check(
        &scene.get("/replay/20140126200624mp_/http://a.example/latin", ""),
        200,
        &["text/html; charset=windows-1252"],
    );
    check(
        &scene.get("/replay/20140126200634mp_/http://a.example/page", ""),
        200,
        &["the page"],
    );
    let missing = scene.get("/replay/2014mp_/http://b.example/", "");
    check(
        &missing,
        404,
        &["Not captured", "content-security-policy: sandbox"],
    );
    check(
        &scene.get("/replay/x/ftp://a", ""),
        400,
        &["no address of a capture"],
    );
    check(
        &scene.get("/api/v1/search?q=page", ""),
        404,
        &["content-security-policy: sandbox"],
    );
}

/// XHTML was served as plain XML, too; other XML is data, and stays.
#[test]
fn pages_and_drawings_in_xml_are_rewritten_and_data_is_not() {
    let page = "<html xmlns='http://www.w3.org/1999/xhtml'><head/><body><a href='x'/></body></html>";
    let feed = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a.example/x'/></feed>";
    let xml = |text: &str| format!("Content-Type: application/xml\r\n\r\n<?xml version='1.0'?>{text}");
    let scene = Scene::of(&[
        ("http://a.example/page", 0, &xml(page)),
        ("http://a.example/feed", 0, &xml(feed)),
    ]);
    let shown = |name: &str, headers: &str| {
        scene.get(
            &format!("/replay/20140126200624mp_/http://a.example/{name}"),
            headers,
        )
    };
    check(
        &shown("page", ""),
        200,
        &[
            "content-type: application/xml; charset=UTF-8\r\n",
            "<a href=\"/replay/20140126200624mp_/http://a.example/x\" />",
            "data-url=\"http://a.example/page\"></script>",
        ],
    );
    check(
        &shown("feed", ""),
        200,
        &["content-type: application/xml\r\n", feed],
    );
    check(&shown("feed", "Range: bytes=-3\r\n"), 206, &["\r\n\r\ned>"]);
}

#[test]
fn ranges_of_films_are_sent() {
    let film: String = "0123456789".repeat(20_000);
    let scene = Scene::of(&[(
        "http://a.example/film",
        0,
        &format!("Content-Type: video/mp4\r\n\r\n{film}"),
    )]);
    let path = "/replay/20140126200624im_/http://a.example/film";
    let part = scene.get(path, "Range: bytes=100001-100004\r\n");
    check(
        &part,
        206,
        &["content-range: bytes 100001-100004/200000\r\n", "\r\n\r\n1234"],
    );
    check(&scene.get(path, "Range: bytes=-3\r\n"), 206, &["\r\n\r\n789"]);
    check(
        &scene.get(path, "Range: bytes=200000-\r\n"),
        416,
        &["bytes */200000"],
    );
    check(&scene.get(path, ""), 200, &["accept-ranges: bytes"]);
}

#[test]
fn forms_find_the_answer_that_was_captured_for_them() {
    let scene = Scene::of(&[
        (
            "http://a.example/find?__wb_method=POST&q=loom",
            0,
            &format!("{HTML}a loom"),
        ),
        ("http://a.example/other", 0, &format!("{HTML}whatever")),
    ]);
    let post = |path: &str, body: &str| {
        scene.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            scene.replay(),
            body.len()
        ))
    };
    check(
        &post("/replay/2014mp_/http://a.example/find", "q=loom"),
        200,
        &["a loom"],
    );
    check(
        &post("/replay/2014mp_/http://a.example/other", "q=x"),
        200,
        &["whatever"],
    );
    check(&post("/replay/2014mp_/http://a.example/none", "q=x"), 404, &[]);
}

/// Another site's sandbox looks like an archived page to the server, but for where it comes from.
#[test]
fn other_sites_read_nothing_and_no_service_worker_is_given() {
    let scene = Scene::of(&[("http://a.example/", 0, &format!("{HTML}<p>x"))]);
    let path = "/replay/20140126200624mp_/http://a.example/";
    let raw = scene.raw(path, "");
    let key = raw
        .split("data-key=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a key");
    let shares = |path: &str, origin: &str| {
        let answer = scene.raw(path, &format!("Origin: {origin}\r\n"));
        check(&answer, 200, &[]);
        answer.contains("access-control-allow-origin: null\r\n")
    };
    let keyed = path.replace("/replay/", &format!("/replay/~{key}/"));
    assert!(shares(&keyed, "null"));
    assert!(!shares(&keyed, "http://evil.example"));
    assert!(!shares(path, "null"));
    assert!(!shares(
        &path.replace("/replay/", "/replay/~00000000000000000000000000000000/"),
        "null"
    ));
    check(&scene.get(path, "Service-Worker: script\r\n"), 403, &[]);
    let named = scene.send(&format!(
        "GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    ));
    check(&named, 421, &[]);
}

/// The page that tries everything: it writes what it could do into its title.
fn hostile(trap: &str, api: &str) -> String {
    format!(
        r#"{HTML}<html><head><title>trying</title>
<link rel=preconnect href="{trap}"><link rel=dns-prefetch href="{trap}"><link rel=stylesheet href="{trap}/x.css">
<style>@import "{trap}/y.css"; body {{ background: url({trap}/bg.png) }}</style></head><body>
<img src="{trap}/a.png" srcset="{trap}/b.png 2x"><iframe src="{trap}/frame"></iframe><iframe srcdoc="<img src='{trap}/doc.png'>"></iframe>
<iframe src="data:text/html,<img src='{trap}/data.png'>"></iframe><object data="{trap}/o"></object><embed src="{trap}/e">
<video poster="{trap}/p" src="{trap}/v"></video><svg><image href="{trap}/s"/></svg>
<iframe name=sink></iframe><form id=f target=sink action="{trap}/form"><input name=q></form><form id=g method=post target=sink action="{trap}/form"></form><a id=l target=_blank href="{trap}/link">l</a>
<script>
const could = [];
const tries = {{
  storage() {{ Object.getPrototypeOf(window); const real = Object.getOwnPropertyDescriptor(Window.prototype, "localStorage"); if (real) real.get.call(window).setItem("a", "b"); else throw 1; }},
  cookie() {{ const frame = document.createElement("iframe"); document.body.append(frame); const text = frame.contentDocument.cookie = "a=b"; if (!frame.contentDocument.cookie.includes("a=b")) throw text; }},
  opener() {{ if (!window.opener) throw 1; window.opener.location.href; }},
  parent() {{ parent.document.title; }},
  top() {{ top.location.href; }},
  worker() {{ if (!navigator.serviceWorker) throw 1; navigator.serviceWorker.register("/replay/2014js_/http://hostile.example/sw.js"); }},
  database() {{ indexedDB.open("x"); }},
  socket() {{ new WebSocket("{trap}".replace("http", "ws")); }},
}};
for (const [name, attempt] of Object.entries(tries)) {{ try {{ attempt(); could.push(name); }} catch {{}} }}
const asks = [
  ["api", "{api}/api/v1/search?q=x"], ["cdx", "{api}/cdx?url=hostile.example/*"], ["live", "{trap}/fetch"],
  ["other", new URL("/healthz-not-there", location.href).href.replace("/healthz-not-there", "/api/v1/search?q=x")],
];
for (const tag of ["img", "script", "link", "iframe"]) {{
  const element = document.createElementNS("http://www.w3.org/1999/xhtml", tag);
  element.setAttributeNS(null, tag === "link" ? "href" : "src", "{trap}/" + tag);
  if (tag === "link") element.setAttributeNS(null, "rel", "stylesheet");
  document.body.append(element);
}}
document.write("<img src='{trap}/written.png'>");
document.body.insertAdjacentHTML("beforeend", "<img src='{trap}/inserted.png'>");
navigator.sendBeacon("{trap}/beacon", "x");
new Image().src = "{trap}/image.png";
const late = document.createElement("script");
late.textContent = "fetch('{trap}/late').catch(() => 0)";
document.body.append(late);
try {{ document.getElementById("f").submit(); }} catch {{}}
try {{ document.getElementById("g").submit(); }} catch {{}}
try {{ top.location = "{trap}/top"; }} catch {{}}
try {{ window.open("about:blank"); }} catch {{}}
Promise.all(asks.map(([name, url]) => fetch(url).then((answer) => answer.ok && could.push(name)).catch(() => 0)))
  .then(() => {{ document.title = "could:" + could.join(" "); }});
</script></body></html>"#
    )
}

/// Counts what reaches the outside: connections, and those of them that ask for something.
#[derive(Default)]
struct Trapped {
    connections: AtomicUsize,
    requests: AtomicUsize,
}

fn trap() -> (String, Arc<Trapped>) {
    let trap = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!(
        "http://trap.example:{}",
        trap.local_addr().expect("an address").port()
    );
    let trapped = Arc::new(Trapped::default());
    let counter = Arc::clone(&trapped);
    std::thread::spawn(move || {
        for mut stream in trap.incoming().flatten() {
            counter.connections.fetch_add(1, Ordering::SeqCst);
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || {
                use std::io::Read as _;
                if stream.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
                    counter.requests.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (address, trapped)
}

#[track_caller]
fn wait_for(browser: &Browser, what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{what} did not happen; at {}",
            browser.address()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_archived_page_reaches_neither_the_live_web_nor_the_archive() {
    let (address, trapped) = trap();
    let Some(browser) = Browser::start(&["--host-resolver-rules=MAP trap.example 127.0.0.1".to_owned()])
    else {
        return;
    };
    // The address of the first port is not known before the page is captured; all of this machine are tried.
    let page = hostile(&address, "http://127.0.0.1:1");
    let scene = Scene::of(&[
        ("http://hostile.example/", 0, &page),
        (
            "http://hostile.example/sw.js",
            0,
            "Content-Type: text/javascript\r\n\r\n",
        ),
    ]);
    for place in [scene.server.address, scene.replay()] {
        browser.go(&format!("http://{place}/replay/2014/http://hostile.example/"));
        browser.enter_frame(Some("iframe.replay"));
        wait_for(&browser, "the trial", || {
            browser
                .script("return document.title")
                .as_str()
                .is_some_and(|title| title.starts_with("could:"))
        });
        assert_eq!(browser.script("return document.title"), "could:");
        assert_eq!(browser.script("return self.origin"), "null");
        std::thread::sleep(Duration::from_millis(500));
        browser.enter_frame(None);
        assert!(
            browser.address().starts_with(&format!("http://{place}/")),
            "{}",
            browser.address()
        );
        let connections = trapped.connections.load(Ordering::SeqCst);
        assert_eq!(connections, 0, "connections to the live web");
    }
    // A click or a script may lead the frame away; its policy does not let it.
    browser.enter_frame(Some("iframe.replay"));
    browser.script("document.getElementById('l').click(); return 1");
    wait_for(&browser, "what was not captured", || {
        browser.script("return document.title") == "Not captured"
    });
    browser.enter_frame(None);
    browser.go(&format!(
        "http://{}/replay/2014/http://hostile.example/",
        scene.replay()
    ));
    browser.enter_frame(Some("iframe.replay"));
    browser.script(&format!("location.href = '{address}/away'; return 1"));
    // The browser may connect before it asks the policy; it asks for nothing then, and shows that it was refused.
    wait_for(&browser, "the refusal", || {
        browser
            .script("return location.href")
            .as_str()
            .is_some_and(|shown| shown.starts_with("chrome-error:"))
    });
    std::thread::sleep(Duration::from_millis(500));
    let requests = trapped.requests.load(Ordering::SeqCst);
    assert_eq!(requests, 0, "the frame left the archive");
}

#[test]
fn a_page_looks_like_itself_and_the_bar_follows_its_reader() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let page = format!(
        "{HTML}<title>one</title><link rel=stylesheet href=s.css><p id=p>text<a id=n href=two>two</a><img id=i>\
         <script src=x.js></script><script>document.getElementById('i').src = '/i.svg'; localStorage.setItem('a', 'b');</script>"
    );
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        (
            "http://a.example/",
            86_400,
            &format!("{HTML}<title>one</title>later"),
        ),
        (
            "http://a.example/two",
            1,
            &format!("{HTML}<title>two</title>second"),
        ),
        (
            "http://a.example/s.css",
            1,
            "Content-Type: text/css\r\n\r\np{color:rgb(1,2,3);background:url(/i.svg)}",
        ),
        (
            "http://a.example/x.js",
            1,
            "Content-Type: text/javascript\r\n\r\nfetch('/data.json').then((a) => a.json()).then((d) => { document.title = d.said + document.URL; })",
        ),
        (
            "http://a.example/data.json",
            1,
            "Content-Type: application/json\r\n\r\n{\"said\": \"fetched \"}",
        ),
        (
            "http://a.example/i.svg",
            1,
            "Content-Type: image/svg+xml\r\n\r\n<svg xmlns='http://www.w3.org/2000/svg' width='7' height='9'/>",
        ),
    ]);
    let first = scene.server.address;
    browser.go(&format!("http://{first}/replay/2014/http://a.example/"));
    browser.enter_frame(Some("iframe.replay"));
    wait_for(&browser, "what the script fetches", || {
        browser.script("return document.title") == "fetched http://a.example/"
    });
    assert_eq!(
        browser.script("return getComputedStyle(document.getElementById('p')).color"),
        "rgb(1, 2, 3)"
    );
    wait_for(&browser, "the picture", || {
        browser.script("return document.getElementById('i').naturalHeight") == 9
    });
    assert_eq!(browser.script("return localStorage.a"), "b");
    browser.script("document.getElementById('n').click()");
    browser.enter_frame(None);
    wait_for(&browser, "the bar of the second page", || {
        browser.address() == format!("http://{first}/replay/20140126200625/http://a.example/two")
    });
    // A page that was not captured is told by the bar, with what is near it.
    browser.go(&format!("http://{first}/replay/2014/http://a.example/three"));
    assert!(browser.text("main").contains("This URL was not captured"));
    // Nothing of the page is wider than a telephone.
    browser.size(390, 800);
    browser.go(&format!("http://{first}/replay/2014/http://a.example/"));
    assert_eq!(
        browser.script("return document.documentElement.scrollWidth <= innerWidth"),
        true
    );
}

#[test]
fn scripts_can_be_left_out() {
    let scene = Scene::with(
        &[(
            "http://a.example/",
            0,
            &format!("{HTML}<noscript><img src=/x.png></noscript>"),
        )],
        false,
    );
    let shown = scene.get("/replay/20140126200624mp_/http://a.example/", "");
    check(
        &shown,
        200,
        &[
            "sandbox allow-forms;",
            "<noscript><img src=\"/replay/20140126200624im_/http://a.example/x.png\">",
        ],
    );
    assert!(!shown.contains("replay.js"));
}

/// The answer of the first port.
fn first(scene: &Scene, path: &str, headers: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
        scene.server.address
    );
    scene.server.raw(request.as_bytes())
}

#[test]
fn a_time_gate_leads_to_the_nearest_capture() {
    let scene = Scene::of(&[
        ("http://a.example/?x=y", 0, &format!("{HTML}<p>first")),
        ("http://a.example/?x=y", 86_400, &format!("{HTML}<p>second")),
    ]);
    let (at, replay) = (scene.server.address, scene.replay());
    let gate = "/timegate/http://a.example/?x=y";
    let memento = |time: &str| format!("http://{replay}/replay/{time}/http://a.example/?x=y");
    for (asked, time) in [
        ("Sun, 26 Jan 2014 21:00:00 GMT", "20140126200624"),
        ("Tue, 20 Jan 2026 00:00:00 GMT", "20140127200624"),
    ] {
        let answer = first(&scene, gate, &format!("Accept-Datetime: {asked}\r\n"));
        let location = format!("location: {}\r\n", memento(time));
        let original = "link: <http://a.example/?x=y>; rel=\"original\", ";
        check(&answer, 302, &[&location, original, "vary: accept-datetime"]);
        assert!(!answer.contains("memento-datetime"), "{answer}");
        let shown = scene.get(&format!("/replay/{time}/http://a.example/?x=y"), "");
        let links = format!("<http://{at}/timegate/http://a.example/?x=y>; rel=\"timegate\"");
        check(&shown, 200, &["memento-datetime: ", &links]);
    }
    check(&first(&scene, gate, ""), 302, &[&memento("20140127200624")]);
    check(
        &first(&scene, gate, "Accept-Datetime: yesterday\r\n"),
        400,
        &["no date of HTTP"],
    );
    check(
        &first(&scene, "/timegate/http://b.example/", ""),
        404,
        &["\"not_found\""],
    );
    check(
        &first(&scene, "/timegate/ftp://a", ""),
        400,
        &["no URL of the web"],
    );
}

#[test]
fn time_maps_list_all_captures_in_three_forms() {
    let page = format!("{HTML}<p>x");
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        ("http://a.example/", 60, &page),
        ("http://a.example/", 120, &page),
    ]);
    let link = first(&scene, "/timemap/link/http://a.example/", "");
    let memento = |time: &str, rel: &str, date: &str| {
        format!(
            "<http://{}/replay/{time}/http://a.example/>; rel=\"{rel}\"; datetime=\"{date}\"",
            scene.replay()
        )
    };
    check(
        &link,
        200,
        &[
            "content-type: application/link-format\r\n",
            "<http://a.example/>; rel=\"original\",\n",
            "rel=\"timegate\"",
            "rel=\"self\"; type=\"application/link-format\"; from=\"Sun, 26 Jan 2014 20:06:24 GMT\"; until=\"Sun, 26 Jan 2014 20:08:24 GMT\"",
            &memento("20140126200624", "first memento", "Sun, 26 Jan 2014 20:06:24 GMT"),
            &memento("20140126200724", "memento", "Sun, 26 Jan 2014 20:07:24 GMT"),
            &memento("20140126200824", "last memento", "Sun, 26 Jan 2014 20:08:24 GMT"),
        ],
    );
    let later = first(&scene, "/timemap/link/20140126200700/http://a.example/", "");
    assert!(
        !later.contains("20140126200624") && later.contains("20140126200724"),
        "{later}"
    );
    let json = first(&scene, "/timemap/json/http://a.example/", "");
    let body: serde_json::Value =
        serde_json::from_str(json.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
    assert_eq!(body["original_uri"], "http://a.example/");
    assert_eq!(body["mementos"]["list"].as_array().map(Vec::len), Some(3));
    assert_eq!(body["mementos"]["last"]["datetime"], "2014-01-26T20:08:24Z");
    let cdxj = first(&scene, "/timemap/cdxj/http://a.example/", "");
    check(
        &cdxj,
        200,
        &[
            "!meta {\"original_uri\":\"http://a.example/\"}\n",
            "\n20140126200724 {",
        ],
    );
    check(&first(&scene, "/timemap/link/http://b.example/", ""), 404, &[]);
    check(
        &first(&scene, "/timemap/xml/http://a.example/", ""),
        404,
        &["no form of a TimeMap"],
    );
}
