//! Rules for hosts in a closed archive whose hosts are nested or similar: what each client gets in
//! every listing.

use std::collections::BTreeSet;

use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use inputs::LoadInput;
use server::ServerSettings;
use tower::ServiceExt;

use crate::port::{Running, with_replay};

/// A page of each host. The last word of its text is unique.
const PAGES: [(&str, &str); 7] = [
    ("http://x.org/bare", "quagga"),
    ("http://www.x.org/www", "quail"),
    ("http://a.x.org/a", "quahog"),
    ("http://b.a.x.org/ba", "quaker"),
    ("http://x2.org/x2", "quantum"),
    ("http://ax.org/ax", "quarry"),
    ("http://x.org:8080/port", "quasar"),
];

/// All pages link to it, and it links to all of them.
const HUB: &str = "http://hub.net/hub";

/// The directory is dropped last: an archive that is closed still finds its socket there.
struct Scene {
    router: Router,
    archive: Archive,
    _dir: tempfile::TempDir,
}

fn record(url: &str, body: &str) -> String {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
         WARC-Date: 2014-03-11T10:00:00Z\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
}

impl Scene {
    fn new() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let warc = dir.path().join("crawl.warc");
        let mut text = String::new();
        let mut hub = String::from("<title>Hub</title>river");
        for (url, word) in PAGES {
            text += &record(
                url,
                &format!("<title>{word}</title>river {word} <a href='{HUB}'>{word}</a>"),
            );
            hub += &format!(" <a href='{url}'>there</a>");
        }
        std::fs::write(&warc, text + &record(HUB, &hub)).unwrap();
        let mut settings = OpenSettings::default();
        settings.create = true;
        let archive = Archive::open(&dir.path().join("archive"), settings).unwrap();
        let request = LoadRequest {
            inputs: vec![LoadInput {
                name: "crawl.warc".into(),
                path: inputs::path_text(&warc),
            }],
            ..LoadRequest::default()
        };
        archive.load(&request, &mut |_, _| true).unwrap();
        let router = server::router(archive.clone(), ServerSettings::default());
        Scene {
            archive,
            _dir: dir,
            router,
        }
    }

    fn rules(&self, text: &str) {
        std::fs::write(self.archive.rights_path(), text).unwrap();
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = Request::get(path)
            .header("host", "localhost")
            .body(Body::empty())
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await.unwrap();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Checks which pages the public sees in every listing.
    async fn check(&self, rules: &str, seen: &[&str]) {
        self.rules(rules);
        let seen: BTreeSet<&str> = seen.iter().copied().collect();
        let all = self.get("/api/v1/search?q=river&limit=100").await.1;
        let each = self.get("/api/v1/search?q=qua*&limit=100").await.1;
        let inlinks = self.get(&format!("/api/v1/inlinks?url={HUB}&limit=100")).await.1;
        let outlinks = self.get(&format!("/api/v1/outlinks?url={HUB}&limit=100")).await.1;
        let domain = self.get("/cdx?url=x.org&matchType=domain").await.1;
        let captures = self
            .get("/api/v1/captures?url=x.org&matchType=domain&limit=100")
            .await
            .1;
        let export = self.get("/api/v1/search/export?q=river&format=csv").await.1;
        let concordance = self.get("/api/v1/search/concordance?q=river&limit=100").await.1;
        let suggested = self.get("/api/v1/suggest?q=qua&limit=20").await.1;
        let domains = self.get("/api/v1/domains?limit=100").await.1;
        let domain_of =
            |url: &str| urlkey::domain_of_host(urlkey::host_of_url(url).unwrap_or_default()).to_owned();
        let sees_hub = seen.contains(HUB);
        for (url, word) in PAGES {
            let is_seen = seen.contains(word);
            let check = |listing: &str, text: &str, needle: &str| {
                assert_eq!(
                    text.contains(needle),
                    is_seen,
                    "{rules}\n{word} in {listing}: {text}"
                );
            };
            check("search", &all, url);
            check("search of its words", &each, url);
            check("links", &inlinks, url);
            check("export", &export, url);
            check("lines in context", &concordance, url);
            check("completions", &suggested, word);
            // A visible page shows all of its links.
            assert_eq!(outlinks.contains(url), sees_hub, "{rules}\n{word}: {outlinks}");
            if domain_of(url) == "x.org" {
                check("cdx of the domain", &domain, url);
                check("captures of the domain", &captures, url);
            }
            let cdx = self.get(&format!("/cdx?url={url}")).await.1;
            check("cdx", &cdx, url);
            let (status, text) = self.get(&format!("/record?url={url}")).await;
            assert_eq!(status.is_success(), is_seen, "{rules}\n{url}: {status} {text}");
            let name = domain_of(url);
            let is_any = PAGES
                .iter()
                .any(|(other, word)| seen.contains(word) && domain_of(other) == name);
            let is_linked = sees_hub;
            let is_listed = domains.contains(&format!("\"{name}\""));
            assert_eq!(is_listed, is_any || is_linked, "{rules}\n{name}: {domains}");
        }
    }

    /// Checks records, previews and totals. Runs less often, because it takes longer.
    async fn check_slow(&self, seen: &[&str]) {
        for (url, word) in PAGES {
            for path in ["/api/v1/record?url=", "/sandbox/content?url="] {
                let (status, text) = self.get(&format!("{path}{url}")).await;
                let is_there = status.is_success() || status.is_redirection();
                assert_eq!(is_there, seen.contains(&word), "{path}{url}: {status} {text}");
            }
        }
        for path in ["/sql", "/api/v1/sql?q=SELECT+1", "/api/v1/status", "/metrics"] {
            let (status, text) = self.get(path).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {text}");
        }
    }
}

