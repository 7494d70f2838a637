//! Files that a load skips, and why.

/// A file that is skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// Name of the file as text.
    pub name: String,
    /// The reason, for users.
    pub why: &'static str,
}

pub(super) const NOT_AN_ARCHIVE: &str = "no archive's name, and no record at its beginning";
pub(super) const PATH_LIST: &str = "a path list; @NAME loads what it lists";
pub(super) const FOLDER_MARK: &str = "the mark of a folder";
pub(super) const LINK_TO_FOLDER: &str = "a link to a folder; name it to load what is in there";
pub(super) const LINK_TO_NOTHING: &str = "a link that leads nowhere";
