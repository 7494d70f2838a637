//! The pages of the catalogue of files and their API, over real catalogues of generated folders.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use catalogue::{Catalogue, CatalogueSettings, Progress, ScanSettings, ScanState};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use serde_json::Value;
use server::{CatalogueLocation, ServerParts, ServerSettings};
use tempfile::TempDir;

use crate::fake::{Reply, get, sample, served};

/// A tree of files, and its catalogue.
pub(crate) struct Scanned {
    folder: TempDir,
}

impl Scanned {
    /// Writes files and scans them. Names are bytes, relative to the tree.
    pub(crate) fn of(files: &[(&[u8], usize)]) -> Scanned {
        let scanned = Scanned {
            folder: tempfile::tempdir().expect("a folder"),
        };
        fs::create_dir_all(scanned.tree()).expect("a folder");
        for (name, size) in files {
            scanned.write(name, *size);
        }
        scanned.scan();
        scanned
    }

    /// Returns a tree like that of a real archive, also for screenshots.
    pub(crate) fn sample() -> Scanned {
        let mut files: Vec<(Vec<u8>, usize)> = Vec::new();
        for (crawl, count) in [
            ("2012-spring", 3),
            ("2014-news", 9),
            ("2016-elections", 5),
            ("2021-all", 17),
        ] {
            for n in 0..count {
                let name = format!("crawls/{crawl}/crawl-{n:05}.warc.gz");
                files.push((name.into_bytes(), 400_000 + 90_000 * (n * n % 11)));
                files.push((
                    format!("crawls/{crawl}/logs/{n}.log").into_bytes(),
                    20_000 / (n + 1),
                ));
            }
            files.push((format!("index/{crawl}.cdxj").into_bytes(), 60_000 * count));
        }
        for n in 0..140 {
            files.push((
                format!("exports/tables/part-{n:03}.parquet").into_bytes(),
                3_000 + 37 * n,
            ));
        }
        files.push((b"reports/caf\xe9 \xff.pdf".to_vec(), 300_000));
        files.push(("reports/\u{5831}\u{544a}\u{66f8}.html".into(), 120_000));
        files.push((
            "reports/<script>alert(1)<:script>\"&.txt".to_owned().into_bytes(),
            50_000,
        ));
        files.push((
            format!("reports/{}.txt", "a-very-long-name-".repeat(13)).into_bytes(),
            200_000,
        ));
        files.push((b"README.md".to_vec(), 900));
        let files: Vec<(&[u8], usize)> = files.iter().map(|(name, size)| (&name[..], *size)).collect();
        Scanned::of(&files)
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn write(&self, name: &[u8], size: usize) {
        let path = self.tree().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, vec![b'x'; size]).expect("a file");
        // Times spread over some years, the same in each run.
        let year = u64::from(name.iter().fold(0u32, |sum, byte| sum + u32::from(*byte)) % 9);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_390_766_784 + year * 365 * 86_400);
        let file = fs::File::options().write(true).open(&path).expect("a file");
        file.set_modified(time).expect("a time");
    }

    /// Opens the catalogue, as another process would.
    fn open(&self) -> Arc<Catalogue> {
        let settings = CatalogueSettings::default();
        Arc::new(Catalogue::create(&self.place().dir, &settings).expect("a catalogue"))
    }

    fn scan(&self) {
        let catalogue = self.open();
        let scanned = catalogue.scan(&self.tree(), &ScanSettings::default(), &Progress::default());
        scanned.expect("a scan");
        let (_, row) = catalogue.scans().expect("scans").pop().expect("a scan");
        assert_eq!(row.state, ScanState::Done);
    }

    pub(crate) fn place(&self) -> CatalogueLocation {
        CatalogueLocation {
            dir: self.folder.path().join("files"),
            user_name: |_| Some("<keeper>".to_owned()),
        }
    }

    pub(crate) fn router(&self) -> Router {
        router_over(self.place())
    }
}

