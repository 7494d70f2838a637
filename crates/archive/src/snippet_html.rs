//! Snippets as HTML in JSON: text with `& < > " '` escaped and `<mark>` around matches. Every mark
//! is closed, none is nested, and there is no other markup, so a page may show the HTML unchanged.
//!
//! Reading the HTML back returns the parts from which it was made.

use search::{Snippet, SnippetPart};
use serde::{Deserialize, Deserializer, Serializer};

const OPEN: &str = "<mark>";
const CLOSE: &str = "</mark>";

/// Characters and their escapes in HTML.
const ESCAPES: [(char, &str); 5] = [
    ('&', "&amp;"),
    ('<', "&lt;"),
    ('>', "&gt;"),
    ('"', "&quot;"),
    ('\'', "&#39;"),
];

/// Returns the snippet as HTML.
pub fn encode(snippet: &Snippet) -> String {
    let length = |part: &SnippetPart| part.text.len() + OPEN.len() + CLOSE.len();
    let mut html = String::with_capacity(snippet.parts.iter().map(length).sum());
    for part in &snippet.parts {
        if part.matched {
            html.push_str(OPEN);
        }
        push_escaped(&mut html, &part.text);
        if part.matched {
            html.push_str(CLOSE);
        }
    }
    html
}

fn push_escaped(html: &mut String, text: &str) {
    let mut from = 0;
    // Byte by byte, because the escaped characters are ASCII, and never part of another character.
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'&' | b'<' | b'>' | b'"' | b'\'' => ESCAPES.iter().find(|(plain, _)| *plain == char::from(byte)),
            _ => None,
        };
        if let Some((_, escape)) = escape {
            html.push_str(&text[from..at]);
            html.push_str(escape);
            from = at + 1;
        }
    }
    html.push_str(&text[from..]);
}

/// Parses the HTML of a snippet. Everything except marks and the escapes of [`encode`] is text, so
/// foreign markup becomes text and is escaped when it is written again.
fn decode(html: &str) -> Snippet {
    let mut snippet = Snippet::default();
    let (mut matched, mut begins) = (false, true);
    let mut rest = html;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(OPEN) {
            (matched, begins, rest) = (true, true, after);
            continue;
        }
        if let Some(after) = rest.strip_prefix(CLOSE) {
            (matched, begins, rest) = (false, true, after);
            continue;
        }
        let escape = ESCAPES.iter().find(|(_, escape)| rest.starts_with(escape));
        let (c, length) = escape.map_or((first, first.len_utf8()), |(c, escape)| (*c, escape.len()));
        match snippet.parts.last_mut() {
            Some(part) if !begins => part.text.push(c),
            _ => snippet.parts.push(SnippetPart {
                text: c.into(),
                matched,
            }),
        }
        begins = false;
        rest = &rest[length..];
    }
    snippet
}

pub(crate) fn serialize<S: Serializer>(snippet: &Snippet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(snippet))
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Snippet, D::Error> {
    Ok(decode(&String::deserialize(deserializer)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects `html` to be written as `expected` after it was read.
    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(encode(&decode(html)), expected);
    }

    #[test]
    fn marks_and_escapes_stay_all_else_is_text() {
        check("a <mark>b</mark> &amp; c", "a <mark>b</mark> &amp; c");
        check("<mark>b</mark><mark>c</mark>", "<mark>b</mark><mark>c</mark>");
        check("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;");
        check("<mark onclick=x>", "&lt;mark onclick=x&gt;");
        check("<mark><mark>a", "<mark>a</mark>");
        check("</mark>a</mark>", "a");
        check("&nbsp;&#60;", "&amp;nbsp;&amp;#60;");
        check("\"'", "&quot;&#39;");
        check("", "");
    }

    #[test]
    fn parts_are_read_back_as_they_were() {
        let part = |text: &str, matched| SnippetPart {
            text: text.to_owned(),
            matched,
        };
        let snippet = Snippet {
            parts: vec![
                part("…a <b> &amp; ", false),
                part("<mark>", true),
                part("root's", true),
                part(" \"zone\"", false),
            ],
        };
        let html = "…a &lt;b&gt; &amp;amp; <mark>&lt;mark&gt;</mark><mark>root&#39;s</mark> &quot;zone&quot;";
        assert_eq!(encode(&snippet), html);
        assert_eq!(decode(html), snippet);
    }
}
