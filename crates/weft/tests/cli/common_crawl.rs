//! Inputs from Common Crawl: a test server with its layout, from which selected captures are
//! fetched and loaded.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fixture;
use crate::support::Workspace;

const INDEXES: &str = "/cc-index/collections/CC-MAIN-2024-22/indexes";
const SEGMENT: &str = "crawl-data/CC-MAIN-2024-22/segments/1715971057216.39";
const CRAWL: &str = "cc:CC-MAIN-2024-22";

/// Lines of the index per block: few, so that there are several blocks.
const BLOCK_LINES: usize = 2;

/// The server's files, and a log of requests.
#[derive(Default)]
struct State {
    files: BTreeMap<String, Vec<u8>>,
    /// Number of answers left before the server becomes unreachable.
    answers_left: Option<usize>,
    log: Vec<String>,
}

/// A server with the files of a crawl.
struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("compress");
    encoder.finish().expect("compress")
}

impl Server {
    fn start(files: BTreeMap<String, Vec<u8>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State {
            files,
            ..State::default()
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || while answer(&stream, &state).unwrap_or(false) {});
            }
        });
        Server { address, state }
    }

    /// Makes a crawl of the small web: one WARC file with its WAT file, and its index.
    fn of_small_web(place: &Workspace) -> Server {
        place.write("web.warc", &fixture::small_web());
        place.good(&["load", "web.warc", "--archive", "made"]);
        place.good(&["export", "--archive", "made", "--warc", "crawl.warc.gz"]);
        place.good(&["load", "crawl.warc.gz", "--archive", "again"]);
        place.good(&["export", "--archive", "again", "--cdxj", "crawl.cdxj"]);
        let read = |name: &str| std::fs::read(place.path(name)).expect("a file");
        let index = String::from_utf8(read("crawl.cdxj")).expect("text");
        let index = index.replace("\"crawl.warc.gz\"", &format!("\"{SEGMENT}/warc/crawl.warc.gz\""));
        let lines: Vec<&str> = index.lines().collect();
        let (mut shard, mut cluster) = (Vec::new(), String::new());
        for (number, block) in lines.chunks(BLOCK_LINES).enumerate() {
            let stored = gzip((block.join("\n") + "\n").as_bytes());
            let (first, offset, length) = (block[0], shard.len(), stored.len());
            let first: Vec<&str> = first.splitn(3, ' ').take(2).collect();
            cluster += &format!(
                "{}\tcdx-00000.gz\t{offset}\t{length}\t{number}\n",
                first.join(" ")
            );
            shard.extend(stored);
        }
        let wat: Vec<u8> = ["http://museum.example/", "http://www.library.example/", "http://museum.example/maps"]
            .iter()
            .flat_map(|url| {
                let headers = [
                    ("WARC-Target-URI", *url),
                    ("WARC-Date", "2024-05-20T00:00:00Z"),
                    ("Content-Type", "application/json"),
                ];
                let links = r#"{"Envelope":{"WARC-Header-Metadata":{"WARC-Type":"response","WARC-Target-URI":"URL","WARC-Date":"2024-05-20T00:00:00Z"},"Payload-Metadata":{"HTTP-Response-Metadata":{"Response-Message":{"Status":"200"},"Headers":{"Content-Type":"text/html"},"HTML-Metadata":{"Head":{"Title":"T"},"Links":[{"path":"A@/href","url":"http://far.example/","text":"far"}]}}}}}"#;
                gzip(&fixture::record("metadata", &headers, links.replace("URL", url).as_bytes()))
            })
            .collect();
        Server::start(BTreeMap::from([
            (format!("{INDEXES}/cluster.idx"), cluster.into_bytes()),
            (format!("{INDEXES}/cdx-00000.gz"), shard),
            (format!("/{SEGMENT}/warc/crawl.warc.gz"), read("crawl.warc.gz")),
            (format!("/{SEGMENT}/wat/crawl.warc.wat.gz"), wat),
        ]))
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the paths of record files requested since the last call, without repetition.
    fn asked(&self) -> Vec<String> {
        let mut log = std::mem::take(&mut self.state.lock().expect("the state").log);
        log.retain(|path| path.contains("/segments/"));
        log.dedup();
        log
    }

    /// Makes the server unreachable after so many answers, or reachable again with `None`.
    fn ends_after(&self, answers: Option<usize>) {
        self.state.lock().expect("the state").answers_left = answers;
    }
}

