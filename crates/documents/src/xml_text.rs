//! Extracts the text of an XML document by the names of its elements.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

use crate::bounded::Bounded;

/// Which elements contain text, by local name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Elements that contain the text; if empty, all do.
    pub(crate) texts: &'static [&'static str],
    /// Elements without text.
    pub(crate) skipped: &'static [&'static str],
    /// Elements that end a line.
    pub(crate) lines: &'static [&'static str],
    /// Elements that are blanks between words.
    pub(crate) blanks: &'static [&'static str],
}

impl Rules {
    fn has(names: &[&str], name: &[u8]) -> bool {
        names.iter().any(|known| known.as_bytes() == name)
    }
}

/// A document is not well-formed.
#[derive(Debug, thiserror::Error)]
#[error("at byte {position}: {error}")]
pub(crate) struct XmlError {
    position: u64,
    error: quick_xml::Error,
}

/// Adds the text of a document to `out`. Reads a malformed document up to the error.
///
/// # Errors
/// The first XML error.
pub(crate) fn read(xml: &str, rules: Rules, out: &mut Bounded) -> Result<(), XmlError> {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    // Numbers of open elements with text, and of open skipped elements.
    let (mut texts, mut skipped) = (0_usize, 0_usize);
    while !out.is_full() {
        let event = reader.read_event().map_err(|error| XmlError {
            position: reader.error_position(),
            error,
        })?;
        let is_text = skipped == 0 && (texts > 0 || rules.texts.is_empty());
        match event {
            Event::Start(element) => {
                let name = element.local_name();
                texts += usize::from(Rules::has(rules.texts, name.as_ref()));
                skipped += usize::from(Rules::has(rules.skipped, name.as_ref()));
                separate(rules, name.as_ref(), out);
            }
            Event::End(element) => {
                let name = element.local_name();
                texts = texts.saturating_sub(usize::from(Rules::has(rules.texts, name.as_ref())));
                skipped = skipped.saturating_sub(usize::from(Rules::has(rules.skipped, name.as_ref())));
                separate(rules, name.as_ref(), out);
            }
            Event::Empty(element) => separate(rules, element.local_name().as_ref(), out),
            Event::Text(text) if is_text => out.push(&String::from_utf8_lossy(&text)),
            Event::CData(text) if is_text => out.push(&String::from_utf8_lossy(&text)),
            Event::GeneralRef(reference) if is_text => push_reference(&reference, out),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

fn separate(rules: Rules, name: &[u8], out: &mut Bounded) {
    if Rules::has(rules.lines, name) {
        out.push("\n");
    } else if Rules::has(rules.blanks, name) {
        out.push(" ");
    }
}

fn push_reference(reference: &BytesRef<'_>, out: &mut Bounded) {
    if let Ok(Some(char)) = reference.resolve_char_ref() {
        out.push(char.encode_utf8(&mut [0; 4]));
        return;
    }
    let name = String::from_utf8_lossy(reference);
    // Named entities of HTML that XML does not define become a blank.
    out.push(quick_xml::escape::resolve_xml_entity(&name).unwrap_or(" "));
}
