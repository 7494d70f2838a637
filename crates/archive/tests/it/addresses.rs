//! Inputs at addresses, from a source in memory: the bytes read, the number of reads, and results
//! equal to those of files.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use archive::question::{
    Body, InputState, JobBody, JobState, Ledger, LedgerBody, LoadRequest, Question, Record,
};
use archive::{Archive, OpenSettings};
use inputs::LoadInput;
use inputs::{InputSource, InputStat, Sources};
use warc::{Compression, Draft, Input, Writer};

use crate::data::{self, VIEWS, dump, load};

/// Objects by address, and the number of bytes read from each.
#[derive(Default)]
struct Memory {
    objects: Mutex<BTreeMap<String, (Vec<u8>, InputStat)>>,
    read: Mutex<BTreeMap<String, u64>>,
    /// Reads that begin in this range wait until it is removed, and are slow even then.
    held: Mutex<Option<Range<u64>>>,
    let_go: Condvar,
}

impl Memory {
    /// Makes readers wait at this offset.
    fn hold_from(&self, offset: u64) {
        self.hold(offset..u64::MAX);
    }

    /// Makes readers wait before this range.
    fn hold(&self, range: Range<u64>) {
        *self.held.lock().unwrap() = Some(range);
    }

    /// Lets readers continue.
    fn let_go(&self) {
        *self.held.lock().unwrap() = None;
        self.let_go.notify_all();
    }

    fn wait_if_held(&self, offset: u64) {
        let held = self.held.lock().unwrap();
        if held.as_ref().is_none_or(|range| !range.contains(&offset)) {
            return;
        }
        drop(self.let_go.wait_while(held, |held| held.is_some()).unwrap());
        // The test stops the load before the rest has been read.
        std::thread::sleep(Duration::from_millis(500));
    }

    fn put(&self, address: &str, content: &[u8], tag: &str) {
        let stat = InputStat {
            size: content.len() as u64,
            validator: Some(tag.to_owned()),
            sha256: None,
        };
        let mut objects = self.objects.lock().unwrap();
        objects.insert(address.to_owned(), (content.to_vec(), stat));
    }

    fn keep_digest(&self, address: &str) {
        use sha2::{Digest, Sha256};
        let mut objects = self.objects.lock().unwrap();
        let (content, stat) = objects.get_mut(address).unwrap();
        stat.sha256 = Some(Sha256::digest(content).into());
    }

    /// Returns the number of bytes read since the last call.
    fn read_of(&self, address: &str) -> u64 {
        self.read.lock().unwrap().remove(address).unwrap_or(0)
    }
}

struct Source(Arc<Memory>);

impl InputSource for Source {
    fn serves(&self, address: &str) -> bool {
        address.starts_with("mem://") || address.starts_with("https://")
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>> {
        let objects = self.0.objects.lock().unwrap();
        let look = |address: &&str| match *address {
            "mem://b/secret.warc" => Err(ErrorKind::PermissionDenied.into()),
            address => Ok(objects.get(address).map(|object| object.1.clone())),
        };
        addresses.iter().map(look).collect()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, InputStat)>> {
        let objects = self.0.objects.lock().unwrap();
        let below = objects.iter().filter(|(address, _)| address.starts_with(folder));
        Ok(below
            .map(|(address, (_, stat))| (address.clone(), stat.clone()))
            .collect())
    }

    fn open(&self, address: &str, seen: Option<&InputStat>) -> io::Result<Arc<dyn Input>> {
        let objects = self.0.objects.lock().unwrap();
        let (content, stat) = objects.get(address).ok_or(ErrorKind::NotFound)?;
        if seen.is_some_and(|seen| seen != stat) {
            return Err(io::Error::new(ErrorKind::InvalidData, "it was changed"));
        }
        Ok(Arc::new(Counted {
            memory: self.0.clone(),
            address: address.to_owned(),
            content: content.clone(),
        }))
    }
}

struct Counted {
    memory: Arc<Memory>,
    address: String,
    content: Vec<u8>,
}

impl Input for Counted {
    fn size(&self) -> io::Result<u64> {
        self.content.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.memory.wait_if_held(offset);
        let bytes = self.content.read_at(into, offset)?;
        let mut read = self.memory.read.lock().unwrap();
        *read.entry(self.address.clone()).or_default() += bytes as u64;
        Ok(bytes)
    }
}

/// Returns a WARC file of `pages` pages, starting with number `from`, and the ends of its records.
fn warc(from: u32, pages: u32) -> (Vec<u8>, Vec<u64>) {
    let mut writer = Writer::new(Vec::new(), Compression::GZIP).unwrap();
    let mut ends = Vec::new();
    for page in from..from + pages {
        let next = page + 1;
        // Long enough, with few repetitions, so that a load can be observed in the middle of
        // reading.
        let text: String = (0..400_u64)
            .map(|n| format!("{:x} ", (n + 1) * u64::from(page) * 2_654_435_761))
            .collect();
        let html = format!("<title>Page {page}</title><p>{text}<a href=\"/{next}\">next {next}</a>");
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            html.len()
        );
        let url = format!("http://site{}.example/{page}", page % 3);
        let draft = Draft::response(
            &url,
            1_400_000_000_000 + i64::from(page),
            [head, html].concat().into_bytes(),
        );
        let span = writer.write(&draft).unwrap();
        ends.push(span.offset + span.length);
    }
    (writer.finish().unwrap(), ends)
}

