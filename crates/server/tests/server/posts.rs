//! Captures posted in the OutbackCDX protocol, over a real port.

use std::io::Write;
use std::net::SocketAddr;

use access::Groups;
use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use inputs::LoadInput;
use server::{Posts, ServerSettings};
use tempfile::TempDir;

use crate::port::{Running, exchange};
use crate::rights::{OPEN, SECRET, TwoHosts};

/// A server that accepts posts from this machine, over its own archive.
struct Posting {
    running: Running,
    archive: Archive,
    dir: TempDir,
}

impl Posting {
    fn start() -> Posting {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = OpenSettings::default();
        settings.create = true;
        let archive = Archive::open(&dir.path().join("archive"), settings).unwrap();
        let posts = Posts {
            from_here: true,
            groups: Vec::new(),
        };
        let settings = ServerSettings {
            posts,
            ..ServerSettings::default()
        };
        Posting {
            running: Running::start_over(archive.clone(), settings),
            archive,
            dir,
        }
    }

    /// Returns status and body of the response to a post.
    fn post(&self, path: &str, body: &str) -> (u16, String) {
        answer(&post(
            self.running.address,
            path,
            "Host: localhost\r\n",
            body.as_bytes(),
        ))
    }

    fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let (status, body) = answer(&self.running.raw(request.as_bytes()));
        assert_eq!(status, 200, "{body}");
        body
    }
}

fn post(address: SocketAddr, path: &str, headers: &str, body: &[u8]) -> String {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    exchange(address, &request)
}

fn answer(raw: &str) -> (u16, String) {
    let (head, body) = raw.split_once("\r\n\r\n").unwrap_or((raw, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (
        status.unwrap_or_else(|| panic!("no answer: {raw:?}")),
        body.to_owned(),
    )
}

const ONE: &str = "- 20030402160014 http://example.org/ text/html 200 MOH7IEN2JAEJOHYXIEPEEGHOHG5VI=== - - 2248 396 mycrawl.warc.gz\n";
const TWO: &str = "- 20030402160015 http://example.org/two text/html 200 - - 500 mycrawl.warc.gz\n";

/// The examples of OutbackCDX's own manual, with its texts.
#[test]
fn posts_are_answered_as_by_outbackcdx() {
    let posting = Posting::start();
    let (status, text) = posting.post(
        "/outbackcdx/myindex",
        &format!(" CDX N b a m s k r M S V g\n{ONE}"),
    );
    assert_eq!((status, text.as_str()), (200, "Added 1 records\n"));
    assert_eq!(
        posting.post("/outbackcdx/myindex", TWO),
        (200, "Added 1 records\n".into())
    );
    let listed = posting.get("/outbackcdx/myindex?url=example.org");
    assert_eq!(
        listed,
        "org,example)/ 20030402160014 http://example.org/ text/html 200 MOH7IEN2JAEJOHYXIEPEEGHOHG5VI=== - - 2248 396 mycrawl.warc.gz\n"
    );
    // Also visible at the endpoints of the other servers.
    assert!(
        posting
            .get("/myindex/cdx?url=example.org/two")
            .contains("\"offset\": \"500\"")
    );
    assert!(posting.get("/collinfo.json").contains("myindex"));
    assert_eq!(
        posting.post("/outbackcdx/myindex/delete", ONE),
        (200, "Deleted 1 records\n".into())
    );
    assert_eq!(posting.get("/outbackcdx/myindex?url=example.org"), "");
    // `all` is not a label.
    assert_eq!(posting.post("/outbackcdx/all", ONE).1, "Added 1 records\n");
    assert_eq!(posting.get("/outbackcdx/all?url=example.org"), listed);
    assert_eq!(posting.get("/outbackcdx/myindex?url=example.org"), "");
}

#[test]
fn bad_lines_are_named_or_skipped() {
    let posting = Posting::start();
    let bad = format!("{ONE}nonsense\n{TWO}");
    let (status, text) = posting.post("/outbackcdx/a", &bad);
    assert_eq!(status, 400);
    assert!(
        text.starts_with("At line 2: nonsense\nfound 1 columns, expected 9, 10 or 11"),
        "{text}"
    );
    assert_eq!(posting.get("/outbackcdx/a?url=example.org/*"), "");
    let (status, text) = posting.post("/outbackcdx/a?badLines=skip&unknown=1", &bad);
    assert_eq!(status, 200);
    assert!(
        text.starts_with("Added 2 records\n") && text.contains("cannot be parsed: 1\n"),
        "{text}"
    );
    let raw = [ONE.as_bytes(), b"\xff\xfe\n"].concat();
    let raw = |path: &str| answer(&post(posting.running.address, path, "Host: localhost\r\n", &raw));
    let (status, text) = raw("/outbackcdx/a");
    assert_eq!(
        (status, text.as_str()),
        (400, "At line 2: the line is not valid UTF-8\n")
    );
    assert_eq!(raw("/outbackcdx/a?badLines=skip").0, 200);
    assert_eq!(posting.post("/outbackcdx/a?badLines=maybe", ONE).0, 400);
    assert_eq!(posting.post("/outbackcdx/a/delete", "nonsense").0, 400);
}

#[test]
fn what_is_loaded_is_not_deleted_and_the_answer_says_so() {
    let posting = Posting::start();
    let index = posting.dir.path().join("loaded.cdx");
    std::fs::write(&index, ONE).unwrap();
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "loaded.cdx".into(),
            path: inputs::path_text(&index),
        }],
        ..LoadRequest::default()
    };
    posting.archive.load(&request, &mut |_, _| true).unwrap();
    posting.post("/outbackcdx/all", TWO);
    let both = format!("{ONE}{TWO}");
    let (status, text) = posting.post("/outbackcdx/all/delete", &both);
    assert_eq!(status, 409);
    assert!(
        text.starts_with("Deleted 0 records\n")
            && text.contains("line 1: the index loaded.cdx tells of it")
            && text.contains("weft forget"),
        "{text}"
    );
    assert_eq!(
        posting.get("/outbackcdx/all?url=example.org/*").lines().count(),
        2
    );
    let (status, text) = posting.post("/outbackcdx/all/delete?loaded=skip", &both);
    assert_eq!(status, 200);
    assert!(text.starts_with("Deleted 1 records\n"), "{text}");
    assert_eq!(
        posting.get("/outbackcdx/all?url=example.org/*").lines().count(),
        1
    );
}

