//! Makes XHTML readable for an HTML tokenizer: `<script src="x"/>` gets an end tag.
//!
//! In HTML such a tag is not closed, so all following content would be the text of the script. XML
//! has no such elements. Only these tags are changed, and the element stays the same for an XML
//! parser.

/// Elements whose content an HTML tokenizer reads as text (HTML, section 13.2.6.2, and the rules
/// for inserting elements).
const TEXT_ELEMENTS: [&[u8]; 10] = [
    b"script",
    b"style",
    b"title",
    b"textarea",
    b"iframe",
    b"noscript",
    b"noframes",
    b"noembed",
    b"xmp",
    b"plaintext",
];

/// Maximum length of a name that is compared. None of these is longer.
const NAME_BYTES_MAX: usize = 12;

/// Closes empty text elements in a document that arrives in pieces.
#[derive(Debug, Default)]
pub(crate) struct EmptyTags {
    place: Position,
}

#[derive(Debug, Default)]
enum Position {
    #[default]
    Text,
    /// After `<`, with the name so far.
    Name(Vec<u8>),
    /// In a tag that may have to be closed, or in another one (`None`).
    Tag {
        name: Option<Vec<u8>>,
        quote: Option<u8>,
        /// A slash that is held back.
        slash: bool,
    },
    /// In a comment, CDATA section or processing instruction, up to `end`, of which `matched` bytes
    /// have arrived.
    Until { end: &'static [u8], matched: usize },
}

impl EmptyTags {
    /// Processes a piece.
    pub(crate) fn closed(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() + 16);
        for byte in piece {
            self.step(*byte, &mut out);
        }
        out
    }

    /// Returns the bytes held back at the end of the document.
    pub(crate) fn end(self) -> &'static [u8] {
        match self.place {
            Position::Tag { slash: true, .. } => b"/",
            _ => b"",
        }
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        match &mut self.place {
            Position::Text => {
                if byte == b'<' {
                    self.place = Position::Name(Vec::new());
                }
                out.push(byte);
            }
            Position::Name(name) => {
                out.push(byte);
                let is_name = !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'>');
                if is_name && name.len() <= NAME_BYTES_MAX {
                    name.push(byte);
                    let end: Option<&'static [u8]> = match name.as_slice() {
                        b"!--" => Some(b"-->"),
                        b"![CDATA[" => Some(b"]]>"),
                        b"?" => Some(b"?>"),
                        _ => None,
                    };
                    if let Some(end) = end {
                        self.place = Position::Until { end, matched: 0 };
                    }
                    return;
                }
                let name = TEXT_ELEMENTS
                    .contains(&name.as_slice())
                    .then(|| std::mem::take(name));
                self.place = match byte {
                    b'>' => Position::Text,
                    _ => Position::Tag {
                        name,
                        quote: None,
                        slash: false,
                    },
                };
                // The slash must be held back.
                if let Position::Tag {
                    name: Some(_), slash, ..
                } = &mut self.place
                    && byte == b'/'
                {
                    out.pop();
                    *slash = true;
                }
            }
            Position::Tag { name, quote, slash } => {
                let is_closed = *slash && byte == b'>';
                match (is_closed, name.as_ref()) {
                    (true, Some(name)) => {
                        out.extend([b"></".as_slice(), name, b">"].concat());
                        self.place = Position::Text;
                        return;
                    }
                    _ if *slash => out.push(b'/'),
                    _ => {}
                }
                *slash = false;
                match (*quote, byte) {
                    (Some(open), _) if open == byte => *quote = None,
                    (None, b'"' | b'\'') => *quote = Some(byte),
                    (None, b'/') if name.is_some() => {
                        *slash = true;
                        return;
                    }
                    (None, b'>') => self.place = Position::Text,
                    _ => {}
                }
                out.push(byte);
            }
            Position::Until { end, matched } => {
                out.push(byte);
                *matched = match byte == end[*matched] {
                    true => *matched + 1,
                    // The ends are runs of one byte followed by `>`: a longer run still ends.
                    false if *matched > 0 && byte == end[*matched - 1] => *matched,
                    false => usize::from(byte == end[0]),
                };
                if *matched == end.len() {
                    self.place = Position::Text;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn closed(xhtml: &[u8], piece_bytes: usize) -> Vec<u8> {
        let mut tags = EmptyTags::default();
        let mut out: Vec<u8> = xhtml
            .chunks(piece_bytes.max(1))
            .flat_map(|piece| tags.closed(piece))
            .collect();
        out.extend(tags.end());
        out
    }

    #[track_caller]
    fn check(xhtml: &str, expected: &str) {
        for piece_bytes in [1, 3, 1000] {
            assert_eq!(
                String::from_utf8_lossy(&closed(xhtml.as_bytes(), piece_bytes)),
                expected
            );
        }
    }

    #[test]
    fn empty_text_elements_get_an_end() {
        check("<script src=\"x\"/><img/>", "<script src=\"x\"></script><img/>");
        check(
            "<title/><iframe src='/>' />",
            "<title></title><iframe src='/>' ></iframe>",
        );
        check("<script a=/b/>", "<script a=/b></script>");
    }

    #[test]
    fn all_else_stays() {
        for xhtml in [
            "<div/><br /><a href='x/'/>",
            "<script src='x'></script>",
            "<!-- <script/> --><![CDATA[ <script/> ]]><?x <script/> ?>",
            "<!--- <title/> ---><p>a < b</p>",
            "<scripture/><script",
            "<script a='/' /",
            "<svg:script/>",
        ] {
            check(xhtml, xhtml);
        }
        check("<![CDATA[]]]><title/>", "<![CDATA[]]]><title></title>");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(xhtml in "[<>/a-c!?' \"\\[\\]-]{0,60}|(<script|<title|/>|'|\"|<!--|-->|x| ){0,20}") {
            let found = closed(xhtml.as_bytes(), 2);
            let without = |text: &str| {
                TEXT_ELEMENTS.iter().fold(text.to_owned(), |text, name| {
                    let name = String::from_utf8_lossy(name);
                    text.replace(&format!("></{name}>"), "/>")
                })
            };
            let found = String::from_utf8(found).expect("text");
            prop_assert_eq!(without(&found), without(&xhtml));
        }
    }
}
