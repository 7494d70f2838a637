//! Writes epochs to tables and reads them back, and compares them with a plain model: a list of
//! rows.

use std::path::Path;
use std::sync::Arc;

use extract::{Capture, CaptureKind, Image, Link, LinkKind, Page, Shortfall};
use facts::{Fact, Facts, FactsError, LocalFileStore, Note, ReadRow, Settings, Source, Table, TakenBack};
use proptest::prelude::*;
use system::FileStore as _;

/// The archive that all tables here belong to.
const ARCHIVE: &str = "11111111-2222-4333-8444-555555555555";

fn open(dir: &Path) -> Facts {
    let mut settings = Settings::default();
    settings.texts = true;
    Facts::new(Arc::new(LocalFileStore::new(dir)), ARCHIVE.to_owned(), &settings)
}

fn capture(url: &str, offset: u64, links: &[&str]) -> Capture {
    let link = |url: &&str| Link {
        url_key: urlkey::url_key(url).unwrap(),
        url: (*url).to_owned(),
        anchor: String::new(),
        nofollow: false,
        kind: LinkKind::A,
    };
    Capture {
        url_key: urlkey::url_key(url).unwrap(),
        url: url.to_owned(),
        fetch_time_ms: 1_400_000_000_123 + offset as i64,
        mime: "text/html".to_owned(),
        status: 200,
        digest: format!("D{offset}"),
        offset,
        length: 10,
        kind: CaptureKind::Response,
        page: Some(Page {
            title: format!("Title {offset}"),
            text: if offset.is_multiple_of(2) {
                format!("Text {offset}")
            } else {
                String::new()
            },
            links: links.iter().map(link).collect(),
            ..Page::default()
        }),
        ..Capture::default()
    }
}

fn fact(input: u32, capture: &Capture) -> Fact<'_> {
    Fact {
        source: Source {
            id: input.into(),
            name: "a.warc.gz",
            digest: "sha256:00",
            collection: "news",
        },
        capture,
    }
}

fn stage(facts: &Facts, epoch: u64, captures: &[(u32, Capture)]) -> Note {
    let rows: Vec<Fact<'_>> = captures
        .iter()
        .map(|(input, capture)| fact(*input, capture))
        .collect();
    facts.stage(epoch, &rows).unwrap()
}

fn read(dir: &Path, table: Table) -> Vec<ReadRow> {
    facts::read_table(&dir.join(table.name()), None).unwrap()
}

/// Returns what identifies each row: input, offset, epoch and, for links, the target.
fn places(dir: &Path, table: Table) -> Vec<(u64, u64, u64, String)> {
    let number = |row: &ReadRow, name: &str| row[name].as_u64().unwrap();
    let place = |row: &ReadRow| {
        let target = row.get("target_surtkey").and_then(|target| target.as_str());
        let target = target.unwrap_or_default().to_owned();
        (
            number(row, "input_id"),
            number(row, "warc_record_offset"),
            number(row, "epoch"),
            target,
        )
    };
    let mut places: Vec<_> = read(dir, table).iter().map(place).collect();
    places.sort();
    places
}

