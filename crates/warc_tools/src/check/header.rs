//! Checks the stored lines of a header: line ends, characters and field names (WARC/1.1, clause 4).

use super::rules::{self, Rule};

/// Adds the violations in a header. If several lines violate the same rule, only the first is
/// reported.
pub(super) fn check(header: &[u8], version: (u8, u8), broken: &mut Vec<(&'static Rule, String)>) {
    let mut lines = header.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let first = first.trim_ascii_end();
    if first != b"WARC/1.0" && first != b"WARC/1.1" {
        let (major, minor) = version;
        let detail = format!("it begins with {}, version {major}.{minor}", quoted(first));
        broken.push((&rules::VERSION, detail));
    }
    let wrong_end = header
        .split_inclusive(|byte| *byte == b'\n')
        .find(|line| !line.ends_with(b"\r\n") || line.ends_with(b"\r\r\n"));
    if let Some(line) = wrong_end {
        broken.push((
            &rules::LINE_END,
            format!("{} does not end in CR LF", quoted(line.trim_ascii_end())),
        ));
    }
    if let Err(error) = std::str::from_utf8(header) {
        let detail = format!("byte {} of the header is not valid UTF-8", error.valid_up_to());
        broken.push((&rules::NOT_UTF8, detail));
    }
    let content = || lines.clone().map(without_end);
    let has_control = |line: &&[u8]| {
        line.iter()
            .any(|byte| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f)
    };
    if let Some(line) = content().find(has_control) {
        broken.push((&rules::CONTROL, quoted(line)));
    }
    let has_wrong_name = |line: &&[u8]| {
        let is_continued = line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        !is_continued
            && name.len() < line.len()
            && !name.is_empty()
            && !name.iter().all(|byte| is_of_token(*byte))
    };
    if let Some(line) = content().find(has_wrong_name) {
        broken.push((&rules::FIELD_NAME, quoted(line)));
    }
}

fn without_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r'] = line {
        line = rest;
    }
    line
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte)
}

/// Quotes the beginning of a line for messages.
fn quoted(line: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&line[..line.len().min(80)]))
}
