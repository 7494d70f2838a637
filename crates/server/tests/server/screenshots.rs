//! Pictures of every page, for people to look at: `target/screenshots`, at 1280 and 390 pixels, light and dark.
//!
//! `cargo test --release -p server --test server -- --ignored screenshots`

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use archive::{Archive, OpenSettings};
use server::{Served, ServerSettings, SqlServer};
use tempfile::TempDir;
use tokio::net::UnixStream;

use crate::driver::Browser;
use crate::fake::FakeStore;
use crate::files::Scanned;
use crate::loaded::load;
use crate::port::Running;
use crate::web;

const PAGES: [(&str, &str); 30] = [
    ("home", "/"),
    ("search", "/search?q=domain"),
    ("search-explained", "/search?q=domain+names&explain=1"),
    ("search-none", "/search?q=nothingatall"),
    ("search-prompt", "/search"),
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
    ("domains-by-name", "/domains?order=name"),
    ("captures-of-one", "/captures?url=http://www.iana.org/"),
    ("ranking", "/ranking"),
    ("captures-form", "/captures"),
    ("captures", "/captures?url=iana.org&match=domain"),
    ("loads", "/loads"),
    ("quarantine", "/quarantine"),
    ("statistics", "/statistics"),
    ("store", "/store"),
    (
        "sql",
        "/sql?q=select+url_host_registered_domain%2C+count%28*%29+as+captures+from+captures+group+by+1+order+by+2+desc%2C+1+limit+12",
    ),
    ("files", "/files"),
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
    if let Some(data) = apart::shared_data() {
        let crawls = std::fs::read_dir(data.join("crawls")).expect("crawls");
        files.extend(
            crawls
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.extension().is_some_and(|e| e == "gz")),
        );
        files.push(data.join("edge/chatnoir-clipped.warc.gz"));
    }
    let loaded = load(&files, Some("Test crawls"));
    let scanned = Scanned::sample();
    let running = Running::start_over(
        Served {
            store: Some(Arc::new(FakeStore(crate::sample::store()))),
            files: Some(scanned.place()),
            sql: Sql::start(loaded.dir()).map(|sql| Arc::new(sql) as Arc<dyn SqlServer>),
            ..Served::from(loaded.archive.clone())
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
    browser.click("details.frame summary");
    std::thread::sleep(Duration::from_secs(1));
    std::fs::write(folder.join("sandbox-1280.png"), browser.picture()).expect("a picture");

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
            // It ends with its standard input.
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
        // It may have ended.
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
