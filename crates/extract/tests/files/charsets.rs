//! Character sets of real pages: correct declarations are still followed.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use extract::{LinkScope, PayloadReader, document_encoding};

use crate::data;

/// Pages of real crawls that are plainly in another character set than they declare.
const OTHERS: [(&str, &str, &str); 0] = [];

/// The charset declared by the header, or else by the document.
fn declared(record: &warc::Record, payload: &[u8]) -> Option<&'static Encoding> {
    let block = std::io::Cursor::new(record.body.clone());
    let reader = PayloadReader::of_block(record.kind, &record.headers, block, u64::MAX).ok()?;
    let of_header = reader
        .charset()
        .and_then(|label| Encoding::for_label(label.as_bytes()));
    of_header.or_else(|| {
        let head = String::from_utf8_lossy(&payload[..payload.len().min(4096)]).to_lowercase();
        let (_, rest) = head.split_once("charset=")?;
        let label = rest.trim_start_matches(['"', '\'', ' ']);
        let end = label.find(['"', '\'', ' ', '>', ';', '/'])?;
        Encoding::for_label(&label.as_bytes()[..end])
    })
}

#[test]
fn declarations_of_real_pages_stand() {
    let mut others = Vec::new();
    let mut pages = 0;
    for folder in ["crawls", "commoncrawl", "edge"] {
        let Some(folder) = data::file(folder) else { return };
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if name.contains("cdx") && !name.contains("arc") || name.ends_with("paths.gz") {
                continue;
            }
            for record in data::records(&file) {
                let mime = record.headers.get("Content-Type").unwrap_or_default();
                let is_html = mime.starts_with("application/http") || mime.starts_with("text/html");
                if !is_html || !matches!(record.kind, warc::Kind::Response | warc::Kind::Resource) {
                    continue;
                }
                let payload = data::payload(&record);
                let Some(expected) = declared(&record, &payload) else {
                    continue;
                };
                if Encoding::for_bom(&payload).is_some() {
                    continue;
                }
                pages += 1;
                let found = document_encoding(&payload, Some(expected.name()), None);
                if found != expected {
                    let url = record.target().unwrap_or_default().to_owned();
                    others.push((url, expected.name(), found.name()));
                }
            }
        }
    }
    assert!(pages > 500, "{pages}");
    others.sort();
    others.dedup();
    let others: Vec<_> = others
        .iter()
        .map(|(url, from, to)| (url.as_str(), *from, *to))
        .collect();
    assert_eq!(others, OTHERS);
}

#[test]
fn a_page_whose_declaration_is_plainly_wrong_is_read_as_what_it_is() {
    let Some(file) = data::file("field/c33-charset.warc.gz") else {
        return;
    };
    let pages: Vec<_> = data::outcomes(&file, LinkScope::All)
        .into_iter()
        .filter_map(|outcome| match outcome {
            extract::Extracted::Capture(capture) => Some((capture.url, capture.page?)),
            _ => None,
        })
        .collect();
    let title = |path: &str| {
        let page = pages.iter().find(|(url, _)| url.ends_with(path));
        page.map(|(_, page)| (page.title.as_str(), page.charset.as_str()))
    };
    assert_eq!(title("/lie"), Some(("Smørrebrød æøå", UTF_8.name())));
    assert_eq!(title("/bad"), Some(("bad \u{fffd} byte", UTF_8.name())));
    assert_eq!(title("/semi"), Some(("Café", WINDOWS_1252.name())));
    assert_eq!(title("/quoted"), Some(("日本語 頁", "Shift_JIS")));
}
