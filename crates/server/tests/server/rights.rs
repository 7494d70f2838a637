//! HTTP clients see what the rules let them see, at every address.

use std::net::SocketAddr;
use std::path::PathBuf;

use access::{Groups, TokenHolder, TokensFile};
use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, Request, StatusCode};
use inputs::LoadInput;
use server::{GroupsHeader, ServerSettings};
use tower::ServiceExt;

use crate::fake;
use crate::port::Running;

/// An archive of two hosts, one of which is hidden from the public.
pub(crate) struct TwoHosts {
    pub(crate) archive: Archive,
    dir: tempfile::TempDir,
}

pub(crate) const OPEN: &str = "http://open.org/page";
pub(crate) const SECRET: &str = "http://secret.org/page";
pub(crate) const WORD: &str = "vellichor";

pub(crate) fn record(url: &str, body: &str) -> String {
    let http = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
         WARC-Date: 2014-03-11T10:00:00Z\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
}

impl TwoHosts {
    pub(crate) fn new() -> TwoHosts {
        let dir = tempfile::tempdir().unwrap();
        let warc = dir.path().join("crawl.warc");
        let text = record(
            OPEN,
            &format!("<title>Open</title>river <a href='{SECRET}'>there</a>"),
        ) + &record(
            SECRET,
            &format!("<title>{WORD}</title>{WORD} river <a href='{OPEN}'>{WORD}</a>"),
        );
        std::fs::write(&warc, text).unwrap();
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
        TwoHosts { archive, dir }
    }

    pub(crate) fn hide_secret(&self) {
        let rules =
            "strict = true\n[[rule]]\naccess = \"deny\"\ndomain = \"secret.org\"\nexcept = [\"staff\"]\n";
        std::fs::write(self.archive.rights_path(), rules).unwrap();
    }

    /// Removes the rules.
    pub(crate) fn open_secret(&self) {
        std::fs::remove_file(self.archive.rights_path()).unwrap();
    }

    /// Returns the path of the only input.
    pub(crate) fn warc(&self) -> PathBuf {
        self.dir.path().join("crawl.warc")
    }

    pub(crate) fn tokens(&self) -> TokensFile {
        TokensFile::at(self.dir.path().join("tokens.toml"))
    }

    pub(crate) fn settings(&self, header_from: &str) -> ServerSettings {
        ServerSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            groups_header: Some(GroupsHeader {
                name: HeaderName::from_static("x-groups"),
                from: vec![header_from.parse().unwrap()],
            }),
            tokens: Some(self.tokens().path().to_owned()),
            ..ServerSettings::default()
        }
    }
}

/// Returns addresses of everything about the archive's content.
pub(crate) fn addresses() -> Vec<String> {
    let of_url = [
        "/page?url=",
        "/page/inlinks?url=",
        "/page/outlinks?url=",
        "/captures?url=",
        "/sandbox/content?url=",
        "/record?url=",
        "/api/v1/page?url=",
        "/api/v1/attachments?url=",
        "/api/v1/inlinks?url=",
        "/api/v1/outlinks?url=",
        "/api/v1/captures?url=",
        "/api/v1/record?url=",
        "/cdx?url=",
        "/cdx/search/cdx?url=",
        "/api/v1/cdx?url=",
        "/all/cdx?url=",
        "/all-index?url=",
        "/outbackcdx/all?url=",
        "/outbackcdx/all?q=type:urlquery+url:",
        "/cdx?output=link&resolveRevisits=true&url=",
        "/cdx/search/cdx?showSkipCount=true&filter=statuscode:404&url=",
    ];
    let mut all: Vec<String> = [OPEN, SECRET]
        .iter()
        .flat_map(|url| of_url.iter().map(move |path| format!("{path}{url}")))
        .collect();
    for path in [
        "/",
        "/search?q=river",
        "/search?q=vellichor",
        "/api/v1/search?q=vellichor&facets=true",
        "/api/v1/search?q=river&explain=true",
        "/trends?q=river&q=vellichor",
        "/api/v1/trends?q=river&q=vellichor",
        "/images?q=river",
        "/images?q=vellichor",
        "/api/v1/search?q=river+unheard-of&explain=true",
        "/api/v1/search?q=river+vellichor+unheard",
        "/search?q=river+vellichor+unheard",
        "/api/v1/images?q=river&every_page=true",
        "/api/v1/images?q=river&format=csv",
        "/images/thumbnail?url=http://secret.org/page",
        "/api/v1/images?q=vellichor",
        "/api/v1/images?same=0123456789abcdef",
        "/events?q=river",
        "/events?q=vellichor",
        "/api/v1/events?q=river",
        "/api/v1/events?q=vellichor",
        "/search.atom?q=river",
        "/search.atom?q=vellichor",
        "/api/v1/suggest?q=ve",
        "/api/v1/suggest?q=river+ve",
        "/search?q=river&show=concordance",
        "/search?q=vellichor&show=concordance",
        "/api/v1/search/concordance?q=vellichor",
        "/api/v1/search/concordance?q=river",
        "/domains",
        "/graph",
        "/captures?collection=hidden",
        "/collections",
        "/report",
        "/report?from=2010",
        "/api/v1/report",
        "/api/v1/collections",
        "/graph?by=host&from=2010&nodes=100",
        "/domain?name=secret.org",
        "/ranking",
        "/api/v1/domains",
        "/api/v1/domain?name=secret.org",
        "/api/v1/domain?name=open.org",
        "/api/v1/top",
        "/cdx?url=secret.org&matchType=domain",
        "/cdx?url=secret.org/*&showNumPages=true",
        "/cdx?url=secret.org/*&showPagedIndex=true",
        "/outbackcdx/all?q=type:prefixquery+url:secret.org",
        "/outbackcdx/all?urlkey=org,&matchType=range",
        "/collinfo.json",
        "/about",
        "/record/crawl.warc?offset=0",
        "/record/crawl.warc?offset=400&length=20",
    ] {
        all.push(path.to_owned());
    }
    all
}

