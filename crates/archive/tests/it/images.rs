//! Search by images: by the words of pages, and by similarity.

use std::path::Path;
use std::sync::Arc;

use access::Groups;
use archive::question::{
    Check, DamageRow, ImageHit, ImagesBody, ImagesQuestion, LoadRequest, Purge, SearchQuestion, TakeDown,
    TakedownSelector, ThumbnailQuestion,
};
use archive::{
    Archive, DocumentFailure, DocumentFormat, DocumentReader, DocumentScope, DocumentText, ErrorCode, Exif,
    ImageFacts, OpenSettings, Thumbnail,
};
use inputs::LoadInput;

use crate::data::{self, load};

/// Describes images whose bytes are a hash in hexadecimal digits.
#[derive(Debug)]
pub(crate) struct Reader;

impl DocumentReader for Reader {
    fn read(&self, _: DocumentFormat, _: &[u8]) -> Result<DocumentText, DocumentFailure> {
        Ok(DocumentText::default())
    }

    fn describe(&self, bytes: &[u8], exif: bool) -> Result<ImageFacts, DocumentFailure> {
        let text = String::from_utf8_lossy(bytes);
        match u64::from_str_radix(&text, 16) {
            Ok(hash) => Ok(ImageFacts {
                width: 640,
                height: 480,
                hash: Some(hash),
                exif: exif.then_some(Exif {
                    time: Some(20_120_506_070_809),
                    location: Some((57_050_000, 9_920_000)),
                    version: Some(231),
                }),
            }),
            Err(error) => Err(DocumentFailure::Unreadable(error.to_string())),
        }
    }

    fn thumbnail(&self, bytes: &[u8]) -> Result<Thumbnail, DocumentFailure> {
        self.describe(bytes, false)?;
        Ok(Thumbnail {
            mime: "image/jpeg".to_owned(),
            data: bytes.to_vec(),
        })
    }
}

fn own(dir: &Path) -> Archive {
    own_with(dir, DocumentScope::Images)
}

fn own_with(dir: &Path, documents: DocumentScope) -> Archive {
    let mut settings = OpenSettings::default();
    (settings.create, settings.own) = (true, true);
    settings.documents = Some(documents);
    settings.document_reader = Some(Arc::new(Reader));
    Archive::open(dir, settings).unwrap()
}

fn record(url: &str, year: u16, mime: &str, body: &str) -> String {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n\r\n{body}");
    data::response(url, &format!("{year}-03-11T10:00:00Z"), "", &http)
}

/// Returns a page that shows images: address and alternative text.
fn page(url: &str, year: u16, images: &[(&str, &str)]) -> String {
    let images: String = images
        .iter()
        .map(|(src, alt)| {
            format!("<figure><img src='{src}' alt='{alt}'><figcaption>seen {year}</figcaption></figure>")
        })
        .collect();
    let body =
        format!("<html><title>Page of {year}</title><p>Words before.</p>{images}<p>Words after.</p></html>");
    record(url, year, "text/html", &body)
}

/// Returns the inputs of the tests: records of some pages and images.
fn inputs_in(dir: &Path) -> Vec<LoadInput> {
    let harbour = [
        page("http://a.org/", 2012, &[("/crane.png", "An old crane")]),
        page(
            "http://a.org/",
            2014,
            &[("/boat.png", "A red boat"), ("/gull.png", "A gull")],
        ),
        record("http://a.org/boat.png", 2014, "image/png", "00000000000000ff"),
    ];
    let others = [
        page(
            "http://b.org/",
            2013,
            &[("http://a.org/boat.png", "The same boat")],
        ),
        record("http://b.org/copy.jpg", 2013, "image/jpeg", "00000000000000fe"),
        record("http://b.org/copy.jpg", 2015, "image/jpeg", "f0f0f0f0f0f0f0f0"),
        record("http://b.org/other.gif", 2013, "image/gif", "ffffffff00000000"),
    ];
    let secret = [page(
        "http://secret.org/",
        2013,
        &[("/boat.png", "A hidden boat")],
    )];
    let write = |name: &str, records: &[String]| data::write(dir, name, &records.concat());
    vec![
        write("harbour", &harbour),
        write("others", &others),
        write("secret", &secret),
    ]
}