fn own(dir: &Path, memory: &Arc<Memory>) -> Archive {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    Archive::open_with(dir, settings, Sources::new(Arc::new(Source(memory.clone())))).unwrap()
}

fn request(addresses: &[&str]) -> LoadRequest {
    let input = |address: &&str| LoadInput {
        name: (*address).to_owned(),
        path: (*address).to_owned(),
    };
    LoadRequest {
        inputs: addresses.iter().map(input).collect(),
        ..LoadRequest::default()
    }
}

fn names(archive: &Archive) -> Vec<String> {
    let question = Question::Ledger(Ledger {
        state: None,
        input: None,
        after: None,
        limit: 1000,
    });
    match data::ask(archive, question) {
        Body::Ledger(LedgerBody { rows, .. }) => rows
            .into_iter()
            .map(|row| match row.state {
                InputState::Done => row.input,
                state => format!("{}: {state}", row.input),
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

/// An address is read once for digest and load. It is not read when it is loaded again, even under
/// another owner.
#[test]
fn an_address_gives_the_dumps_of_a_file_and_is_read_once() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    let (content, _) = warc(1, 60);
    std::fs::write(root.path().join("x.warc.gz"), &content).unwrap();
    memory.put("mem://b/x.warc.gz", &content, "1");
    let local = data::own(&root.path().join("local"));
    load(&local, &data::request(root.path(), &["x.warc.gz"]));
    let far = own(&root.path().join("far"), &memory);
    let job = load(&far, &request(&["mem://b/x.warc.gz"]));
    assert_eq!((job.inputs_done, job.captures), (1, 60), "{job:#?}");
    assert_eq!(
        (job.bytes, job.bytes_done),
        (content.len() as u64, content.len() as u64)
    );
    assert_eq!(memory.read_of("mem://b/x.warc.gz"), content.len() as u64);
    for view in VIEWS {
        let found = dump(&far, view).replace("mem://b/", "");
        assert_eq!(found, dump(&local, view), "{view}");
    }
    drop(far);
    let far = own(&root.path().join("far"), &memory);
    let job = load(&far, &request(&["mem://b/x.warc.gz"]));
    assert_eq!((job.inputs_known, job.captures), (1, 0));
    assert_eq!(memory.read_of("mem://b/x.warc.gz"), 0);
}

#[test]
fn a_kept_digest_saves_the_reading_for_it() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    let (content, _) = warc(1, 20);
    memory.put("mem://b/x.warc.gz", &content, "1");
    memory.keep_digest("mem://b/x.warc.gz");
    memory.put("mem://b/copy.warc.gz", &content, "2");
    let far = own(&root.path().join("far"), &memory);
    let job = load(&far, &request(&["mem://b/x.warc.gz", "mem://b/copy.warc.gz"]));
    assert_eq!((job.inputs_done, job.inputs_known, job.captures), (1, 1, 20));
    let read = memory.read_of("mem://b/x.warc.gz");
    assert!(read < content.len() as u64 + 64, "{read} of {}", content.len());
}

/// A load that was cancelled continues with the record after the last indexed one, and reads only
/// from there.
#[test]
fn an_interrupted_load_goes_on_by_range() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    // Twice as many as fit into the queues of a load with epochs of one record, and more.
    const RECORDS: u64 = 1000;
    let (content, ends) = warc(1, RECORDS as u32);
    let address = "mem://b/x.warc.gz";
    memory.put(address, &content, "1");
    // The digest is stored with the object, so that only the load reads it. It reads at most half
    // before the load is stopped.
    memory.keep_digest(address);
    memory.hold_from(content.len() as u64 / 2);
    let far = own(&root.path().join("far"), &memory);
    let mut request = request(&[address]);
    request.epoch_bytes = Some(1);
    request.threads = Some(1);
    let mut go_on = |_: u64, job: &JobBody| {
        if job.captures > 0 {
            memory.let_go();
        }
        job.captures == 0
    };
    let (_, job) = far.load(&request, &mut go_on).unwrap();
    assert_eq!(
        (job.state, job.inputs_loading),
        (JobState::Cancelled, 1),
        "{job:#?}"
    );
    let done = job.bytes_done;
    assert!(done < content.len() as u64 && ends.contains(&done), "{done}");
    memory.read_of(address);
    request.epoch_bytes = None;
    let job = load(&far, &request);
    assert_eq!((job.inputs_done, job.captures_known), (1, 0), "{job:#?}");
    let read = memory.read_of(address);
    let rest = content.len() as u64 - done;
    // The beginning is checked for a dictionary, 8 bytes each time. The sixteen records before are
    // read again, because their requests may belong to later responses.
    let context = 17 * content.len() as u64 / RECORDS;
    assert!(
        read <= rest + 64 + context,
        "{read} bytes read, {rest} were left of {}",
        content.len()
    );
    assert_eq!(data::status(&far).captures, RECORDS);
}

/// An input that was loaded while it grew continues under its final name, with and without a stored
/// digest.
#[test]
fn a_grown_object_is_known_again() {
    for kept in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let memory = Arc::new(Memory::default());
        let (content, ends) = warc(1, 30);
        let (open, full) = ("mem://b/x.warc.gz.open", "mem://b/x.warc.gz");
        memory.put(open, &content[..ends[9] as usize + 7], "1");
        let far = own(&root.path().join("far"), &memory);
        let job = load(&far, &request(&[open]));
        assert_eq!((job.inputs_loading, job.captures), (1, 10));
        memory.put(full, &content, "2");
        if kept {
            memory.keep_digest(full);
        }
        let job = load(&far, &request(&[full]));
        assert_eq!(
            (job.inputs_done, job.captures, job.captures_known),
            (1, 20, 0),
            "{kept}"
        );
        assert_eq!(names(&far), ["mem://b/x.warc.gz"]);
    }
}

