//! Serving tables answer with the same bytes as the archive that they were made from.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use archive::question::{CdxQuestion, CdxRow};
use archive::{Archive, ServedTables};
use axum::Router;
use axum::http::{StatusCode, Uri};
use inputs::Sources;
use server::{Answers, ServerParts, ServerSettings};
use tempfile::TempDir;
use url::form_urlencoded::byte_serialize;

use crate::fake::{get, owned};
use crate::loaded::load;
use crate::web;

/// Returns an answer of a Wayback machine without its last date, which is the time of the request.
fn without_now(body: &str) -> String {
    match (body.find("<enddate>"), body.find("</enddate>")) {
        (Some(from), Some(to)) => format!("{}{}", &body[..from], &body[to..]),
        _ => body.to_owned(),
    }
}

/// A router over an archive, and one over the tables made from it.
struct Both {
    archive: Router,
    tables: Router,
    _dir: TempDir,
}

impl Both {
    fn of(archive: &Archive) -> Both {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().display().to_string();
        let place = export::serving_place(&folder, &Sources::default()).expect("a folder");
        export::write_serving(archive, &*place, &mut |_| true).expect("written tables");
        let tables = ServedTables::open(&folder, Sources::default()).expect("tables");
        let tables: Arc<dyn Answers> = Arc::new(tables);
        let settings = ServerSettings::default;
        Both {
            archive: owned(server::router(archive.clone(), settings())),
            tables: owned(server::router(ServerParts::from(tables), settings())),
            _dir: dir,
        }
    }

    /// Compares both answers to a path. Returns the body and the cursor of the next part.
    async fn check(&self, path: &str) -> (String, Option<String>) {
        let (expected, found) = (get(&self.archive, path).await, get(&self.tables, path).await);
        assert_eq!(
            (found.status, without_now(&found.body)),
            (expected.status, without_now(&expected.body)),
            "{path}"
        );
        let has_now = found.body.contains("<enddate>");
        let etag = (!has_now).then_some("etag");
        for name in ["content-type", "location", "link", "memento-datetime"]
            .into_iter()
            .chain(etag)
        {
            assert_eq!(found.header(name), expected.header(name), "{path}: {name}");
        }
        let json: Option<serde_json::Value> = serde_json::from_str(&found.body).ok();
        let next = json.and_then(|json| Some(json.get("next")?.as_str()?.to_owned()));
        (found.body, next)
    }

    /// Compares all parts of a list. Returns the number of parts.
    async fn check_list(&self, path: &str) -> usize {
        let mut parts = 1;
        let (_, mut next) = self.check(path).await;
        while let Some(after) = next {
            (_, next) = self.check(&format!("{path}&after={after}")).await;
            parts += 1;
        }
        parts
    }

    /// Compares the answers about one URL, captured or not.
    async fn check_url(&self, url: &str, time: &str) {
        let escaped: String = byte_serialize(url.as_bytes()).collect();
        for path in [
            "/cdx?url=URL",
            "/cdx?url=URL&closest=TIME&limit=3",
            "/cdx?url=URL&sort=reverse&limit=2",
            "/cdx?url=URL&resolveRevisits=true&output=json",
            "/cdx?url=URL&allowFuzzy=true",
            "/cdx/search/cdx?url=URL&output=json&collapse=digest&showResumeKey=true&limit=2",
            "/outbackcdx/all?url=URL&sort=closest&closest=TIME",
            "/outbackcdx/all?q=type:urlquery+url:URL",
            "/api/v1/calendar?url=URL&around=TIME",
            "/api/v1/page?url=URL",
            "/api/v1/attachments?url=URL&at=TIME",
            "/api/v1/outlinks?url=URL&limit=1000",
            "/api/v1/inlinks?url=URL&external=true",
            "/api/v1/inlinks/counts?url=URL&by=domain",
            "/api/v1/record?url=URL",
            "/api/v1/record?url=URL&at=TIME",
            "/record?url=URL&at=TIME",
        ] {
            self.check(&path.replace("URL", &escaped).replace("TIME", time))
                .await;
        }
        self.check_list(&format!("/api/v1/captures?url={escaped}&limit=2"))
            .await;
        self.check_list(&format!("/api/v1/inlinks?url={escaped}&limit=7"))
            .await;
        let timemap = format!("/timemap/link/{url}");
        // Archived URLs may have characters that a request must escape.
        if timemap.parse::<Uri>().is_ok() {
            self.check(&timemap).await;
        }
    }

