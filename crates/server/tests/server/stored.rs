//! Bytes of inputs by offset and length, for clients that may see them.

use std::path::{Path, PathBuf};

use access::Groups;
use archive::Archive;
use archive::question::{LoadRequest, TakeDown, TakedownSelector, UndoTakedown};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use flate2::Compression;
use flate2::write::GzEncoder;
use inputs::LoadInput;
use server::ServerSettings;
use std::io::Write as _;
use tower::ServiceExt;
use warc::{Draft, Writer};

use crate::field::field;
use crate::loaded::{load, request};
use crate::rights::{OPEN, SECRET, TwoHosts, WORD};

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().expect("text"))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = router.clone().oneshot(request).await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = to_bytes(response.into_body(), 1 << 26).await.expect("a body");
    Reply {
        status,
        headers,
        body: body.to_vec(),
    }
}

async fn get(router: &Router, path: &str) -> Reply {
    ask(router, "GET", path, &[]).await
}

async fn ranged(router: &Router, path: &str, range: &str) -> Reply {
    ask(
        router,
        "GET",
        path,
        &[("range", range), ("accept-encoding", "gzip")],
    )
    .await
}

fn open(archive: &Archive) -> Router {
    server::router(archive.clone(), ServerSettings::default())
}

/// Returns the input's bytes, and the offset of the hidden host's record.
fn bytes_and_secret(place: &TwoHosts) -> (Vec<u8>, usize) {
    let bytes = std::fs::read(place.warc()).expect("the input");
    let text = String::from_utf8(bytes.clone()).expect("text");
    let target = text
        .find(&format!("WARC-Target-URI: {SECRET}"))
        .expect("the record");
    let begins = text[..target].rfind("WARC/1.0").expect("its beginning");
    (bytes, begins)
}

