//! Parses the lines of a post, and formats them for storage. They are stored as CDXJ, whatever
//! their format was, because columns named in one post must not apply to the next.

use std::collections::HashMap;

use cdx::{Line, LineReader, line_text};
use extract::IndexLine;

use crate::AskError;

/// Limit of the part of a line quoted in an error, in characters.
const SHOWN_CHARS: usize = 200;

/// Lines that describe captures.
#[derive(Debug, Default)]
pub(super) struct PostedLines {
    /// Each with its number, counted from 1; including aliases. If two have the same place and
    /// time, only the last is kept.
    pub(super) lines: Vec<(u64, IndexLine)>,
    /// Number of lines without a capture.
    pub(super) passed_over: u64,
    /// Number of invalid lines.
    pub(super) bad: u64,
}

/// Parses lines. An invalid line refuses all of them, unless such lines are to be skipped.
pub(super) fn read(text: &str, skip_bad: bool) -> Result<PostedLines, AskError> {
    let (mut reader, mut read) = (LineReader::default(), PostedLines::default());
    let mut by_place: HashMap<(String, i64, String, u64), usize> = HashMap::new();
    for (line, number) in text.split('\n').zip(1_u64..) {
        let why = match reader.read(line.as_bytes()) {
            Line::Head => continue,
            Line::Nothing => {
                read.passed_over += u64::from(!line.trim().is_empty());
                continue;
            }
            Line::Capture(found) if !is_kept_as_it_is(&found) => {
                "its fields cannot be stored without a change".to_owned()
            }
            Line::Capture(found) => match index::refusal_of_key(&found.url_key) {
                None => {
                    let place = (
                        found.url_key.clone(),
                        found.fetch_time_ms,
                        format::file_name::base_name(&found.filename).to_owned(),
                        found.record_offset,
                    );
                    match by_place.get(&place) {
                        Some(at) => read.lines[*at] = (number, *found),
                        None => {
                            by_place.insert(place, read.lines.len());
                            read.lines.push((number, *found));
                        }
                    }
                    continue;
                }
                Some((_, why)) => why,
            },
            Line::Bad(defect) => defect.detail,
        };
        if !skip_bad {
            let shown: String = line.chars().take(SHOWN_CHARS).collect();
            return Err(AskError::bad_request(format!("At line {number}: {shown}\n{why}")));
        }
        read.bad += 1;
    }
    Ok(read)
}

/// Returns whether the stored form of a line parses to the same line. Otherwise it would not be
/// recognised when it is posted again or deleted.
fn is_kept_as_it_is(line: &IndexLine) -> bool {
    let kept = line_text(line);
    match LineReader::default().read(kept.trim_end_matches('\n').as_bytes()) {
        Line::Capture(again) => *again == *line,
        Line::Head | Line::Nothing | Line::Bad(_) => false,
    }
}

/// Returns whether two lines have the same content, wherever they are stored.
pub(super) fn has_same_content(one: &IndexLine, other: &IndexLine) -> bool {
    let alike = IndexLine {
        offset: other.offset,
        length: other.length,
        ..one.clone()
    };
    alike == *other
}

/// Returns the stored form of lines.
pub(super) fn text<'l>(lines: impl Iterator<Item = &'l IndexLine>) -> String {
    lines.map(line_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let first = read(text, false).unwrap();
        let kept = super::text(first.lines.iter().map(|(_, line)| line));
        let again = read(&kept, false).unwrap();
        let lines = |read: &PostedLines| -> Vec<IndexLine> {
            read.lines.iter().map(|(_, line)| line.clone()).collect()
        };
        assert_eq!(lines(&again), lines(&first), "{kept}");
        assert!(!first.lines.is_empty(), "{text}");
    }

    #[test]
    fn what_is_kept_of_a_line_says_the_same() {
        check(
            "k 20140126200624 http://www.iana.org/ text/html 200 OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB - - 2258 334 x.warc.gz",
        );
        check("k 20140126200624 http://www.iana.org/ - - - - 334 x.warc.gz");
        check(" CDX a b g V k s m\nhttp://a.org/%20x 20140126200624 d/x.warc.gz 334 sha1:abc 200 TEXT/html");
        // A SHA-256 is not a SHA-1, whose letters are capitals.
        check("k 20140126200624 http://a.org/ text/html 200 sha256:00ab - 334 x.warc.gz");
        check("k 20140126200624 http://a.org/ text/html 200 a:B://c - 334 x.warc.gz");
        check(
            r#"k 20140126200624123 {"url": "http://a.org/ä b", "offset": 7, "filename": "a b\n.warc", "digest": "sha256:00"}"#,
        );
    }

    #[test]
    fn of_two_lines_of_one_place_the_last_counts() {
        let line =
            |status| format!("k 20140126200624 http://a.org/ text/html {status} D - - 1 334 x.warc.gz\n");
        let read = read(&(line(200) + &line(404)), false).unwrap();
        assert_eq!(read.lines.len(), 1);
        assert_eq!((read.lines[0].0, read.lines[0].1.status), (2, 404));
    }

    #[test]
    fn a_bad_line_is_named_or_left_out() {
        let text = "\ndns:a.org 20140126200624 dns:a.org text/dns - - - - 1 1 x\nnonsense\nk 20140126200624 http://a.org/ m 200 D - 1 x\n";
        let error = read(text, false).unwrap_err();
        assert!(
            error.message.starts_with("At line 3: nonsense\nfound 1 columns"),
            "{error}"
        );
        let read = read(text, true).unwrap();
        assert_eq!((read.lines.len(), read.passed_over, read.bad), (1, 1, 1));
    }
}
