//! The server over real archives.

use std::path::PathBuf;

use archive::question::{Domains, DomainsBody, Question};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use server::ServerSettings;
use tower::ServiceExt;
use warc::{Compression, Draft, Entry, Reader, ReaderSettings, Record, Writer};

use crate::fake::{get, owned, send};
use crate::loaded::{Loaded, load};
use crate::web;

fn router(loaded: &Loaded) -> Router {
    owned(server::router(loaded.archive.clone(), ServerSettings::default()))
}

fn crawl(name: &str) -> Option<PathBuf> {
    test_env::shared_data().map(|folder| folder.join("crawls").join(name))
}

/// Returns key, time and JSON of a CDXJ line.
fn parts(line: &str) -> (&str, &str, serde_json::Value) {
    let mut parts = line.splitn(3, ' ');
    let (key, time, json) = (parts.next(), parts.next(), parts.next());
    let json = serde_json::from_str(json.unwrap_or("")).expect("JSON at the end of a line");
    (key.unwrap_or(""), time.unwrap_or(""), json)
}

/// Our lines for all captures agree with the reference index on every field. Lines with the same
/// key and second are first sorted by offset, because the reference has no smaller unit of time.
#[tokio::test]
async fn cdx_agrees_with_the_reference_index() {
    let (Some(warc), Some(reference)) = (crawl("iana.warc.gz"), crawl("iana.cdxj")) else {
        return;
    };
    let loaded = load(&[warc], None);
    let router = router(&loaded);
    let reference = std::fs::read_to_string(reference).expect("the reference index");
    let mut hosts: Vec<String> = reference
        .lines()
        .map(|line| urlkey::host_of_key(parts(line).0).to_string())
        .collect();
    hosts.sort();
    hosts.dedup();
    let mut ours = String::new();
    for host in &hosts {
        ours.push_str(
            &get(&router, &format!("/cdx?url={host}&matchType=host"))
                .await
                .body,
        );
    }
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_by_key(|line| {
            let (key, time, json) = parts(line);
            let offset: u64 = json["offset"].as_str().and_then(|n| n.parse().ok()).unwrap_or(0);
            (key.to_owned(), time.to_owned(), offset)
        });
        lines
    };
    let (ours, theirs) = (sorted(&ours), sorted(&reference));
    let differing: Vec<(&String, &String)> = ours
        .iter()
        .zip(&theirs)
        .filter(|(a, b)| parts(a) != parts(b))
        .collect();
    assert!(
        differing.is_empty(),
        "{} lines differ, first: {:#?}",
        differing.len(),
        differing.first()
    );
    assert_eq!(ours.len(), theirs.len());
}

#[tokio::test]
async fn cdx_matches_narrow_and_limit() {
    let Some(warc) = crawl("iana.warc.gz") else { return };
    let loaded = load(&[warc], None);
    let router = router(&loaded);
    let count = async |query: &str| get(&router, &format!("/cdx?{query}")).await.body.lines().count();
    let all = count("url=iana.org&matchType=domain").await;
    assert_eq!(all, 171);
    assert_eq!(count("url=*.iana.org").await, all);
    assert_eq!(count("url=*.iana.org&limit=7").await, 7);
    assert_eq!(count("url=http://www.iana.org/").await, 1);
    let about = count("url=http://www.iana.org/about*").await;
    assert!(0 < about && about < all);
    assert_eq!(
        count("url=http://www.iana.org/about&matchType=prefix").await,
        about
    );
    assert_eq!(count("url=*.iana.org&from=2015").await, 0);
    assert_eq!(count("url=*.iana.org&from=2014&to=201401").await, all);
    let early = count("url=*.iana.org&to=201401262006").await;
    assert_eq!(early + count("url=*.iana.org&from=201401262007").await, all);
    assert_eq!(count("url=http://nowhere.example/").await, 0);
}

/// Reads bytes that should be a file with one record.
fn only_record(bytes: &[u8]) -> Record {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("written");
    let mut reader = Reader::open(file.path(), ReaderSettings::default()).expect("open");
    let mut found = None;
    while let Some(entry) = reader.next_entry().expect("read") {
        match entry {
            Entry::Record(record) => assert!(found.replace(record).is_none(), "more than one record"),
            Entry::Padding(_) => {}
            other => panic!("{other:?}"),
        }
    }
    found.expect("a record")
}

async fn bytes(router: &Router, path: &str) -> (u16, String, Vec<u8>) {
    let request = Request::get(path).header("host", "localhost");
    let request = request.body(Body::empty()).expect("a request");
    let response = router
        .clone()
        .oneshot(request)
        .await
        .expect("routers do not fail");
    let status = response.status().as_u16();
    let media = response.headers()["content-type"]
        .to_str()
        .expect("text")
        .to_owned();
    let body = to_bytes(response.into_body(), usize::MAX)
        .await
        .expect("a whole body");
    (status, media, body.to_vec())
}

