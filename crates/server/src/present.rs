//! Formats numbers, sizes and archived text for readers.

pub(crate) use format::number::{bytes as size, count, counted, duration_ms as span, rate};
pub(crate) use ui::{clean, clean_lines, cut};

/// Returns the text without characters that XML 1.0 does not allow.
pub(crate) fn xml_text(text: &str) -> String {
    let is_xml = |c: &char| !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    clean(text).chars().filter(is_xml).collect()
}