fn router_over(place: CatalogueLocation) -> Router {
    let served = ServerParts {
        files: Some(place),
        ..served(sample)
    };
    crate::fake::owned(server::router(served, ServerSettings::default()))
}

fn escaped(path: &Path) -> String {
    url::form_urlencoded::byte_serialize(path.as_os_str().as_bytes()).collect()
}

async fn ok(router: &Router, address: &str) -> Reply {
    let reply = get(router, address).await;
    assert_eq!(reply.status, 200, "{address}: {}", reply.body);
    reply
}

/// Returns the numbers of files, their bytes, and directories on disk.
fn on_disk(dir: &Path) -> (u64, u64, u64) {
    let (mut files, mut bytes, mut dirs) = (0, 0, 1);
    for entry in fs::read_dir(dir).expect("a folder") {
        let entry = entry.expect("an entry");
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_dir() {
            let below = on_disk(&entry.path());
            (files, bytes, dirs) = (files + below.0, bytes + below.1, dirs + below.2);
        } else {
            files += 1;
            bytes += metadata.len();
        }
    }
    (files, bytes, dirs)
}

fn sum(rows: &Value, value: impl Fn(&Value) -> &Value) -> u64 {
    let rows = rows.as_array().expect("rows");
    rows.iter()
        .map(|row| value(row).as_u64().expect("a number"))
        .sum()
}

#[tokio::test]
async fn the_overview_has_the_figures_of_the_disk() {
    let scanned = Scanned::sample();
    let router = scanned.router();
    let answer = ok(&router, "/api/v1/files").await.json();
    let (files, bytes, dirs) = on_disk(&scanned.tree());
    assert_eq!(
        (&answer["answer"], &answer["epoch"]),
        (&"files".into(), &12.into())
    );
    assert_eq!(answer["in_use"], false);
    let total = &answer["total"];
    assert_eq!(total["files"], files);
    assert_eq!(total["directories"], dirs);
    assert_eq!(total["entries"], files + dirs);
    assert_eq!(&answer["trees"][0]["usage"], total);
    assert_eq!(
        answer["trees"][0]["dir"]["path"],
        scanned.tree().to_str().expect("text")
    );
    assert_eq!(answer["trees"][0]["faults"], 0);
    for profile in ["sizes", "ages"] {
        assert_eq!(sum(&answer[profile], |row| &row["files"]), files, "{profile}");
        assert_eq!(
            sum(&answer[profile], |row| &row["size_bytes"]),
            bytes,
            "{profile}"
        );
    }
    assert_eq!(sum(&answer["formats"], |row| &row["usage"]["files"]), files);
    assert_eq!(answer["owners"][0]["name"], "<keeper>");
    assert_eq!(&answer["owners"][0]["usage"], total);
    assert_eq!(answer["growth"][0]["size_bytes"], total["size_bytes"]);
    assert_eq!(
        answer["scans"][0]["added"],
        total["entries"].as_u64().expect("a number") - 1
    );

    let page = ok(&router, "/files").await.body;
    let size = total["size_bytes"].as_u64().expect("a number");
    for part in [
        format::number::bytes(size),
        format::number::count(files),
        "warc".to_owned(),
        "&lt;keeper&gt;".to_owned(),
        format!("href=\"/files/tree?path={}\"", escaped(&scanned.tree())),
        "32K-1M".to_owned(),
        "Last scans".to_owned(),
    ] {
        assert!(page.contains(&part), "{part} is not in\n{page}");
    }
    assert!(!page.contains("<keeper>"));
}

