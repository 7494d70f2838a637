//! Pages of real crawls in a browser. Its only connection to the outside is a proxy that refuses
//! all requests and logs them. `WEFT_REPLAY_PAGES` sets the number of pages to open of each crawl.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use archive::question::{CdxQuestion, CdxRow};

use super::*;

/// Number of pages of each crawl that are opened.
const PAGES: usize = 2;

/// Hosts that Chromium contacts by itself: for updates and the time, its default search engine, and
/// the meaning of form fields. No archived page refers to these hosts.
const OF_THE_BROWSER: [&str; 6] = [
    "accounts.google.com",
    "clients2.google.com",
    "content-autofill.googleapis.com",
    "optimizationguide-pa.googleapis.com",
    "start.duckduckgo.com",
    "update.googleapis.com",
];

/// Returns the host of a request to a proxy.
fn host_of(line: &str) -> &str {
    let target = line.split(' ').nth(1).unwrap_or("");
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    rest.split([':', '/']).next().unwrap_or("")
}

/// Time that the scripts of a page may run undisturbed.
const SETTLES: Duration = Duration::from_millis(250);

/// Script with a reader's actions that cause requests: rollovers, scrolling to the end, and a link.
const READ: &str = "for (const element of document.querySelectorAll('a,img,area,td,li')) element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));\
    scrollTo(0, document.documentElement.scrollHeight);\
    return [document.URL, document.documentElement.innerHTML.length]";
const FOLLOW: &str = "const link = [...document.querySelectorAll('a[href]')].find((link) => /^http/.test(link.href)); if (link) link.click(); return !!link";
const WITHOUT_FRAME: &str =
    "return document.readyState === 'complete' && !document.querySelector('iframe.replay')";

/// A proxy, and the first line of each request to it.
pub(super) struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(super) fn start() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                std::thread::spawn(move || {
                    let mut line = String::new();
                    let mut reader = BufReader::new(&stream);
                    if reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                        log.lock().expect("a log").push(line.trim_end().to_owned());
                    }
                    let refusal =
                        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    // The browser may have disconnected.
                    let _ = stream.write_all(refusal);
                });
            }
        });
        Proxy { port, asked }
    }

    /// Returns flags of a browser that reaches other hosts only through it.
    pub(super) fn flags(&self) -> Vec<String> {
        vec![
            format!("--proxy-server=http://127.0.0.1:{}", self.port),
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost".to_owned(),
            "--disable-features=OptimizationHints,NetworkTimeServiceQuerying,AutofillServerCommunication"
                .to_owned(),
        ]
    }

    /// Returns the first lines of requests since the last call, except the browser's own.
    pub(super) fn take(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().expect("a log"));
        asked.retain(|line| !OF_THE_BROWSER.contains(&host_of(line)));
        asked
    }
}

/// Returns the pages with the shortest URLs of each file, because they link to others.
fn top_pages(archive: &archive::Archive, pages: usize) -> Vec<CdxRow> {
    let everything = CdxQuestion {
        everything: true,
        limit: 100_000,
        ..CdxQuestion::default()
    };
    let rows = archive.ask(everything).expect("captures").body.rows;
    let mut by_file: BTreeMap<String, Vec<CdxRow>> = BTreeMap::new();
    for row in rows {
        if row.status == 200 && row.mime == "text/html" && row.url.starts_with("http") {
            by_file.entry(row.filename.clone()).or_default().push(row);
        }
    }
    let mut seen = BTreeSet::new();
    by_file
        .into_values()
        .flat_map(|mut rows| {
            rows.sort_by_key(|row| (row.url.len(), row.url.clone()));
            rows.retain(|row| seen.insert(row.url.clone()));
            rows.truncate(pages);
            rows
        })
        .collect()
}

#[test]
fn no_page_of_any_crawl_asks_for_anything_outside() {
    ask_nothing_outside(|scene| scene, read_by_path);
}

#[test]
fn no_page_of_any_crawl_in_its_own_origin_asks_for_anything_outside() {
    ask_nothing_outside(origins::over, read_in_origin);
}

/// Opens a page on the replay origin and acts as its reader. Returns what [`READ`] does.
fn read_by_path(browser: &Browser, scene: &Scene, (url, time): (&str, &str)) -> serde_json::Value {
    browser.go(&format!("http://{}/replay/{time}/{url}", scene.replay()));
    browser.enter_frame(Some("iframe.replay"));
    let shown = browser.script(READ);
    // Scripts of the page may run on after it is loaded.
    std::thread::sleep(SETTLES);
    let follows = browser.script(FOLLOW) == true;
    std::thread::sleep(if follows { SETTLES } else { Duration::ZERO });
    browser.enter_frame(None);
    shown
}

/// The same in the origin of the page's site.
fn read_in_origin(browser: &Browser, scene: &Scene, (url, time): (&str, &str)) -> serde_json::Value {
    browser.go(&format!("http://{}/replay/{time}/{url}", scene.server.address));
    let act = |script: &str| browser.script_in_frame("iframe.replay", script);
    // The page that installs the worker has the address of the archive.
    let is_shown = |shown: serde_json::Value| {
        shown[0]
            .as_str()
            .is_some_and(|url| !url.contains(server::REPLAY_DOMAIN))
            && shown[1].as_u64() > Some(200)
    };
    // A page that redirects to an address without a capture leads the reader to the page that says so.
    let is_elsewhere = || browser.script(WITHOUT_FRAME) == true;
    wait_for(browser, url, || is_elsewhere() || act(READ).is_ok_and(is_shown));
    std::thread::sleep(SETTLES);
    let follows = !is_elsewhere() && act(FOLLOW).is_ok_and(|follows| follows == true);
    std::thread::sleep(if follows { SETTLES } else { Duration::ZERO });
    serde_json::json!([url, 1000])
}

fn ask_nothing_outside(
    served: impl Fn(Scene) -> Scene,
    read: impl Fn(&Browser, &Scene, (&str, &str)) -> serde_json::Value,
) {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let proxy = Proxy::start();
    let Some(browser) = Browser::start(&proxy.flags()) else {
        return;
    };
    let crawls = std::fs::read_dir(data.join("crawls")).expect("crawls");
    let mut files: Vec<PathBuf> = crawls
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    let loaded = load(&files, None);
    let scene = served(Scene::over(loaded, true));
    let wanted = std::env::var("WEFT_REPLAY_PAGES")
        .ok()
        .and_then(|pages| pages.parse().ok());
    let pages = top_pages(&scene.loaded.archive, wanted.unwrap_or(PAGES));
    assert!(pages.len() >= files.len(), "{} pages", pages.len());
    let begun = Instant::now();
    assert_eq!(host_of("GET http://a.example:80/b HTTP/1.1"), "a.example");
    let mut outside = Vec::new();
    for page in &pages {
        let (url, time) = (&page.url, &page.timestamp);
        let shown = read(&browser, &scene, (url.as_str(), time.as_str()));
        assert!(
            shown[1].as_u64().is_some_and(|length| length > 200),
            "{url} at {time}: {shown}"
        );
        outside.extend(
            proxy
                .take()
                .into_iter()
                .map(|asked| format!("{url} at {time}: {asked}")),
        );
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
    // The proxy does see requests.
    browser.go("http://outside.example/");
    assert_eq!(proxy.take(), ["GET http://outside.example/ HTTP/1.1"]);
    eprintln!("{} pages in {:.1} s", pages.len(), begun.elapsed().as_secs_f64());
}