#[test]
fn a_row_says_what_the_capture_says() {
    let root = tempfile::tempdir().unwrap();
    let mut page = capture(
        "https://www.Example.co.uk:8443/a/b?c=1#d",
        6,
        &["http://other.org/x?y", "http://192.168.1.254/"],
    );
    page.truncated = "length".to_owned();
    page.method = "POST".to_owned();
    page.shortfall = Shortfall::Part;
    if let Some(page) = &mut page.page {
        page.charset = "windows-1252".to_owned();
        page.language = "en".to_owned();
        page.links_dropped = 3;
        page.links[0].anchor = "words".to_owned();
        page.links[1].nofollow = true;
        page.links[1].kind = LinkKind::Area;
    }
    let mut redirect = capture("http://example.org/old", 7, &[]);
    redirect.page = None;
    redirect.status = 301;
    redirect.redirect = Some(Link {
        url_key: "org,example)/new".to_owned(),
        url: "http://example.org/new".to_owned(),
        anchor: String::new(),
        nofollow: false,
        kind: LinkKind::Location,
    });
    let facts = open(root.path());
    facts
        .publish(&stage(&facts, 5, &[(1, redirect), (2, page)]))
        .unwrap();

    let captures = serde_json::to_value(read(root.path(), Table::Captures)).unwrap();
    expect(
        &captures[1],
        r#"{"collection":"news","content_charset":"windows-1252","content_digest":"D6","content_languages":"en",
        "content_mime_detected":"text/html","content_mime_type":"text/html","content_truncated":"length","epoch":5,
        "exif_location":null,"exif_time":null,"exif_version":null,
        "fetch_status":200,"fetch_time":1400000000129000,"image_height":null,"image_p_hash":null,"image_size":null,
        "image_width":null,"input_digest":"sha256:00","input_id":2,"is_document":false,"is_page":true,
        "kind":"response","links_dropped":3,"links_images":null,"method":"POST","redirects_to_itself":false,
        "refers_to_surtkey":null,"refers_to_time":null,"shortfall":"part","text_length":6,
        "title":"Title 6",
        "url":"https://www.Example.co.uk:8443/a/b?c=1#d","url_host_name":"www.example.co.uk",
        "url_host_registered_domain":"example.co.uk","url_host_tld":"uk","url_path":"/a/b","url_port":8443,
        "url_protocol":"https","url_query":"c=1","url_surtkey":"uk,co,example:8443)/a/b?c=1",
        "warc_filename":"a.warc.gz","warc_record_length":10,"warc_record_offset":6}"#,
    );
    assert_eq!(captures[0]["is_page"], false);
    assert_eq!(captures[0]["title"], serde_json::Value::Null);
    assert_eq!(captures[0]["method"], serde_json::Value::Null);
    assert_eq!(captures[0]["shortfall"], serde_json::Value::Null);
    let links = serde_json::to_value(read(root.path(), Table::Links)).unwrap();
    assert_eq!(links.as_array().unwrap().len(), 3);
    expect(
        &links[2],
        r#"{"anchor":null,"epoch":5,"fetch_time":1400000000129000,"input_id":2,"kind":"area",
        "nofollow":true,"source_host_name":"www.example.co.uk","source_registered_domain":"example.co.uk",
        "source_surtkey":"uk,co,example:8443)/a/b?c=1","source_url":"https://www.Example.co.uk:8443/a/b?c=1#d",
        "target_host_name":"192.168.1.254","target_registered_domain":"192.168.1.254",
        "target_surtkey":"254,1,168,192)/","target_url":"http://192.168.1.254/","warc_filename":"a.warc.gz",
        "warc_record_offset":6}"#,
    );
    assert_eq!(
        (&links[0]["kind"], &links[1]["anchor"]),
        (&"location".into(), &"words".into())
    );
    assert_eq!(read(root.path(), Table::Texts).len(), 1);
}