#[tokio::test]
async fn a_directory_has_the_figures_of_the_disk_in_both_orders() {
    let scanned = Scanned::sample();
    let router = scanned.router();
    let crawls = scanned.tree().join("crawls");
    let path = escaped(&crawls);
    for by in ["size", "entries"] {
        let answer = ok(&router, &format!("/api/v1/files/tree?path={path}&by={by}"))
            .await
            .json();
        let rows = answer["rows"].as_array().expect("rows");
        let mut weights = Vec::new();
        for row in rows {
            let name = row["name"].as_str().expect("a name");
            let (files, _, dirs) = on_disk(&crawls.join(name));
            assert_eq!(row["usage"]["files"], files, "{name}");
            assert_eq!(row["usage"]["entries"], files + dirs, "{name}");
            let weight = if by == "size" { "size_bytes" } else { "entries" };
            weights.push(row["usage"][weight].as_u64().expect("a number"));
        }
        assert_eq!(weights.len(), 4);
        assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
        assert_eq!(answer["others"], 0);
        let page = ok(&router, &format!("/files/tree?path={path}&by={by}"))
            .await
            .body;
        for row in rows {
            let size = format::number::bytes(row["usage"]["size_bytes"].as_u64().expect("a number"));
            assert!(page.contains(&size), "{size} is not in\n{page}");
            let path = crawls.join(row["name"].as_str().expect("a name"));
            let mut link = format!("href=\"/files/tree?path={}", escaped(&path));
            link.push_str(if by == "size" { "\"" } else { "&amp;by=entries\"" });
            assert!(
                page.matches(&link).count() == 3,
                "{link}: two drawings and a table\n{page}"
            );
        }
    }
}

/// With a limit, the lightest names are added up.
#[tokio::test]
async fn what_is_left_out_is_summed() {
    let scanned = Scanned::sample();
    let router = scanned.router();
    let path = escaped(&scanned.tree().join("exports/tables"));
    let all = ok(&router, &format!("/api/v1/files/tree?path={path}&limit=1000"))
        .await
        .json();
    let some = ok(&router, &format!("/api/v1/files/tree?path={path}&limit=10"))
        .await
        .json();
    assert_eq!(
        (all["rows"].as_array().map(Vec::len), &all["others"]),
        (Some(140), &0.into())
    );
    assert_eq!(
        (some["rows"].as_array().map(Vec::len), &some["others"]),
        (Some(10), &130.into())
    );
    for (few, row) in some["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .zip(all["rows"].as_array().expect("rows"))
    {
        assert_eq!(few, row);
    }
    assert_eq!(
        sum(&some["rows"], |row| &row["usage"]["size_bytes"])
            + some["others_usage"]["size_bytes"].as_u64().expect("a number"),
        sum(&all["rows"], |row| &row["usage"]["size_bytes"])
    );
    let page = ok(&router, &format!("/files/tree?path={path}")).await.body;
    assert!(
        page.contains("80 others"),
        "tiles beyond the first are one: {page}"
    );
}

#[tokio::test]
async fn names_are_escaped_and_need_not_be_text() {
    let scanned = Scanned::of(&[
        (b"<script>alert(1)<:script>/\"onload=x/a&b.txt", 10),
        (b"caf\xe9/\xff\xfe/deep.txt", 30_000),
        (b"line\nbreak %2F+ /x", 5_000),
        ("\u{202e}txt.exe".as_bytes(), 7),
    ]);
    let router = scanned.router();
    // Every directory can be reached by links.
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut wanted = vec!["/files/tree".to_owned()];
    while let Some(address) = wanted.pop() {
        if seen.contains_key(&address) {
            continue;
        }
        let page = ok(&router, &address).await.body;
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(!page.contains("onload=x\""), "{page}");
        assert!(!page.contains('\u{202e}'), "{page}");
        for part in page.split("href=\"").skip(1) {
            let link = part.split('"').next().expect("an address").replace("&amp;", "&");
            if link.starts_with("/files/tree?path=") {
                wanted.push(link);
            }
        }
        seen.insert(address, page);
    }
    for (path, content) in [
        (&b"caf\xe9/\xff\xfe"[..], "deep.txt"),
        (b"line\nbreak %2F+ ", ">x<"),
        (b"<script>alert(1)<:script>/\"onload=x", "a&amp;b.txt"),
    ] {
        let path = scanned.tree().join(OsStr::from_bytes(path));
        let page = seen.get(&format!("/files/tree?path={}", escaped(&path)));
        let page = page.unwrap_or_else(|| panic!("no link to {path:?} in {:?}", seen.keys()));
        assert!(page.contains(content), "{content} is not in\n{page}");
        let answer = ok(&router, &format!("/api/v1/files/tree?path={}", escaped(&path)))
            .await
            .json();
        assert_eq!(answer["rows"].as_array().map(Vec::len), Some(1));
        let hex = data_encoding::HEXLOWER.encode(path.as_os_str().as_bytes());
        match path.to_str() {
            Some(text) => assert_eq!(answer["at"]["path"], text),
            None => assert_eq!(answer["at"]["path_hex"], hex),
        }
    }
}

/// Regression: links to each of 3,000 directories above, each with its whole path, made a page of
/// tens of megabytes.
#[tokio::test]
async fn the_page_of_a_deep_directory_is_no_larger_than_a_few_links() {
    const DEPTH: usize = 3000;
    let scanned = Scanned::of(&[]);
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, scanned.tree(), flags, Mode::empty()).expect("a folder");
    for _ in 0..DEPTH {
        mkdirat(&dir, "deep", Mode::RWXU).expect("a folder");
        dir = openat(&dir, "deep", flags, Mode::empty()).expect("a folder");
    }
    drop(dir);
    scanned.scan();
    let router = scanned.router();
    let path = |depth: usize| scanned.tree().join(["deep"].repeat(depth).join("/"));
    for depth in [DEPTH, DEPTH / 2, 12] {
        let above = escaped(&path(depth - 1));
        let path = escaped(&path(depth));
        let page = ok(&router, &format!("/files/tree?path={path}")).await.body;
        // The breadcrumbs, two orders, and, for a directory with a subdirectory, two tiles and a
        // row.
        assert!(page.len() < 20_000 + 6 * path.len(), "{depth}: {}", page.len());
        assert!(depth < DEPTH || page.len() < 120_000, "{}", page.len());
        for link in [above, escaped(&scanned.tree())] {
            assert!(
                page.contains(&format!("href=\"/files/tree?path={link}\"")),
                "{depth}"
            );
        }
        assert!(page.contains("\u{2026}"), "{depth}: what is left out is marked");
        let answer = ok(&router, &format!("/api/v1/files/tree?path={path}")).await;
        assert!(
            answer.body.len() < 2_000 + 2 * path.len(),
            "{depth}: {}",
            answer.body.len()
        );
        let directories = answer.json()["usage"]["directories"].as_u64();
        assert_eq!(directories, Some((DEPTH - depth + 1) as u64));
    }
}