/// Indexes of a crawl written by pywb's `cdx-indexer`, in both of its formats. The list is the same
/// as that of the crawl itself.
#[test]
fn what_cdx_indexer_writes_can_be_posted() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let crawl = crate::loaded::load(&[shared.join("crawls/iana.warc.gz")], None);
    let records = Running::start_over(crawl.archive.clone(), ServerSettings::default());
    let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let path =
        "/outbackcdx/all?url=iana.org&matchType=domain&fl=urlkey,timestamp,original,digest,offset,filename";
    let (_, expected) = answer(&records.raw(request(path).as_bytes()));
    assert!(expected.lines().count() > 100, "{expected}");
    for (number, index) in ["crawls/iana.cdx", "crawls/iana.cdxj"].into_iter().enumerate() {
        let posting = Posting::start();
        let (status, text) = posting.post(
            &format!("/outbackcdx/c{number}"),
            &std::fs::read_to_string(shared.join(index)).unwrap(),
        );
        assert!(status == 200 && text.starts_with("Added 1"), "{text}");
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&posting.get(path)), sorted(&expected), "{index}");
    }
}

/// Only the OutbackCDX endpoint answers for the source of an alias with the captures of its target.
#[test]
fn aliases_lead_to_their_targets() {
    let posting = Posting::start();
    let text = format!(
        "@alias http://legacy.example.org/page-one http://example.org/\n{ONE}@alias http://older.example.org/ http://legacy.example.org/page-one\n"
    );
    assert_eq!(
        posting.post("/outbackcdx/a", &text),
        (200, "Added 3 records\n".into())
    );
    let target = posting.get("/outbackcdx/a?url=example.org");
    assert_eq!(target.lines().count(), 1);
    for source in ["http://legacy.example.org/page-one", "http://older.example.org/"] {
        assert_eq!(posting.get(&format!("/outbackcdx/a?url={source}")), target);
        assert_eq!(posting.get(&format!("/outbackcdx/all?url={source}")), target);
        assert_eq!(posting.get(&format!("/outbackcdx/b?url={source}")), "");
        assert_eq!(
            posting.get(&format!("/outbackcdx/a?url={source}&matchType=prefix")),
            ""
        );
        assert_eq!(posting.get(&format!("/cdx?url={source}")), "");
    }
    // A cycle ends, and a new target replaces the old one.
    let again = "@alias http://legacy.example.org/page-one http://older.example.org/\n";
    assert_eq!(posting.post("/outbackcdx/a", again).1, "Added 1 records\n");
    assert_eq!(posting.get("/outbackcdx/a?url=http://older.example.org/"), "");
    assert_eq!(
        posting.post("/outbackcdx/a/delete", again).1,
        "Deleted 1 records\n"
    );
    posting.post(
        "/outbackcdx/a",
        "@alias http://older.example.org/ http://example.org/\n",
    );
    assert_eq!(posting.get("/outbackcdx/a?url=http://older.example.org/"), target);
    assert_eq!(
        posting.get("/outbackcdx/a?url=http://legacy.example.org/page-one"),
        ""
    );
    let (status, text) = posting.post("/outbackcdx/a", "@alias http://a.org/\n");
    assert!(status == 400 && text.contains("expected @alias"), "{text}");
}

