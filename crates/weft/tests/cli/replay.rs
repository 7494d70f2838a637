//! Replay of archived pages, from the flags to the page.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use crate::fixture;
use crate::serve::Served;
use crate::support::Workspace;

const PAGE: &str = "/replay/http://www.library.example/";

/// Requests a path from the replay origin that `served` announced.
pub(crate) fn replayed(served: &mut Served, path: &str) -> String {
    let origin = served.said["replay"].as_str().expect("a replay origin");
    let address = origin
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let first = std::mem::replace(&mut served.address, address);
    let answer = served.get(path);
    served.address = first;
    answer
}

fn serve(place: &Workspace, flags: &[&str]) -> Served {
    Served::start_with(place, &[&["serve", "--listen", "127.0.0.1:0"], flags].concat())
}

fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place
}

#[test]
fn archived_pages_are_shown_on_an_origin_of_their_own() {
    let place = loaded();
    let mut served = serve(&place, &[]);
    let moved = replayed(&mut served, PAGE);
    let location = moved
        .lines()
        .find_map(|line| line.strip_prefix("location: "))
        .expect("the exact time");
    let page = replayed(&mut served, location);
    assert!(
        page.contains("memento-datetime: ") && page.contains("/static/replay.js"),
        "{page}"
    );
    // The replay origin serves neither the API nor pages of the archive.
    for path in ["/", "/api/v1/status", "/cdx?url=library.example", "/metrics"] {
        let answer = replayed(&mut served, path);
        assert!(answer.starts_with("HTTP/1.0 404 "), "{path}: {answer}");
    }
    let bar = served.get(PAGE);
    let origin = served.said["replay"].as_str().expect("a replay origin");
    assert!(bar.contains(&format!("src=\"{origin}replay/~")), "{bar}");
    // A browser on this machine finds the origin of the site.
    let site = "data-address=\"http://http--www-library-example.20160101000000.replay.localhost:";
    assert!(bar.contains(site), "{bar}");
    drop(served);
    let served = serve(&place, &["--replay-domain", "off"]);
    let bar = served.get(PAGE);
    assert!(bar.contains("<iframe") && !bar.contains("data-address"), "{bar}");
}

/// A capture known only from an index is listed with all captures; a request for its content names
/// the missing file.
#[test]
fn what_only_an_index_tells_of_is_listed_and_says_which_file_to_load() {
    let place = Workspace::new();
    let line = concat!(
        r#"example,a)/ 20200101000000 {"url": "http://a.example/", "mime": "text/html", "status": "200", "#,
        r#""digest": "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB", "length": "10", "offset": "7", "filename": "gone.warc.gz"}"#,
        "\n"
    );
    place.write("x.cdxj", line.as_bytes());
    place.good(&["load", "x.cdxj"]);
    let mut served = serve(&place, &[]);
    for (path, expected) in [
        ("/cdx?url=http://a.example/", "gone.warc.gz"),
        ("/cdx/search/cdx?url=http://a.example/", "20200101000000"),
        (
            "/outbackcdx/all?url=http://a.example/",
            "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB",
        ),
        ("/timemap/link/http://a.example/", "memento"),
        ("/page?url=http://a.example/", "not loaded"),
        ("/api/v1/search?q=example", "\"total\":0"),
    ] {
        let answer = served.get(path);
        assert!(
            answer.starts_with("HTTP/1.0 200 ") && answer.contains(expected),
            "{path}: {answer}"
        );
    }
    let page = replayed(&mut served, "/replay/20200101000000/http://a.example/");
    assert!(page.starts_with("HTTP/1.0 404 "), "{page}");
    assert!(page.contains("offset 7 of gone.warc.gz"), "{page}");
}

/// Hidden pages are not replayed: with access rules, the replay origin shows what the public may
/// see.
#[test]
fn what_rules_hide_is_not_replayed() {
    let place = loaded();
    let mut served = serve(&place, &[]);
    assert!(replayed(&mut served, PAGE).starts_with("HTTP/1.0 302 "));
    place.good(&["rights", "add", "--deny", "--url", "http://library.example/"]);
    let hidden = replayed(&mut served, PAGE);
    assert!(
        !hidden.starts_with("HTTP/1.0 2") && !hidden.starts_with("HTTP/1.0 302 "),
        "{hidden}"
    );
    let bar = served.get(PAGE);
    assert!(!bar.contains("<iframe"), "{bar}");
}

