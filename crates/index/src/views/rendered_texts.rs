//! Table `rendered_texts`: texts of pages as browsers rendered them.
//!
//! Invariant: each row has the key of a row of `index_lines`, which is the attachment that the text
//! comes from. Both are written and removed together.

use crate::codec;
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::tables::Table;
use crate::views::capture_key::{key_prefix, url_key_of_row};
use crate::views::texts::Compressor;
use crate::write::Write;

pub(crate) fn put(write: &mut Write<'_>, compressor: &mut Compressor, row_key: &[u8], text: &str) {
    write.put(Table::RenderedTexts, row_key.to_vec(), compressor.compress(text));
}

/// Removes a row. Returns the URL key if there was one.
pub(crate) fn remove(
    cut: &Cut,
    write: &mut Write<'_>,
    row_key: &[u8],
) -> Result<Option<String>, SnapshotError> {
    if !cut.contains(Table::RenderedTexts, row_key)? {
        return Ok(None);
    }
    write.remove(Table::RenderedTexts, row_key.to_vec());
    let url_key = url_key_of_row(row_key).and_then(codec::to_text);
    cut.decode(Table::RenderedTexts, row_key, url_key).map(Some)
}

pub(crate) fn is_empty(cut: &Cut) -> Result<bool, SnapshotError> {
    Ok(cut.iter(Table::RenderedTexts).next().transpose()?.is_none())
}

/// Returns whether a URL key may have rows; if not, it has none.
pub(crate) fn may_have(cut: &Cut, url_key: &str) -> Result<bool, SnapshotError> {
    // Rows of a longer key that contains a NUL have the same prefix.
    let mut rows = cut.prefix(Table::RenderedTexts, &key_prefix(url_key));
    Ok(rows.next().transpose()?.is_some())
}
