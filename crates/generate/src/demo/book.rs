//! The table of contents of an edition.

use super::bundle::Edition;

use crate::markdown;

/// A part of the book with its pages.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) title: String,
    /// Never empty.
    pub(super) pages: Vec<Page>,
}

/// A page of the book.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// Name of its source, such as `search.md`.
    pub(super) file: String,
    /// Its title in this edition.
    pub(super) title: String,
}

/// Returns the parts of an edition: those of `summary` (`SUMMARY.md` of the newest edition, because
/// the oldest had none) with the pages that the edition has.
pub(super) fn parts(summary: &str, edition: &Edition) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in summary.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            parts.push(Part {
                title: title.to_owned(),
                pages: Vec::new(),
            });
        } else if let (Some(part), Some(page)) = (parts.last_mut(), page(line, edition)) {
            part.pages.push(page);
        }
    }
    parts.retain(|part| !part.pages.is_empty());
    parts
}

/// Returns the page of a line `- [title](file)`.
fn page(line: &str, edition: &Edition) -> Option<Page> {
    let (title, file) = line.strip_prefix("- [")?.strip_suffix(')')?.split_once("](")?;
    let text = edition.files.get(file)?;
    Some(Page {
        file: file.to_owned(),
        title: markdown::title(text).unwrap_or_else(|| title.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn parts_have_only_pages_of_the_edition() {
        let edition = Edition {
            date_ms: 0,
            files: BTreeMap::from([
                ("a.md".into(), "# First".into()),
                ("x/b.md".into(), "no title".into()),
            ]),
        };
        let summary = "# One\n\n- [A](a.md)\n- [C](c.md)\n\n# Two\n- [C](c.md)\n\n# Three\n- [B](x/b.md)\n";
        let parts = parts(summary, &edition);
        let found: Vec<_> = parts
            .iter()
            .map(|part| {
                (
                    part.title.as_str(),
                    part.pages[0].title.as_str(),
                    part.pages.len(),
                )
            })
            .collect();
        assert_eq!(found, [("One", "First", 1), ("Three", "B", 1)]);
    }
}