#[tokio::test]
async fn who_sees_everything_gets_any_bytes() {
    let place = TwoHosts::new();
    let (bytes, secret) = bytes_and_secret(&place);
    let (router, all) = (open(&place.archive), bytes.len());
    let whole = get(&router, "/record/crawl.warc").await;
    assert_eq!((whole.status, &whole.body), (200, &bytes));
    assert_eq!(whole.header("content-type"), "application/warc");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    let head = ask(&router, "HEAD", "/record/crawl.warc", &[]).await;
    assert_eq!(
        (head.status, head.header("content-length"), head.body.len()),
        (200, all.to_string().as_str(), 0)
    );
    let tag = whole.header("etag");
    let known = ask(&router, "GET", "/record/crawl.warc", &[("if-none-match", tag)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    for (range, first, end) in [
        ("bytes=10-19", 10, 20),
        ("bytes=100-", 100, all),
        ("bytes=-7", all - 7, all),
        ("bytes=0-99999999", 0, all),
    ] {
        let part = ranged(&router, "/record/crawl.warc", range).await;
        assert_eq!(
            (part.status, part.body.as_slice()),
            (206, &bytes[first..end]),
            "{range}"
        );
        let expected = format!("bytes {first}-{}/{all}", end - 1);
        assert_eq!(part.header("content-range"), expected);
        assert_eq!(part.header("content-encoding"), "");
    }
    let beyond = ranged(&router, "/record/crawl.warc", "bytes=99999999-").await;
    assert_eq!(beyond.status, 416, "{}", beyond.text());
    let record = get(&router, "/record/crawl.warc?offset=0").await;
    assert_eq!((record.status, record.body.as_slice()), (200, &bytes[..secret]));
    let span = get(&router, "/record/crawl.warc?offset=5&length=7").await;
    assert_eq!((span.status, span.body.as_slice()), (200, &bytes[5..12]));
    for (path, status) in [
        ("/record/other.warc", 404),
        ("/record/crawl.warc?offset=7", 404),
        ("/record/crawl.warc?length=7", 400),
        ("/record/crawl.warc?offset=7&length=0", 400),
        ("/record/crawl.warc?offset=2&length=18446744073709551615", 400),
        ("/record/crawl.warc?offset=x", 400),
        ("/record/..%2F..%2Fetc%2Fpasswd", 404),
    ] {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
    }
}

/// The public gets only the visible records of a file, and staff get the whole file.
#[tokio::test]
async fn the_public_gets_records_that_it_sees_and_nothing_else() {
    let place = TwoHosts::new();
    let (bytes, secret) = bytes_and_secret(&place);
    let token = place
        .tokens()
        .issue("room", Groups::listed("staff"), None)
        .expect("a token");
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    place.hide_secret();
    let file = "/record/crawl.warc";
    let exact = format!("bytes=0-{}", secret - 1);
    for range in [exact.as_str(), "bytes=0-", "bytes=0-99"] {
        let reply = ranged(&router, file, range).await;
        let end = if range == "bytes=0-99" { 100 } else { secret };
        assert_eq!(
            (reply.status, reply.body.as_slice()),
            (206, &bytes[..end]),
            "{range}"
        );
        assert_eq!(reply.header("content-range"), format!("bytes 0-{}/*", end - 1));
        assert_eq!(reply.header("cache-control"), "private, no-cache");
    }
    let by_length = get(&router, &format!("{file}?offset=0&length={secret}")).await;
    assert_eq!(
        (by_length.status, by_length.body.as_slice()),
        (200, &bytes[..secret])
    );

    let last = bytes.len() - 1;
    for (path, range, status) in [
        (file.to_owned(), String::new(), 403),
        (file.to_owned(), "bytes=-9".to_owned(), 403),
        (file.to_owned(), format!("bytes=0-{last}"), 403),
        (file.to_owned(), format!("bytes=0-{secret}"), 403),
        (file.to_owned(), format!("bytes={secret}-{last}"), 404),
        (file.to_owned(), format!("bytes={}-{last}", secret - 1), 404),
        (file.to_owned(), "bytes=99999999-".to_owned(), 404),
        (format!("{file}?offset={secret}"), String::new(), 404),
        (format!("{file}?offset={secret}&length=30"), String::new(), 404),
        (
            format!("{file}?offset=0&length={}", bytes.len()),
            String::new(),
            403,
        ),
        // The same response as for an existing file without visible records.
        ("/record/none.warc".to_owned(), String::new(), 403),
        ("/record/none.warc?offset=0".to_owned(), String::new(), 404),
    ] {
        let reply = ranged(&router, &path, &range).await;
        let text = reply.text();
        assert_eq!(reply.status, status, "{path} {range}: {text}");
        assert!(!text.contains(WORD), "{path} {range}: {text}");
    }
    let bearer = format!("Bearer {token}");
    let staff = ask(&router, "GET", file, &[("authorization", &bearer)]).await;
    assert_eq!((staff.status, staff.body), (200, bytes));
}

/// Records of a taken-down page are still in the file, but are not sent to anybody.
#[tokio::test]
async fn what_was_taken_down_is_sent_to_nobody() {
    let place = TwoHosts::new();
    let (bytes, secret) = bytes_and_secret(&place);
    let request = TakeDown {
        takes: TakedownSelector::Url(SECRET.to_owned()),
        reason: "asked for".to_owned(),
        who: "the owner".to_owned(),
        dry_run: false,
        limit: 0,
    };
    place.archive.ask(request).expect("taken down");
    let router = open(&place.archive);
    for (path, status) in [
        ("/record/crawl.warc".to_owned(), 403),
        (format!("/record/crawl.warc?offset={secret}"), 404),
        (
            format!("/record/crawl.warc?offset={}&length=50", secret + 300),
            404,
        ),
        (format!("/record/crawl.warc?offset=0&length={}", bytes.len()), 403),
    ] {
        let reply = get(&router, &path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        assert!(!reply.text().contains(WORD), "{path}");
    }
    let reply = get(&router, "/record/crawl.warc?offset=0").await;
    assert_eq!((reply.status, reply.body.as_slice()), (200, &bytes[..secret]));
    assert!(reply.text().contains(OPEN));
}

/// Crawlers write text and pictures of pages into separate files. These are sent whole until a page
/// in them is taken down, even if the page itself is in another file. They are sent again when the
/// takedown is undone and they are loaded again.
#[tokio::test]
async fn what_crawlers_derive_from_what_was_taken_down_is_sent_to_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, drafts: &[Draft]| {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, warc::Compression::GZIP).expect("a file");
        for draft in drafts {
            writer.write(draft).expect("a record");
        }
        writer.finish().expect("written");
        path
    };
    let time = 1_390_766_784_000;
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{WORD}");
    let page = Draft::response(SECRET, time, http.into_bytes());
    let text = Draft::resource(
        &format!("urn:text:{SECRET}"),
        time,
        "text/plain",
        WORD.as_bytes().to_vec(),
    );
    let other = Draft::resource(&format!("urn:text:{OPEN}"), time, "text/plain", b"river".to_vec());
    let files = [
        write("pages.warc.gz", &[page]),
        write("texts.warc.gz", &[text, other.clone()]),
        write("others.warc.gz", &[other]),
    ];
    let loaded = load(&files, None);
    let router = open(&loaded.archive);
    let status = async |name: &str| get(&router, &format!("/record/{name}")).await.status;
    assert_eq!(status("texts.warc.gz").await, 200);
    let take_down = TakeDown {
        takes: TakedownSelector::Url(SECRET.to_owned()),
        reason: String::new(),
        who: "the owner".to_owned(),
        dry_run: false,
        limit: 0,
    };
    loaded.archive.ask(take_down).expect("taken down");
    for path in [
        "/record/texts.warc.gz",
        "/record/texts.warc.gz?offset=0",
        "/record/texts.warc.gz?offset=0&length=20",
    ] {
        let reply = get(&router, path).await;
        assert!(matches!(reply.status, 403 | 404), "{path}: {}", reply.status);
        assert!(!reply.text().contains(WORD), "{path}");
    }
    assert_eq!(status("others.warc.gz").await, 200);
    let undo = UndoTakedown {
        id: 1,
        who: "the owner".to_owned(),
    };
    loaded.archive.ask(undo).expect("undone");
    // The attachment is still kept out, as captures are.
    assert_eq!(status("texts.warc.gz").await, 403);
    let again = request(&files, None);
    loaded.archive.load(&again, &mut |_, _| true).expect("a load");
    assert_eq!(status("texts.warc.gz").await, 200);
}

/// Every place that CDX names leads to the bytes of the file there.
#[tokio::test]
async fn places_of_captures_lead_to_their_bytes() {
    let router = open(&field().loaded.archive);
    let stored = std::fs::read(field().folder().join("field.warc")).expect("the input");
    let list = get(
        &router,
        "/cdx?url=story.example&matchType=domain&fl=filename,offset,length&output=text",
    )
    .await;
    let mut checked = 0;
    for line in list.text().lines() {
        let place: Vec<&str> = line.split(' ').collect();
        let (offset, length): (usize, usize) = (
            place[1].parse().expect("an offset"),
            place[2].parse().expect("a length"),
        );
        let alone = get(&router, &format!("/record/{}?offset={offset}", place[0])).await;
        let expected = &stored[offset..offset + length];
        assert_eq!((alone.status, alone.body.as_slice()), (200, expected), "{line}");
        let range = format!("bytes={offset}-{}", offset + length - 1);
        let part = ranged(&router, &format!("/record/{}", place[0]), &range).await;
        assert_eq!((part.status, part.body.as_slice()), (206, expected), "{line}");
        checked += 1;
    }
    assert!(checked > 12, "{}", list.text());
}

/// Writes two pages of a host to `data.warc` in a folder of its name.
fn two_pages(folder: &Path, name: &str, words: [&str; 2]) -> PathBuf {
    let path = folder.join(name).join("data.warc");
    std::fs::create_dir(folder.join(name)).expect("a folder");
    let mut writer = Writer::create(&path, warc::Compression::Plain).expect("a file");
    for (number, word) in words.iter().enumerate() {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{word}");
        let url = format!("http://{name}.example/{number}");
        let draft = Draft::response(&url, 1_390_766_784_000, http.into_bytes());
        writer.write(&draft).expect("a record");
    }
    writer.finish().expect("written");
    path
}

/// Loads a file under its whole path.
fn load_by_path(archive: &Archive, path: &Path) {
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: path.display().to_string(),
            path: path.display().to_string(),
        }],
        ..LoadRequest::default()
    };
    archive.load(&request, &mut |_, _| true).expect("a load");
}