#[test]
fn the_replay_origin_goes_by_its_flags() {
    let place = loaded();
    let served = serve(&place, &["--no-replay"]);
    assert_eq!(served.said["replay"], Value::Null);
    assert!(served.get(PAGE).contains("--no-replay"));
    drop(served);
    let mut served = serve(
        &place,
        &[
            "--replay-scripts",
            "off",
            "--replay-url",
            "https://replay.example.org",
            "--embed-on",
            "https://b.example",
        ],
    );
    let page = replayed(&mut served, "/replay/mp_/http://www.library.example/");
    let location = page
        .lines()
        .find_map(|line| line.strip_prefix("location: "))
        .expect("the exact time");
    let page = replayed(&mut served, location);
    assert!(
        page.contains("sandbox allow-forms;") && !page.contains("replay.js"),
        "{page}"
    );
    assert!(
        page.contains("; frame-ancestors 'self' https://b.example\r\n"),
        "{page}"
    );
    assert!(
        served
            .get(PAGE)
            .contains("src=\"https://replay.example.org/replay/~")
    );
    drop(served);
    for flag in ["--replay-url", "--embed-on"] {
        let wrong = place.run(&["serve", flag, "https://a.example/path"]);
        assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    }
    let wrong = place.run(&["serve", "--replay-domain", "a.example:80"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    // An explicitly requested port must be free; the default may be any port.
    let held = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = held.local_addr().expect("an address").to_string();
    let run = place.run(&["serve", "--listen", "127.0.0.1:0", "--replay-listen", &taken]);
    drop(held);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains(&taken), "{}", run.stderr);
}

/// A proxy may have an IPv6 address, whose colons do not separate a port.
#[test]
fn a_proxy_at_an_address_of_ipv6_reaches_the_replay_origin() {
    let place = loaded();
    let mut served = serve(&place, &["--replay-url", "http://[2001:db8::7]:8443"]);
    let bar = served.get(PAGE);
    assert!(bar.contains("src=\"http://[2001:db8::7]:8443/replay/~"), "{bar}");
    let listens = served.said["replay"].as_str().expect("a replay origin");
    let listens = listens.trim_start_matches("http://").trim_end_matches('/');
    let status = |host: &str| {
        let mut stream = TcpStream::connect(listens).expect("connect");
        write!(stream, "GET {PAGE} HTTP/1.0\r\nHost: {host}\r\n\r\n").expect("send");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("read");
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(status("[2001:db8::7]:8443"), "302");
    assert_eq!(status("[2001:db8::8]:8443"), "421");
    assert_eq!(served.stop(), Some(0));
}

/// Returns a response of any media type.
pub(crate) fn response(url: &str, time: &str, media: &str, body: &str) -> Vec<u8> {
    let headers = [
        ("WARC-Target-URI", url),
        ("WARC-Date", time),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n\r\n{body}");
    fixture::record("response", &headers, block.as_bytes())
}

/// Loads a page with a stylesheet that imports another, a script with a cache-busting number, a
/// frame, and images, one of them missing.
pub(crate) fn page_with_parts() -> Workspace {
    let place = Workspace::new();
    let page = "<link rel=stylesheet href=/s.css><script src='/x.js?_=17'></script><img src=/there.png><img src=/gone.png>\
        <iframe src=/frame></iframe><a href=/elsewhere>link</a><img srcset='/small.png 1x, /large.png 2x'>";
    let at = |second: u32| format!("2020-01-01T00:00:{second:02}Z");
    let file = [
        response("http://a.example/", &at(0), "text/html", page),
        response(
            "http://a.example/s.css",
            &at(1),
            "text/css",
            "@import 't.css'; b{background:url(b.png)}",
        ),
        response("http://a.example/t.css", &at(2), "text/css", "c{color:red}"),
        response("http://a.example/x.js?_=23", &at(3), "text/javascript", "1"),
        response("http://a.example/there.png", &at(30), "image/png", "picture"),
        response(
            "http://a.example/frame",
            &at(4),
            "text/html",
            "<img src=/in-frame.png>",
        ),
        response("http://a.example/small.png", &at(5), "image/png", "picture"),
    ];
    place.write("parts.warc", &file.concat());
    place.good(&["load", "parts.warc"]);
    place
}

#[test]
fn missing_parts_of_a_page_are_listed() {
    let place = page_with_parts();
    let run = place.run(&["replay-check", "http://a.example/"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    expect_test::expect![[r#"
        http://a.example/ at 20200101000000
        71 % complete: 5 of 7 parts found
          image   1 of 3
          page    1 of 1
          script  1 of 1
          style   2 of 2
          of 3 alternatives, 1 found
          farthest in time: 30.0 s, http://a.example/there.png

        part   captured  status  URL                            in
        image  missing        -  http://a.example/gone.png      http://a.example/
        image  missing        -  http://a.example/in-frame.png  http://a.example/frame
    "#]]
    .assert_eq(&run.stdout);
    let checked = place.json(&["replay-check", "http://a.example/", "--at", "2020"]);
    assert_eq!(checked["completeness"], 5.0 / 7.0);
    let script = checked["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .find(|part| part["kind"] == "script");
    assert_eq!(script.expect("a script")["found"]["fuzzy"], "cache-buster");

    let run = place.run(&["replay-check", "http://b.example/"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("http://b.example/"), "{}", run.stderr);
}

/// A capture substitutes for an address that differs only in irrelevant parts, and the answer names
/// the rule.
#[test]
fn a_capture_stands_in_for_an_address_that_differs_in_what_does_not_matter() {
    let place = page_with_parts();
    let mut served = serve(&place, &[]);
    let found = replayed(
        &mut served,
        "/replay/20200101000003js_/http://a.example/x.js?_=99",
    );
    assert!(
        found.starts_with("HTTP/1.0 200 ") && found.contains("weft-fuzzy: cache-buster\r\n"),
        "{found}"
    );
    let exact = replayed(
        &mut served,
        "/replay/20200101000003js_/http://a.example/x.js?_=23",
    );
    assert!(
        exact.starts_with("HTTP/1.0 200 ") && !exact.contains("weft-fuzzy"),
        "{exact}"
    );
    let other = replayed(
        &mut served,
        "/replay/20200101000003mp_/http://a.example/frame?q=2",
    );
    assert!(other.starts_with("HTTP/1.0 404 "), "{other}");
    // The surrounding page redirects to the actual capture, while Memento names only captures of
    // exactly this URL.
    let bar = served.get("/replay/20200101000004/http://a.example/frame?utm_source=x");
    assert!(
        bar.contains("location: /replay/20200101000004/http://a.example/frame\r\n"),
        "{bar}"
    );
    let gate = served.get("/timegate/http://a.example/frame?utm_source=x");
    assert!(gate.starts_with("HTTP/1.0 404 "), "{gate}");
}