#[test]
fn bodies_come_in_chunks_and_within_limits() {
    let posting = Posting::start();
    let address = posting.running.address;
    let chunked = format!(
        "POST /outbackcdx/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{ONE}\r\n{:x}\r\n{TWO}\r\n0\r\n\r\n",
        ONE.len(),
        TWO.len()
    );
    assert_eq!(
        answer(&exchange(address, chunked.as_bytes())),
        (200, "Added 2 records\n".into())
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(ONE.as_bytes()).unwrap();
    let headers = "Host: localhost\r\nContent-Encoding: gzip\r\n";
    let (status, text) = answer(&post(address, "/outbackcdx/a", headers, &gzip.finish().unwrap()));
    assert!(status == 415 && text.contains(".cdx.gz"), "{text}");
    // Refused by the header before 33 MiB are sent. Without a length in the header, refused once
    // they are.
    let piece = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let long = format!(
        "POST /outbackcdx/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        piece.repeat(33)
    );
    let (status, text) = answer(&exchange(address, long.as_bytes()));
    assert!(status == 413 && text.contains("weft load"), "{text}");
    // A truncated body has no effect.
    let cut = format!("POST /outbackcdx/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n{ONE}");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(cut.as_bytes()).unwrap();
    drop(stream);
    assert_eq!(posting.get("/outbackcdx/b?url=example.org"), "");
}

/// Nobody may post unless settings allow it, and then only the clients named there.
#[test]
fn who_may_post_is_a_setting() {
    let place = TwoHosts::new();
    place.hide_secret();
    let token = |group: &str| {
        let groups: Groups = [group].into_iter().collect();
        place.tokens().issue(group, groups, None).unwrap()
    };
    let (crawler, reader) = (token("crawler"), token("reader"));
    let with = |from_here: bool, groups: &[&str]| {
        let settings = ServerSettings {
            posts: Posts {
                from_here,
                groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            },
            ..place.settings("10.0.0.1/32")
        };
        Running::start_over(place.archive.clone(), settings)
    };
    let bearer = |token: &str| format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    let status = |running: &Running, headers: &str| {
        let added = answer(&post(running.address, "/outbackcdx/p", headers, ONE.as_bytes()));
        let deleted = answer(&post(
            running.address,
            "/outbackcdx/p/delete",
            headers,
            ONE.as_bytes(),
        ));
        assert_eq!(added.0, deleted.0, "{added:?} {deleted:?}");
        added.0
    };
    let local = "Host: localhost\r\n";
    assert_eq!(status(&with(false, &[]), local), 403);
    let groups = with(false, &["crawler"]);
    assert_eq!(status(&groups, local), 403);
    assert_eq!(status(&groups, &bearer(&reader)), 403);
    assert_eq!(status(&groups, &bearer(&crawler)), 200);
    assert_eq!(
        status(&groups, &(bearer(&crawler) + "Origin: http://evil.example\r\n")),
        403
    );
    assert_eq!(status(&groups, &bearer("none")), 401);
    // Rules hide some captures from clients without a token.
    let here = with(true, &[]);
    assert_eq!(status(&here, local), 403);
    place.open_secret();
    assert_eq!(status(&here, local), 200);
    assert_eq!(
        status(&here, "Host: localhost\r\nX-Forwarded-For: 10.1.1.1\r\n"),
        403
    );
    assert_eq!(status(&here, "Host: localhost\r\nOrigin: null\r\n"), 403);
}

/// A post to a collection is listed in that collection, or the response says where it is listed.
#[test]
fn what_would_land_in_another_collection_is_refused() {
    let place = TwoHosts::new();
    let settings = ServerSettings {
        posts: Posts {
            from_here: true,
            groups: Vec::new(),
        },
        ..ServerSettings::default()
    };
    let running = Running::start_over(place.archive.clone(), settings);
    let send = |path: &str, body: &str| {
        answer(&post(
            running.address,
            path,
            "Host: localhost\r\n",
            body.as_bytes(),
        ))
    };
    let get = |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        answer(&running.raw(request.as_bytes())).1
    };
    let loaded = get(&format!("/outbackcdx/all?url={OPEN}"));
    assert_eq!(loaded.lines().count(), 1);
    let both = format!("{loaded}{TWO}");
    let (status, text) = send("/outbackcdx/elsewhere", &both);
    assert_eq!(status, 409, "{text}");
    assert!(
        text.starts_with("Added 0 records\n")
            && text.contains("Captures that would be listed in another collection: 1\n")
            && text.contains("line 1: its record is loaded, at offset ")
            && text.contains("not in elsewhere\n"),
        "{text}"
    );
    assert_eq!(get("/outbackcdx/elsewhere?url=example.org/*"), "");
    let (status, text) = send("/outbackcdx/elsewhere?loaded=skip", &both);
    assert!(status == 200 && text.starts_with("Added 1 records\n"), "{text}");
    assert_eq!(get("/outbackcdx/elsewhere?url=example.org/*").lines().count(), 1);
    // All captures are listed in `all`.
    assert_eq!(
        send("/outbackcdx/all", &loaded),
        (200, "Added 1 records\n".into())
    );
}