#[test]
fn folders_patterns_and_lists_lead_where_paths_would() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    let put = |name: &str, from: u32| memory.put(&format!("mem://b/{name}"), &warc(from, 2).0, name);
    put("in/a.warc.gz", 10);
    put("in/deep/b.warc.gz", 20);
    put("in/deep/c.dat", 30);
    put("in/[odd].warc.gz", 40);
    memory.put("mem://b/in/notes.txt", b"just text", "n");
    memory.put("mem://b/in/empty.warc.gz", b"", "e");
    let list = b"# three\na.warc.gz\nmem://b/in/deep/c.dat\nin/deep/b.warc.gz\ndeep/absent\n";
    memory.put("mem://b/in/all.paths", list, "l");
    std::fs::write(root.path().join("local.paths"), "mem://b/in/a.warc.gz\n").unwrap();
    let local = format!("{}/local.paths", root.path().display());
    // Its name is that of an archive file, so it is reported.
    let empty = "empty.warc.gz: failed(no WARC or ARC record in it)";
    let all = [
        "[odd].warc.gz",
        "a.warc.gz",
        "deep/b.warc.gz",
        "deep/c.dat",
        empty,
    ];
    let cases: [(&str, &[&str], u64); 10] = [
        ("mem://b/in", &all, 2),
        ("mem://b/in/", &all, 2),
        ("mem://b/in/[odd].warc.gz", &["[odd].warc.gz"], 0),
        ("mem://b/in/*.warc.gz", &["[odd].warc.gz", "a.warc.gz", empty], 0),
        ("mem://b/*/deep", &["deep/b.warc.gz", "deep/c.dat"], 0),
        ("mem://b/in/**/b.*", &["deep/b.warc.gz"], 0),
        ("mem://b/in/x*", &["x*: failed(no input matches)"], 0),
        (
            "mem://b/in/all.paths",
            &[
                "a.warc.gz",
                "deep/absent: failed(no such input, and none below it; for all names that begin so: \
                 mem://b/in/deep/absent*)",
                "deep/b.warc.gz",
                "deep/c.dat",
            ],
            0,
        ),
        (&local, &["a.warc.gz"], 0),
        (
            "mem://b/in/notes.txt",
            &["notes.txt: failed(no WARC or ARC record in it)"],
            0,
        ),
    ];
    for (number, (argument, expected, skipped)) in cases.iter().enumerate() {
        let far = own(&root.path().join(number.to_string()), &memory);
        let job = load(&far, &request(&[argument]));
        let expected: Vec<String> = expected.iter().map(|name| format!("mem://b/in/{name}")).collect();
        assert_eq!(names(&far), expected, "{argument}");
        assert_eq!(job.files_skipped, *skipped, "{argument}");
    }
    let far = own(&root.path().join("wrong"), &memory);
    load(&far, &request(&["mem://b/secret.warc", "gopher://h/x"]));
    assert_eq!(
        names(&far),
        [
            "gopher://h/x: failed(inputs of this kind cannot be read here)",
            "mem://b/secret.warc: failed(permission denied)"
        ]
    );
}