/// Checks that every capture's record can be downloaded and is the requested one.
async fn check_records(loaded: &Loaded, domains: &[&str], media: &str) {
    let router = router(loaded);
    let mut checked = 0;
    for domain in domains {
        let lines = get(
            &router,
            &format!("/cdx?url={domain}&matchType=domain&output=ndjson"),
        )
        .await
        .body;
        for line in lines.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let (url, time) = (
                row["url"].as_str().expect("a URL"),
                row["timestamp"].as_str().expect("a time"),
            );
            let encoded: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();
            let (status, found, bytes) = bytes(&router, &format!("/record?url={encoded}&at={time}")).await;
            assert_eq!(
                (status, found.as_str()),
                (200, media),
                "{url}: {}",
                String::from_utf8_lossy(&bytes)
            );
            assert_eq!(only_record(&bytes).target(), Some(url));
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[tokio::test]
async fn records_of_a_crawl_are_sent_as_stored() {
    let Some(warc) = crawl("hackfest.warc.gz") else {
        return;
    };
    let loaded = load(&[warc], None);
    let ledger = loaded
        .archive
        .ask(Question::Domains(Domains {
            order: archive::question::DomainOrder::Name,
            after: None,
            limit: 1000,
        }))
        .expect("domains");
    let archive::question::Body::Domains(DomainsBody { rows, .. }) = ledger.body else {
        panic!("domains")
    };
    let domains: Vec<&str> = rows.iter().map(|row| row.domain.as_str()).collect();
    let captured: Vec<&str> = domains
        .into_iter()
        .filter(|name| rows.iter().any(|row| row.domain == *name && row.pages > 0))
        .collect();
    check_records(&loaded, &captured, "application/gzip").await;
}

fn drafts() -> Vec<Draft> {
    let block = |n: u64| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Page {n}</title>").into_bytes()
    };
    (0..3)
        .map(|n| {
            Draft::response(
                &format!("http://example.com/{n}"),
                1_390_766_784_000 + n as i64 * 1000,
                block(n),
            )
        })
        .collect()
}

/// However a record is stored, the response is a file with only that record.
#[tokio::test]
async fn records_stand_alone_whatever_container_they_come_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, compression: Compression| {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path, compression).expect("a file");
        drafts().iter().for_each(|draft| {
            writer.write(draft).expect("a record");
        });
        writer.finish().expect("written");
        path
    };
    let dictionary = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Page ".repeat(40);
    let with_dictionary = Compression::Zstd {
        level: 3,
        dictionary: Some(dictionary),
    };
    let without = Compression::Zstd {
        level: 3,
        dictionary: None,
    };
    for (path, media) in [
        (write("plain.warc", Compression::Plain), "application/warc"),
        (write("gzip.warc.gz", Compression::GZIP), "application/gzip"),
        (write("lz4.warc.lz4", Compression::Lz4), "application/x-lz4"),
        (write("zstd.warc.zst", without), "application/zstd"),
        (write("dictionary.warc.zst", with_dictionary), "application/zstd"),
    ] {
        let loaded = load(&[path], None);
        check_records(&loaded, &["example.com"], media).await;
    }
}

/// A range of a record, the rest after an interruption, and 304 if the client already has it.
#[tokio::test]
async fn records_are_sent_by_ranges_and_only_when_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plain.warc");
    let mut writer = Writer::create(&path, Compression::Plain).expect("a file");
    drafts().iter().for_each(|draft| {
        writer.write(draft).expect("a record");
    });
    writer.finish().expect("written");
    let loaded = load(&[path], None);
    let router = router(&loaded);
    let ask = async |headers: &[(&str, &str)]| {
        let mut request = Request::get("/record?url=http://example.com/1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(&router, request.body(Body::empty()).expect("a request")).await
    };
    let whole = ask(&[]).await;
    let length = whole.body.len();
    assert_eq!(
        (whole.status.as_u16(), whole.header("accept-ranges")),
        (200, "bytes")
    );
    let tag = whole.header("etag").to_owned();
    for (range, first, end) in [
        ("bytes=10-19", 10, 20),
        ("bytes=100-", 100, length),
        ("bytes=-7", length - 7, length),
    ] {
        let part = ask(&[("range", range), ("if-range", &tag)]).await;
        assert_eq!(
            (part.status.as_u16(), part.body.as_str()),
            (206, &whole.body[first..end]),
            "{range}"
        );
        assert_eq!(
            part.header("content-range"),
            format!("bytes {first}-{}/{length}", end - 1)
        );
        assert_eq!(part.header("content-length"), (end - first).to_string());
    }
    let beyond = ask(&[("range", "bytes=9999999-")]).await;
    assert_eq!(
        (beyond.status.as_u16(), beyond.header("content-range")),
        (416, format!("bytes */{length}").as_str())
    );
    for headers in [
        [("range", "bytes=10-19"), ("if-range", "\"other\"")],
        [("range", "lines=1-2"), ("x", "y")],
    ] {
        assert_eq!(ask(&headers).await.body, whole.body, "{headers:?}");
    }
    // Ranges count the bytes of the record. If it were compressed in transit, a resumed download
    // would be corrupt.
    let asked = ask(&[("accept-encoding", "gzip")]).await;
    assert_eq!((asked.header("content-encoding"), asked.body.len()), ("", length));
    let known = ask(&[("if-none-match", &tag)]).await;
    assert_eq!((known.status.as_u16(), known.body.as_str()), (304, ""));
}