#[test]
fn images_are_in_the_rows_of_their_files_and_of_their_pages() {
    let root = tempfile::tempdir().unwrap();
    let mut page = capture("http://a.org/", 2, &[]);
    if let Some(page) = &mut page.page {
        let image = |url: &str| Image {
            url: url.to_owned(),
            alt: "A boat".to_owned(),
            ..Image::default()
        };
        page.images = vec![image("http://a.org/boat.png"), image("http://b.org/gull.png")];
        page.store_images();
    }
    let mut file = capture("http://a.org/boat.png", 3, &[]);
    file.page = None;
    file.mime = "image/png".to_owned();
    file.document = Some(Box::new(Page {
        text: "640x480 0123456789abcdef\ntaken 2012-05-06T07:08:09 at 57.050000,9.920000".to_owned(),
        ..Page::default()
    }));
    // A text that reads like the size of an image.
    let mut text = file.clone();
    text.url_key = "org,a)/size.txt".to_owned();
    text.mime = "text/plain".to_owned();
    let facts = open(root.path());
    facts
        .publish(&stage(&facts, 1, &[(1, page), (1, file), (1, text)]))
        .unwrap();
    let captures = serde_json::to_value(read(root.path(), Table::Captures)).unwrap();
    let names = [
        "image_width",
        "image_height",
        "image_size",
        "image_p_hash",
        "links_images",
        "exif_time",
        "exif_location",
        "exif_version",
    ];
    let cells = |row: usize| serde_json::Value::from(names.map(|name| captures[row][name].clone()).to_vec());
    expect(
        &cells(0),
        r#"[null, null, null, null, "http://a.org/boat.png\nhttp://b.org/gull.png", null, null, null]"#,
    );
    expect(
        &cells(1),
        r#"[640, 480, 307200, "0123456789abcdef", null, "2012-05-06T07:08:09", "57.050000,9.920000", null]"#,
    );
    expect(&cells(2), "[null, null, null, null, null, null, null, null]");
    let texts = read(root.path(), Table::Texts);
    assert_eq!(texts.len(), 1);
    assert_eq!(texts[0]["text"], "Text 2");
    let images = texts[0]["images"].as_str().unwrap();
    assert!(
        images.lines().count() == 2 && images.contains("A boat"),
        "{images}"
    );
}

#[track_caller]
fn expect(found: &serde_json::Value, expected: &str) {
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    assert_eq!(*found, expected, "{found:#}");
}

#[test]
fn what_is_staged_is_seen_when_it_is_published_and_not_before() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    let note = stage(&facts, 1, &[(1, capture("http://a.org/", 2, &["http://b.org/"]))]);
    assert!(read(root.path(), Table::Captures).is_empty());
    assert!(!facts.is_published(&note).unwrap());
    // After a crash only the note is left.
    let note = Note::of_bytes(&note.to_bytes()).unwrap();
    let facts = open(root.path());
    for _ in 0..2 {
        facts.publish(&note).unwrap();
        assert!(facts.is_published(&note).unwrap());
        assert_eq!(
            places(root.path(), Table::Links),
            [(1, 2, 1, "org,b)/".to_owned())]
        );
    }
    let sums = facts.sums().unwrap();
    assert!(
        sums.iter()
            .all(|sum| (sum.epoch, sum.rows, sum.files) == (1, 1, 1) && sum.bytes > 0)
    );
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let left = ["captures/.new-abc", "captures/_delta_log/.new-def"].map(|name| root.path().join(name));
    std::fs::create_dir_all(root.path().join("captures/_delta_log")).unwrap();
    for file in &left {
        std::fs::write(file, "half").unwrap();
    }
    let facts = open(root.path());
    facts
        .publish(&stage(&facts, 1, &[(1, capture("http://a.org/", 2, &[]))]))
        .unwrap();
    assert!(left.iter().all(|file| !file.exists()));
    assert_eq!(places(root.path(), Table::Captures).len(), 1);
}

#[test]
fn an_input_gets_another_name() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    let rows: Vec<(u32, Capture)> = (1..4)
        .map(|n| (n as u32 % 2, capture("http://a.org/", n, &["http://b.org/"])))
        .collect();
    facts.publish(&stage(&facts, 1, &rows)).unwrap();
    let names = |table| -> Vec<(u64, String)> {
        let row = |row: &ReadRow| {
            let name = row["warc_filename"].as_str().unwrap().to_owned();
            (row["input_id"].as_u64().unwrap(), name)
        };
        let mut names: Vec<_> = read(root.path(), table).iter().map(row).collect();
        names.sort();
        names
    };
    for name in ["b.warc.gz", "c.warc.gz"] {
        let facts = open(root.path());
        let note = facts.note_of_renamed(1, 1, name).unwrap();
        // Twice, as after a crash, and by an instance that has read nothing yet.
        for facts in [&facts, &facts, &open(root.path())] {
            facts.publish(&note).unwrap();
            assert!(facts.is_published(&note).unwrap());
        }
        for table in [Table::Captures, Table::Links] {
            let expected = [(0, "a.warc.gz"), (1, name), (1, name)];
            assert_eq!(names(table), expected.map(|(id, name)| (id, name.to_owned())));
        }
    }
    // Later epochs still work.
    facts_go_on(root.path());
}

