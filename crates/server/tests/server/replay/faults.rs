//! Captures that other programs replay wrongly, from `field/` of the shared test data.

use super::*;

/// Returns a server over a file of `field/`; `None` without the shared test data.
fn field(name: &str) -> Option<Scene> {
    let file = test_env::shared_data()?.join("field").join(name);
    if !file.exists() {
        println!("skipped: no {}", file.display());
        return None;
    }
    Some(Scene::over(load(&[file], None), true))
}

/// Returns the header with the time of a capture.
fn memento(date: &str) -> String {
    format!("memento-datetime: {date}\r\n")
}

/// The nearest captures are revisits whose content is not in the archive.
#[test]
fn c61_a_revisit_that_cannot_be_resolved_is_replaced_by_the_next_nearest() {
    let Some(scene) = field("c61-unresolvable-revisit.warc.gz") else {
        return;
    };
    let moved = scene.get("/replay/20200201000000mp_/http://c61.example/", "");
    check(
        &moved,
        302,
        &["location: /replay/20200101000000mp_/http://c61.example/\r\n"],
    );
    let shown = scene.get("/replay/20200101000000mp_/http://c61.example/", "");
    check(&shown, 200, &["goodword"]);
    let picture = scene.get("/replay/20200201000000im_/http://c61.example/pic.png", "");
    check(
        &picture,
        200,
        &[&memento("Wed, 01 Jan 2020 00:00:00 GMT"), "image/png"],
    );
    // One names only a URL and a date, the other has only the digest of another URL.
    for path in ["b", "c"] {
        let address = format!("/replay/20200201000000mp_/http://c61.example/{path}");
        let expected = [memento("Sat, 01 Feb 2020 00:00:00 GMT"), "goodword".to_owned()];
        let expected = expected.each_ref().map(String::as_str);
        check(&scene.get(&address, ""), 200, &expected);
    }
}

#[test]
fn c26_revisits_with_digests_of_any_form_have_their_content() {
    let Some(scene) = field("c26-digests.warc.gz") else {
        return;
    };
    for path in ["a", "b", "c", "d", "i.gif?resize=665x", "nodig", "wrongdate"] {
        let address = format!("/replay/20200602120001im_/http://c26.example/{path}");
        check(&scene.get(&address, ""), 200, &["digword"]);
    }
    // The newest is a revisit without a digest, and the one before it has content.
    let newest = scene.get("/replay/2030im_/http://c26.example/a", "");
    check(
        &newest,
        200,
        &[&memento("Tue, 02 Jun 2020 12:00:01 GMT"), "digword"],
    );
}

#[test]
fn c71_a_response_with_status_304_is_a_revisit() {
    let Some(scene) = field("c71-response304.warc.gz") else {
        return;
    };
    let moved = scene.get("/replay/20200201000000mp_/http://c71.example/", "");
    check(
        &moved,
        302,
        &["location: /replay/20200101000000mp_/http://c71.example/\r\n"],
    );
    let style = scene.get("/replay/20200201000000cs_/http://c71.example/s.css", "");
    check(&style, 200, &["body{color:red}"]);
}

#[test]
fn a_page_of_which_only_a_304_was_captured_is_not_shown_empty() {
    let scene = Scene::of(&[(
        "http://a.example/",
        0,
        "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
    )]);
    let shown = scene.get("/replay/20140126200624mp_/http://a.example/", "");
    check(&shown, 404, &["status 304", "not in the archive"]);
}

/// Scripts parse what they request. HTML in JSON is not a page.
#[test]
fn c60_data_that_scripts_request_is_unchanged() {
    let Some(scene) = field("c60-xhr-html-json.warc.gz") else {
        return;
    };
    let data = "\r\n\r\n{\"answer\":\"42\",\"html\":\"<b>x</b>\"}";
    for (modifier, headers) in [("xr_", ""), ("mp_", "Sec-Fetch-Dest: empty\r\n")] {
        let address = format!("/replay/20200601120002{modifier}/http://c60.example/api/data.php");
        let answer = scene.get(&address, headers);
        check(&answer, 200, &["content-type: text/html", data]);
    }
    // The same address in a frame is a page.
    let address = "/replay/20200601120002xr_/http://c60.example/frag.php";
    let framed = scene.get(address, "Sec-Fetch-Dest: iframe\r\n");
    check(&framed, 200, &["data-url=\"http://c60.example/frag.php\""]);
}