#[tokio::test]
async fn a_missing_or_changed_input_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = web::write(folder.path(), "http://trap.example");
    let loaded = load(std::slice::from_ref(&path), None);
    let router = router(&loaded);
    let address = "/record?url=http://threads.example.com/3";
    assert_eq!(get(&router, address).await.status, 200);
    let stored = std::fs::read(&path).expect("the input");
    std::fs::write(&path, vec![b'x'; stored.len()]).expect("changed");
    let reply = get(&router, address).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
        (409, Some("input_changed"))
    );
    std::fs::remove_file(&path).expect("removed");
    let reply = get(&router, address).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["error"]["code"].as_str()),
        (404, Some("input_missing"))
    );
    assert!(
        !reply.body.contains(&folder.path().display().to_string()),
        "{}",
        reply.body
    );
    let reply = get(&router, "/sandbox/content?url=http://threads.example.com/3").await;
    assert_eq!(reply.status, 404);
    assert!(reply.header("content-security-policy").starts_with("sandbox "));
}

#[tokio::test]
async fn another_record_at_the_same_offset_is_not_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.warc");
    let write = |names: [&str; 2]| std::fs::write(&path, names.map(record_of).concat()).expect("written");
    write(["a1", "a2"]);
    let loaded = load(std::slice::from_ref(&path), None);
    let router = router(&loaded);
    let addresses = [
        "/record?url=http://a1.example/",
        "/sandbox/content?url=http://a1.example/",
    ];
    for address in addresses {
        assert_eq!(get(&router, address).await.status, 200, "{address}");
    }
    write(["a2", "a1"]);
    for address in addresses {
        let reply = get(&router, address).await;
        assert_eq!(reply.status, 409, "{address}");
        assert!(!reply.body.contains("content of"), "{}", reply.body);
    }
    assert_eq!(
        get(&router, addresses[0]).await.json()["error"]["code"],
        "input_changed"
    );
}

/// Returns a record of `http://NAME.example/`. Names of the same length give records of the same
/// length.
fn record_of(name: &str) -> String {
    let block =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{name}</title>content of {name}");
    let length = block.len();
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{name}>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Target-URI: http://{name}.example/\r\nContent-Type: application/http\r\n\
         Content-Length: {length}\r\n\r\n{block}\r\n\r\n"
    )
}

#[tokio::test]
async fn archived_content_comes_decoded_and_under_the_sandbox_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let loaded = load(&[web::write(folder.path(), "http://trap.example")], None);
    assert_eq!(loaded.job.quarantined, 0);
    let router = router(&loaded);
    for (url, media) in [
        (web::HOSTILE, "text/html; charset=utf-8"),
        (
            "http://www.looms.example.org/loom.svg",
            "text/html; charset=utf-8",
        ),
        ("http://nowhere.example/", "text/html; charset=utf-8"),
        ("", "text/html; charset=utf-8"),
    ] {
        let reply = get(&router, &format!("/sandbox/content?url={url}")).await;
        assert_eq!(reply.header("content-type"), media, "{url}");
        let policy = reply.header("content-security-policy");
        assert!(
            policy.starts_with("sandbox allow-top-navigation-by-user-activation; default-src 'none';")
                && policy.matches("allow").count() == 1,
            "a reader's click may leave the frame, and nothing else may: {policy}"
        );
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert!(reply.headers.get("set-cookie").is_none());
    }
    let reply = get(&router, &format!("/sandbox/content?url={}", web::HOSTILE)).await;
    assert!(reply.body.starts_with("<!DOCTYPE html>"), "{}", reply.body);
}

