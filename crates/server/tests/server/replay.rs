//! Archived pages on the replay origin.

mod bar;
mod crawls;
mod embed;
mod faults;
mod memento;
mod origins;
mod preview;
mod trap;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use server::ServerParts;
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
            server: Running::start_over(ServerParts::from(loaded.archive.clone()), settings),
            loaded,
            _folder: None,
        }
    }

    fn replay(&self) -> std::net::SocketAddr {
        self.server.replay.expect("a replay origin")
    }

    /// Returns the response of the replay origin, header and body, without the key.
    fn get(&self, path: &str, headers: &str) -> String {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
            self.replay()
        ))
    }

    /// Like `get`, but with the key of the server's documents.
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

/// Removes the key from addresses, because it differs between servers.
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
        let block = if message.starts_with("HTTP/") {
            (*message).to_owned()
        } else {
            format!("HTTP/1.1 200 OK\r\n{message}")
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

/// Returns the response of the main port.
fn first(scene: &Scene, path: &str, headers: &str) -> String {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
        scene.server.address
    );
    scene.server.raw(request.as_bytes())
}

/// Enters a frame whose document has arrived. A frame that loads lazily may still be empty when the
/// page around it has loaded.
#[track_caller]
fn enter_loaded(browser: &Browser, selector: &str) {
    let arrived =
        "return performance.getEntriesByType('resource').some((entry) => entry.initiatorType === 'iframe')";
    wait_for(browser, "the document in the frame", || {
        browser.script(arrived) == true
    });
    browser.enter_frame(Some(selector));
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
fn captures_are_shown_with_references_to_captures() {
    let page = format!("X-Powered-By: looms\r\n{HTML}<img src=/a.png><style>a{{b:url(c.png)}}</style>");
    let css = "Content-Type: text/css\r\n\r\na{b:url(../d.png)}";
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        ("http://a.example/s/x.css", 5, css),
    ]);
    // A program gets the same as a frame, at the page's own time.
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

/// A page that a reader opens directly is put into a frame, whose policy keeps it in the archive.
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
            "Content-Type: text/html; charset=iso-8859-1\r\n\r\n<p>caf&eacute;<a href=x>",
        ),
        // The page moved to https under the same key, which is not a loop.
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
        &["not the address of a capture"],
    );
    check(
        &scene.get("/api/v1/search?q=page", ""),
        404,
        &["content-security-policy: sandbox"],
    );
}

