//! Uploads of files by administrators.

use std::path::PathBuf;

use access::{Groups, TokenHolder};
use archive::question::{Body, Ledger, LoadRequest, Question};
use axum::Router;
use axum::body::Body as Content;
use axum::http::Request;
use inputs::{LoadInput, path_text};
use server::{ServerSettings, UploadSettings};
use tempfile::TempDir;

use crate::fake::{Reply, get, owned, sample, send, served};
use crate::port::Running;
use crate::rights::{TwoHosts, record};

/// Maximum size of a file in these tests.
const BYTES_MAX: u64 = 4096;

const UPLOADED: &str = "http://uploaded.org/page";

/// A server that accepts uploads of administrators.
struct Uploads {
    place: TwoHosts,
    router: Router,
    dir: PathBuf,
    admin: String,
}

impl Uploads {
    fn new() -> Uploads {
        let place = TwoHosts::new();
        let bearer = TokenHolder {
            groups: Groups::listed(""),
            is_admin: true,
        };
        let admin = place.tokens().issue_for("admin", bearer, None).unwrap();
        let dir = place.archive.uploads_path();
        let settings = ServerSettings {
            uploads: Some(UploadSettings {
                dir: dir.clone(),
                bytes_max: BYTES_MAX,
            }),
            ..place.settings("10.0.0.0/8")
        };
        Uploads {
            router: server::router(place.archive.clone(), settings),
            place,
            dir,
            admin: format!("Bearer {admin}"),
        }
    }

    async fn post(&self, query: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request = Request::post(format!("/api/v1/upload{query}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Content::from(body.to_owned());
        send(&self.router, request.body(body).expect("a request")).await
    }

    /// Loads a file of the folder again. One load runs at a time, so those requested before have ended
    /// then.
    async fn load_again(&self, name: &str) {
        let name = path_text(&self.dir.join(name));
        let again = LoadRequest {
            inputs: vec![LoadInput {
                name: name.clone(),
                path: name,
            }],
            ..LoadRequest::default()
        };
        let archive = self.place.archive.clone();
        let load = move || archive.load(&again, &mut |_, _| true).map(drop);
        tokio::task::spawn_blocking(load).await.unwrap().unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().into_string().expect("UTF-8"))
            .collect()
    }
}

#[tokio::test]
async fn an_administrator_uploads_a_file_and_it_is_loaded() {
    let uploads = Uploads::new();
    let admin = [("authorization", uploads.admin.as_str())];
    let warc = record(UPLOADED, "<title>Uploaded</title>");
    let query = "?name=..%2Fmy%20crawl.warc&collection=news";
    let reply = uploads.post(query, &admin, &warc).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.json()["answer"], "job");
    assert_eq!(uploads.names(), ["my_crawl.warc"]);
    let path = uploads.dir.join("my_crawl.warc");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), warc);
    // One load runs at a time, so that of the upload has ended when this one has.
    let name = path_text(&path);
    let again = LoadRequest {
        inputs: vec![LoadInput {
            name: name.clone(),
            path: name,
        }],
        ..LoadRequest::default()
    };
    let archive = uploads.place.archive.clone();
    let load = move || archive.load(&again, &mut |_, _| true).map(|(_, job)| job);
    let job = tokio::task::spawn_blocking(load).await.unwrap().unwrap();
    assert_eq!((job.captures, job.inputs_known), (0, 1));
    let page = get(&uploads.router, &format!("/cdx?url={UPLOADED}&collection=news")).await;
    assert!(page.body.contains("my_crawl.warc"), "{}", page.body);
    // The same content is the same file, and other content is refused.
    assert_eq!(uploads.post(query, &admin, &warc).await.status, 200);
    let other = uploads.post(query, &admin, &warc.replace("Up", "up")).await;
    assert_eq!(other.status, 409);
    assert_eq!(other.json()["error"]["code"], "conflict");
    assert_eq!(uploads.names(), ["my_crawl.warc"]);
}