/// Checks that the places of a host's captures in CDX lead to the bytes of the file.
async fn check_places(router: &Router, host: &str, file: &Path) {
    let stored = std::fs::read(file).expect("the input");
    let path = format!("/cdx?url={host}&matchType=host&fl=filename,offset,length&output=text");
    let list = get(router, &path).await.text();
    assert_eq!(list.lines().count(), 2, "{list}");
    for line in list.lines() {
        let place: Vec<&str> = line.split(' ').collect();
        let offset: usize = place[1].parse().expect("an offset");
        let length: usize = place[2].parse().expect("a length");
        let expected = &stored[offset..offset + length];
        let path = format!("/record/{}", place[0]);
        let range = format!("bytes={offset}-{}", offset + length - 1);
        let part = ranged(router, &path, &range).await;
        assert_eq!((part.status, part.body.as_slice()), (206, expected), "{line}");
        let part = get(router, &format!("{path}?offset={offset}&length={length}")).await;
        assert_eq!((part.status, part.body.as_slice()), (200, expected), "{line}");
    }
}

/// The last part of a name is what replay programs know of a file, and all packages of Weft have
/// the same: `data.warc.gz`.
#[tokio::test]
async fn of_inputs_with_one_name_the_one_with_the_record_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    // The first records of `a` and `b` differ in length, those of `b` and `c` do not.
    let files = [
        ("a", ["river", "mill"]),
        ("b", ["a longer river", "bridge"]),
        ("c", ["a longer brook", "a ford"]),
    ]
    .map(|(name, words)| two_pages(folder.path(), name, words));
    // The whole name of this one is the last part of the others.
    let loaded = load(&files[..1], None);
    let router = open(&loaded.archive);
    load_by_path(&loaded.archive, &files[1]);
    check_places(&router, "a.example", &files[0]).await;
    check_places(&router, "b.example", &files[1]).await;
    for (path, status) in [
        ("/record/data.warc", 200),
        ("/record/data.warc?offset=0", 409),
        ("/record/data.warc?offset=1&length=9", 404),
    ] {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
    }
    load_by_path(&loaded.archive, &files[2]);
    let list = get(&router, "/cdx?url=b.example/0&fl=length&output=text").await;
    let path = format!("/record/data.warc?offset=0&length={}", list.text().trim());
    let reply = get(&router, &path).await;
    assert_eq!(reply.status, 409, "{path}: {}", reply.text());
    // Without a length, the record of another file is not taken for that of a file that is gone.
    for file in &files[1..] {
        std::fs::remove_file(file).expect("removed");
    }
    let reply = get(&router, "/record/data.warc?offset=0").await;
    assert_ne!(reply.status, 200, "{}", reply.text());
    check_places(&router, "a.example", &files[0]).await;
}