/// Answers one request. Returns whether the connection stays open.
fn answer(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<bool> {
    let mut input = BufReader::new(stream);
    let mut request = Vec::new();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        if line.trim().is_empty() {
            break;
        }
        request.push(line);
    }
    let path = request[0].split(' ').nth(1).unwrap_or_default().to_owned();
    let range = request.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let (first, last) = value.trim().strip_prefix("bytes=")?.split_once('-')?;
        name.eq_ignore_ascii_case("range").then_some(())?;
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    let mut state = state.lock().expect("the state");
    state.log.push(path.clone());
    if let Some(left) = &mut state.answers_left {
        if *left == 0 {
            (&*stream).write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(true);
        }
        *left -= 1;
    }
    let Some(content) = state.files.get(&path) else {
        (&*stream).write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
        return Ok(true);
    };
    let size = content.len();
    let (first, last) = range.unwrap_or((0, size - 1));
    let last = last.min(size - 1);
    let body = &content[first..=last];
    let head = format!(
        "HTTP/1.1 206 Partial\r\nContent-Range: bytes {first}-{last}/{size}\r\nContent-Length: {}\r\nETag: \"1\"\r\n\r\n",
        body.len()
    );
    (&*stream).write_all(head.as_bytes())?;
    (&*stream).write_all(body)?;
    Ok(true)
}

#[test]
fn what_is_wanted_of_a_crawl_is_fetched_once_and_loaded() {
    let place = Workspace::new();
    let server = Server::of_small_web(&place);
    let url = server.url();
    let load = |more: &[&str]| {
        let arguments = [&["load", CRAWL, "--crawl-url", &url], more].concat();
        place.run(&arguments)
    };
    let run = load(&["--match", "museum.example/"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let urls = place.good(&["cdx", "http://museum.example/*"]);
    assert_eq!(urls.lines().count(), 2, "{urls}");
    assert_eq!(place.json(&["status"])["captures"], 2);
    // The fetched file provides both text and record.
    assert!(place.good(&["search", "globes"]).contains("1 result"));
    assert!(
        place
            .good(&["record", "http://museum.example/"])
            .contains("Maps and globes.")
    );
    assert!(!server.asked().is_empty());

    let run = load(&["--match", "museum.example/"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(server.asked(), Vec::<String>::new(), "it was fetched before");
    assert_eq!(place.json(&["status"])["captures"], 2);

    // Selects a domain, with a limit. Captures in two selections are in a file of each, and
    // therefore loaded twice.
    let run = load(&["--match", "*.library.example", "--limit", "1"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(place.json(&["status"])["captures"], 3);
    let run = load(&["--match", "*.library.example"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(place.json(&["status"])["captures"], 6);
}

#[test]
fn a_fetch_that_broke_off_goes_on_where_it_stopped() {
    let place = Workspace::new();
    let server = Server::of_small_web(&place);
    let url = server.url();
    let load = || place.run(&["load", CRAWL, "--match", "*.library.example", "--crawl-url", &url]);
    let mut answers = 0;
    // Whichever answer is the last, a partial file never has its final name.
    let done = loop {
        server.ends_after(Some(answers));
        let run = load();
        if run.code == Some(0) {
            break run;
        }
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(
            run.stderr.contains(&url),
            "it says what could not be read: {}",
            run.stderr
        );
        answers += 1;
        assert!(answers < 50, "{}", run.stderr);
    };
    assert!(answers > 5, "{answers} answers were enough: {}", done.stderr);
    assert_eq!(place.json(&["status"])["captures"], 3);
    let folder = std::fs::read_dir(place.path("common-crawl/CC-MAIN-2024-22")).expect("a folder");
    let inside = folder
        .map(|entry| entry.expect("an entry").path())
        .next()
        .expect("a selection");
    let names = std::fs::read_dir(inside).expect("a folder");
    for name in names {
        let name = name.expect("an entry").file_name().into_string().expect("text");
        assert!(name.ends_with(".warc.gz"), "{name} is left");
    }
}

#[test]
fn metadata_is_taken_of_the_files_that_have_the_captures() {
    let place = Workspace::new();
    let server = Server::of_small_web(&place);
    let url = server.url();
    let run = place.run(&[
        "load",
        CRAWL,
        "--match",
        "museum.example/",
        "--kind",
        "wat",
        "--crawl-url",
        &url,
    ]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(server.asked(), [format!("/{SEGMENT}/wat/crawl.warc.wat.gz")]);
    assert_eq!(place.json(&["status"])["captures"], 2);
    let links = place.good(&["inlinks", "http://far.example/"]);
    assert!(links.contains("2 pages link to"), "{links}");
}

#[test]
fn what_cannot_be_had_is_told() {
    let place = Workspace::new();
    let server = Server::of_small_web(&place);
    let url = server.url();
    for (arguments, code, said) in [
        (&[CRAWL][..], 2, "captures of the crawl with --match"),
        (&["cc:../x", "--match", "a.example"], 2, "not the name of a crawl"),
        (&["x.warc", "--match", "a.example"], 2, "--match works only"),
        (
            &["cc:CC-MAIN-1999-01", "--match", "a.example"],
            1,
            "does the crawl CC-MAIN-1999-01 exist?",
        ),
        (
            &[CRAWL, "--match", "nothing.example"],
            1,
            "has no capture of nothing.example",
        ),
    ] {
        let run = place.run(&[&["load", "--crawl-url", &url], arguments].concat());
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}