#[test]
fn c04_a_refresh_of_the_header_is_followed_within_the_archive() {
    let Some(scene) = field("c04-refresh-header.warc.gz") else {
        return;
    };
    for (host, refresh) in [
        (
            "c04.example",
            "refresh: 0; url=/replay/20200601120001mp_/https://c04.example/home\r\n",
        ),
        (
            "c04b.example",
            "refresh: 5;URL=/replay/20200601120001mp_/http://c04b.example/next%20page\r\n",
        ),
    ] {
        let address = format!("/replay/20200601120001mp_/http://{host}/");
        check(&scene.get(&address, ""), 200, &[refresh]);
    }
    let links = first(&scene, "/api/v1/outlinks?url=http://c04.example/", "");
    check(&links, 200, &["https://c04.example/home"]);
}

#[test]
fn c27_redirects_without_an_end_are_named() {
    let Some(scene) = field("c27-revisit301.warc.gz") else {
        return;
    };
    let at = |url: &str| scene.get(&format!("/replay/20180228215703mp_/{url}"), "");
    for (url, on_the_way) in [
        ("http://c27c.example/only", &["http://c27c.example/only"][..]),
        (
            "http://c27d.example/a",
            &[
                "http://c27d.example/a",
                "http://c27d.example/b",
                "http://c27d.example/c",
            ],
        ),
    ] {
        let answer = at(url);
        check(&answer, 508, &["Redirects without an end", "302"]);
        check(&answer, 508, on_the_way);
    }
    // A redirect from http to https, and one that adds a slash.
    check(&at("http://c27.example/news"), 200, &["newsword"]);
    check(
        &at("http://c27b.example/?post_type=feedback&p=1"),
        200,
        &["feedbackword"],
    );
    check(
        &at("http://c27d.example/frag"),
        301,
        &["/https://c27d.example/target#sec\r\n"],
    );
}

/// A site sets a cookie and redirects back.
#[test]
fn a_redirect_that_returns_shows_the_page_behind_it() {
    let to = |path: &str| format!("HTTP/1.1 302 Found\r\nLocation: {path}\r\n\r\n");
    let (there, back) = (to("/cookie"), to("/page"));
    let scene = Scene::of(&[
        ("http://a.example/page", 0, &there),
        ("http://a.example/cookie", 1, &back),
        ("http://a.example/page", 60, &format!("{HTML}the page")),
    ]);
    let shown = scene.get("/replay/20140126200624mp_/http://a.example/page", "");
    check(&shown, 200, &["the page"]);
}

/// Sends a request with a body of JSON or of a form.
fn send(scene: &Scene, (method, path): (&str, &str), body: &str) -> String {
    let kind = if body.starts_with('{') {
        "application/json"
    } else {
        "application/x-www-form-urlencoded"
    };
    scene.send(&format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        scene.replay(),
        body.len()
    ))
}

#[test]
fn c21_an_answer_is_found_by_the_body_of_its_request() {
    let Some(scene) = field("c21-post.warc.gz") else {
        return;
    };
    let post = |path: &str, body: &str| {
        let path = format!("/replay/20250501040000xr_/https://c21.example/{path}");
        send(&scene, ("POST", &path), body)
    };
    let long = format!("x={}", "A".repeat(300_000));
    for (path, body, part) in [
        ("ajax_more.php", "offset=20&type=outbreaks", "day1 offset20"),
        (
            "graphql",
            r#"{"operationName":"C","variables":{"id":3}}"#,
            r#"\"id\":3"#,
        ),
        ("tr/", long.as_str(), "200 OK"),
    ] {
        let answer = post(path, body);
        check(&answer, 200, &[part]);
        assert!(!answer.contains("weft-request"), "{answer}");
    }
    let other = post("ajax_more.php", "offset=30");
    check(&other, 200, &["weft-request: other-body\r\n", "day1 offset10"]);
}

#[test]
fn c60_put_patch_and_delete_are_looked_up() {
    let Some(scene) = field("c60-xhr-html-json.warc.gz") else {
        return;
    };
    let path = "/replay/20200601120002xr_/http://c60.example/put";
    let put = send(&scene, ("PUT", path), "a=1");
    check(&put, 200, &["putanswer"]);
    assert!(!put.contains("weft-request"), "{put}");
    check(
        &send(&scene, ("PUT", path), "a=2"),
        200,
        &["weft-request: other-body", "putanswer"],
    );
    for method in ["PATCH", "DELETE"] {
        let answer = send(&scene, (method, path), "");
        check(&answer, 404, &[&format!("answers a {method} request")]);
    }
    check(&scene.get(path, ""), 200, &["weft-request: other-method\r\n"]);
}