/// A file with several names counts once, so that the total of a directory is the sum of its rows.
#[tokio::test]
async fn hard_links_count_once() {
    let scanned = Scanned::of(&[(b"a/one", 9_000), (b"b/two", 100)]);
    fs::hard_link(scanned.tree().join("a/one"), scanned.tree().join("b/other")).expect("a link");
    scanned.scan();
    let router = scanned.router();
    let path = escaped(&scanned.tree());
    let answer = ok(&router, &format!("/api/v1/files/tree?path={path}"))
        .await
        .json();
    assert_eq!(
        sum(&answer["rows"], |row| &row["usage"]["entries"]) + 1,
        answer["usage"]["entries"].as_u64().expect("a number")
    );
    assert_eq!(answer["usage"]["files"], 2);
    let mut elsewhere = 0;
    for dir in ["a", "b"] {
        let path = escaped(&scanned.tree().join(dir));
        let page = ok(&router, &format!("/files/tree?path={path}")).await.body;
        elsewhere += page.matches("counted elsewhere").count();
    }
    assert_eq!(elsewhere, 1);
}

#[tokio::test]
async fn while_a_scan_has_the_catalogue_the_last_figures_are_shown_or_a_refusal() {
    let scanned = Scanned::sample();
    let (asked_before, never_asked) = (scanned.router(), scanned.router());
    let before = ok(&asked_before, "/api/v1/files").await.json();
    // Longer than the maximum age of a cached overview.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let held = scanned.open();
    let path = escaped(&scanned.tree());
    for address in ["/files".to_owned(), format!("/files/tree?path={path}")] {
        let begun = Instant::now();
        let page = get(&never_asked, &address).await;
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert_eq!((page.status.as_u16(), page.header("retry-after")), (503, "5"));
        assert!(page.body.contains("in use by a scan"), "{}", page.body);
    }
    let refused = get(&never_asked, "/api/v1/files").await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["code"]),
        (503, &"unavailable".into())
    );
    let page = ok(&asked_before, "/files").await.body;
    assert!(page.contains("A scan is updating the catalogue"), "{page}");
    let answer = ok(&asked_before, "/api/v1/files").await.json();
    assert_eq!(answer["in_use"], true);
    for same in ["total", "time_ms", "catalogue_epoch", "trees"] {
        assert_eq!(answer[same], before[same]);
    }
    drop(held);
    scanned.write(b"new.txt", 11);
    scanned.scan();
    let after = ok(&asked_before, "/api/v1/files").await.json();
    assert_eq!(after["in_use"], false);
    let entries = |answer: &Value| answer["total"]["entries"].as_u64().expect("a number");
    assert_eq!(entries(&after), entries(&before) + 1);
}

