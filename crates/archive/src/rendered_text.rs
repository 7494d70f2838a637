//! Which text search has of a page: that of its HTML, or the one that a browser rendered.
//!
//! Invariant: documents are made and snippets are cut by the same decision, so that a snippet comes
//! from the text that was searched.

use index::{RenderedText, SnapshotError};

use crate::views::Views;

/// Returns the rendered text of a page if it has more words than the page's own text.
pub(crate) fn with_more_words(
    snapshot: &dyn Views,
    url_key: &str,
    own: &str,
) -> Result<Option<RenderedText>, SnapshotError> {
    let rendered = snapshot.rendered_text(url_key)?;
    Ok(rendered.filter(|rendered| search::word_count(&rendered.text) > search::word_count(own)))
}