fn facts_go_on(dir: &Path) {
    let facts = open(dir);
    facts
        .publish(&stage(&facts, 2, &[(1, capture("http://a.org/", 9, &[]))]))
        .unwrap();
    assert_eq!(read(dir, Table::Captures).len(), 4);
}

#[test]
fn tables_of_another_archive_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    facts
        .publish(&stage(&facts, 1, &[(1, capture("http://a.org/", 2, &[]))]))
        .unwrap();
    let place = Arc::new(LocalFileStore::new(root.path()));
    let other = Facts::new(place, facts::new_id(), &Settings::default());
    let refused = other.sums().unwrap_err();
    assert!(
        matches!(&refused, FactsError::Foreign { found, .. } if found == ARCHIVE),
        "{refused}"
    );
}

/// Tables of a program with fewer columns get the new ones, and old rows have no value in them.
#[test]
fn tables_of_an_older_program_get_the_columns_that_were_added() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    let page = capture("http://a.org/", 6, &[]);
    facts.publish(&stage(&facts, 5, &[(1, page)])).unwrap();
    drop(facts);
    // Simulates a table that was created without the last columns.
    let commit = root.path().join("captures/_delta_log/00000000000000000000.json");
    let mut text = std::fs::read_to_string(&commit).unwrap();
    for (name, kind) in [
        ("method", "string"),
        ("shortfall", "string"),
        ("refers_to_surtkey", "string"),
        ("refers_to_time", "timestamp"),
        ("is_document", "boolean"),
        ("image_width", "long"),
        ("image_height", "long"),
        ("image_size", "long"),
        ("image_p_hash", "string"),
        ("links_images", "string"),
        ("exif_time", "string"),
        ("exif_location", "string"),
        ("exif_version", "string"),
    ] {
        let column = format!(
            ",{{\\\"metadata\\\":{{}},\\\"name\\\":\\\"{name}\\\",\\\"nullable\\\":true,\\\"type\\\":\\\"{kind}\\\"}}"
        );
        assert!(text.contains(&column), "{text}");
        text = text.replace(&column, "");
    }
    std::fs::write(&commit, text).unwrap();
    let facts = open(root.path());
    let mut post = capture("http://a.org/", 7, &[]);
    post.method = "POST".to_owned();
    facts.publish(&stage(&facts, 6, &[(1, post)])).unwrap();
    let log = root.path().join("captures/_delta_log");
    let commits = |word: &str| {
        let mut commits = std::fs::read_dir(&log).unwrap();
        commits.any(|commit| {
            std::fs::read_to_string(commit.unwrap().path())
                .unwrap()
                .contains(word)
        })
    };
    assert!(commits("ADD COLUMNS") && commits("\\\"name\\\":\\\"shortfall\\\""));
    let captures = serde_json::to_value(read(root.path(), Table::Captures)).unwrap();
    assert_eq!(captures.as_array().unwrap().len(), 2);
}

#[test]
fn an_archive_put_back_to_an_older_state_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    let rows = [(1, capture("http://a.org/", 2, &[]))];
    facts.publish(&stage(&facts, 7, &rows)).unwrap();
    let refused = facts.stage(7, &[fact(1, &rows[0].1)]);
    assert!(matches!(
        refused,
        Err(FactsError::Ahead {
            found: 7,
            expected: 6,
            ..
        })
    ));
    assert_eq!(places(root.path(), Table::Captures).len(), 1);
}