/// A record that shares a compressed member with others has no separate byte range.
#[tokio::test]
async fn a_record_in_a_shared_member_is_refused_alone() {
    let place = TwoHosts::new();
    let (bytes, secret) = bytes_and_secret(&place);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shared.warc.gz");
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(&bytes).expect("compressed");
    let stored = writer.finish().expect("compressed");
    std::fs::write(&path, &stored).expect("written");
    let loaded = load(std::slice::from_ref(&path), None);
    let router = open(&loaded.archive);
    let alone = get(&router, "/record/shared.warc.gz?offset=0").await;
    assert_eq!(alone.status, 409, "{}", alone.text());
    assert!(alone.text().contains("/record?url="), "{}", alone.text());
    let whole = get(&router, "/record/shared.warc.gz").await;
    assert_eq!((whole.status, &whole.body), (200, &stored));
    assert_eq!(whole.header("content-type"), "application/gzip");
    let rules = "strict = true\n[[rule]]\naccess = \"deny\"\ndomain = \"secret.org\"\n";
    std::fs::write(loaded.archive.rights_path(), rules).expect("rules");
    for offset in [0, secret] {
        let reply = get(&router, &format!("/record/shared.warc.gz?offset={offset}")).await;
        assert!([404, 409].contains(&reply.status), "{offset}: {}", reply.text());
    }
}

#[tokio::test]
async fn a_file_that_changed_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("crawl.warc");
    std::fs::copy(TwoHosts::new().warc(), &path).expect("copied");
    let loaded = load(std::slice::from_ref(&path), None);
    let router = open(&loaded.archive);
    let stored = std::fs::read(&path).expect("the input");
    std::fs::write(&path, &stored[..stored.len() / 2]).expect("cut");
    let reply = get(&router, "/record/crawl.warc").await;
    assert_eq!(reply.status, 409, "{}", reply.text());
    std::fs::remove_file(&path).expect("removed");
    for path in ["/record/crawl.warc", "/record/crawl.warc?offset=0"] {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, 404, "{}", reply.text());
        assert!(reply.text().contains("input_missing"), "{}", reply.text());
        assert!(!reply.text().contains(&folder.path().display().to_string()));
    }
}