/// A link in an archived page leads to the archive's page of its target at that time, or to one
/// that says that it was not captured. It never leads to the live web, nor to a page of this server
/// with the same path.
#[tokio::test]
async fn links_in_an_archived_page_lead_to_archived_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n\
        <a href=/about>ours?</a><a href='//far.example/x?y&amp;z'>far</a><a href=http://a.example/gone>gone</a>";
    let path = folder.path().join("x.warc");
    let mut writer = Writer::create(&path, Compression::Plain).expect("a file");
    let draft = Draft::response("http://a.example/", 1_390_766_784_000, block.to_vec());
    writer.write(&draft).expect("a record");
    writer.finish().expect("written");
    let loaded = load(&[path], None);
    let router = router(&loaded);
    let content = get(&router, "/sandbox/content?url=http://a.example/").await.body;
    let links: Vec<&str> = content
        .split('"')
        .filter(|part| part.starts_with("/page?"))
        .collect();
    assert_eq!(
        links,
        [
            "/page?url=http%3A%2F%2Fa.example%2Fabout&amp;at=20140126200624",
            "/page?url=http%3A%2F%2Ffar.example%2Fx%3Fy%26z&amp;at=20140126200624",
            "/page?url=http%3A%2F%2Fa.example%2Fgone&amp;at=20140126200624",
        ],
        "{content}"
    );
    assert_eq!(content.matches("href=").count(), 3);
    for link in links {
        let page = get(&router, &link.replace("&amp;", "&")).await;
        assert!(
            page.body.contains("This URL was not captured"),
            "{link}: {}",
            page.status
        );
    }
}

#[tokio::test]
async fn an_older_capture_has_its_own_title() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.warc");
    let mut writer = Writer::create(&path, Compression::Plain).expect("a file");
    for (second, title) in [(0, "Title of old"), (1, ""), (2, "Title of new")] {
        let block =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title> {title}\n</title><p>text");
        let draft = Draft::response(
            "http://a.example/",
            1_390_766_784_000 + second * 1000,
            block.into_bytes(),
        );
        writer.write(&draft).expect("a record");
    }
    writer.finish().expect("written");
    let loaded = load(std::slice::from_ref(&path), None);
    let router = router(&loaded);
    for (at, heading) in [
        ("20140126200624", "Title of old"),
        ("20140126200625", "http://a.example/"),
        ("20140126200626", "Title of new"),
    ] {
        let page = get(&router, &format!("/page?url=http://a.example/&at={at}"))
            .await
            .body;
        assert!(page.contains(&format!("<title>{heading} ")), "{at}: {page}");
        assert!(!page.contains("title of the newest"), "{at}: {page}");
    }
    std::fs::remove_file(path).expect("removed");
    let page = get(&router, "/page?url=http://a.example/&at=20140126200624")
        .await
        .body;
    assert!(
        page.contains("Title of new") && page.contains("title of the newest version"),
        "{page}"
    );
}

/// A revisit, which only says "unchanged", is shown with the content of its original.
#[tokio::test]
async fn revisits_show_what_they_saw_again() {
    let Some(warc) = crawl("dupes.warc.gz") else {
        return;
    };
    let loaded = load(&[warc], None);
    let router = router(&loaded);
    let first = get(
        &router,
        "/sandbox/content?url=http://example.com&at=20140127171200",
    )
    .await;
    let again = get(
        &router,
        "/sandbox/content?url=http://example.com&at=20140127171251",
    )
    .await;
    assert_eq!(
        (first.status.as_u16(), again.status.as_u16()),
        (200, 200),
        "{}",
        again.body
    );
    assert!(first.body.contains("Example Domain"));
    assert_eq!(first.body, again.body);
}

#[tokio::test]
async fn pages_of_a_real_crawl() {
    let (Some(one), Some(two)) = (crawl("etig.warc.gz"), crawl("iana.warc.gz")) else {
        return;
    };
    let loaded = load(&[one, two], Some("crawls"));
    let router = router(&loaded);
    for (path, words) in [
        ("/", "collection%3Acrawls"),
        ("/search?q=iana", "<mark>"),
        ("/search?q=domain+names&explain=1", "Score"),
        (
            "/page?url=http://www.iana.org/",
            "Internet Assigned Numbers Authority",
        ),
        ("/page/inlinks?url=http://www.iana.org/", "iana.org"),
        ("/domain?name=iana.org", "iana.org"),
        ("/ranking", "from other domains"),
        ("/ranking?domain=iana.org", "iana.org"),
        ("/captures?url=iana.org&match=domain", "Download"),
        ("/loads", "etig.warc.gz"),
        ("/statistics", "Load stages"),
    ] {
        let reply = get(&router, path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert!(reply.body.contains(words), "{path} has no {words:?}");
    }
}
