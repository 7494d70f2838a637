//! Test data, and calls common to all tests.

use std::path::Path;

use archive::question::{
    Body, Dump, DumpFormat, JobBody, JobState, LoadRequest, Question, Status, StatusBody,
};
use archive::{Archive, OpenSettings};
use inputs::LoadInput;

/// All views.
pub(crate) const VIEWS: [&str; 9] = [
    "captures",
    "pages",
    "links",
    "inlinks",
    "uris",
    "domains",
    "top",
    "ledger",
    "quarantine",
];

/// Returns an archive file of the shared data.
pub(crate) fn input(shared: &Path, name: &str) -> LoadInput {
    LoadInput {
        name: name.to_owned(),
        path: inputs::path_text(&shared.join(inputs::path_of(name))),
    }
}

/// Returns a response record; `headers` are additional header lines, `http` the whole block.
pub(crate) fn response(url: &str, date: &str, headers: &str, http: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
         WARC-Date: {date}\r\nWARC-Target-URI: {url}\r\n{headers}\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
}

/// Writes `NAME.warc` with some records.
pub(crate) fn write(dir: &Path, name: &str, records: &str) -> LoadInput {
    let name = format!("{name}.warc");
    let path = dir.join(&name);
    std::fs::write(&path, records).unwrap();
    LoadInput {
        path: inputs::path_text(&path),
        name,
    }
}

pub(crate) fn request(shared: &Path, names: &[&str]) -> LoadRequest {
    LoadRequest {
        inputs: names.iter().map(|name| input(shared, name)).collect(),
        ..LoadRequest::default()
    }
}

/// Opens as owner, creating the archive.
pub(crate) fn own(dir: &Path) -> Archive {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    Archive::open(dir, settings).unwrap()
}

/// Opens an existing archive, as owner or client.
pub(crate) fn open(dir: &Path) -> Archive {
    Archive::open(dir, OpenSettings::default()).unwrap()
}

/// Loads until the end.
pub(crate) fn load(archive: &Archive, request: &LoadRequest) -> JobBody {
    let (_, job) = archive.load(request, &mut |_, _| true).unwrap();
    assert_eq!((job.state, &job.error), (JobState::Done, &None), "{job:#?}");
    job
}

/// Returns the body of an answer.
pub(crate) fn ask(archive: &Archive, question: Question) -> Body {
    archive.ask(question).unwrap().body
}

pub(crate) fn status(archive: &Archive) -> StatusBody {
    match ask(archive, Question::Status(Status {})) {
        Body::Status(status) => status,
        other => panic!("{other:?}"),
    }
}

/// Returns a view as text.
pub(crate) fn dump(archive: &Archive, view: &str) -> String {
    let mut out = Vec::new();
    let rows = archive
        .dump(view.parse::<Dump>().unwrap(), DumpFormat::Tsv, &mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().count() as u64 >= rows, "{view}");
    text
}

/// Tables of facts that are compared without some columns: numbers of epochs and inputs, and
/// digests at the time of indexing, depend on the order of loading.
pub(crate) const FACTS: [&str; 2] = ["facts/captures", "facts/links"];

/// Returns a table of facts as text.
fn facts(archive: &Archive, table: &str) -> String {
    let without = ["epoch", "input_id", "input_digest"];
    facts::table_as_text(&archive.dir().join(table), &without).unwrap()
}

/// Returns every view and every table of facts by name.
pub(crate) fn dumps(archive: &Archive) -> Vec<(&'static str, String)> {
    let views = VIEWS.iter().map(|view| (*view, dump(archive, view)));
    views
        .chain(FACTS.iter().map(|table| (*table, facts(archive, table))))
        .collect()
}

/// Compares every view, naming the first difference.
pub(crate) fn assert_same(found: &Archive, expected: &[(&str, String)], what: &str) {
    for (view, expected) in expected {
        let found = if FACTS.contains(view) {
            facts(found, view)
        } else {
            dump(found, view)
        };
        if found == *expected {
            continue;
        }
        let pair = found
            .lines()
            .zip(expected.lines())
            .find(|(found, expected)| found != expected);
        let lines = (found.lines().count(), expected.lines().count());
        panic!("{what}: view {view} differs ({lines:?} lines), first at {pair:#?}");
    }
}