/// Loads each input by itself.
fn loaded(dir: &Path, inputs: &[LoadInput]) -> Archive {
    let archive = own(dir);
    load_all(&archive, inputs);
    archive
}

fn load_all(archive: &Archive, inputs: &[LoadInput]) {
    for input in inputs {
        let request = LoadRequest {
            inputs: vec![input.clone()],
            ..LoadRequest::default()
        };
        load(archive, &request);
    }
}

fn ask(archive: &Archive, question: ImagesQuestion) -> ImagesBody {
    let question = ImagesQuestion {
        limit: 100,
        ..question
    };
    let mut body = archive.ask(question).unwrap().body;
    (body.summary.took_ms, body.summary.search_epoch) = (0.0, 0);
    body
}

fn of_words(query: &str) -> ImagesQuestion {
    ImagesQuestion {
        query: query.to_owned(),
        ..ImagesQuestion::default()
    }
}

fn on_every_page(query: &str) -> ImagesQuestion {
    ImagesQuestion {
        every_page: true,
        ..of_words(query)
    }
}

fn like(hash: &str) -> ImagesQuestion {
    ImagesQuestion {
        same: Some(hash.to_owned()),
        ..ImagesQuestion::default()
    }
}

/// Returns alternative text and page of each image, sorted.
fn found(archive: &Archive, question: ImagesQuestion) -> Vec<(String, String)> {
    let place = |hit: ImageHit| (hit.alt, hit.page.map_or_else(String::new, |page| page.url));
    let mut found: Vec<_> = ask(archive, question).hits.into_iter().map(place).collect();
    found.sort();
    found
}

#[track_caller]
fn check(archive: &Archive, question: ImagesQuestion, expected: &[(&str, &str)]) {
    let owned = |(alt, page): &(&str, &str)| ((*alt).to_owned(), (*page).to_owned());
    let expected: Vec<_> = expected.iter().map(owned).collect();
    assert_eq!(found(archive, question.clone()), expected, "{question:?}");
}

/// All questions of these tests that have an answer.
fn questions() -> Vec<ImagesQuestion> {
    let words = [
        "boat",
        "gull",
        "crane",
        "before",
        "\"red boat\"",
        "site:b.org boat",
        "boat.png",
    ];
    let words = words
        .iter()
        .flat_map(|query| [of_words(query), on_every_page(query)]);
    words.chain([like("00000000000000ff")]).collect()
}

#[test]
fn images_are_found_by_the_words_of_current_pages() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(&dir.path().join("archive"), &inputs_in(dir.path()));
    let (a, b, secret) = ("http://a.org/", "http://b.org/", "http://secret.org/");
    check(&archive, of_words("gull"), &[("A gull", a)]);
    check(&archive, of_words("red boat"), &[("A red boat", a)]);
    check(&archive, of_words("crane"), &[]);
    check(
        &archive,
        on_every_page("boat"),
        &[("A hidden boat", secret), ("A red boat", a), ("The same boat", b)],
    );
    // Two pages show one image.
    let boats = ask(&archive, of_words("boat"));
    assert_eq!((boats.summary.total, boats.summary.shown_total), (3, 2));
    let shared = boats
        .hits
        .iter()
        .find(|hit| hit.url == "http://a.org/boat.png")
        .unwrap();
    assert_eq!(shared.pages, Some(2));
    assert_eq!((shared.width, shared.height), (Some(640), Some(480)));
    let capture = shared.capture.as_ref().unwrap();
    assert_eq!(
        (capture.mime.as_str(), capture.hash.as_deref()),
        ("image/png", Some("00000000000000ff"))
    );
    let pages = on_every_page(shared.like.as_deref().unwrap());
    assert_eq!(found(&archive, pages).len(), 2);
    let gull = &ask(&archive, of_words("caption OR gull")).hits[0];
    assert_eq!(
        (gull.caption.as_str(), gull.capture.as_ref()),
        ("seen 2014", None)
    );
}

