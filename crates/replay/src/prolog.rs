//! The beginning of XHTML as a browser gets it: the shim is the first child of the root element,
//! and nothing before it can keep it from running.
//!
//! An XML parser sees other tags than the HTML tokenizer that rewrites the page: `<!-->` begins a
//! comment, and `>` does not end an instruction. So this module parses the output, and as XML.
//! Invariants of its result:
//! - A document type contains only declarations of plain-text entities. `<!ATTLIST>` could add
//!   attributes to the shim (`async`, `nomodule`, `integrity`), parameter entities could produce
//!   such a declaration, and an entity could contain elements whose references were not rewritten.
//! - `<?xml-stylesheet?>` refers only to CSS: another kind of style sheet (XSLT) replaces the
//!   document.
//! - Malformed XML may change but stays malformed. A browser runs nothing after the error.

use std::io;

use crate::instruction;

/// Maximum number of bytes of a comment, an instruction or a document type that are held until its
/// end. Real ones have a few kilobytes.
const HELD_BYTES_MAX: usize = 1 << 20;

/// Reads an XML document up to the start tag of its root element.
pub(crate) struct Prolog {
    shim: String,
    /// An item whose end has not arrived.
    held: Vec<u8>,
    is_over: bool,
}

/// An item of a prolog.
struct Item {
    /// Number of its bytes.
    length: usize,
    /// Bytes to send in place of it.
    sent: Vec<u8>,
    is_root: bool,
}

impl Prolog {
    /// Creates a reader that inserts `shim` (an element, or empty) into the root element.
    pub(crate) fn new(shim: String) -> Prolog {
        Prolog {
            shim,
            held: Vec::new(),
            is_over: false,
        }
    }

    /// Takes the next piece of the document, and returns what can be sent.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if an item has more than [`HELD_BYTES_MAX`] bytes without an
    /// end.
    pub(crate) fn sent(&mut self, piece: Vec<u8>) -> io::Result<Vec<u8>> {
        if self.is_over {
            return Ok(piece);
        }
        self.held.extend(piece);
        let mut sent = Vec::new();
        let mut at = 0;
        while !self.is_over
            && let Some(item) = item(&self.held[at..], &self.shim)
        {
            at += item.length;
            sent.extend(item.sent);
            self.is_over = item.is_root;
        }
        self.held.drain(..at);
        if self.is_over {
            sent.append(&mut self.held);
        }
        if self.held.len() > HELD_BYTES_MAX {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "an unterminated construct of more than {HELD_BYTES_MAX} bytes before the root element"
                ),
            ))
        } else {
            Ok(sent)
        }
    }
}

/// Returns the first item of `text`, or `None` if its end has not arrived.
fn item(text: &[u8], shim: &str) -> Option<Item> {
    let kept = |length: usize| Item {
        length,
        sent: text[..length].to_vec(),
        is_root: false,
    };
    Some(match text {
        [] | [b'<'] => return None,
        [b'<', b'?', ..] => instruction_item(kept(end_of(text, 2, b"?>")?)),
        [b'<', b'!', b'-', b'-', ..] => kept(end_of(text, 4, b"-->")?),
        [b'<', b'!', ..] if text.starts_with(b"<!DOCTYPE") => document_type(text)?,
        [b'<', b'!', rest @ ..] if b"--".starts_with(rest) || b"DOCTYPE".starts_with(rest) => return None,
        // Not well-formed.
        [b'<', b'!' | b'/', ..] => kept(2),
        [b'<', ..] => root(kept(outside_quotes(text, 1, b">")? + 1), shim),
        _ => kept(text.iter().position(|byte| *byte == b'<').unwrap_or(text.len())),
    })
}

