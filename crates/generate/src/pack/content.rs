//! The content type and the body that a server would send for a file.

use std::path::Path;

use crate::markdown;

/// Content types by extension, in lower case.
const TYPES: [(&str, &str); 24] = [
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xhtml", "application/xhtml+xml"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("csv", "text/csv"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("pdf", "application/pdf"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("zip", "application/zip"),
];

/// Returns the content type and body of a file. Markdown is converted to HTML, so that its links
/// are found.
pub(super) fn of(path: &Path, bytes: Vec<u8>) -> (&'static str, Vec<u8>) {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    match extension.as_str() {
        "md" | "markdown" => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let page = page(&String::from_utf8_lossy(&bytes), &name);
            ("text/html; charset=utf-8", page.into_bytes())
        }
        "txt" | "text" if std::str::from_utf8(&bytes).is_ok() => ("text/plain; charset=utf-8", bytes),
        // The encoding is unknown, so no charset is declared.
        "txt" | "text" => ("text/plain", bytes),
        _ => {
            let known = TYPES.iter().find(|(known, _)| *known == extension);
            (
                known.map_or("application/octet-stream", |(_, content_type)| content_type),
                bytes,
            )
        }
    }
}

/// Converts Markdown to a page, titled by its first heading or else by the name of its file.
fn page(text: &str, name: &str) -> String {
    let title = markdown::title(text).unwrap_or_else(|| name.to_owned());
    let mut page = String::with_capacity(text.len() * 2);
    page.push_str("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>");
    page.push_str(&markdown::escaped(&title));
    page.push_str("</title>\n</head>\n<body>\n");
    markdown::push_html(&mut page, markdown::events(text));
    page.push_str("</body>\n</html>\n");
    page
}
