//! Parses lines of indexes of other tools: CDXJ, CDX of 9, 10 or 11 columns or of those that a
//! header line names, and aliases as in OutbackCDX.
//!
//! The URL key is computed from the URL of the line. Other tools compute other keys, and a capture
//! must have the same key from an index as from its record.

use std::borrow::Cow;

use extract::IndexLine;
use serde_json::{Map, Value, json};
use warc::Defect;

/// Defect: a line cannot be used.
const BAD_LINE: &str = "bad-index-line";

/// The columns if no header line names them, as in OpenWayback and OutbackCDX.
const COLUMNS: [&str; 3] = [
    "N b a m s k r M S V g",
    "N b a m s k r M V g",
    "N b a m s k r V g",
];

/// Limit of blanks in the columns of a line, because the number of ways to distribute the words
/// grows with them.
const BLANKS_MAX: usize = 16;

/// A parsed line.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// A capture or an alias. `offset` and `length` of the line are not known here, and 0.
    Capture(Box<IndexLine>),
    /// A line about the lines that follow: it names columns, or is the header of a file or a
    /// comment (`!`).
    Head,
    /// A line without a capture: it is empty, or of a record that is not a capture (dns, ftp).
    Nothing,
    /// An invalid line.
    Bad(Defect),
}

/// Why a line cannot be split into fields.
#[derive(Debug, thiserror::Error)]
enum FieldsError {
    #[error("its JSON cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("found {found} columns, expected the {expected} that the first line names")]
    Named { found: usize, expected: usize },
    #[error("found {0} columns, expected 9, 10 or 11, or a key, a time and JSON")]
    Unnamed(usize),
}

/// Parses the lines of one index, one after the other.
///
/// ```
/// use cdx::{Line, LineReader};
///
/// let mut reader = LineReader::default();
/// let head = reader.read(b" CDX N b a m s k r M S V g");
/// assert_eq!(head, Line::Head);
/// let line = reader.read(b"com,example)/ 20140126200624 http://example.com/ text/html 200 - - - 900 333 a.warc.gz");
/// let Line::Capture(capture) = line else { panic!("{line:?}") };
/// assert_eq!(capture.url_key, "com,example)/");
/// ```
#[derive(Debug, Default)]
pub struct LineReader {
    /// Columns from a header line.
    columns: Option<Vec<String>>,
}

impl LineReader {
    /// Parses a line without its end.
    pub fn read(&mut self, line: &[u8]) -> Line {
        let Ok(text) = std::str::from_utf8(line) else {
            return bad("its bytes are not UTF-8".to_owned());
        };
        let text = text.trim_end();
        if let Some(columns) = text.trim_start().strip_prefix("CDX ") {
            self.columns = Some(columns.split_whitespace().map(str::to_owned).collect());
            return Line::Head;
        }
        // Header lines of OpenWayback's CDXJ begin with this character, and so do posted lines that
        // were deleted.
        if text.starts_with('!') {
            return Line::Head;
        }
        if text.is_empty() {
            return Line::Nothing;
        }
        if text.starts_with('@') {
            return alias(text);
        }
        let fields = match self.fields(text) {
            Ok(fields) => fields,
            Err(error) => return bad(error.to_string()),
        };
        fields.into_line()
    }

    fn fields<'l>(&self, text: &'l str) -> Result<Fields<'l>, FieldsError> {
        if let Some((time, json)) = split_cdxj(text) {
            return Ok(Fields::of_object(time, &serde_json::from_str(json)?));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(columns) = &self.columns else {
            return unnamed(text, &words);
        };
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let values = if columns.len() == words.len() {
            Some(words.clone())
        } else {
            spread(&columns, text, &words)
        };
        match values {
            Some(values) => Ok(Fields::of_columns(&columns, &values)),
            None => Err(FieldsError::Named {
                found: words.len(),
                expected: columns.len(),
            }),
        }
    }
}

