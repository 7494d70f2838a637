//! Archives that are indexed from tables of facts.

use std::path::Path;

use archive::question::SearchQuestion;
use archive::{
    Archive, FactInput, FactsImport, ImportLine, ImportLineError, OneInput, Part, QuarantineEntry,
};
use extract::LinkScope;
use inputs::Sources;

use crate::data::{self, assert_same, dumps, own};

const INPUTS: [&str; 5] = [
    "crawls/iana.warc.gz",
    "crawls/dupes.warc.gz",
    "crawls/hackfest.warc.gz",
    "commoncrawl/link-extraction-test.warc",
    "commoncrawl/wat-2015.warc",
];

/// Returns the lines that tables contain for these inputs, after the first line.
fn lines(shared: &Path, names: &[&str]) -> Vec<ImportLine> {
    let mut lines = Vec::new();
    for name in names {
        let location = inputs::path_text(&shared.join(name));
        let input = OneInput::open(&location, &Sources::default(), Path::new("/tmp")).unwrap();
        let mut parts = input.parts(LinkScope::All).unwrap();
        let (mut captures, mut quarantined) = (Vec::new(), Vec::new());
        while let Some(part) = parts.next().unwrap() {
            match part {
                Part::Capture(capture) => captures.push(ImportLine::Capture(capture)),
                Part::Quarantined(span, defect) => quarantined.push(QuarantineEntry {
                    offset: span.offset,
                    length: span.length,
                    reason: defect.reason.to_owned(),
                    detail: defect.detail,
                }),
            }
        }
        lines.push(ImportLine::Input(FactInput {
            name: (*name).to_owned(),
            location,
            digest: input.digest().to_owned(),
            size: input.size(),
            collection: String::new(),
            records: parts.counts().records,
            quarantined,
        }));
        lines.append(&mut captures);
    }
    lines.push(ImportLine::End);
    lines
}

fn load(archive: &Archive, lines: Vec<ImportLine>) -> Result<FactsImport, String> {
    // Encoded as by the other program.
    let mut lines = lines.into_iter().map(|line| {
        let text = serde_json::to_vec(&line).unwrap();
        serde_json::from_slice(&text).map_err(|error| ImportLineError::Syntax {
            program: "weft-sql",
            error,
        })
    });
    archive
        .load_facts(&mut lines, &mut |_| true)
        .map_err(|error| error.message)
}

#[test]
fn facts_make_the_archive_that_their_inputs_make() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let from_files = own(&root.path().join("files"));
    data::load(&from_files, &data::request(&shared, &INPUTS));
    let expected = dumps(&from_files);
    drop(from_files);

    let archive = own(&root.path().join("facts"));
    let done = load(&archive, lines(&shared, &INPUTS)).unwrap();
    assert_eq!((done.inputs_done, done.inputs_known), (5, 0));
    assert_same(&archive, &expected, "from facts");
    let found = archive.ask(SearchQuestion {
        query: "root zone".into(),
        limit: 10,
        ..SearchQuestion::default()
    });
    assert!(found.unwrap().body.summary.total > 0);
    // Again, from facts and from files.
    let again = load(&archive, lines(&shared, &INPUTS)).unwrap();
    assert_eq!(
        (again.inputs_known, again.captures, again.captures_known),
        (5, 0, done.captures)
    );
    let job = data::load(&archive, &data::request(&shared, &INPUTS));
    assert_eq!((job.inputs_known, job.captures), (5, 0));
    assert_same(&archive, &expected, "three times");
}

#[test]
fn a_load_that_is_cut_off_anywhere_goes_on_there() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let from_files = own(&root.path().join("files"));
    data::load(&from_files, &data::request(&shared, &INPUTS));
    let expected = dumps(&from_files);
    drop(from_files);
    let whole = lines(&shared, &INPUTS).len();
    for cut in [0, 1, 2, whole / 3, whole / 2, whole - 2, whole - 1] {
        let archive = own(&root.path().join(format!("cut {cut}")));
        let mut part = lines(&shared, &INPUTS);
        part.truncate(cut);
        let error = load(&archive, part).unwrap_err();
        assert!(error.contains("before their last line"), "{error}");
        let done = load(&archive, lines(&shared, &INPUTS)).unwrap();
        assert_eq!(
            done.captures_read(),
            (whole - INPUTS.len() - 1) as u64,
            "cut at {cut}"
        );
        assert_same(&archive, &expected, &format!("cut at {cut} of {whole}"));
    }
}

#[test]
fn lines_out_of_order_are_refused() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let mut swapped = lines(&shared, &INPUTS[..1]);
    swapped.swap(1, 2);
    let error = load(&archive, swapped).unwrap_err();
    assert!(
        error.contains("crawls/iana.warc.gz") && error.contains("must begin after the previous one"),
        "{error}"
    );
    let mut beyond = lines(&shared, &INPUTS[..1]);
    if let ImportLine::Input(input) = &mut beyond[0] {
        input.size = 1000;
    }
    let error = load(&archive, beyond).unwrap_err();
    assert!(error.contains("within the 1000 bytes"), "{error}");
    let client = data::open(archive.dir());
    let error = load(&client, vec![ImportLine::End]).unwrap_err();
    assert!(error.contains("another process has the archive open"), "{error}");
}
