//! Settings of an extraction.

use crate::{Documents, LinkScope};

/// What to extract from a record.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which links are kept.
    pub links: LinkScope,
    /// Whether to extract the text of pages; not needed if search is off.
    pub text: bool,
    /// Which other captures have their text extracted, and how. Ignored without `text`.
    pub documents: Documents,
}