#[test]
fn c65_a_get_does_not_get_the_answer_of_a_post() {
    let Some(scene) = field("c65-post-same-url.warc.gz") else {
        return;
    };
    let path = |time: &str, name: &str| format!("/replay/{time}im_/https://c65.example/{name}");
    for time in ["20200101000005", "2030", ""] {
        for (name, part) in [("", "frontpageword"), ("beacon", "beacondocword")] {
            let answer = scene.get(&path(time, name), "");
            check(&answer, 200, &[part]);
            assert!(!answer.contains("weft-request"), "{answer}");
        }
    }
    let posted = send(&scene, ("POST", &path("20200101000000", "")), "vote=1");
    check(&posted, 200, &["thanks posted"]);
}

/// Writes responses of one URL, each followed by its request: seconds after the first, the method,
/// and the status with the header.
fn exchanges(folder: &Path, url: &str, exchanges: &[(i64, &str, &str)]) -> PathBuf {
    let path = folder.join("methods.warc.gz");
    let mut writer = Writer::create(&path, Compression::GZIP).expect("a file");
    for (seconds, method, head) in exchanges {
        let time_ms = FIRST_MS + 1000 * seconds;
        let answer = format!("HTTP/1.1 {head}\r\nContent-Type: text/plain\r\n\r\nto {method}");
        let asked = format!("{method} /x HTTP/1.1\r\nHost: a.example\r\n\r\n");
        let answer = Draft::response(url, time_ms, answer.into_bytes());
        writer.write(&answer).expect("a record");
        let asked = Draft::request(url, time_ms, asked.into_bytes());
        writer.write(&asked).expect("a record");
    }
    writer.finish().expect("written");
    path
}

/// The failure is what a GET was answered with.
#[test]
fn a_failure_of_a_get_is_preferred_to_the_answer_of_another_method() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = "http://a.example/x";
    let file = exchanges(
        folder.path(),
        url,
        &[
            (0, "GET", "404 Not Found"),
            (60, "POST", "200 OK"),
            (61, "HEAD", "200 OK"),
            (62, "OPTIONS", "200 OK"),
        ],
    );
    let scene = Scene::over(load(&[file], None), true);
    for time in ["20140126200624", "2030", ""] {
        let answer = scene.get(&format!("/replay/{time}im_/{url}"), "");
        check(&answer, 404, &["to GET"]);
    }
}

#[test]
fn a_redirect_of_a_get_is_not_replaced_by_the_answer_of_a_post() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = "http://a.example/x";
    let file = exchanges(
        folder.path(),
        url,
        &[
            (0, "GET", "302 Found\r\nLocation: https://a.example/x"),
            (60, "POST", "200 OK"),
        ],
    );
    let scene = Scene::over(load(&[file], None), true);
    let answer = scene.get(&format!("/replay/20140126200624mp_/{url}"), "");
    check(&answer, 508, &[url]);
}

#[test]
fn c43_a_second_line_end_before_the_payload_is_not_sent() {
    let Some(scene) = field("c43-extra-crlf.warc.gz") else {
        return;
    };
    for (name, begin) in [
        ("a.pdf", "%PDF-1.4"),
        ("b.pdf", "%PDF-1.4"),
        ("t.txt", "plaintextcrlfword"),
        ("x.xml", "<?xml version=\"1.0\"?><rss"),
        ("h", "<!doctype html>"),
    ] {
        let address = format!("/replay/20200601120001im_/http://c43.example/{name}");
        let begin = format!("\r\n\r\n{begin}");
        check(&scene.get(&address, ""), 200, &[&begin]);
    }
    let address = "/replay/20200601120001im_/http://c43.example/t.txt";
    let range = scene.get(address, "Range: bytes=0-4\r\n");
    check(&range, 206, &["content-range: bytes 0-4/17\r\n", "\r\n\r\nplain"]);
}

/// The length of a film is known from its headers, and its beginning is skipped.
#[test]
fn ranges_are_the_same_however_the_length_is_known() {
    let film: String = "0123456789".repeat(30_000);
    for compression in [Compression::Plain, Compression::GZIP] {
        for length in ["", "Content-Length: 300000\r\n", "Content-Length: 7\r\n"] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("film.warc");
            let mut writer = Writer::create(&path, compression.clone()).expect("a file");
            let block = format!("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n{length}\r\n{film}");
            let draft = Draft::response("http://a.example/film", FIRST_MS, block.into_bytes());
            writer.write(&draft).expect("a record");
            writer.finish().expect("written");
            let scene = Scene::over(load(&[path], None), true);
            let get = |range: &str| {
                let range = format!("Range: bytes={range}\r\n");
                scene.get("/replay/20140126200624im_/http://a.example/film", &range)
            };
            for (range, whole, bytes) in [
                ("3-5", "bytes 3-5/300000", "345"),
                ("200001-200003", "bytes 200001-200003/300000", "123"),
                ("-2", "bytes 299998-299999/300000", "89"),
                ("299999-", "bytes 299999-299999/300000", "9"),
            ] {
                let answer = get(range);
                check(&answer, 206, &[whole]);
                assert!(answer.ends_with(&format!("\r\n\r\n{bytes}")), "{answer}");
            }
            check(&get("300000-"), 416, &["bytes */300000"]);
        }
    }
}

