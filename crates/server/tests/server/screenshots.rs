//! Pictures of every page, for people to look at: `target/screenshots`, at 1280 and 390 pixels,
//! light and dark.
//!
//! `cargo test --release -p server --test server -- --ignored screenshots`

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use access::{Groups, TokensFile};
use archive::question::{TakeDown, TakedownSelector, UndoTakedown};
use archive::{Archive, OpenSettings};
use server::{ServerParts, ServerSettings, SqlServer};
use tempfile::TempDir;
use tokio::net::UnixStream;

use crate::driver::{Browser, ENTER};
use crate::fake::FakeStore;
use crate::files::Scanned;
use crate::loaded::load;
use crate::port::Running;
use crate::web;

const PAGES: [(&str, &str); 44] = [
    ("home", "/"),
    ("search", "/search?q=domain"),
    ("search-explained", "/search?q=domain+names&explain=1"),
    ("search-none", "/search?q=nothingatall"),
    ("search-prompt", "/search"),
    ("search-time", "/search?q=the+from:1990&sort=newest"),
    (
        "search-grouped",
        "/search?q=domain&per_site=1&distinct=1&all_versions=1",
    ),
    (
        "search-preferred",
        "/search?q=domain&prefer=lang:en+site:iana.org%5E40&explain=1",
    ),
    ("search-concordance", "/search?q=domain+name&show=concordance"),
    ("search-near", "/search?q=domain&near=1"),
    ("trends", "/trends?q=domain&q=government&q=the"),
    ("events", "/events?q=domain"),
    ("diff", "/page/diff?url=http://www.looms.example.org/"),
    ("page", "/page?url=http://www.iana.org/domains/root"),
    ("search-notes", "/search?q=domain:iana.org+%22root+zone"),
    ("page-at", "/page?url=http://www.iana.org/&at=2014"),
    ("page-many", "/page?url=http://www.iana.org/"),
    ("page-long", "/page?url=http://www.looms.example.org/"),
    ("page-hostile", "/page?url=http://hostile.example.net/page"),
    (
        "page-linked-only",
        "/page?url=http://far.example.edu/never-captured",
    ),
    ("page-unknown", "/page?url=http://nowhere.example/"),
    ("inlinks", "/page/inlinks?url=http://www.iana.org/"),
    ("outlinks", "/page/outlinks?url=http://www.iana.org/"),
    ("domain", "/domain?name=iana.org"),
    ("domains", "/domains"),
    ("report", "/report"),
    ("graph", "/graph?by=host"),
    ("domains-by-name", "/domains?order=name"),
    ("captures-of-one", "/captures?url=http://www.iana.org/"),
    ("ranking", "/ranking"),
    ("captures-form", "/captures"),
    ("captures", "/captures?url=iana.org&match=domain"),
    ("collections", "/collections"),
    ("loads", "/loads"),
    ("quarantine", "/quarantine"),
    ("statistics", "/statistics"),
    ("store", "/store"),
    (
        "sql",
        "/sql?q=select+url_host_registered_domain%2C+count%28*%29+as+captures+from+captures+group+by+1+order+by+2+desc%2C+1+limit+12",
    ),
    ("files", "/files"),
    ("rights", "/rights"),
    ("rights-test", "/rights?url=http://www.iana.org/&as=readers"),
    ("takedowns", "/takedowns"),
    ("about", "/about"),
    ("nowhere", "/nowhere"),
];

#[test]
#[ignore = "writes pictures for people to look at"]
fn screenshots() {
    let Some(browser) = Browser::start(&[]) else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    std::fs::create_dir_all(&folder).expect("a folder");
    let settings = ServerSettings {
        sample_interval: Duration::from_millis(150),
        ..ServerSettings::default()
    };

    let inputs = tempfile::tempdir().expect("a folder");
    let mut files = vec![web::write(inputs.path(), "http://trap.example")];
    if let Some(data) = test_env::shared_data() {
        let crawls = std::fs::read_dir(data.join("crawls")).expect("crawls");
        files.extend(
            crawls
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.extension().is_some_and(|e| e == "gz")),
        );
        files.push(data.join("edge/chatnoir-clipped.warc.gz"));
    }
    let loaded = load(&files, Some("Test crawls"));
    govern(&loaded.archive);
    let scanned = Scanned::sample();
    let running = Running::start_over(
        ServerParts {
            store: Some(Arc::new(FakeStore(crate::sample::store()))),
            files: Some(scanned.place()),
            sql: Sql::start(loaded.dir()).map(|sql| Arc::new(sql) as Arc<dyn SqlServer>),
            ..ServerParts::from(loaded.archive.clone())
        },
        settings.clone(),
    );
    std::thread::sleep(Duration::from_secs(3));
    for (name, path) in PAGES {
        take(
            &browser,
            &folder,
            name,
            &format!("http://{}{path}", running.address),
        );
    }
    let below = |name: &str| scanned.tree().join(name).display().to_string();
    for (name, path) in [
        ("files-tree", below("")),
        ("files-tree-crawl", below("crawls/2021-all")),
        ("files-tree-names", below("reports")),
        ("files-tree-many", below("exports/tables")),
    ] {
        let address = format!("http://{}/files/tree?path={path}", running.address);
        take(&browser, &folder, name, &address);
    }
    browser.size(390, 844);
    browser.dark(false);
    browser.go(&format!("http://{}/about", running.address));
    browser.click(".menu summary");
    std::fs::write(folder.join("menu-390.png"), browser.picture()).expect("a picture");
    browser.size(1280, 900);
    browser.go(&format!(
        "http://{}/page?url=http://www.iana.org/domains/root",
        running.address
    ));
    std::thread::sleep(Duration::from_secs(1));
    std::fs::write(folder.join("sandbox-1280.png"), browser.picture()).expect("a picture");

    as_a_reader(&browser, &folder, &loaded.archive, &settings);

    let dir = tempfile::tempdir().expect("a folder");
    let mut open = OpenSettings::default();
    open.create = true;
    let empty = Archive::open(dir.path(), open).expect("a new archive");
    let running = Running::start_over(empty, settings);
    for (name, path) in [
        ("empty-home", "/"),
        ("empty-loads", "/loads"),
        ("empty-ranking", "/ranking"),
        ("empty-statistics", "/statistics"),
        ("empty-rights", "/rights"),
        ("empty-takedowns", "/takedowns"),
    ] {
        take(
            &browser,
            &folder,
            name,
            &format!("http://{}{path}", running.address),
        );
    }
    eprintln!("pictures are in {}", folder.display());
}