#[test]
fn the_order_of_loading_changes_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut inputs = inputs_in(dir.path());
    let archive = loaded(&dir.path().join("archive"), &inputs);
    let answers = |archive: &Archive| -> Vec<ImagesBody> {
        questions()
            .into_iter()
            .map(|question| ask(archive, question))
            .collect()
    };
    let expected = answers(&archive);
    assert!(expected.iter().filter(|body| !body.hits.is_empty()).count() > 10);
    inputs.reverse();
    assert_eq!(answers(&loaded(&dir.path().join("reversed"), &inputs)), expected);
    // The index of images is made again if it is missing.
    drop(archive);
    std::fs::remove_dir_all(dir.path().join("archive/images")).unwrap();
    assert_eq!(answers(&own(&dir.path().join("archive"))), expected);
}

/// Returns what a check finds of the index of images.
fn damages(archive: &Archive) -> Vec<DamageRow> {
    let checked = archive.ask(Check {}).unwrap().body;
    assert!(checked.notes.is_empty(), "{:?}", checked.notes);
    checked.damages
}

#[test]
fn a_check_finds_an_index_of_images_that_lacks_some_or_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("archive");
    let archive = loaded(&home, &inputs_in(dir.path()));
    assert!(!ask(&archive, of_words("gull")).hits.is_empty());
    assert_eq!(damages(&archive), []);
    let status = crate::data::status(&archive);
    drop(archive);
    // The index of images has the newest epoch, but no image.
    let images = search::SearchIndex::open(&home.join("images"), search::Settings::default()).unwrap();
    images.clear().unwrap();
    images.apply(status.search_epoch, []).unwrap();
    images.flush().unwrap();
    drop(images);
    let archive = own(&home);
    let found = damages(&archive);
    assert_eq!((found.len(), found[0].part.as_str()), (1, "index of images"));
    assert!(
        found[0].found.starts_with("no document for the page "),
        "{found:?}"
    );
    assert!(found[0].advice.contains("images while"), "{found:?}");
    drop(archive);
    // It is made again if it is removed. Then a byte of its rows changes.
    std::fs::remove_dir_all(home.join("images")).unwrap();
    let archive = own(&home);
    assert_eq!(damages(&archive), []);
    drop(archive);
    let files = std::fs::read_dir(home.join("images")).unwrap();
    let rows = files
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "store"))
        .unwrap();
    let mut bytes = std::fs::read(&rows).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&rows, bytes).unwrap();
    let found = damages(&own(&home));
    assert_eq!((found.len(), found[0].part.as_str()), (1, "index of images"));
    assert!(found[0].found.contains("checksum"), "{found:?}");
}

#[test]
fn the_same_picture_is_found_over_addresses_and_times() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(&dir.path().join("archive"), &inputs_in(dir.path()));
    let body = ask(&archive, like("00000000000000ff"));
    let mut found: Vec<(&str, bool)> = body
        .hits
        .iter()
        .map(|hit| {
            let capture = hit.capture.as_ref().unwrap();
            (hit.url.as_str(), capture.until.is_some())
        })
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [("http://a.org/boat.png", false), ("http://b.org/copy.jpg", true)]
    );
    assert_eq!(ask(&archive, like("0f0f0f0f0f0f0f0f")).summary.total, 0);
    // Search has the current versions of images as documents.
    let question = SearchQuestion {
        query: "type:image".to_owned(),
        limit: 10,
        ..SearchQuestion::default()
    };
    assert_eq!(archive.ask(question).unwrap().body.summary.total, 3);
    for hash in [
        "",
        "xyz",
        "00000000000000f",
        "00000000000000ff ",
        "-0000000000000ff",
    ] {
        let refused = archive.ask(like(hash)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::BadRequest, "{hash}");
    }
}

#[test]
fn time_and_place_are_known_only_if_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let inputs = inputs_in(dir.path());
    for (documents, time, place) in [
        (DocumentScope::Images, None, None),
        (
            DocumentScope::Exif,
            Some("2012-05-06T07:08:09"),
            Some("57.050000,9.920000"),
        ),
    ] {
        let archive = own_with(&dir.path().join(documents.name()), documents);
        load_all(&archive, &inputs);
        let of_page = ask(&archive, of_words("red")).hits.remove(0);
        let of_hash = ask(&archive, like("00000000000000ff")).hits.remove(0);
        for hit in [of_page, of_hash] {
            assert_eq!((hit.width, hit.height), (Some(640), Some(480)));
            let capture = hit.capture.unwrap();
            assert_eq!(
                (capture.exif_time.as_deref(), capture.exif_location.as_deref()),
                (time, place)
            );
        }
    }
}