/// Regression: XHTML was served as plain XML. Other XML is data, and is unchanged.
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
fn a_file_without_a_query_stands_in_for_its_versions() {
    let style = "Content-Type: text/css\r\n\r\np{}";
    let scene = Scene::of(&[
        ("http://a.example/x.css", 0, style),
        ("http://a.example/x.css.map", 0, style),
        ("http://a.example/y.css?v=1", 0, style),
    ]);
    for version in ["x.css?v=3", "x.css?1393844276741", "y.css", "y.css?v=2"] {
        let shown = scene.get(
            &format!("/replay/20140126200624cs_/http://a.example/{version}"),
            "",
        );
        check(&shown, 200, &["weft-fuzzy: file\r\n", "p{}"]);
    }
    check(
        &scene.get("/replay/20140126200624cs_/http://a.example/z.css?v=3", ""),
        404,
        &[],
    );
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

/// To the server a sandbox of another site looks like an archived page, except for the key.
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

/// Writes responses of one URL at one time, followed by their requests, as crawlers write them.
fn posted(folder: &Path, is_named: bool) -> PathBuf {
    let path = folder.join("posted.warc.gz");
    let mut writer = Writer::create(&path, Compression::GZIP).expect("a file");
    let url = "http://a.example/graphql";
    let form = "--AaB\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nloom\r\n--AaB--\r\n";
    for (place, (method, kind, body)) in [
        ("POST", "application/json", "{\"page\": 1}"),
        ("POST", "application/json", "{\"page\": 2}"),
        ("POST", "multipart/form-data; boundary=AaB", form),
        ("GET", "text/plain", "{\"page\": 3}"),
    ]
    .into_iter()
    .enumerate()
    {
        let time_ms = FIRST_MS + 1000 * place as i64;
        let id = format!("<urn:uuid:00000000-0000-4000-8000-00000000000{place}>");
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[\"answer {place}\"]");
        let answer = Draft::response(url, time_ms, answer.into_bytes());
        let asked = format!(
            "{method} /graphql HTTP/1.1\r\nHost: a.example\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let asked = Draft::request(url, time_ms, asked.into_bytes());
        let noted = Draft::metadata(url, time_ms, "application/warc-fields", b"via: x\r\n".to_vec());
        if is_named {
            writer
                .write(&answer.field("WARC-Record-ID", &id))
                .expect("a record");
            writer
                .write(&noted.field("WARC-Concurrent-To", &id))
                .expect("a record");
            writer
                .write(&asked.field("WARC-Concurrent-To", &id))
                .expect("a record");
        } else {
            writer.write(&answer).expect("a record");
            writer.write(&asked).expect("a record");
        }
    }
    writer.finish().expect("written");
    path
}

#[test]
fn of_many_answers_of_one_url_that_of_the_same_request_is_shown() {
    for is_named in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let scene = Scene::over(load(&[posted(folder.path(), is_named)], None), true);
        let post = |kind: &str, body: &str| {
            scene.send(&format!(
                "POST /replay/20140126200624mp_/http://a.example/graphql HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
                 Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
                scene.replay(),
                body.len()
            ))
        };
        check(&post("application/json", "{\"page\": 1}"), 200, &["answer 0"]);
        check(&post("application/json", "{\"page\": 2}"), 200, &["answer 1"]);
        let form = "--other\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nloom\r\n--other--\r\n";
        check(
            &post("multipart/form-data; boundary=other", form),
            200,
            &["answer 2"],
        );
        // No capture has this request, so the answer nearest in time is used.
        check(&post("text/plain", "{\"page\": 3}"), 200, &["answer 0"]);
    }
}

#[test]
fn a_page_that_is_plainly_in_another_charset_is_sent_as_what_it_is() {
    let lie = "Content-Type: text/html; charset=iso-8859-1\r\n\r\n<meta charset=iso-8859-1><title>Smørrebrød</title>";
    let scene = Scene::of(&[("http://a.example/lie", 0, lie)]);
    check(
        &scene.get("/replay/20140126200624mp_/http://a.example/lie", ""),
        200,
        &[
            "content-type: text/html; charset=UTF-8",
            "<title>Smørrebrød</title>",
        ],
    );
}

#[test]
fn pages_whose_addresses_differ_in_case_are_shown_each_by_its_own() {
    let page = |word: &str| format!("{HTML}<title>{word}</title>");
    let (upper, lower) = (page("upper"), page("lower"));
    let scene = Scene::of(&[
        ("http://a.example/a/pCL4f", 0, &upper),
        ("http://a.example/a/pcL4f", 86_400, &lower),
        ("http://a.example/a/pCL4f", 2 * 86_400, &upper),
    ]);
    for (time, path, word) in [
        ("20140126200624", "pCL4f", "upper"),
        ("20140127200624", "pCL4f", "upper"),
        ("20140126200624", "pcL4f", "lower"),
        ("2030", "pcL4f", "lower"),
        // A URL that was never captured is shown as the page with the same key.
        ("2030", "PCL4F", "upper"),
    ] {
        let address = format!("/replay/{time}mp_/http://a.example/a/{path}");
        let mut answer = scene.get(&address, "");
        if let Some((_, rest)) = answer.split_once("location: ") {
            let location = rest.lines().next().unwrap_or_default().to_owned();
            answer = scene.get(&location, "");
        }
        check(&answer, 200, &[&format!("<title>{word}</title>")]);
    }
}