fn instruction_item(mut item: Item) -> Item {
    let text = String::from_utf8_lossy(&item.sent);
    let data = text
        .strip_prefix("<?xml-stylesheet")
        .filter(|data| data.starts_with(|c: char| c.is_ascii_whitespace() || c == '?'))
        .and_then(|data| data.strip_suffix("?>"));
    if data.is_some_and(|data| !instruction::is_css(data)) {
        item.sent.clear();
    }
    item
}

/// Returns the start tag of the root element, followed by the shim unless the element is empty.
fn root(mut item: Item, shim: &str) -> Item {
    if !item.sent.ends_with(b"/>") {
        item.sent.extend(shim.as_bytes());
    }
    item.is_root = true;
    item
}

/// Returns a document type with only its [plain entities](is_plain_entity).
fn document_type(text: &[u8]) -> Option<Item> {
    let mut at = outside_quotes(text, 0, b"[>")? + 1;
    let mut sent = text[..at].to_vec();
    if text[at - 1] == b'[' {
        loop {
            let rest = &text[at..];
            let length = match rest {
                [] => return None,
                [b']', ..] => break,
                [b'<', b'?', ..] => end_of(rest, 2, b"?>")?,
                [b'<', b'!', b'-', b'-', ..] => end_of(rest, 4, b"-->")?,
                [b'<', ..] => outside_quotes(rest, 0, b">")? + 1,
                // White space, and references to parameter entities.
                _ => 1,
            };
            if is_plain_entity(&rest[..length]) {
                sent.extend(&rest[..length]);
            }
            at += length;
        }
        at = outside_quotes(text, at, b">")? + 1;
        sent.extend(b"]>");
    }
    Some(Item {
        length: at,
        sent,
        is_root: false,
    })
}

/// Returns whether a declaration is that of a general entity with a literal text without elements:
/// `<!ENTITY name "text">`.
fn is_plain_entity(declaration: &[u8]) -> bool {
    let text = String::from_utf8_lossy(declaration);
    let Some((name, value)) = text
        .strip_prefix("<!ENTITY")
        .and_then(|rest| rest.strip_suffix('>'))
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace()))
        .and_then(|rest| rest.trim_ascii().split_once(|c: char| c.is_ascii_whitespace()))
    else {
        return false;
    };
    let value = value.trim_ascii();
    let literal = ['"', '\''].iter().find_map(|quote| {
        let inside = value.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inside.contains(*quote)).then_some(inside)
    });
    let has_name = !name.contains(['%', '&', '<', '>', '[', ']', '"', '\'']);
    has_name && literal.is_some_and(|literal| !has_elements(literal))
}