/// The archive has lost its last epochs: their rows are removed from the tables, and come again
/// with the next epochs.
#[test]
fn rows_of_epochs_that_are_lost_are_taken_out() {
    let root = tempfile::tempdir().unwrap();
    let rows = |epoch| [(1, capture("http://a.org/", epoch, &[]))];
    let facts = open(root.path());
    for epoch in 1..=3 {
        facts.publish(&stage(&facts, epoch, &rows(epoch))).unwrap();
    }
    let facts = open(root.path());
    facts.roll_back(1).unwrap();
    facts.roll_back(1).unwrap();
    assert_eq!(places(root.path(), Table::Captures).len(), 1);
    let facts = open(root.path());
    facts.publish(&stage(&facts, 2, &rows(5))).unwrap();
    assert_eq!(places(root.path(), Table::Captures).len(), 2);
    // Rows removed by an epoch cannot be restored.
    let taken_back = TakenBack {
        input_id: 1,
        from_offset: 0,
    };
    facts.publish(&Note::of_taken_back(3, taken_back)).unwrap();
    assert!(matches!(facts.roll_back(2), Err(FactsError::Ahead { .. })));
}

/// A file of another table has the right size, but other columns.
#[test]
fn files_that_are_not_as_the_log_says_are_named() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    facts
        .publish(&stage(&facts, 1, &[(1, capture("http://a.org/", 2, &[]))]))
        .unwrap();
    assert_eq!(facts.damages(true).unwrap(), []);
    let file = |table: &str| {
        let files = std::fs::read_dir(root.path().join(table)).unwrap();
        let mut files = files.map(|entry| entry.unwrap().path());
        files
            .find(|path| path.extension().is_some_and(|kind| kind == "parquet"))
            .unwrap()
    };
    let captures = file("captures");
    let whole = std::fs::read(&captures).unwrap();
    std::fs::write(&captures, &whole[1..]).unwrap();
    let damages = facts.damages(true).unwrap();
    let expected = format!(
        "facts file {} is damaged: {} bytes, the log says {}; restore the file",
        captures.display(),
        format::number::count(whole.len() as u64 - 1),
        format::number::count(whole.len() as u64)
    );
    assert!(damages[0].to_string().starts_with(&expected), "{damages:?}");
    // Changing any byte except padding counts as damage.
    let mut bytes = whole.clone();
    bytes[0] ^= 1;
    std::fs::write(&captures, &bytes).unwrap();
    assert_eq!(facts.damages(true).unwrap().len(), 1);
}

#[test]
fn facts_that_were_removed_are_missed() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    let notes: Vec<Note> = (1..=2)
        .map(|epoch| {
            let note = stage(&facts, epoch, &[(1, capture("http://a.org/", epoch, &[]))]);
            facts.publish(&note).unwrap();
            note
        })
        .collect();
    std::fs::remove_dir_all(root.path().join("captures")).unwrap();
    for note in notes {
        // Opening the archive, or loading into it, does the same.
        let facts = open(root.path());
        assert!(!facts.is_published(&note).unwrap());
        let error = facts.publish(&note).unwrap_err();
        assert!(matches!(&error, FactsError::Missing { .. }), "{error}");
    }
}

#[test]
fn a_damaged_commit_is_named() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    facts
        .publish(&stage(&facts, 1, &[(1, capture("http://a.org/", 2, &[]))]))
        .unwrap();
    let commit = root.path().join("captures/_delta_log/00000000000000000001.json");
    for damaged in ["{\"add\":{\"path\":\"x\"}}", "{\"add\":", "\0\0", "[1]"] {
        std::fs::write(&commit, damaged).unwrap();
        let error = open(root.path()).sums().unwrap_err();
        assert!(error.to_string().contains("00000000000000000001.json"), "{error}");
    }
}

