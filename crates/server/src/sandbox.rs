//! Archived content, shown where it can do nothing.

/// Types of archived content that a browser can show by itself in the sandbox.
pub(crate) fn can_show(mime: &str) -> bool {
    matches!(mime, "text/html" | "application/xhtml+xml" | "text/plain") || mime.starts_with("image/")
}
