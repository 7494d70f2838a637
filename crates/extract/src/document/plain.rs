//! Plain text. It has no title: the first line is a title in some files, and a licence or a row of
//! numbers in others.

use super::lines;
use crate::Page;

/// Reads plain text.
pub(super) fn read(text: &str) -> Page {
    let (text, text_truncated) = lines(text);
    Page {
        text,
        text_truncated,
        ..Page::default()
    }
}