/// A data file with changed bytes, and a truncated one: removing rows from it either fails with the
/// file's name or succeeds correctly.
#[test]
fn a_damaged_data_file_is_named() {
    let root = tempfile::tempdir().unwrap();
    let links = ["http://b.org/", "http://c.org/x"];
    let captures: Vec<(u32, Capture)> = (0..40)
        .map(|offset| (1, capture(&format!("http://a.org/{offset:02}"), offset, &links)))
        .collect();
    let facts = open(root.path());
    facts.publish(&stage(&facts, 1, &captures)).unwrap();
    let file = root.path().join("links/epoch-000000000001-00000.zstd.parquet");
    let commit = root.path().join("links/_delta_log/00000000000000000002.json");
    let others = ["captures", "texts"].map(|table| root.path().join(table));
    let whole = std::fs::read(&file).unwrap();
    let taken_back = TakenBack {
        input_id: 1,
        from_offset: 20,
    };
    let mut errors = 0;
    for at in (0..whole.len()).step_by(11) {
        let mut damaged = whole.clone();
        match at % 5 {
            0 => damaged.truncate(at),
            bit => damaged[at] ^= 1 << bit,
        }
        std::fs::write(&file, damaged).unwrap();
        let tried = open(root.path()).publish(&Note::of_taken_back(2, taken_back));
        if let Err(error) = tried {
            assert!(error.to_string().contains("epoch-000000000001-00000"), "{error}");
            errors += 1;
        }
        // The next attempt starts from the same state.
        for log in others
            .iter()
            .map(|table| table.join("_delta_log/00000000000000000002.json"))
            .chain([commit.clone()])
        {
            let _ = std::fs::remove_file(log);
        }
    }
    assert!(errors > whole.len() / 11 / 2, "{errors} of {}", whole.len() / 11);
}

/// Another engine compacts a table between two commits.
#[test]
fn what_another_writer_commits_meanwhile_stays() {
    let root = tempfile::tempdir().unwrap();
    let facts = open(root.path());
    for epoch in 1..=2 {
        let row = (1, capture("http://a.org/", 2 * epoch, &[]));
        facts.publish(&stage(&facts, epoch, &[row])).unwrap();
    }
    let place = LocalFileStore::new(root.path());
    // Its file is a copy of one of the files under another name: a rewritten file without the rows
    // of the other.
    let captures = root.path().join("captures");
    std::fs::copy(
        captures.join("epoch-000000000002-00000.zstd.parquet"),
        captures.join("compacted.parquet"),
    )
    .unwrap();
    let commit = r#"{"commitInfo":{"operation":"OPTIMIZE"}}
{"domainMetadata":{"domain":"x","configuration":"","removed":false}}
{"remove":{"path":"epoch-000000000001-00000.zstd.parquet","dataChange":false}}
{"remove":{"path":"epoch-000000000002-00000.zstd.parquet","dataChange":false}}
{"add":{"path":"compacted.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":false}}
"#;
    let path = "captures/_delta_log/00000000000000000003.json";
    assert!(place.put_if_absent(path, commit.into()).unwrap());
    let note = stage(&facts, 3, &[(1, capture("http://a.org/", 6, &[]))]);
    facts.publish(&note).unwrap();
    let offsets =
        |places: Vec<(u64, u64, u64, String)>| places.into_iter().map(|place| place.1).collect::<Vec<_>>();
    assert_eq!(offsets(places(root.path(), Table::Captures)), [4, 6]);
    // Compacted once more, and the replaced file is deleted. Without statistics a file may have
    // rows of any input.
    std::fs::rename(captures.join("compacted.parquet"), captures.join("again.parquet")).unwrap();
    let commit = commit
        .lines()
        .filter(|line| !line.contains("epoch-"))
        .collect::<Vec<_>>()
        .join("\n")
        .replace("compacted.parquet", "again.parquet")
        + "\n{\"remove\":{\"path\":\"compacted.parquet\",\"dataChange\":false}}\n";
    let path = "captures/_delta_log/00000000000000000005.json";
    assert!(place.put_if_absent(path, commit.into()).unwrap());
    let taken_back = TakenBack {
        input_id: 1,
        from_offset: 4,
    };
    facts.publish(&Note::of_taken_back(4, taken_back)).unwrap();
    assert!(places(root.path(), Table::Captures).is_empty());
}

/// The history of an archive: epochs, some of them interrupted and repeated, and inputs taken back.
#[derive(Debug, Clone)]
enum Step {
    Epoch { rows: Vec<(u32, u8)>, broken_off: bool },
    TakeBack { input: u32, from: u8 },
    TakeDown { captures: Vec<(u32, u8)> },
    Forget { input: u32 },
    OpenAgain,
}

