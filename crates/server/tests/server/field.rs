//! Captures for the tests of CDX clients: one page over a year, and more pages of one host than a
//! block holds.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;
use warc::{Compression, Draft, Writer};

use crate::loaded::{Loaded, load};

/// Number of pages of `many.example`: two full blocks of 3,000 and one short one.
pub(crate) const MANY: usize = 6500;

/// 2014-01-26T20:06:24Z
const FIRST_MS: i64 = 1_390_766_784_000;

const MONTH_MS: i64 = 30 * 86_400_000;

/// One archive for all tests, and the folder of its file.
pub(crate) struct Field {
    pub(crate) loaded: Loaded,
    folder: TempDir,
}

impl Field {
    /// Returns the folder of `field.warc`.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

pub(crate) fn field() -> &'static Field {
    static FIELD: OnceLock<Field> = OnceLock::new();
    FIELD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let loaded = load(&[write(folder.path())], None);
        Field { loaded, folder }
    })
}

/// Writes `http://www.story.example/` once every 30 days, twelve times. Every fourth response is an
/// error, and the text changes every third time. Also writes a picture, and a page with white space
/// in its address and its type.
fn write(folder: &Path) -> PathBuf {
    let path = folder.join("field.warc");
    let mut writer = Writer::create(&path, Compression::Plain).expect("a file");
    let mut add = |url: &str, time_ms: i64, status: u16, mime: &str, body: &str| {
        let block = format!("HTTP/1.1 {status} X\r\nContent-Type: {mime}\r\n\r\n{body}");
        let draft = Draft::response(url, time_ms, block.into_bytes());
        writer.write(&draft).expect("a record");
    };
    for month in 0..12 {
        let status = if month % 4 == 3 { 503 } else { 200 };
        let body = format!(
            "<html><head><title>Story</title></head><body><h1>Edition {}</h1><a href='/next'>next</a></body></html>",
            month / 3
        );
        add(
            "http://www.story.example/",
            FIRST_MS + month * MONTH_MS,
            status,
            "text/html",
            &body,
        );
    }
    add(
        "http://www.story.example/next",
        FIRST_MS,
        200,
        "text/html",
        "<h1>The next page</h1>",
    );
    add(
        "http://www.story.example/a.png",
        FIRST_MS,
        200,
        "image/png",
        "PNG",
    );
    add(
        "http://www.story.example/b?c=d e",
        FIRST_MS,
        200,
        "text /odd",
        "odd",
    );
    for n in 0..MANY {
        add(
            &format!("http://many.example/{n:05}"),
            FIRST_MS,
            200,
            "text/plain",
            "many",
        );
    }
    writer.finish().expect("written");
    path
}
