//! Records of a few KB that decode to gigabytes. The test serves them and measures the server's
//! memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use warc::{Compression, Draft, Writer};

use crate::serve::Served;
use crate::support::Workspace;

/// Limit on the growth of the server's memory, in KiB, under parallel requests. Content is
/// truncated at 64 MiB, and 8 requests read at a time: buffering them whole would take half a GiB.
/// Measured: about 20 MiB per request.
const GROWTH_KIB_MAX: u64 = 384 << 10;

/// Decoded bytes of one gzip member of the bomb.
const MEMBER_BYTES: usize = 16 << 20;

/// Returns a response with gzip content of `members` times 16 MiB.
fn bomb(url: &str, members: usize) -> Draft {
    let mut encoder = GzEncoder::new(Vec::new(), Level::best());
    encoder.write_all(&vec![b' '; MEMBER_BYTES]).expect("memory");
    let member = encoder.finish().expect("memory");
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n";
    let block = [head.to_vec(), member.repeat(members)].concat();
    Draft::response(url, 1_400_000_000_000, block)
}

fn load_bombs(place: &Workspace) {
    let mut writer = Writer::create(&place.path("bombs.warc.gz"), Compression::GZIP).expect("a file");
    writer
        .write(&bomb("http://bomb.example/", 128))
        .expect("a record");
    writer.finish().expect("written");
    let size = std::fs::metadata(place.path("bombs.warc.gz"))
        .expect("a file")
        .len();
    assert!(size < 64 << 10, "2 GiB in {size} bytes");
    place.good(&["load", "bombs.warc.gz"]);
}

/// Returns the peak resident memory of the process, in KiB.
fn peak_kib(served: &Served) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.pid())).expect("the process runs");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a peak");
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

fn ask(served: &Served, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&served.address).expect("connect");
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", served.address).expect("send");
    stream
}

/// Sends a request and waits for the answer to begin, then reads it in a thread. Returns the number
/// of bytes and the end of the answer.
fn fetch(served: &Served, path: &str) -> JoinHandle<(usize, String)> {
    let mut stream = ask(served, path);
    // By now the request holds a slot. Slots per address are few, so that further requests would
    // have to wait.
    stream.peek(&mut [0]).expect("an answer");
    std::thread::spawn(move || {
        let (mut total, mut tail, mut piece) = (0, Vec::new(), vec![0; 1 << 20]);
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            total += read;
            tail.extend_from_slice(&piece[..read]);
            let surplus = tail.len().saturating_sub(1000);
            tail.drain(..surplus);
        }
        (total, String::from_utf8_lossy(&tail).into_owned())
    })
}

#[test]
fn a_record_of_kilobytes_does_not_make_the_server_take_gigabytes() {
    let place = Workspace::new();
    load_bombs(&place);
    let served = Served::start(&place);
    served.get("/page?url=http://bomb.example/");
    let before = peak_kib(&served);
    let path = "/sandbox/content?url=http://bomb.example/";
    let whole: Vec<_> = (0..2).map(|_| fetch(&served, path)).collect();
    // Clients that do not read, and clients that disconnect.
    let stalled: Vec<TcpStream> = (0..12).map(|_| ask(&served, path)).collect();
    (0..12).for_each(|_| drop(ask(&served, path)));
    assert!(
        served.get("/api/v1/status").contains("\"epoch\""),
        "others are answered meanwhile"
    );
    for answer in whole {
        let (bytes, tail) = answer.join().expect("an answer");
        let shown = 64 << 20;
        assert!((shown..shown + 10_000).contains(&bytes), "{bytes} bytes");
        assert!(tail.contains("first 64 MiB"), "what is left out is said: {tail}");
    }
    drop(stalled);
    let grown = peak_kib(&served) - before;
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB for records of a few KB");
}

#[test]
fn the_server_ends_soon_whatever_is_under_way() {
    let place = Workspace::new();
    load_bombs(&place);
    let mut served = Served::start(&place);
    let path = "/sandbox/content?url=http://bomb.example/";
    // Those who read come first: clients that do not read hold all slots for a minute.
    let reading: Vec<_> = (0..4).map(|_| fetch(&served, path)).collect();
    let stalled: Vec<TcpStream> = (0..12).map(|_| ask(&served, path)).collect();
    served.get("/api/v1/status");
    let begun = Instant::now();
    assert_eq!(served.stop(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(stalled);
    reading.into_iter().for_each(|answer| drop(answer.join()));
}

#[test]
fn bombs_of_every_coding_are_shown_within_bounds() {
    let Some(data) = test_env::shared_data() else {
        return;
    };
    let Ok(folder) = std::fs::read_dir(data.join("regress/hostile")) else {
        return eprintln!("skipped: there is no regress/hostile in the shared data");
    };
    let paths = folder.filter_map(|entry| Some(entry.ok()?.path()));
    let bombs: Vec<String> = paths
        .map(|path| path.display().to_string())
        .filter(|path| path.contains("bomb"))
        .collect();
    let place = Workspace::new();
    let arguments: Vec<&str> = std::iter::once("load")
        .chain(bombs.iter().map(String::as_str))
        .collect();
    place.run(&arguments);
    let served = Served::start(&place);
    served.get("/page?url=http://b.example/");
    let before = peak_kib(&served);
    for host in ["b.example", "bb.example", "b9.example", "br.example"] {
        let paths = ["/sandbox/content?url=", "/record?url=", "/page?url="];
        let answers = paths.map(|path| fetch(&served, &format!("{path}http://{host}/")));
        for answer in answers {
            let (bytes, _) = answer.join().expect("an answer");
            assert!((1..65 << 20).contains(&bytes), "{host}: {bytes} bytes");
        }
    }
    let grown = peak_kib(&served) - before;
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB");
}