#[tokio::test]
async fn a_catalogue_may_come_and_go_while_the_server_runs() {
    let scanned = Scanned::of(&[(b"a", 1)]);
    let place = scanned.place();
    let elsewhere = place.dir.with_file_name("moved");
    let router = scanned.router();
    fs::rename(&place.dir, &elsewhere).expect("moved");
    for address in ["/files", "/files/tree", "/files/tree?path=/etc"] {
        let page = get(&router, address).await;
        assert_eq!(page.status, 404, "{address}");
        assert!(
            page.body.contains("<h1") && page.body.contains("weft files scan DIR"),
            "{}",
            page.body
        );
    }
    let answer = get(&router, "/api/v1/files/tree").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["error"]["code"]),
        (404, &"not_found".into())
    );
    assert!(!get(&router, "/about").await.body.contains("href=\"/files\""));
    assert!(!place.dir.exists(), "a page made a catalogue");
    fs::rename(&elsewhere, &place.dir).expect("moved");
    ok(&router, "/files").await;
    assert!(get(&router, "/about").await.body.contains("href=\"/files\""));
}

#[tokio::test]
async fn paths_that_are_not_catalogued_are_not_looked_for_on_the_disk() {
    let scanned = Scanned::of(&[(b"a/b", 1)]);
    let router = scanned.router();
    let link = scanned.folder.path().join("link");
    std::os::unix::fs::symlink(scanned.tree(), &link).expect("a link");
    for path in [Path::new("/etc"), &link, &scanned.tree().join("a/../a")] {
        let page = get(&router, &format!("/files/tree?path={}", escaped(path))).await;
        assert_eq!(page.status, 404, "{path:?}");
        assert!(page.body.contains("not in the catalogue"), "{}", page.body);
    }
    let slashes = format!("{}//a/", scanned.tree().display());
    ok(
        &router,
        &format!("/files/tree?path={}", escaped(Path::new(&slashes))),
    )
    .await;
    // A file has no children.
    let page = ok(
        &router,
        &format!("/files/tree?path={}", escaped(&scanned.tree().join("a/b"))),
    )
    .await;
    assert!(page.body.contains("No entries below"), "{}", page.body);
    let wrong = get(&router, "/api/v1/files/tree?by=colour").await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test]
async fn an_empty_catalogue_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("files");
    drop(Catalogue::create(&dir, &CatalogueSettings::default()).expect("a catalogue"));
    let router = router_over(CatalogueLocation {
        dir,
        user_name: |_| None,
    });
    for address in ["/files", "/files/tree"] {
        let page = ok(&router, address).await.body;
        assert!(page.contains("catalogued"), "{page}");
    }
    assert!(ok(&router, "/files").await.body.contains("weft files scan DIR"));
}