/// Returns whether the text of an entity contains a `<`, directly or as a character reference,
/// which would begin an element.
fn has_elements(literal: &str) -> bool {
    let is_less_than = |reference: &str| {
        let digits = reference.split(';').next().unwrap_or("");
        let number = match digits.strip_prefix('x') {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        number.map_or(true, |number| number == u32::from('<'))
    };
    literal.contains('<') || literal.split("&#").skip(1).any(is_less_than)
}

/// Returns the place after the first `end` at or after `from`.
fn end_of(text: &[u8], from: usize, end: &[u8]) -> Option<usize> {
    let found = text[from..].windows(end.len()).position(|found| found == end)?;
    Some(from + found + end.len())
}

/// Returns the place of the first of `wanted` at or after `from` that is not in quotes.
fn outside_quotes(text: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let mut quote = None;
    let found = text[from..].iter().position(|byte| {
        match (quote, byte) {
            (Some(open), _) if open == *byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, _) => return wanted.contains(byte),
            _ => {}
        }
        false
    })?;
    Some(from + found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(xml: &str, piece_bytes: usize) -> String {
        let mut prolog = Prolog::new("[shim]".to_owned());
        let sent: Vec<u8> = xml
            .as_bytes()
            .chunks(piece_bytes)
            .flat_map(|piece| prolog.sent(piece.to_vec()).expect("a piece"))
            .collect();
        String::from_utf8(sent).expect("text")
    }

    #[track_caller]
    fn check(xml: &str, expected: &str) {
        for piece_bytes in [1, 3, 1000] {
            assert_eq!(sent(xml, piece_bytes), expected, "{xml}");
        }
    }

    #[test]
    fn the_shim_is_the_first_thing_in_the_outermost_element() {
        for (xml, expected) in [
            ("<html><head/></html>", "<html>[shim]<head/></html>"),
            ("<x:html a='>'\n>t<p>", "<x:html a='>'\n>[shim]t<p>"),
            (
                "\u{feff}<?xml version='1.0'?>\n<a>",
                "\u{feff}<?xml version='1.0'?>\n<a>[shim]",
            ),
            ("<!--> <head> --><a>", "<!--> <head> --><a>[shim]"),
            ("<?x > <head> ?><a>", "<?x > <head> ?><a>[shim]"),
            (
                "<!DOCTYPE a PUBLIC '[>' \"'\" ><a>",
                "<!DOCTYPE a PUBLIC '[>' \"'\" ><a>[shim]",
            ),
            ("<a/><b>", "<a/><b>"),
            ("text", "text"),
        ] {
            check(xml, expected);
        }
    }

    #[test]
    fn a_document_type_declares_nothing_but_plain_entities() {
        for (subset, expected) in [
            (" <!ENTITY a \"b&#160;&c;]>\"> ", "<!ENTITY a \"b&#160;&c;]>\">"),
            (
                "<!ENTITY\na\t'\"' ><!ATTLIST a b CDATA '>'>",
                "<!ENTITY\na\t'\"' >",
            ),
            ("<!-- ]> <!ENTITY a 'b'> --><?x ]> ?>", ""),
            ("<!ENTITY % p '<!ATTLIST a b CDATA \"c\">'> %p;", ""),
            (
                "<!ENTITY a SYSTEM 'b'><!ELEMENT a ANY><!NOTATION a SYSTEM 'b'>",
                "",
            ),
            (
                "<!ENTITY a '<b/>'><!ENTITY a '&#60;b/>'><!ENTITY a '&#x03C;b/>'>",
                "",
            ),
            ("<!ENTITY a '&#38;#60;'>", "<!ENTITY a '&#38;#60;'>"),
        ] {
            check(
                &format!("<!DOCTYPE a [{subset}] ><a>"),
                &format!("<!DOCTYPE a [{expected}]><a>[shim]"),
            );
        }
    }

    #[test]
    fn style_sheets_are_css() {
        for (data, is_kept) in [
            (" href='x'", true),
            (" type = \"text/css\" href='>'", true),
            (" type='text/xsl' href='x'", false),
            (" type='text/&#120;sl' href='x'", false),
            (" type='text/css' type='text/xsl' href='x'", false),
            (" x type='text/css' href='x'", false),
            (" href='x", false),
            ("", true),
            ("s type='text/xsl'", true),
        ] {
            let instruction = format!("<?xml-stylesheet{data}?>");
            let expected = if is_kept { instruction.as_str() } else { "" };
            check(&format!("{instruction}<a>"), &format!("{expected}<a>[shim]"));
        }
    }

    #[test]
    fn what_has_no_end_is_not_held_forever() {
        let mut prolog = Prolog::new(String::new());
        let mut outcome = prolog.sent(b"<!--".to_vec());
        for _ in 0..HELD_BYTES_MAX >> 16 {
            assert!(outcome.is_ok());
            outcome = prolog.sent(vec![b'x'; 1 << 16]);
        }
        assert!(outcome.is_err());
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(xml in "([<>!a%'\"&;? -]|\\[|\\]|<!DOCTYPE a|<!ENTITY a 'b'>|<!ATTLIST a>|<!--|-->|<\\?xml-stylesheet ){0,20}") {
            let whole = sent(&xml, 1000);
            prop_assert_eq!(sent(&xml, 1), whole);
        }
    }
}