/// Returns a capture of bytes of a film of 100 bytes, `0123456789` ten times.
fn part(first: usize, end: usize, etag: &str) -> String {
    let film = "0123456789".repeat(10);
    format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Type: video/mp4\r\nContent-Range: bytes {first}-{}/100\r\n{etag}Content-Length: {}\r\n\r\n{}",
        end - 1,
        end - first,
        &film[first..end]
    )
}

#[test]
fn parts_are_answered_for_what_they_hold_and_put_together() {
    let (start, end, gap) = (part(0, 60, ""), part(40, 100, ""), part(20, 30, ""));
    let other = part(30, 100, "ETag: \"b\"\r\n");
    let marked = part(20, 30, "ETag: \"a\"\r\n");
    let scene = Scene::of(&[
        ("http://a.example/both", 0, &start),
        ("http://a.example/both", 5, &end),
        ("http://a.example/gap", 0, &gap),
        ("http://a.example/versions", 0, &marked),
        ("http://a.example/versions", 5, &other),
    ]);
    let get = |name: &str, headers: &str| {
        scene.get(
            &format!("/replay/20140126200624im_/http://a.example/{name}"),
            headers,
        )
    };
    let film = "0123456789".repeat(10);
    // Everything.
    check(&get("both", ""), 200, &["weft-part: joined\r\n", &film]);
    for (range, content_range, bytes) in [
        ("0-", "bytes 0-99/100", film.as_str()),
        ("55-64", "bytes 55-64/100", "5678901234"),
        ("-5", "bytes 95-99/100", "56789"),
    ] {
        let answer = get("both", &format!("Range: bytes={range}\r\n"));
        check(&answer, 206, &[content_range]);
        assert!(answer.ends_with(&format!("\r\n\r\n{bytes}")), "{answer}");
    }
    // One part, and parts of two versions.
    check(
        &get("gap", ""),
        200,
        &["weft-part: bytes 20-29/100\r\n", "\r\n\r\n0123456789"],
    );
    for name in ["gap", "versions"] {
        check(
            &get(name, "Range: bytes=25-49\r\n"),
            206,
            &["bytes 25-29/100", "\r\n\r\n56789"],
        );
        check(&get(name, "Range: bytes=0-9\r\n"), 416, &[]);
    }
}

#[test]
fn the_whole_is_preferred_to_a_part() {
    let whole = format!("Content-Type: video/mp4\r\n\r\n{}", "9876543210".repeat(10));
    let scene = Scene::of(&[
        ("http://a.example/film", 0, &part(0, 10, "")),
        ("http://a.example/film", 86_400, &whole),
    ]);
    let path = "/replay/20140126200624im_/http://a.example/film";
    let answer = scene.get(path, "Range: bytes=90-91\r\n");
    check(&answer, 206, &["bytes 90-91/100", "\r\n\r\n98"]);
    let answer = scene.get(path, "");
    check(&answer, 200, &["9876543210"]);
    assert!(!answer.contains("weft-part"), "{answer}");
}

#[test]
fn the_check_of_a_page_names_parts_of_which_not_all_was_captured() {
    let page = format!("{HTML}<img src=/a.png><img src=/b.png><img src=/c.png>");
    let scene = Scene::of(&[
        ("http://a.example/", 0, &page),
        ("http://a.example/a.png", 0, &part(0, 60, "")),
        ("http://a.example/a.png", 1, &part(60, 100, "")),
        ("http://a.example/b.png", 0, &part(0, 60, "")),
        (
            "http://a.example/c.png",
            0,
            "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
        ),
    ]);
    let checked = server::check_page(&scene.loaded.archive, "http://a.example/", None, &mut |_| true);
    let checked = checked.expect("a page");
    let missing: Vec<_> = checked.missing().map(|part| part.url.as_str()).collect();
    assert_eq!(missing, ["http://a.example/c.png"]);
    let parts: Vec<_> = checked
        .parts
        .iter()
        .map(|part| part.found.as_ref().and_then(|found| found.part.as_deref()))
        .collect();
    assert_eq!(parts, [None, Some("bytes 0-59/100"), None]);
}