/// Returns the fields of a line without named columns. The number of words determines the columns,
/// unless a column contains blanks.
fn unnamed<'l>(text: &'l str, words: &[&'l str]) -> Result<Fields<'l>, FieldsError> {
    let layouts = COLUMNS.map(|names| names.split(' ').collect::<Vec<_>>());
    let exact = layouts.iter().find(|names| names.len() == words.len());
    // Some crawlers wrote other text as status, so the status is not checked.
    let is_right = |columns: &&Vec<&str>| {
        let mut pairs = columns.iter().zip(words);
        pairs.all(|(column, word)| *column == "s" || fits(column, &[*word]))
    };
    if let Some(columns) = exact.filter(is_right) {
        return Ok(Fields::of_columns(columns, words));
    }
    let found = layouts
        .iter()
        .find_map(|columns| Some((columns, spread(columns, text, words)?)));
    match (found, exact) {
        (Some((columns, values)), _) => Ok(Fields::of_columns(columns, &values)),
        (None, Some(columns)) => Ok(Fields::of_columns(columns, words)),
        (None, None) => Err(FieldsError::Unnamed(words.len())),
    }
}

/// Returns the values of columns of which some contain blanks, as some writers leave them in URLs
/// and media types. Takes the first distribution of the words in which times are times and numbers
/// are numbers.
fn spread<'l>(columns: &[&str], text: &'l str, words: &[&'l str]) -> Option<Vec<&'l str>> {
    let spare = words.len().checked_sub(columns.len());
    let spare = spare.filter(|spare| *spare <= BLANKS_MAX)?;
    let Some((column, others)) = columns.split_first() else {
        return (spare == 0).then(Vec::new);
    };
    let most = if matches!(*column, "N" | "a" | "m" | "r" | "g") {
        spare
    } else {
        0
    };
    (0..=most).find_map(|blanks| {
        let (own, rest) = words.split_at(blanks + 1);
        if !fits(column, own) {
            return None;
        }
        let mut values = spread(others, text, rest)?;
        values.insert(0, between(text, own[0], own[blanks]));
        Some(values)
    })
}

/// Returns the part of a text from one of its words to another.
fn between<'l>(text: &'l str, first: &str, last: &str) -> &'l str {
    let place = |word: &str| (word.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    text.get(place(first)..place(last) + last.len())
        .unwrap_or_default()
}

/// Returns whether a column may have this value.
fn fits(column: &str, words: &[&str]) -> bool {
    let first = words[0];
    match column {
        "b" => ms_of(first).is_some(),
        "s" | "S" | "V" => first == "-" || first.bytes().all(|byte| byte.is_ascii_digit()),
        "m" => first.contains('/') || matches!(first, "-" | "unk" | "no-type"),
        _ => true,
    }
}

/// Returns time and JSON of a line of CDXJ.
fn split_cdxj(text: &str) -> Option<(&str, &str)> {
    let (_key, rest) = text.split_once(' ')?;
    let (time, json) = rest.split_once(' ')?;
    json.starts_with('{').then_some((time, json))
}

/// Parses `@alias SOURCE TARGET`: questions about the source are answered with the target.
fn alias(text: &str) -> Line {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ["@alias", source, target] = words[..] else {
        return bad("expected @alias, the URL of the alias and that of its target".to_owned());
    };
    let of_web = |url: &str| match extract::web_target(url) {
        Ok(Some(target)) => Ok(target),
        Ok(None) => Err(bad(format!("found {url:?}, expected a URL of http or https"))),
        Err(defect) => Err(bad(defect.detail)),
    };
    match (of_web(source), of_web(target)) {
        (Ok((url, url_key)), Ok((target, _))) => Line::Capture(Box::new(IndexLine {
            url_key,
            fetch_time_ms: IndexLine::ALIAS_TIME_MS,
            url,
            mime: String::new(),
            status: 0,
            digest: "-".to_owned(),
            filename: String::new(),
            record_offset: 0,
            record_length: 0,
            offset: 0,
            length: 0,
            alias_of: Some(target),
            text: None,
        })),
        (Err(line), _) | (_, Err(line)) => line,
    }
}

/// Returns the text of a line that parses to this one: CDXJ, or an alias.
pub fn line_text(line: &IndexLine) -> String {
    if let Some(target) = &line.alias_of {
        return format!("@alias {} {target}\n", line.url);
    }
    let object = json!({
        "url": line.url,
        "mime": line.mime,
        "status": line.status.to_string(),
        "digest": digest_text(&line.digest),
        "length": line.record_length.to_string(),
        "offset": line.record_offset.to_string(),
        "filename": line.filename,
    });
    let (time, ms) = (
        format::date::digits(line.fetch_time_ms),
        line.fetch_time_ms.rem_euclid(1000),
    );
    let ms = if ms == 0 {
        String::new()
    } else {
        format!("{ms:03}")
    };
    format!("{} {time}{ms} {object}\n", line.url_key.replace(' ', "%20"))
}

/// Returns a digest in a form that parses to itself. A digest without a label is taken as SHA-1, so
/// others get a label.
fn digest_text(digest: &str) -> String {
    match extract::declared_digest(digest) {
        Some(other) if other != digest => format!("other:{digest}"),
        _ => digest.to_owned(),
    }
}

/// Parses the lines of an index for fuzzing. Returns for each line the text that is stored when it
/// is posted, or `None` if it has no capture.
///
/// # Errors
/// For an invalid line, the defect.
pub fn kept_lines(index: &[u8]) -> Vec<Result<Option<String>, Defect>> {
    let mut reader = LineReader::default();
    let lines = index.split(|byte| *byte == b'\n');
    lines
        .map(|line| match reader.read(line) {
            Line::Capture(line) => Ok(Some(line_text(&line))),
            Line::Head | Line::Nothing => Ok(None),
            Line::Bad(defect) => Err(defect),
        })
        .collect()
}

fn bad(why: String) -> Line {
    Line::Bad(Defect::new(BAD_LINE, why))
}

/// The fields of a line as text; empty if missing.
#[derive(Default)]
struct Fields<'l> {
    time: &'l str,
    url: Cow<'l, str>,
    mime: Cow<'l, str>,
    status: Cow<'l, str>,
    digest: Cow<'l, str>,
    length: Cow<'l, str>,
    offset: Cow<'l, str>,
    filename: Cow<'l, str>,
}