fn step() -> impl Strategy<Value = Step> {
    let rows = prop::collection::btree_set((1..4u32, any::<u8>()), 1..12);
    prop_oneof![
        4 => (rows, any::<bool>()).prop_map(|(rows, broken_off)| Step::Epoch {
            rows: rows.into_iter().collect(),
            broken_off,
        }),
        2 => (1..4u32, any::<u8>()).prop_map(|(input, from)| Step::TakeBack { input, from }),
        2 => prop::collection::vec((1..4u32, any::<u8>()), 1..60).prop_map(|captures| Step::TakeDown { captures }),
        1 => (1..4u32).prop_map(|input| Step::Forget { input }),
        1 => Just(Step::OpenAgain),
    ]
}

fn captures_of(rows: &[(u32, u8)]) -> Vec<(u32, Capture)> {
    let links = ["http://b.org/", "http://c.org/x"];
    let of = |(input, offset): &(u32, u8)| {
        let links = &links[..usize::from(*offset) % 3];
        (
            *input,
            capture(&format!("http://a.org/{offset}"), (*offset).into(), links),
        )
    };
    let mut captures: Vec<(u32, Capture)> = rows.iter().map(of).collect();
    captures.sort_by(|a, b| a.1.url_key.cmp(&b.1.url_key));
    captures
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tables_are_the_model(steps in prop::collection::vec(step(), 1..12)) {
        let root = tempfile::tempdir().unwrap();
        let mut facts = open(root.path());
        let mut model: Vec<(u64, u64, u64, String)> = Vec::new();
        for (step, epoch) in steps.iter().zip(1u64..) {
            match step {
                Step::Epoch { rows, broken_off } => {
                    let captures = captures_of(rows);
                    if *broken_off {
                        // Never committed: another set of captures gets the epoch's number.
                        stage(&facts, epoch, &captures[..1]);
                    }
                    facts.publish(&stage(&facts, epoch, &captures)).unwrap();
                    for (input, offset) in rows {
                        model.push((u64::from(*input), u64::from(*offset), epoch, String::new()));
                    }
                }
                Step::TakeBack { input, from } => {
                    let taken_back = TakenBack { input_id: *input, from_offset: u64::from(*from) };
                    let note = Note::of_taken_back(epoch, taken_back);
                    facts.publish(&note).unwrap();
                    facts.publish(&note).unwrap();
                    model.retain(|(i, offset, ..)| *i != u64::from(*input) || *offset < u64::from(*from));
                }
                Step::TakeDown { captures } => {
                    let leaving = captures.iter().map(|(input, offset)| (*input, u64::from(*offset)));
                    let note = Note::of_taken_down(epoch, leaving);
                    facts.publish(&note).unwrap();
                    facts.publish(&Note::of_bytes(&note.to_bytes()).unwrap()).unwrap();
                    let leaves = |i: u64, o: u64| captures.iter().any(|(input, offset)| (u64::from(*input), u64::from(*offset)) == (i, o));
                    model.retain(|(i, offset, ..)| !leaves(*i, *offset));
                    facts.purge().unwrap();
                    if captures.len() % 2 == 0 {
                        facts = open(root.path());
                    }
                }
                Step::Forget { input } => {
                    let note = Note::of_forgotten(epoch, [*input].into_iter());
                    facts.publish(&note).unwrap();
                    facts.publish(&Note::of_bytes(&note.to_bytes()).unwrap()).unwrap();
                    model.retain(|(i, ..)| *i != u64::from(*input));
                }
                Step::OpenAgain => facts = open(root.path()),
            }
        }
        model.sort();
        facts.purge().unwrap();
        if model.is_empty() && !root.path().join("captures").exists() {
            return Ok(());
        }
        prop_assert_eq!(places(root.path(), Table::Captures), model.clone());
        let links: usize = model.iter().map(|(_, offset, ..)| (*offset % 3) as usize).sum();
        prop_assert_eq!(places(root.path(), Table::Links).len(), links);
        let texts = model.iter().filter(|(_, offset, ..)| offset.is_multiple_of(2)).count();
        prop_assert_eq!(places(root.path(), Table::Texts).len(), texts);
    }
}