/// A client that posts learns nothing about captures that are hidden from it: each response is that
/// of an archive without them.
#[test]
fn answers_to_posts_are_the_same_whether_a_capture_is_hidden_or_not_there() {
    let place = TwoHosts::new();
    let open = Running::start_over(place.archive.clone(), ServerSettings::default());
    let request =
        format!("GET /outbackcdx/all?url={SECRET} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (_, line) = answer(&open.raw(request.as_bytes()));
    assert_eq!(line.lines().count(), 1);
    place.hide_secret();
    let groups: Groups = ["crawler"].into_iter().collect();
    let token = place.tokens().issue("crawler", groups, None).unwrap();
    let settings = ServerSettings {
        posts: Posts {
            from_here: false,
            groups: vec!["crawler".to_owned()],
        },
        ..place.settings("10.0.0.1/32")
    };
    let running = Running::start_over(place.archive.clone(), settings);
    let headers = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    // Compared with the same post about a page that does not exist, and about the page in another
    // file.
    let nowhere = line.replace("secret", "sekret");
    for (line, nowhere) in [
        (line.clone(), nowhere.clone()),
        (
            line.replace("crawl.warc", "other.warc"),
            nowhere.replace("crawl.warc", "other.warc"),
        ),
    ] {
        assert_ne!(line, nowhere);
        for path in [
            "/outbackcdx/p",
            "/outbackcdx/all",
            "/outbackcdx/p/delete",
            "/outbackcdx/all/delete",
            "/outbackcdx/p?loaded=skip",
            "/outbackcdx/p/delete?loaded=skip",
            "/outbackcdx/all/delete",
        ] {
            let sent = |line: &str| answer(&post(running.address, path, &headers, line.as_bytes()));
            assert_eq!(sent(&line), sent(&nowhere), "{path} {line}");
        }
    }
}