const BARE: &str = "quagga";
const WWW: &str = "quail";
const A: &str = "quahog";
const BA: &str = "quaker";
const X2: &str = "quantum";
const AX: &str = "quarry";
const PORT: &str = "quasar";

#[tokio::test]
async fn in_a_closed_archive_a_rule_opens_its_hosts_and_no_other() {
    let scene = Scene::new();
    let closed =
        |rule: &str| format!("default = \"deny\"\nstrict = true\n[[rule]]\naccess = \"allow\"\n{rule}\n");
    for (rule, seen) in [
        ("host = \"nowhere.net\"", &[][..]),
        ("host = \"x.org\"", &[BARE, WWW, PORT]),
        ("host = \"a.x.org\"", &[A]),
        ("host = \"ax.org\"", &[AX]),
        ("domain = \"x.org\"", &[BARE, WWW, A, BA, PORT]),
        ("domain = \"a.x.org\"", &[A, BA]),
        ("domain = \"b.a.x.org\"", &[BA]),
        ("prefix = \"org,x)/\"", &[BARE, WWW]),
        ("prefix = \"org,x:8080)/\"", &[PORT]),
        ("prefix = \"org,x,\"", &[A, BA]),
        ("prefix = \"org,x\"", &[BARE, WWW, A, BA, X2, PORT]),
        ("prefix = \"org,x)/\"\nbut_not = [\"org,x)/www\"]", &[BARE]),
        ("prefix = \"org,x\"\nbut_not = [\"org,x)/\"]", &[A, BA, X2, PORT]),
        ("url = \"org,x)/www\"", &[WWW]),
        ("host = \"x.org\"\nmime = \"text/*\"", &[BARE, WWW, PORT]),
    ] {
        scene.check(&closed(rule), seen).await;
    }
    scene.rules(&closed("domain = \"a.x.org\""));
    scene.check_slow(&[A, BA]).await;
}

#[tokio::test]
async fn in_an_open_archive_a_rule_hides_its_hosts_and_no_other() {
    let scene = Scene::new();
    let open = |rule: &str| format!("strict = true\n[[rule]]\naccess = \"deny\"\n{rule}\n");
    for (rule, seen) in [
        ("host = \"x.org\"", &[HUB, A, BA, X2, AX][..]),
        ("domain = \"x.org\"", &[HUB, X2, AX]),
        ("domain = \"a.x.org\"", &[HUB, BARE, WWW, X2, AX, PORT]),
        (
            "prefix = \"org,x)/\"\nbut_not = [\"org,x)/www\"]",
            &[HUB, WWW, A, BA, X2, AX, PORT],
        ),
    ] {
        scene.check(&open(rule), seen).await;
    }
    scene.rules(&open("host = \"x.org\""));
    scene.check_slow(&[A, BA, X2, AX]).await;
}

#[test]
fn replay_and_memento_show_the_hosts_that_a_rule_opens() {
    let scene = Scene::new();
    scene.rules("default = \"deny\"\n[[rule]]\naccess = \"allow\"\nhost = \"x.org\"\n");
    let running = Running::start_over(scene.archive.clone(), with_replay());
    for (url, word) in PAGES {
        for path in ["/replay/20140311100000/", "/timegate/", "/timemap/link/"] {
            let request = format!(
                "GET {path}{url} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.7\r\nConnection: close\r\n\r\n"
            );
            let answer = running.raw(request.as_bytes());
            let is_there = answer.starts_with("HTTP/1.1 2") || answer.starts_with("HTTP/1.1 3");
            assert_eq!(
                is_there,
                [BARE, WWW, PORT].contains(&word),
                "{path}{url}: {answer}"
            );
        }
    }
}

/// A rule that would show or hide more than intended closes everything until it is corrected.
#[tokio::test]
async fn www_in_a_rule_shows_nothing_and_says_why() {
    let scene = Scene::new();
    for access in ["allow", "deny"] {
        for rule in [
            "host = \"www.x.org\"",
            "domain = \"www.x.org\"",
            "url = \"org,x,www)/www\"",
        ] {
            scene.rules(&format!("[[rule]]\naccess = \"{access}\"\n{rule}\n"));
            let (status, text) = scene.get("/api/v1/search?q=river").await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{rule}: {text}");
            for (_, word) in PAGES {
                assert!(!text.contains(word), "{text}");
            }
            let error = scene
                .archive
                .ask(archive::question::Rights::default())
                .unwrap_err();
            assert!(error.message.contains("leading www"), "{error:?}");
        }
    }
}
