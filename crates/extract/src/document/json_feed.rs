//! JSON Feed (version 1 and 1.1, <https://www.jsonfeed.org/>).

use serde::Deserialize;

use super::feed::Collected;
use crate::Page;

/// Prefix of every version of the format.
const VERSION: &str = "https://jsonfeed.org/version/";

/// Number of bytes that must contain the version: writers put it first.
const HEAD_BYTES: usize = 4096;

#[derive(Deserialize)]
struct Feed {
    version: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    content_text: Option<String>,
    #[serde(default)]
    content_html: Option<String>,
}

/// Returns whether a payload begins like a feed and not like other JSON.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    // A slash may be escaped.
    [&b"jsonfeed.org/version/"[..], br"jsonfeed.org\/version\/"]
        .iter()
        .any(|version| memchr::memmem::find(head, version).is_some())
}

/// Reads a feed; `None` if it is other JSON, or truncated.
pub(super) fn read(json: &str) -> Option<Page> {
    let feed: Feed = serde_json::from_str(json.trim_start_matches('\u{feff}')).ok()?;
    if !feed.version.starts_with(VERSION) && !feed.version.starts_with("http://jsonfeed.org/version/") {
        return None;
    }
    let mut found = Collected::default();
    found.title(feed.title.as_deref().unwrap_or_default());
    found.language(feed.language.as_deref().unwrap_or_default());
    found.add_plain(feed.description.as_deref().unwrap_or_default());
    for item in &feed.items {
        found.add_plain(item.title.as_deref().unwrap_or_default());
        found.add_plain(item.summary.as_deref().unwrap_or_default());
        match (&item.content_text, &item.content_html) {
            (Some(text), _) => found.add_plain(text),
            (None, Some(html)) => found.add_html(html),
            (None, None) => {}
        }
    }
    Some(found.finish())
}
