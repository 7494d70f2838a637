//! Escapes text for XML 1.0, which cannot express every character that an S3 key may contain.
//!
//! s3s escapes five characters in the texts of a response and writes all others unchanged. A parser
//! would read a carriage return as a line feed, and most control characters make the document
//! invalid. Listings percent-encode such characters ([`crate::service`]); everywhere else U+FFFD
//! replaces them.

use bytes::Bytes;

/// Replaces a character that XML cannot express.
const REPLACEMENT: &str = "\u{FFFD}";

/// Reports whether XML 1.0 can express this character.
pub(crate) fn can_carry(character: char) -> bool {
    !matches!(
        character,
        '\0'..='\u{8}' | '\u{B}' | '\u{C}' | '\u{E}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}'
    )
}

/// Escapes a text between tags.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#13;"),
            character if can_carry(character) => escaped.push(character),
            _ => escaped.push_str(REPLACEMENT),
        }
    }
    escaped
}

/// Replaces characters that XML cannot express in a document or a piece of one. Generated markup
/// contains no carriage return, so each one belongs to a text.
pub(crate) fn clean(document: Bytes) -> Bytes {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=0xEE | 0xF0..);
    // 0xEF begins U+FFFE and U+FFFF but also other characters: only then are the bytes decoded.
    if document.iter().all(is_plain) {
        return document;
    }
    let Ok(text) = std::str::from_utf8(&document) else {
        return document;
    };
    let mut cleaned = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        match character {
            '\r' => cleaned.push_str("&#13;"),
            character if can_carry(character) => cleaned.push(character),
            _ => cleaned.push_str(REPLACEMENT),
        }
    }
    cleaned.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_carry_is_replaced_and_nothing_else() {
        for (text, expected) in [
            ("<a>b\tc\n ä 日 \u{FFFD}</a>", "<a>b\tc\n ä 日 \u{FFFD}</a>"),
            ("<a>b\rc</a>", "<a>b&#13;c</a>"),
            (
                "<a>\u{1}\u{1F}\u{FFFF}\u{7F}</a>",
                "<a>\u{FFFD}\u{FFFD}\u{FFFD}\u{7F}</a>",
            ),
        ] {
            assert_eq!(clean(Bytes::from(text)), Bytes::from(expected));
        }
        assert_eq!(escape("a<&>\r\u{0}\"'"), "a&lt;&amp;&gt;&#13;\u{FFFD}\"'");
        let broken = Bytes::from_static(b"\x01\xFF");
        assert_eq!(clean(broken.clone()), broken);
    }
}