/// Addresses for administrators only.
const OF_THE_SERVER: [&str; 15] = [
    "/loads",
    "/quarantine",
    "/statistics",
    "/metrics",
    "/api/v1/status",
    "/api/v1/ledger",
    "/api/v1/quarantine",
    "/api/v1/jobs",
    "/api/v1/stages",
    "/sql",
    "/files",
    "/store",
    "/rights",
    "/takedowns",
    "/api/v1/rights",
];

async fn get(router: &Router, path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::get(path).header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
    (status, headers, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn nothing_on_any_address_tells_the_public_of_what_is_hidden() {
    let place = TwoHosts::new();
    let token = place
        .tokens()
        .issue("room", Groups::listed("staff"), None)
        .unwrap();
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    let (_, _, all) = get(&router, "/api/v1/search?q=vellichor", &[]).await;
    assert!(
        all.contains(SECRET),
        "without rules everybody sees everything: {all}"
    );

    // In effect from the next request on.
    place.hide_secret();
    for path in addresses() {
        let (status, _, text) = get(&router, &path, &[]).await;
        assert!(
            status.is_success() || status == StatusCode::NOT_FOUND,
            "{path}: {status} {text}"
        );
        // If the address contains the word, the response may repeat it.
        if !path.contains(WORD) {
            assert!(!text.contains(WORD), "{path}: {text}");
        }
    }
    let (_, _, found) = get(&router, "/api/v1/search?q=vellichor", &[]).await;
    assert!(found.contains("\"total\":0"), "{found}");
    for path in OF_THE_SERVER {
        let (status, _, text) = get(&router, path, &[]).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {text}");
    }
    let bearer = format!("Bearer {token}");
    let (_, headers, found) = get(
        &router,
        "/api/v1/search?q=vellichor",
        &[("authorization", &bearer)],
    )
    .await;
    assert!(found.contains(SECRET), "{found}");
    assert_eq!(headers["cache-control"], "private, no-cache");
    let (_, styles, _) = get(&router, ui::ASSETS[0].path, &[]).await;
    assert!(
        !styles["cache-control"].to_str().unwrap().contains("private"),
        "{styles:?}"
    );
    let vary: Vec<_> = headers
        .get_all("vary")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    assert!(
        vary.iter().any(|value| value.contains("authorization")),
        "{vary:?}"
    );
    // Permission to read everything does not make an administrator.
    for path in OF_THE_SERVER {
        let (status, ..) = get(&router, path, &[("authorization", &bearer)]).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    }
    let (status, _, record) = get(
        &router,
        &format!("/record?url={SECRET}"),
        &[("authorization", &bearer)],
    )
    .await;
    assert!(status.is_success() && record.contains(WORD), "{status} {record}");
}

#[tokio::test]
async fn a_token_that_is_none_is_refused_and_never_the_public() {
    let place = TwoHosts::new();
    let token = place
        .tokens()
        .issue("room", Groups::listed("staff"), None)
        .unwrap();
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    let status = async |value: &str| {
        get(&router, "/api/v1/search?q=river", &[("authorization", value)])
            .await
            .0
    };
    let bearer = format!("Bearer {token}");
    assert_eq!(status(&bearer).await, StatusCode::OK);
    for wrong in [
        "Bearer x",
        "Basic dXNlcjpwYXNz",
        &token,
        "Bearer",
        &bearer[..bearer.len() - 1],
    ] {
        assert_eq!(status(wrong).await, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    place.tokens().revoke("room").unwrap();
    assert_eq!(status(&bearer).await, StatusCode::UNAUTHORIZED);
}

/// Sends a search to a real server, which knows the client's address. Returns the total.
fn total(running: &Running, groups: &str) -> String {
    let request = format!(
        "GET /api/v1/search?q=vellichor HTTP/1.1\r\nHost: localhost\r\nX-Groups: {groups}\r\nConnection: close\r\n\r\n"
    );
    let text = running.raw(request.as_bytes());
    let total = text
        .split("\"total\":")
        .nth(1)
        .unwrap_or_else(|| panic!("{text}"));
    total.split(',').next().unwrap_or_default().to_owned()
}

#[test]
fn a_header_of_groups_is_believed_from_the_proxy_alone() {
    let place = TwoHosts::new();
    place.hide_secret();
    let of_proxy = Running::start_over(place.archive.clone(), place.settings("127.0.0.0/8"));
    // The hidden page, and the visible one that links to it with the same word.
    assert_eq!(total(&of_proxy, "staff"), "2");
    assert_eq!(total(&of_proxy, "readers, staff"), "2");
    assert_eq!(total(&of_proxy, "readers"), "0");
    let of_others = Running::start_over(place.archive.clone(), place.settings("10.0.0.0/8"));
    assert_eq!(total(&of_others, "staff"), "0");
}

/// If a rule is invalid, nothing is shown, and the response says why.
#[tokio::test]
async fn rules_that_cannot_be_read_close_the_server() {
    let place = TwoHosts::new();
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    std::fs::write(place.archive.rights_path(), "[[rule]]\nacess = \"deny\"\n").unwrap();
    for path in [
        "/api/v1/search?q=river",
        "/",
        "/loads",
        "/rights",
        "/api/v1/rights",
        "/sign-in",
    ] {
        let (status, _, text) = get(&router, path, &[]).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {text}");
        // Only the owner learns the name and the content of the rules file.
        assert!(text.contains("weft rights ls"), "{path}: {text}");
        assert!(
            !text.contains("rights.toml") && !text.contains("acess"),
            "{path}: {text}"
        );
    }
    let (status, ..) = get(&router, "/healthz", &[]).await;
    assert_eq!(status, StatusCode::OK);
    std::fs::remove_file(place.archive.rights_path()).unwrap();
    assert_eq!(get(&router, "/", &[]).await.0, StatusCode::OK);
}

/// The owner of an archive on a local machine opens the page to see why nothing is shown. Behind a
/// proxy the client may be anybody, whatever its address.
#[test]
fn on_its_own_machine_the_page_says_what_is_wrong_with_the_rules() {
    let place = TwoHosts::new();
    let rules = "[[rule]]\naccess = \"deny\"\nfrom = \"<soon>\"\n";
    std::fs::write(place.archive.rights_path(), rules).unwrap();
    let shown = |settings: ServerSettings, more: &str| {
        let running = Running::start_over(place.archive.clone(), settings);
        running.raw(
            format!("GET /rights HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n").as_bytes(),
        )
    };
    let text = shown(ServerSettings::default(), "");
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    assert!(text.contains("rights.toml:1: rule 1 is invalid"), "{text}");
    assert!(
        text.contains("&lt;soon&gt;") && !text.contains("<soon>"),
        "{text}"
    );
    let named = ServerSettings {
        hosts: vec!["archive.example".into()],
        ..ServerSettings::default()
    };
    for (settings, more) in [
        (ServerSettings::default(), "X-Forwarded-For: 10.0.0.7\r\n"),
        (named, ""),
        (place.settings("127.0.0.0/8"), ""),
    ] {
        let text = shown(settings, more);
        assert!(text.starts_with("HTTP/1.1 503"), "{text}");
        assert!(
            text.contains("weft rights ls") && !text.contains("rights.toml:1"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_page_and_the_api_say_the_rules_and_what_they_come_to() {
    let place = TwoHosts::new();
    let router = fake::owned(server::router(place.archive.clone(), ServerSettings::default()));
    let (_, _, text) = get(&router, "/rights", &[]).await;
    assert!(text.contains("There are no rules"), "{text}");
    let rules = "[[rule]]\naccess = \"deny\"\ndomain = \"secret.org\"\ngroups = [\"readers\", \"<i>x</i>\"]\nexcept = [\"staff\"]\n\
                 note = \"<script>alert(1)</script> a & b\"\n\
                 [[rule]]\naccess = \"allow\"\nprefix = \"org,secret)/page\"\n\
                 [[rule]]\naccess = \"deny\"\nmime = \"application/pdf\"\ngroups = [\"readers\"]\nuntil = \"2020-01-01\"\n";
    std::fs::write(place.archive.rights_path(), rules).unwrap();
    let (status, _, text) = get(&router, "/rights", &[]).await;
    assert_eq!(status, StatusCode::OK);
    for part in [
        "The archive is open",
        "the host <bdi class=\"url\" dir=\"ltr\">secret.org",
        "&lt;script&gt;alert(1)&lt;/script&gt; a &amp; b",
        "&lt;i&gt;x&lt;/i&gt;",
        "expired</span> since 1 January 2020",
        "content of type <code>application/pdf</code>",
        "id=\"rule-3\"",
        "1 capture of 1 URL",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("<script>") && !text.contains("<i>"), "{text}");

    // The result of the form is right, and so are the rules that it names.
    let verdict = async |address: &str| {
        let (status, _, text) = get(&router, address, &[]).await;
        assert_eq!(status, StatusCode::OK, "{text}");
        let answer = text
            .split("class=\"callout answer\"")
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        answer.split("</div>").next().unwrap_or_default().to_owned()
    };
    let hidden = verdict("/rights?url=secret.org/page&as=readers").await;
    assert!(
        hidden.contains(">hidden<") && hidden.contains("by rule <a href=\"#rule-1\">1"),
        "{hidden}"
    );
    let staff = verdict("/rights?url=secret.org/page&as=readers,staff").await;
    assert!(
        staff.contains(">visible<") && staff.contains("by rule <a href=\"#rule-2\">2"),
        "{staff}"
    );
    let public = verdict("/rights?url=http://open.org/page").await;
    assert!(
        public.contains(">visible<") && public.contains("no rule matches") && public.contains("the public"),
        "{public}"
    );
    let absent = verdict("/rights?url=http://open.org/new&as=readers&mime=application/pdf").await;
    assert!(
        absent.contains("not captured") && absent.contains(">visible<"),
        "{absent}"
    );
    let (status, _, text) = get(&router, "/rights?url=http://a/&as=readers&at=soon", &[]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
    assert!(
        text.contains("role=\"alert\"") && text.contains("is not a time"),
        "{text}"
    );

    let (_, _, text) = get(&router, "/api/v1/rights", &[]).await;
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["default"], "allow");
    assert_eq!(answer["rules"][0]["domain"], "secret.org");
    assert_eq!(
        (&answer["rules"][2]["number"], &answer["rules"][2]["in_force"]),
        (&3.into(), &false.into())
    );
}

#[tokio::test]
async fn pages_say_as_whom_one_looks_where_that_matters() {
    let place = TwoHosts::new();
    let token = place
        .tokens()
        .issue("room", Groups::listed("staff"), None)
        .unwrap();
    let router = server::router(place.archive.clone(), place.settings("10.0.0.0/8"));
    place.hide_secret();
    for path in ["/", "/search?q=river", "/about", "/nowhere", "/loads"] {
        let (_, _, text) = get(&router, path, &[]).await;
        assert!(
            text.contains("Viewing as <span class=\"viewer\"><bdi>the public"),
            "{path}: {text}"
        );
        assert!(text.contains("href=\"/sign-in\">Sign in<"), "{path}: {text}");
        assert!(
            !text.contains("href=\"/rights\"") && !text.contains("href=\"/takedowns\""),
            "{path}: {text}"
        );
        assert!(
            text.contains("<summary>Browse") && !text.contains("<summary>Operate"),
            "{path}: {text}"
        );
    }
    let bearer = format!("Bearer {token}");
    let (_, _, text) = get(&router, "/about", &[("authorization", &bearer)]).await;
    assert!(
        text.contains("<bdi>staff") && !text.contains("href=\"/rights\""),
        "{text}"
    );
    let admin = TokenHolder {
        groups: Groups::public(),
        is_admin: true,
    };
    let admin = place.tokens().issue_for("operator", admin, None).unwrap();
    let admin = format!("Bearer {admin}");
    let (_, _, text) = get(&router, "/about", &[("authorization", &admin)]).await;
    assert!(
        text.contains("<bdi>admin") && text.contains("href=\"/rights\"") && !text.contains("href=\"/sql\""),
        "{text}"
    );
    // Without rules and without authentication, all clients get the same page.
    let plain = TwoHosts::new();
    let router = server::router(plain.archive.clone(), ServerSettings::default());
    let (_, _, text) = get(&router, "/", &[]).await;
    assert!(
        !text.contains("Viewing as") && !text.contains("/sign-in"),
        "{text}"
    );
}