    /// Compares the answers about a domain and its hosts.
    async fn check_domain(&self, domain: &str) {
        for path in [
            "/cdx?url=DOMAIN&matchType=domain",
            "/cdx?url=DOMAIN&matchType=host&showNumPages=true&pageSize=1",
            "/cdx?url=DOMAIN&matchType=domain&filter=status:200&fl=urlkey,timestamp,filename,offset",
            "/cdx/search/cdx?url=*.DOMAIN&collapse=urlkey&output=json",
            "/api/v1/domain?name=DOMAIN",
        ] {
            self.check(&path.replace("DOMAIN", domain)).await;
        }
        for path in [
            "/api/v1/captures?url=DOMAIN&matchType=domain&limit=50",
            "/api/v1/top?domain=DOMAIN&limit=40",
            "/api/v1/inlinks?url=DOMAIN&matchType=domain&limit=100",
        ] {
            self.check_list(&path.replace("DOMAIN", domain)).await;
        }
    }
}

/// Returns the captures of an archive.
fn captures(archive: &Archive) -> Vec<CdxRow> {
    let question = CdxQuestion {
        everything: true,
        limit: 10_000,
        ..CdxQuestion::default()
    };
    archive.ask(question).expect("captures").body.rows
}

async fn check_all(archive: &Archive, urls_max: usize) {
    let both = Both::of(archive);
    let captures = captures(archive);
    let step = captures.len().div_ceil(urls_max).max(1);
    for capture in captures.iter().step_by(step) {
        both.check_url(&capture.url, &capture.timestamp).await;
    }
    both.check_url("http://nowhere.example/none", "2014").await;
    let domains = captures.iter().map(|row| urlkey::domain_of_key(&row.url_key));
    let domains: BTreeSet<String> = domains.filter(|domain| !domain.is_empty()).collect();
    for domain in domains.iter().take(12) {
        both.check_domain(domain).await;
    }
    both.check_domain("nowhere.example").await;
    assert!(both.check_list("/api/v1/top?limit=5").await > 1);
    assert!(both.check_list("/api/v1/domains?limit=1").await > 1);
}

#[tokio::test]
async fn tables_answer_like_their_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = web::write(folder.path(), "http://trap.example/");
    check_all(&load(&[path], Some("small")).archive, 50).await;
}

#[tokio::test]
async fn tables_answer_like_their_archive_over_real_crawls() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let Ok(files) = std::fs::read_dir(data.join("crawls")) else {
        return;
    };
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    check_all(&load(&files, None).archive, 40).await;
}

#[tokio::test]
async fn other_questions_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = web::write(folder.path(), "http://trap.example/");
    let loaded = load(&[path], None);
    let both = Both::of(&loaded.archive);
    for path in [
        "/api/v1/search?q=page",
        "/api/v1/status",
        "/api/v1/domains?order=pages",
        "/api/v1/inlinks?url=a.example&ever=true",
    ] {
        let refused = get(&both.tables, path).await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(
            refused.body.contains("ask an archive"),
            "{path}: {}",
            refused.body
        );
    }
}

#[test]
fn tables_of_an_archive_with_rules_are_not_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = web::write(folder.path(), "http://trap.example/");
    let loaded = load(&[path], None);
    std::fs::write(loaded.archive.rights_path(), "").expect("rules");
    let tables = folder.path().join("tables").display().to_string();
    let place = export::serving_place(&tables, &Sources::default()).expect("a folder");
    let written = export::write_serving(&loaded.archive, &*place, &mut |_| true).expect("tables");
    assert!(written.has_rules);
    let refused = ServedTables::open(&tables, Sources::default())
        .err()
        .expect("refused");
    assert!(refused.to_string().contains("access rules"), "{refused}");
}