#[test]
fn records_are_read_where_the_captures_point() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    let (content, _) = warc(1, 400);
    memory.put("mem://b/x.warc.gz", &content, "1");
    let far = own(&root.path().join("far"), &memory);
    load(&far, &request(&["mem://b/x.warc.gz"]));
    memory.read_of("mem://b/x.warc.gz");
    let question = Question::Record(Record {
        url: "http://site0.example/300".into(),
        at: None,
        capture: None,
        fuzzy: false,
        with_content: false,
    });
    let Body::Record(place) = data::ask(&far, question) else {
        panic!()
    };
    assert_eq!(place.location, "mem://b/x.warc.gz");
    let interrupt = archive::Interrupt::new();
    let record = archive::open_record(far.sources(), &place, &interrupt).unwrap();
    assert_eq!(
        record.headers().get("WARC-Target-URI"),
        Some("http://site0.example/300")
    );
    let read = memory.read_of("mem://b/x.warc.gz");
    assert!(read < 200_000, "{read} bytes of {} for one record", content.len());
    let mut raw = archive::raw_record(far.sources(), &place, &interrupt).unwrap();
    let mut stored = Vec::new();
    io::Read::read_to_end(&mut raw, &mut stored).unwrap();
    let (start, length) = (place.capture.offset as usize, place.capture.length as usize);
    assert_eq!(stored, &content[start..start + length]);
    memory.objects.lock().unwrap().clear();
    assert!(archive::open_record(far.sources(), &place, &interrupt).is_err());
}

/// Returns a package of `members` stored members with one record each.
fn package(members: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut resources = Vec::new();
    for member in 0..members {
        let name = format!("archive/{member:05}.warc.gz");
        zip.start_file(name.as_str(), options).unwrap();
        let (content, _) = warc(u32::try_from(member).unwrap() + 1, 1);
        io::Write::write_all(&mut zip, &content).unwrap();
        resources.push(serde_json::json!({ "path": name }));
    }
    zip.start_file("datapackage.json", options).unwrap();
    let described = serde_json::json!({ "resources": resources }).to_string();
    io::Write::write_all(&mut zip, described.as_bytes()).unwrap();
    zip.finish().unwrap().into_inner()
}

