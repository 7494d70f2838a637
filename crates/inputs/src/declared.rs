//! What a package declares about its members.

use warc::Defect;

/// The declarations of a package about a member that is an input. Empty for other inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredContent {
    /// Digest of the content (`sha256:<hex>`).
    pub digest: Option<String>,
    /// Defects of the member known before it is read. The member is used nevertheless.
    pub defects: Vec<Defect>,
}