#[test]
fn rules_hide_images_of_hidden_pages_and_hidden_files() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(&dir.path().join("archive"), &inputs_in(dir.path()));
    let rules = |what: &str| format!("[[rule]]\naccess = \"deny\"\n{what}\n");
    let public = archive.seen_by(Groups::public());
    std::fs::write(archive.rights_path(), rules("domain = \"secret.org\"")).unwrap();
    let (a, b) = ("http://a.org/", "http://b.org/");
    check(
        &public,
        on_every_page("boat"),
        &[("A red boat", a), ("The same boat", b)],
    );
    check(&public, of_words("hidden"), &[]);
    // The page may be seen, but not the file that it shows.
    std::fs::write(archive.rights_path(), rules("mime = \"image/*\"")).unwrap();
    let red = &ask(&public, of_words("red")).hits[0];
    assert_eq!((red.capture.as_ref(), red.width), (None, None));
    assert_eq!(ask(&public, like("00000000000000ff")).summary.total, 0);
    let boat = ThumbnailQuestion {
        url: "http://a.org/boat.png".to_owned(),
        at: None,
    };
    assert_eq!(archive.ask(boat.clone()).unwrap().body.mime, "image/jpeg");
    // The copy that was made for the owner is not for others.
    assert_eq!(public.ask(boat).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn a_drawing_is_its_own_thumbnail() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>";
    let records = [
        record("http://a.org/logo.svg", 2014, "image/svg+xml", drawing),
        record("http://a.org/boat.png", 2014, "image/png", "00000000000000ff"),
    ];
    let input = data::write(dir.path(), "drawing", &records.concat());
    let archive = loaded(&dir.path().join("archive"), &[input]);
    for (url, mime, bytes) in [
        ("http://a.org/logo.svg", "image/svg+xml", drawing),
        ("http://a.org/boat.png", "image/jpeg", "00000000000000ff"),
    ] {
        let copy = archive.ask(ThumbnailQuestion {
            url: url.to_owned(),
            at: None,
        });
        let copy = copy.unwrap().body;
        assert_eq!(copy.mime, mime);
        assert_eq!(
            data_encoding::BASE64.decode(copy.data.as_bytes()).unwrap(),
            bytes.as_bytes()
        );
    }
}

#[test]
fn takedowns_take_images_and_thumbnails() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(&dir.path().join("archive"), &inputs_in(dir.path()));
    let thumbnail = |url: &str| {
        archive.ask(ThumbnailQuestion {
            url: url.to_owned(),
            at: None,
        })
    };
    for _ in 0..2 {
        let copy = thumbnail("http://a.org/boat.png").unwrap().body;
        assert_eq!(
            data_encoding::BASE64.decode(copy.data.as_bytes()).unwrap(),
            b"00000000000000ff"
        );
    }
    assert_eq!(thumbnail("http://a.org/").unwrap_err().code, ErrorCode::NotFound);
    let take_down = |url: &str| {
        let question = TakeDown {
            takes: TakedownSelector::Url(url.to_owned()),
            reason: String::new(),
            who: String::new(),
            dry_run: false,
            limit: 0,
        };
        archive.ask(question).unwrap();
    };
    take_down("http://a.org/boat.png");
    assert_eq!(
        thumbnail("http://a.org/boat.png").unwrap_err().code,
        ErrorCode::NotFound
    );
    assert_eq!(ask(&archive, of_words("red")).hits[0].capture, None);
    take_down("http://a.org/");
    check(&archive, of_words("gull"), &[]);
    check(
        &archive,
        on_every_page("boat"),
        &[
            ("A hidden boat", "http://secret.org/"),
            ("The same boat", "http://b.org/"),
        ],
    );
    let kept = dir.path().join("archive/thumbnails");
    assert!(kept.is_dir());
    archive.ask(Purge {}).unwrap();
    assert!(!kept.exists());
    check(&archive, of_words("same"), &[("The same boat", "http://b.org/")]);
}
