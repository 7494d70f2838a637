//! The document type of a page. It selects one of two layout modes of browsers, so it is written
//! again from the parts that select the mode.

/// Maximum number of bytes kept of a part. No plain identifier is longer.
const PART_BYTES_MAX: usize = 256;

/// The document type that is being read.
#[derive(Debug, Default)]
pub(super) struct Doctype {
    pub(super) name: Vec<u8>,
    pub(super) public: Vec<u8>,
    pub(super) system: Vec<u8>,
    /// Whether the tokenizer reports that it selects quirks mode.
    pub(super) is_quirky: bool,
    /// Whether nothing was written before it.
    pub(super) is_first: bool,
}

impl Doctype {
    /// Returns the state before anything was read.
    pub(super) fn first() -> Doctype {
        Doctype {
            is_first: true,
            ..Doctype::default()
        }
    }

    /// Returns the document type to write, or `None` if it does not select standards mode.
    pub(super) fn written(&self) -> Option<String> {
        if !self.is_first || self.is_quirky || self.name != b"html" {
            return None;
        }
        let quoted = |id: &[u8]| format!(" \"{}\"", String::from_utf8_lossy(id));
        let ids = match (self.public.as_slice(), self.system.as_slice()) {
            (public, system) if !is_plain_id(public) || !is_plain_id(system) => String::new(),
            (b"", b"") => String::new(),
            (b"", system) => format!(" SYSTEM{}", quoted(system)),
            (public, b"") => format!(" PUBLIC{}", quoted(public)),
            (public, system) => format!(" PUBLIC{}{}", quoted(public), quoted(system)),
        };
        Some(format!("<!DOCTYPE html{ids}>"))
    }
}

/// Appends to a part of a document type, up to a length at which it is no longer plain.
pub(super) fn push_id(id: &mut Vec<u8>, part: &[u8]) {
    if id.len() <= PART_BYTES_MAX {
        id.extend_from_slice(&part[..part.len().min(PART_BYTES_MAX + 1)]);
    }
}

/// Returns whether an identifier contains no character that could end it.
fn is_plain_id(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" -_./:+,'()".contains(byte);
    id.len() <= PART_BYTES_MAX && id.iter().all(plain)
}