impl<'l> Fields<'l> {
    fn of_object(time: &'l str, object: &Map<String, Value>) -> Fields<'l> {
        let text = |name: &str| match object.get(name) {
            Some(Value::String(text)) => Cow::Owned(text.clone()),
            Some(Value::Number(number)) => Cow::Owned(number.to_string()),
            _ => Cow::Borrowed(""),
        };
        Fields {
            time,
            url: text("url"),
            mime: text("mime"),
            status: text("status"),
            digest: text("digest"),
            length: text("length"),
            offset: text("offset"),
            filename: text("filename"),
        }
    }

    fn of_columns(columns: &[&str], words: &[&'l str]) -> Fields<'l> {
        let mut fields = Fields::default();
        for (column, word) in columns.iter().zip(words) {
            let place = match *column {
                "b" => {
                    fields.time = word;
                    continue;
                }
                "a" => &mut fields.url,
                "m" => &mut fields.mime,
                "s" => &mut fields.status,
                "k" => &mut fields.digest,
                "S" => &mut fields.length,
                "V" => &mut fields.offset,
                "g" => &mut fields.filename,
                _ => continue,
            };
            // The mark for an unknown value.
            *place = Cow::Borrowed(if *word == "-" { "" } else { word });
        }
        fields
    }

    fn into_line(self) -> Line {
        let Some(fetch_time_ms) = ms_of(self.time) else {
            return bad(format!(
                "found the time {:?}, expected 14 digits of a date",
                self.time
            ));
        };
        let (url, url_key) = match extract::web_target(&self.url) {
            Ok(Some(target)) => target,
            Ok(None) => return Line::Nothing,
            Err(defect) => return Line::Bad(Defect::new(BAD_LINE, defect.detail)),
        };
        if self.filename.is_empty() {
            return bad("it names no file".to_owned());
        }
        let (offset, length, status) = (
            number(&self.offset, None),
            number(&self.length, Some(0)),
            number(&self.status, Some(0)).and_then(|status| u16::try_from(status).ok()),
        );
        let (Some(record_offset), Some(record_length)) = (offset, length) else {
            return bad(format!(
                "found offset {:?} and length {:?}, expected numbers",
                self.offset, self.length
            ));
        };
        // Some crawlers wrote other text as status. The record at the position in the line has its
        // own status.
        let status = status.unwrap_or(0);
        let mime = match &*self.mime {
            "" => "unk".to_owned(),
            mime => mime.to_ascii_lowercase(),
        };
        Line::Capture(Box::new(IndexLine {
            url_key,
            fetch_time_ms,
            url,
            mime,
            status,
            digest: extract::declared_digest(&self.digest).unwrap_or_else(|| "-".to_owned()),
            // An index may name a file by the address that it was read from.
            filename: urlkey::without_secrets(&self.filename).into_owned(),
            record_offset,
            record_length,
            offset: 0,
            length: 0,
            alias_of: None,
            text: None,
        }))
    }
}

/// Parses 14 digits, or 17 with milliseconds, to milliseconds since 1970.
fn ms_of(time: &str) -> Option<i64> {
    let (digits, fraction) = time.split_at_checked(format::date::DIGITS)?;
    let is_time = format::date::begins_a_date(digits)
        && matches!(fraction.len(), 0 | 3)
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_time.then(|| format::date::ms_of_digits(time))
}

/// Parses a number. A missing number is replaced by `missing`, if that is allowed. Columns of
/// Parquet files are signed, and no file has an offset beyond them.
fn number(text: &str, missing: Option<u64>) -> Option<u64> {
    match text {
        "" | "-" => missing,
        text => text.parse().ok().filter(|number| i64::try_from(*number).is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn expected() -> IndexLine {
        IndexLine {
            url_key: "org,iana)/".into(),
            fetch_time_ms: 1_390_766_784_000,
            url: "http://www.iana.org/".into(),
            mime: "text/html".into(),
            status: 200,
            digest: "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB".into(),
            filename: "iana.warc.gz".into(),
            record_offset: 334,
            record_length: 2258,
            offset: 0,
            length: 0,
            alias_of: None,
            text: None,
        }
    }

    #[track_caller]
    fn check(lines: &str, expected: IndexLine) {
        let mut reader = LineReader::default();
        let last = lines.lines().map(|line| reader.read(line.as_bytes())).last();
        assert_eq!(last, Some(Line::Capture(Box::new(expected))), "{lines}");
    }

    #[track_caller]
    fn check_bad(line: &str, why: &str) {
        match LineReader::default().read(line.as_bytes()) {
            Line::Bad(defect) => assert!(defect.detail.contains(why), "{}", defect.detail),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn all_forms_say_the_same() {
        let (sum, url) = ("OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB", "http://www.iana.org/");
        check(
            &format!("org,iana)/ 20140126200624 {url} text/html 200 {sum} - - 2258 334 iana.warc.gz"),
            expected(),
        );
        let mut no_length = expected();
        no_length.record_length = 0;
        check(
            &format!("org,iana)/ 20140126200624 {url} text/html 200 {sum} - 334 iana.warc.gz"),
            no_length.clone(),
        );
        check(
            &format!(" CDX a b g V k s m\n{url} 20140126200624 iana.warc.gz 334 sha1:{sum} 200 text/html"),
            no_length,
        );
        check(
            &format!(
                r#"org,iana)/ 20140126200624 {{"url": "{url}", "mime": "text/html", "status": "200", "digest": "{sum}", "length": "2258", "offset": "334", "filename": "iana.warc.gz"}}"#
            ),
            expected(),
        );
        // Numbers as JSON numbers, as in Common Crawl's and OutbackCDX's lines.
        check(
            &format!(
                r#"org,iana)/ 20140126200624 {{"url":"{url}","mime":"text/html","status":200,"digest":"sha1:{sum}","length":2258,"offset":334,"filename":"iana.warc.gz"}}"#
            ),
            expected(),
        );
    }

    /// Pieces of lines, and some that break them.
    const PIECES: [&str; 20] = [
        " ",
        " ",
        " ",
        "k",
        "-",
        "20140126200624",
        "20140126200624123",
        "20149999999999",
        "http://a.org/",
        "dns:a.org",
        "334",
        "99999999999999999999",
        "text/html",
        " CDX a b g V k s m",
        "@alias",
        "!",
        "{\"url\": \"http://a.org/\"",
        ", \"offset\": 7, \"filename\": \"x.warc\"",
        "}",
        "\u{e4}\u{0}",
    ];

    proptest! {
        /// Any line is read without a panic, and its capture can be stored and found.
        #[test]
        fn any_line_is_a_capture_or_nothing_or_says_why_not(
            lines in vec(vec(select(&PIECES[..]), 0..14), 1..4),
            noise in vec(any::<u8>(), 0..40),
        ) {
            let mut reader = LineReader::default();
            let texts = lines.into_iter().map(|pieces| pieces.concat().into_bytes());
            for text in texts.chain([noise]) {
                match reader.read(&text) {
                    Line::Capture(line) => {
                        prop_assert_eq!(urlkey::url_key(&line.url), Ok(line.url_key));
                        prop_assert!(line.alias_of.is_some() == line.filename.is_empty());
                        prop_assert!(!line.digest.is_empty());
                    }
                    Line::Nothing | Line::Head => {}
                    Line::Bad(defect) => prop_assert!(!defect.detail.is_empty()),
                }
            }
        }
    }

    #[test]
    fn an_alias_has_a_source_and_a_target() {
        let alias = IndexLine {
            url_key: "org,a)/x".into(),
            fetch_time_ms: IndexLine::ALIAS_TIME_MS,
            url: "http://a.org/X".into(),
            mime: String::new(),
            status: 0,
            digest: "-".into(),
            filename: String::new(),
            record_offset: 0,
            record_length: 0,
            alias_of: Some("http://b.org/".into()),
            ..expected()
        };
        check("@alias http://a.org/X http://b.org/", alias.clone());
        assert_eq!(line_text(&alias), "@alias http://a.org/X http://b.org/\n");
    }

    #[test]
    fn what_tells_of_no_capture_is_passed_over() {
        let dns = r#"dns:x 20140126200624 {"url": "dns:x.org", "offset": "1", "filename": "x"}"#;
        for (line, expected) in [
            ("", Line::Nothing),
            (dns, Line::Nothing),
            (" CDX N b a m s k r V g", Line::Head),
            ("!OpenWayback-CDXJ 1.0", Line::Head),
        ] {
            assert_eq!(LineReader::default().read(line.as_bytes()), expected, "{line}");
        }
    }

    /// Regression: rows with a blank in a column were left out, although they contain all necessary
    /// fields.
    #[test]
    fn rows_with_blanks_in_a_column_are_kept() {
        let named = " CDX N b a m s k r M S V g\n";
        let sum = "OSSAPWJ23L56IYVRW3GFEAR4MCJMGPTB";
        let rest = |mime: &str| format!("{mime} 200 {sum} - - 2258 334 iana.warc.gz");
        for head in [named, ""] {
            let check = |line: String, expected| check(&format!("{head}{line}"), expected);
            check(
                format!(
                    "org,iana)/a b 20140126200624 http://www.iana.org/a b {}",
                    rest("text/html")
                ),
                IndexLine {
                    url: "http://www.iana.org/a%20b".into(),
                    url_key: "org,iana)/a%20b".into(),
                    ..expected()
                },
            );
            check(
                format!(
                    "org,iana)/ 20140126200624 http://www.iana.org/ {}",
                    rest("text/html; charset=utf-8")
                ),
                IndexLine {
                    mime: "text/html; charset=utf-8".into(),
                    ..expected()
                },
            );
            check(
                format!(
                    "org,iana)/ 20140126200624 http://www.iana.org/ {} 2",
                    rest("text/html")
                ),
                IndexLine {
                    filename: "iana.warc.gz 2".into(),
                    ..expected()
                },
            );
            // An invalid status.
            for status in ["html>", "99999"] {
                check(
                    format!(
                        "org,iana)/ 20140126200624 http://www.iana.org/ text/html {status} {sum} - - 2258 334 iana.warc.gz"
                    ),
                    IndexLine {
                        status: 0,
                        ..expected()
                    },
                );
            }
        }
        let mut reader = LineReader::default();
        reader.read(named.trim_end().as_bytes());
        let long = format!("k 20140126200624 http://a.org/ {} x", "a ".repeat(5000));
        assert!(matches!(reader.read(long.as_bytes()), Line::Bad(_)));
    }

    #[test]
    fn file_names_have_no_secrets() {
        for (name, expected) in [
            (
                "https://h.example/x.warc.gz?versionId=7&sig=a%3D",
                "https://h.example/x.warc.gz?versionId=7",
            ),
            ("s3://ID:SECRET@bucket/x.warc.gz", "s3://bucket/x.warc.gz"),
            ("crawls/x.warc.gz", "crawls/x.warc.gz"),
        ] {
            let columns = format!("k 20140126200624 http://a.org/ text/html 200 - - - 9 3 {name}");
            let object = json!({"url": "http://a.org/", "offset": 3, "filename": name});
            for text in [columns, format!("k 20140126200624 {object}")] {
                match LineReader::default().read(text.as_bytes()) {
                    Line::Capture(line) => assert_eq!(line.filename, expected),
                    other => panic!("{text}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn bad_lines_say_why() {
        check_bad("nonsense", "found 1 columns");
        check_bad("@alias http://a.org/", "expected @alias");
        check_bad("@alias http://a.org/ dns:b.org", "expected a URL of http");
        check_bad("k 2014 {\"url\": \"http://a.org/\"}", "14 digits");
        check_bad("k 20141326200624 {\"url\": \"http://a.org/\"}", "14 digits");
        check_bad("k 20140126200624 {\"url\": ", "JSON");
        check_bad("k 20140126200624 {}", "no target");
        for (offset, length) in [("9223372036854775808", "1"), ("1", "18446744073709551615")] {
            let line = format!(
                r#"k 20140126200624 {{"url": "http://a.org/", "filename": "x", "offset": "{offset}", "length": "{length}"}}"#
            );
            check_bad(&line, "expected numbers");
        }
        check_bad(
            r#"k 20140126200624 {"url": "http://a.org/", "filename": "x"}"#,
            "offset \"\"",
        );
        check_bad(
            r#"k 20140126200624 {"url": "http://a.org/", "offset": 1}"#,
            "names no file",
        );
        assert!(matches!(LineReader::default().read(b"\xff\xfe"), Line::Bad(_)));
    }
}
