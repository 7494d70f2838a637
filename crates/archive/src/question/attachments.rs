//! What crawlers added to a page: rendered text, screenshots, lists of its requests.

use extract::AttachmentKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CdxRow;

/// Asks for the attachments of a page (docs/views.md).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Attachments {
    /// The URL of the page, or its key.
    pub url: String,
    /// Return of each address only the attachment nearest to this time, 1 to 17 digits (to the
    /// millisecond). If absent, return all.
    #[serde(default)]
    pub at: Option<String>,
}

/// The attachments of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentsBody {
    /// Sort key of the URL of the page.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The attachments, newest first, at most 1,000.
    pub rows: Vec<AttachmentRow>,
}

/// An attachment of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentRow {
    /// What it contains, by its address.
    pub kind: AttachmentKind,
    /// Its record. `url` is the address of the attachment, `url_key` that of the page. `kind` is
    /// `response` if the record has a status, else `resource`.
    /// [`Record`](super::Record) finds it by the URL of the page and [`CdxRow::name`].
    pub capture: CdxRow,
}