/// Regression: the directory of a package was read again for each of its members, so the time grew
/// with the square of their number.
#[test]
fn a_package_is_read_in_proportion_to_its_members() {
    let root = tempfile::tempdir().unwrap();
    let read_of = |members: usize| {
        let memory = Arc::new(Memory::default());
        let (address, content) = (format!("mem://b/{members}.wacz"), package(members));
        memory.put(&address, &content, "1");
        let archive = own(&root.path().join(members.to_string()), &memory);
        let job = load(&archive, &request(&[&address]));
        assert_eq!(job.inputs_done, members as u64, "{job:#?}");
        memory.read_of(&address) as f64 / content.len() as f64
    };
    let (few, many) = (read_of(20), read_of(120));
    assert!(
        many < few * 1.5,
        "{few} times its bytes, and of six times the members {many}"
    );
}

/// Regression: while a record of many gigabytes was read, the progress bar stayed at 0 % for
/// minutes.
#[test]
fn progress_moves_inside_a_large_record() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    let mut writer = Writer::new(Vec::new(), Compression::Plain).unwrap();
    let draft = Draft::response("http://a.example/", 1_400_000_000_000, {
        let mut block = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n".to_vec();
        block.resize(4 << 20, b'x');
        block
    });
    writer.write(&draft).unwrap();
    let content = writer.finish().unwrap();
    let address = "mem://b/large.warc";
    memory.put(address, &content, "1");
    memory.keep_digest(address);
    let half = content.len() as u64 / 2;
    // The end of a record is read before its content.
    memory.hold(half..half + half / 2);
    let archive = own(&root.path().join("far"), &memory);
    let mut seen = None;
    let (_, job) = archive
        .load(&request(&[address]), &mut |_, job| {
            if job.bytes_read > half / 2 && job.bytes_done == 0 {
                seen.get_or_insert((job.bytes_read, job.bytes));
                memory.let_go();
            }
            true
        })
        .unwrap();
    let (read, bytes) = seen.expect("half of the record");
    assert!(
        read <= half + (1 << 20) && bytes == content.len() as u64,
        "{read} of {bytes}"
    );
    assert_eq!((job.bytes_read, job.bytes_done), (bytes, bytes));
}

/// Secrets in an address are neither stored nor shown.
#[test]
fn what_opens_an_address_is_neither_stored_nor_shown() {
    let root = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::default());
    let (content, _) = warc(1, 3);
    let (signed, plain) = (
        "https://user:PASSWORD@h.example/x.warc.gz?page=1&X-Amz-Signature=SIGNATURE&token=TOKEN",
        "https://h.example/x.warc.gz?page=1",
    );
    memory.put(signed, &content, "1");
    let other = "https://h.example/x.warc.gz?page=1&token=ANOTHER";
    let archive = own(&root.path().join("far"), &memory);
    let job = load(&archive, &request(&[signed, other]));
    assert_eq!((job.inputs_done, job.inputs_failed), (1, 1), "{job:#?}");
    assert!(
        job.problems[0].state.to_string().contains("differs from it only"),
        "{job:#?}"
    );
    assert_eq!(names(&archive)[0], plain);
    // Its records are read with the secrets.
    let record = Question::Record(Record {
        url: "http://site1.example/1".to_owned(),
        ..Record::default()
    });
    let Body::Record(record) = data::ask(&archive, record) else {
        panic!("a record");
    };
    assert_eq!(record.location, plain);
    assert!(archive.sources().open(&record.location).is_ok());
    let dumps: String = VIEWS.iter().map(|view| dump(&archive, view)).collect();
    let shown = format!("{dumps}{job:?}{record:?}");
    drop(archive);
    let mut places = vec![("what is shown".to_owned(), shown.into_bytes())];
    files_below(root.path(), &mut places);
    for (place, bytes) in places {
        for secret in ["PASSWORD", "SIGNATURE", "TOKEN", "ANOTHER"] {
            let is_in = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!is_in, "{secret} in {place}");
        }
    }
    // Another process does not know the secrets, and reports an error when it reads the record.
    let archive = own(&root.path().join("far"), &memory);
    assert!(archive.sources().open(plain).is_err());
}

fn files_below(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.is_file() {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}