#[tokio::test]
async fn a_file_that_could_not_be_loaded_is_replaced() {
    let uploads = Uploads::new();
    let admin = [("authorization", uploads.admin.as_str())];
    let (query, name) = ("?name=x.warc", path_text(&uploads.dir.join("x.warc")));
    assert_eq!(uploads.post(query, &admin, "no record").await.status, 200);
    uploads.load_again("x.warc").await;
    let warc = record(UPLOADED, "<title>Uploaded</title>");
    let reply = uploads.post(query, &admin, &warc).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    uploads.load_again("x.warc").await;
    assert_eq!(uploads.names(), ["x.warc"]);
    let page = get(&uploads.router, &format!("/cdx?url={UPLOADED}")).await;
    assert!(page.body.contains("x.warc"), "{}", page.body);
    // The failure is forgotten, and a loaded file stays.
    let question = Ledger {
        input: Some(name),
        ..Ledger::default()
    };
    let rows = uploads.place.archive.ask(question).unwrap().body.rows;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(uploads.post(query, &admin, "no record").await.status, 409);
}

#[tokio::test]
async fn refused_uploads_say_why_and_leave_no_file() {
    let uploads = Uploads::new();
    let admin = ("authorization", uploads.admin.as_str());
    let long = "x".repeat(BYTES_MAX as usize + 1);
    let warc = "?name=x.warc";
    for (query, headers, body, status, words) in [
        (warc, vec![], "x", 403, "only administrators"),
        (
            warc,
            vec![admin, ("origin", "http://evil.example")],
            "x",
            403,
            "cross-site",
        ),
        (
            warc,
            vec![admin, ("sec-fetch-site", "same-site")],
            "x",
            403,
            "cross-site",
        ),
        ("", vec![admin], "x", 400, "parameter name is missing"),
        ("?name=x.pdf", vec![admin], "x", 415, ".wacz"),
        ("?name=.warc", vec![admin], "x", 415, ".wacz"),
        (
            warc,
            vec![admin, ("content-type", "multipart/form-data; boundary=x")],
            "x",
            415,
            "not a form",
        ),
        (
            warc,
            vec![admin, ("content-length", "4097")],
            "x",
            413,
            "exceeds 4096 bytes",
        ),
        (warc, vec![admin], long.as_str(), 413, "exceeds 4096 bytes"),
        (warc, vec![admin], "", 400, "the body is empty"),
    ] {
        let reply = uploads.post(query, &headers, body).await;
        assert_eq!(reply.status, status, "{query} {headers:?}: {}", reply.body);
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains(words), "{query} {headers:?}: {message}");
    }
    assert_eq!(uploads.names(), [""; 0]);
}

/// Returns settings that accept uploads into a temporary folder.
fn accepting() -> (TempDir, ServerSettings) {
    let dir = tempfile::tempdir().expect("a folder");
    let settings = ServerSettings {
        uploads: Some(UploadSettings::at(dir.path().join("uploads"))),
        ..ServerSettings::default()
    };
    (dir, settings)
}

#[tokio::test]
async fn a_read_only_archive_and_a_server_without_uploads_refuse_them() {
    let read_only = |question: &Question| {
        let mut answer = sample(question)?;
        if let Body::Status(status) = &mut answer.body {
            status.read_only = true;
        }
        Ok(answer)
    };
    let (dir, settings) = accepting();
    let router = owned(server::router(served(read_only), settings));
    let request = || Request::post("/api/v1/upload?name=x.warc").body(Content::from("x"));
    let refused = send(&router, request().expect("a request")).await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("is open read-only"), "{}", refused.body);
    assert!(!dir.path().join("uploads").exists());
    assert!(!get(&router, "/loads").await.body.contains("data-upload"));
    let refused = send(&crate::fake::router(sample), request().expect("a request")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("accepts no uploads"), "{}", refused.body);
}

#[tokio::test]
async fn administrators_get_the_form() {
    let (_dir, settings) = accepting();
    let router = owned(server::router(served(sample), settings));
    let body = get(&router, "/loads").await.body;
    assert!(body.contains("data-upload=\"/api/v1/upload\""), "{body}");
    assert!(body.contains("<noscript>"), "{body}");
}

/// The client gets the response although it has sent only a part of the body.
#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_sent() {
    let (_dir, settings) = accepting();
    let running = Running::start(sample, settings);
    let answer = running.raw(
        b"POST /api/v1/upload?name=x.warc HTTP/1.1\r\nHost: localhost\r\n\
          Content-Length: 100000000000\r\n\r\nWARC/1.0",
    );
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}
