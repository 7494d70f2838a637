//! The sources of the documentation at three times, compressed.
//!
//! `site/bundle` writes them to `site/docs.zst`, a zstd frame of lines and texts:
//!
//! | line | followed by |
//! |---|---|
//! | `edition SECONDS` | the files of this time (seconds since 1970); the oldest edition is first |
//! | `file NAME BYTES` | the content of the file, whose name is relative to `docs/` |

use std::collections::BTreeMap;

use super::Error;

/// The compressed sources.
const BUNDLE: &[u8] = include_bytes!("../../site/docs.zst");

/// The sources at one time.
#[derive(Debug)]
pub(super) struct Edition {
    /// Time in milliseconds since 1970.
    pub(super) date_ms: i64,
    /// Markdown by name of the file.
    pub(super) files: BTreeMap<String, String>,
}

/// Returns the editions, oldest first.
///
/// # Errors
/// If the bundle was built wrong. A test reads it.
pub(super) fn editions() -> Result<Vec<Edition>, Error> {
    let text = zstd::decode_all(BUNDLE).map_err(|error| Error::Bundle(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| Error::Bundle(error.to_string()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Edition>, Error> {
    let mut editions: Vec<Edition> = Vec::new();
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        let wrong = || Error::Bundle(format!("line {line:?}"));
        let words: Vec<&str> = line.split(' ').collect();
        match (words.as_slice(), editions.last_mut()) {
            (["edition", seconds], _) => {
                let seconds: i64 = seconds.parse().map_err(|_| wrong())?;
                editions.push(Edition {
                    date_ms: seconds.saturating_mul(1000),
                    files: BTreeMap::new(),
                });
                rest = after;
            }
            (["file", name, bytes], Some(edition)) => {
                let bytes = bytes.parse().map_err(|_| wrong())?;
                let (content, after) = after.split_at_checked(bytes).ok_or_else(wrong)?;
                edition.files.insert((*name).to_owned(), content.to_owned());
                rest = after;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(editions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_editions_in_the_order_of_time() {
        let editions = editions().expect("read");
        assert_eq!(editions.len(), 3);
        assert!(editions.is_sorted_by(|a, b| a.date_ms < b.date_ms));
        for edition in &editions {
            assert!(edition.files["search.md"].starts_with("# Search\n"));
        }
    }

    #[test]
    fn contents_have_any_lines() {
        let editions = parse("edition 5\nfile a.md 10\nedition 6\nfile b.md 0\n").expect("read");
        assert_eq!(editions.len(), 1);
        assert_eq!(editions[0].date_ms, 5000);
        assert_eq!(editions[0].files["a.md"], "edition 6\n");
        assert_eq!(editions[0].files["b.md"], "");
    }

    #[test]
    fn a_damaged_bundle_is_an_error() {
        for text in ["file a.md 0\n", "edition x\n", "edition 5\nfile a.md 1\n", "?\n"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
