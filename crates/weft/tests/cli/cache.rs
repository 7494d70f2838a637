//! The cache of remote stores: data is kept, shared by programs, and dropped when necessary.

use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fixture;
use crate::s3_inputs::S3Store;
use crate::serve::Served;
use crate::support::{Run, Workspace, json_lines};

const SETTINGS: &str = "
    revalidate_seconds = 1
    [[directory]]
    path = 'blocks'
    quota_bytes = '64 MiB'
    free_space_min_bytes = 0
    [[rule]]
    prefix = 's3://crawls/never/'
    cache = false
";
const PAGE: &str = "http://www.library.example/";
const INPUT: &str = "s3://crawls/web.warc";

/// A crawl in a remote store, loaded into an archive with a cache.
struct Far {
    place: Workspace,
    s3: S3Store,
}

impl Far {
    fn new() -> Far {
        let place = Workspace::new();
        let s3 = S3Store::start(&place);
        s3.put(".s3/buckets/crawls", b"");
        s3.put("crawls/web.warc", &fixture::small_web());
        s3.put("crawls/never/web.warc", &fixture::small_web());
        let far = Far { place, s3 };
        assert_eq!(far.run(&["load", INPUT]).code, Some(0));
        far.place.write("weft-archive/cache.toml", SETTINGS.as_bytes());
        far
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.s3.run(&self.place, true, arguments)
    }

    fn good(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}: {}{}", run.stdout, run.stderr);
        run.stdout
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.good(arguments)).expect("JSON")
    }

    /// Returns the number of bytes that the store sent for a command.
    fn asked(&self, arguments: &[&str]) -> u64 {
        let before = self.s3.sent_bytes("GetObject");
        self.good(arguments);
        self.s3.sent_bytes("GetObject") - before
    }

    fn kept(&self, prefix: &str) -> Vec<Value> {
        json_lines(&self.run(&["cache", "ls", prefix, "--json"]).stdout)
    }
}

#[test]
fn records_of_a_far_store_are_read_once() {
    let far = Far::new();
    let record = ["record", PAGE, "--payload"];
    let first = far.good(&record);
    let kept = far.kept("s3://crawls/");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0]["address"], INPUT);
    // The store only confirms that the object is unchanged; no content is sent.
    assert_eq!(far.asked(&record), 0);
    assert_eq!(far.good(&record), first);
    let stats = far.json(&["cache", "stats", "--json"]);
    let users = stats["programs"][0]["stats"]["users"].as_array().unwrap();
    let records = users.iter().find(|row| row["user"] == "records").unwrap();
    assert!(records["disk_bytes"].as_u64().unwrap() > 0, "{records}");
    let text = far.good(&["cache", "stats"]);
    assert!(text.contains("blocks") && text.contains("records"), "{text}");
    assert!(far.good(&["cache", "advise"]).contains("s3://crawls/"));
    // After a drop the content is read again.
    assert_eq!(far.json(&["cache", "drop", INPUT, "--json"])["dropped_blocks"], 1);
    assert!(far.asked(&record) > 0);
}

#[test]
fn warm_pin_and_a_server_share_a_directory() {
    let far = Far::new();
    let mut served = Served::start_command(
        far.s3
            .command(&far.place, &["serve", "--listen", "127.0.0.1:0", "--no-sql"]),
    );
    let warmed = far.json(&["cache", "warm", "s3://crawls/", "--json"]);
    // The settings exclude one of them from caching.
    assert_eq!(
        (&warmed["objects"], &warmed["failed"]),
        (&2.into(), &0.into()),
        "{warmed}"
    );
    let pinned = far.json(&["cache", "pin", INPUT, "--json"]);
    assert_eq!(
        (&pinned["objects"], &pinned["changed"]),
        (&1.into(), &true.into()),
        "{pinned}"
    );
    assert_eq!(far.kept("s3://crawls/never/"), [Value::Null; 0]);
    assert!(far.good(&["cache", "ls"]).contains("pinned"));
    let value = |metrics: &str, name: &str| {
        let line = metrics
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    // Within a second the server sees the warmed and pinned objects.
    let begun = Instant::now();
    loop {
        let metrics = served.get("/metrics");
        let seen = value(&metrics, "weft_cache_directory_blocks") >= 1.0
            && value(&metrics, "weft_cache_directory_pinned_bytes") > 0.0;
        if seen {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(3), "{metrics}");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Read by the server, and by a separate process.
    let before = far.s3.sent_bytes("GetObject");
    far.good(&["record", PAGE, "--payload"]);
    assert!(served.get(&format!("/record?url={PAGE}")).contains("200 OK"));
    let after = far.s3.sent_bytes("GetObject");
    assert_eq!(after, before, "the server has what was warmed");
    let page = served.get("/cache");
    assert!(page.contains(">records<") && page.contains("blocks"), "{page}");
    let unpinned = far.json(&["cache", "unpin", INPUT, "--json"]);
    assert_eq!(unpinned["changed"], true);
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn what_is_taken_down_leaves_the_cache() {
    let far = Far::new();
    far.good(&["record", PAGE, "--payload"]);
    assert_eq!(far.kept("").len(), 1);
    far.good(&["forget", "--url", PAGE]);
    assert_eq!(far.kept(""), [Value::Null; 0]);
}

#[test]
fn a_damaged_or_missing_cache_changes_no_answer() {
    let far = Far::new();
    let record = ["record", PAGE, "--payload"];
    let first = far.good(&record);
    let blocks = far.place.path("weft-archive/blocks");
    // Damage every block.
    let mut folders = vec![blocks.join("objects")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() != "about" {
                let file = std::fs::File::options().write(true).open(entry.path()).unwrap();
                file.write_all_at(b"damage", 300).unwrap();
            }
        }
    }
    assert_eq!(far.good(&record), first);
    // Replace the directory by a file.
    std::fs::remove_dir_all(&blocks).unwrap();
    std::fs::write(&blocks, "in the way").unwrap();
    let run = far.run(&record);
    assert_eq!((run.code, &run.stdout), (Some(0), &first), "{}", run.stderr);
    // Fill it with foreign files.
    std::fs::remove_file(&blocks).unwrap();
    std::fs::create_dir(&blocks).unwrap();
    std::fs::write(blocks.join("thesis.odt"), "years of work").unwrap();
    let run = far.run(&record);
    assert_eq!((run.code, &run.stdout), (Some(0), &first), "{}", run.stderr);
    assert!(run.stderr.contains("is not a cache of weft"), "{}", run.stderr);
    assert!(blocks.join("thesis.odt").exists());
    let run = far.run(&["cache", "ls"]);
    assert!(
        run.code != Some(0) && run.stderr.contains("choose another directory"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_makes_no_sense_is_said() {
    let place = Workspace::new();
    let check = |arguments: &[&str], code: i32, said: &str| {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    };
    check(&["cache", "ls"], 1, "no cache directory");
    check(
        &["cache", "--cache", "c", "pin", "crawls"],
        2,
        "is not an address prefix",
    );
    check(
        &["cache", "--cache", "c", "warm", "https://example.org/x"],
        2,
        "warm supports only s3://",
    );
    place.write("weft-archive/cache.toml", b"memory_size_bytes = 'much'");
    check(&["cache", "ls"], 1, "memory_size_bytes");
}
