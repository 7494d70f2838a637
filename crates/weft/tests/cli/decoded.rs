//! Searches files for words as a person with access to the disk could: in the raw bytes and in
//! everything they decode to.
//!
//! The engines store rows in LZ4 blocks and Zstandard frames, possibly nested. Block boundaries are
//! unknown here, so every offset is tried. Term dictionaries contain no word contiguously, so they
//! are checked by segment: [`stray_segments`] finds segments that the commit does not name, or that
//! have deleted documents.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Limit on the content decoded at one offset.
const DECODED_BYTES_MAX: usize = 256 << 10;

/// Limit on nested encodings.
const DEPTH_MAX: usize = 2;

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Returns the files below a folder that contain a word, with that word.
pub(crate) fn files_holding<'w>(folder: &Path, words: &[&'w str]) -> Vec<(PathBuf, &'w str)> {
    let mut found = Vec::new();
    for path in files_below(folder) {
        let bytes = fs::read(&path).expect("read");
        // Journals are long and sparse: only zeros follow their last byte.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        for word in words {
            if holds(&bytes[..end], word.as_bytes(), 0) {
                found.push((path.clone(), *word));
            }
        }
    }
    found
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false if path.is_file() => files.push(path),
            false => {}
        }
    }
    files
}

/// Returns the content of all members of a compressed file.
pub(crate) fn gzip_members(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let file = fs::File::open(path).expect("a file");
    flate2::read::MultiGzDecoder::new(file)
        .read_to_end(&mut content)
        .expect("members");
    content
}

/// Returns search files that belong to no segment of the last commit, and segments with deleted
/// documents.
pub(crate) fn stray_segments(search: &Path) -> Vec<String> {
    let text = fs::read_to_string(search.join("meta.json")).expect("the commit");
    let meta: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let segments = meta["segments"].as_array().expect("segments");
    let mut stray: Vec<String> = segments
        .iter()
        .filter(|segment| !segment["deletes"].is_null())
        .map(|segment| format!("deleted documents in {segment}"))
        .collect();
    let ids: Vec<String> = segments
        .iter()
        .map(|segment| segment["segment_id"].as_str().expect("an id").replace('-', ""))
        .collect();
    for path in files_below(search) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let is_known = [
            "meta.json",
            ".managed.json",
            ".tantivy-writer.lock",
            ".tantivy-meta.lock",
        ]
        .contains(&&*name)
            || name.starts_with("buckets")
            || ids.iter().any(|id| name.starts_with(id));
        if !is_known {
            stray.push(name);
        }
    }
    stray
}

fn holds(bytes: &[u8], word: &[u8], depth: usize) -> bool {
    if bytes.windows(word.len()).any(|window| window == word) {
        return true;
    }
    if depth == DEPTH_MAX {
        return false;
    }
    let frames = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(ZSTD_MAGIC));
    let mut decoded = frames.map(|at| {
        let mut content = Vec::new();
        if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[at..]) {
            // Content decoded before an error counts too.
            let _ = decoder.take(DECODED_BYTES_MAX as u64).read_to_end(&mut content);
        }
        content
    });
    if decoded.any(|content| holds(&content, word, depth + 1)) {
        return true;
    }
    let mut content = Vec::new();
    (0..bytes.len()).any(|at| {
        lz4(&bytes[at..], &mut content);
        // Shorter than its source: not a block.
        content.len() > word.len() && holds_lz4(&content, word, depth)
    })
}

fn holds_lz4(content: &[u8], word: &[u8], depth: usize) -> bool {
    if content.windows(word.len()).any(|window| window == word) {
        return true;
    }
    // Blocks are not nested in blocks, but a frame may be.
    content
        .windows(ZSTD_MAGIC.len())
        .any(|window| window == ZSTD_MAGIC)
        && holds(content, word, DEPTH_MAX.max(depth + 1) - 1)
}

/// Decodes an LZ4 block that may begin here, as far as it is valid. Only a block with back
/// references counts: one of literals alone is found in the raw bytes.
fn lz4(bytes: &[u8], content: &mut Vec<u8>) {
    content.clear();
    let mut at = 0;
    let mut copies = 0;
    let length = |nibble: u8, at: &mut usize| {
        let mut length = usize::from(nibble);
        if nibble == 15 {
            loop {
                let more = *bytes.get(*at)?;
                *at += 1;
                length += usize::from(more);
                if more != 255 {
                    break;
                }
            }
        }
        Some(length)
    };
    while let Some(token) = bytes.get(at).copied() {
        at += 1;
        let Some(literals) = length(token >> 4, &mut at) else {
            break;
        };
        let Some(piece) = bytes.get(at..at + literals) else {
            break;
        };
        content.extend_from_slice(piece);
        at += literals;
        let Some(offset) = bytes.get(at..at + 2) else {
            break;
        };
        let offset = usize::from(u16::from_le_bytes([offset[0], offset[1]]));
        at += 2;
        let Some(matched) = length(token & 15, &mut at) else {
            break;
        };
        if offset == 0 || offset > content.len() || content.len() > DECODED_BYTES_MAX {
            break;
        }
        copies += 1;
        for _ in 0..matched + 4 {
            content.push(content[content.len() - offset]);
        }
    }
    if copies == 0 {
        content.clear();
    }
}

/// Validates the search itself: otherwise tests that find nothing prove nothing.
#[test]
fn words_are_found_in_every_encoding() {
    let word = "zqplantedw7";
    // The second occurrence is only partly literal; the rest is a back reference.
    let text = format!(
        "zqplanted and so on, {} zqplanted again w7 {word} zqplantedw7 end",
        "filler ".repeat(40)
    );
    let packed = lz4_flex_of_tantivy::block::compress(text.as_bytes());
    let frame = zstd::bulk::compress(text.as_bytes(), 3).expect("compressed");
    let folder = tempfile::tempdir().expect("a folder");
    let both = lz4_flex_of_tantivy::block::compress(&[&b"rows rows rows rows rows"[..], &frame].concat());
    for (name, bytes) in [
        ("plain", text.as_bytes()),
        ("lz4", &packed),
        ("zstd", &frame),
        ("both", &both),
    ] {
        fs::write(folder.path().join(name), [b"head \0", bytes, b"\0 tail"].concat()).expect("written");
    }
    let mut found: Vec<String> = files_holding(folder.path(), &[word, "zqothers"])
        .into_iter()
        .map(|(path, word)| format!("{} {word}", path.file_name().expect("a name").to_string_lossy()))
        .collect();
    found.sort();
    assert_eq!(
        found,
        ["both", "lz4", "plain", "zstd"].map(|name| format!("{name} {word}"))
    );
}