/// Creates rules and takedowns like those of a library. They hide nothing from the public.
fn govern(archive: &Archive) {
    let rules = r#"
[[rule]]
access = "deny"
prefix = "org,iana)/domains/root"
groups = ["readers"]
note = "asked for by the site, letter of 3 March"

[[rule]]
access = "deny"
collection = "interviews"
younger_than_days = 3650
except = ["staff"]
groups = ["readers", "guests"]

[[rule]]
access = "deny"
domain = "example.net"
groups = ["guests"]
until = "2030-01-01"
note = "embargo until the estate of the author has decided, see the agreement of 12 May 2019, paragraph 4; the archivist on duty knows whom to ask when somebody from the estate writes, and the file is in the cabinet"

[[rule]]
access = "deny"
mime = "application/pdf"
from = "2014"
to = "2015-03"
groups = ["guests"]
until = "2020-06-30"

[[rule]]
access = "allow"
prefix = "org,iana)/"
but_not = ["org,iana)/domains/reserved", "org,iana)/domains/int###"]

[[rule]]
access = "deny"
digest = "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB"
groups = ["readers"]
"#;
    std::fs::write(archive.rights_path(), rules).expect("written");
    let take_down = |takes: TakedownSelector, reason: &str, who: &str| {
        let takes = TakeDown {
            takes,
            reason: reason.to_owned(),
            who: who.to_owned(),
            dry_run: false,
            limit: 0,
        };
        archive.ask(takes).expect("a takedown");
    };
    let thread = |n: u32| format!("http://threads.example.com/{n}");
    take_down(TakedownSelector::Url(thread(29)), "request 1234", "archivist");
    take_down(
        TakedownSelector::Prefix(thread(28)),
        "Order of the district court of 2 February, served on the library on 9 February; counsel has confirmed that it covers all copies and that \
         the applicant must not be named in the register. Review in two years.",
        "director",
    );
    take_down(TakedownSelector::Url(thread(27)), "", "archivist");
    let (id, who) = (1, "director".to_owned());
    archive.ask(UndoTakedown { id, who }).expect("undone");
}

/// Pictures of signing in, and of the pages of a reader with restricted access.
fn as_a_reader(browser: &Browser, folder: &Path, archive: &Archive, settings: &ServerSettings) {
    let keys = tempfile::tempdir().expect("a folder");
    let tokens = TokensFile::at(keys.path().join("tokens.toml"));
    let token = tokens
        .issue("room", Groups::listed("readers"), None)
        .expect("a token");
    let settings = ServerSettings {
        tokens: Some(tokens.path().to_owned()),
        ..settings.clone()
    };
    let running = Running::start_over(archive.clone(), settings);
    let address = |path: &str| format!("http://{}{path}", running.address);
    take(browser, folder, "sign-in", &address("/sign-in"));
    take(browser, folder, "public-home", &address("/"));
    browser.go(&address("/sign-in"));
    browser.click("#token");
    browser.press(&token);
    browser.press(ENTER);
    browser.text(".viewer");
    for (name, path) in [
        ("reader-signed-in", "/sign-in"),
        ("reader-search", "/search?q=domain"),
        ("reader-home", "/"),
        ("reader-hidden", "/page?url=http://www.iana.org/domains/root"),
        ("reader-refused", "/rights"),
    ] {
        take(browser, folder, name, &address(path));
    }
}

/// The real program for SQL, if it is built.
struct Sql {
    child: Child,
    socket: PathBuf,
    _folder: TempDir,
}

impl Sql {
    fn start(archive: &Path) -> Option<Sql> {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("release/weft-sql");
        if !program.is_file() {
            eprintln!(
                "no picture of a statement: {} is not built (make sql)",
                program.display()
            );
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let child = Command::new(program)
            .args(["serve", "--beside-store", "--archive"])
            .args([archive.as_os_str(), "--socket".as_ref(), socket.as_os_str()])
            // It ends when its standard input is closed.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        Some(Sql {
            child,
            socket,
            _folder: folder,
        })
    }
}

impl Drop for Sql {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[async_trait::async_trait]
impl SqlServer for Sql {
    async fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.socket).await
    }
}

fn take(browser: &Browser, folder: &Path, name: &str, address: &str) {
    for (width, height) in [(1280, 900), (390, 844)] {
        browser.size(width, height);
        for dark in [false, true] {
            browser.dark(dark);
            browser.go(address);
            let suffix = if dark { "-dark" } else { "" };
            std::fs::write(
                folder.join(format!("{name}-{width}{suffix}.png")),
                browser.picture(),
            )
            .expect("a picture");
        }
    }
}
