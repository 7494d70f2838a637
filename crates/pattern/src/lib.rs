//! Patterns of names: `*`, `?`, `[a-z]`, `{a,b}` and `\`, with the meaning they have in the shell.
//! Inputs, `files find` and policies use these patterns.
//!
//! Invariants:
//! - A pattern and a name are compared by characters. If either is not valid UTF-8, they are
//!   compared by bytes.
//! - Every text is a valid pattern: a bracket or brace that is not closed is literal.
//! - Matching takes time at most proportional to the product of both lengths.
//!
//! Patterns do not know about folders: `*` and `?` match a slash, too. A caller that walks through
//! folders uses one pattern for each name.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod braces;
mod class;
mod elements;
mod set;
mod unit;

use elements::Elements;

pub use braces::TooManyAlternatives;

/// A pattern.
///
/// ```
/// use pattern::Pattern;
///
/// let pattern = Pattern::new("*.{warc,warc.gz}")?;
/// assert!(pattern.matches("crawl-01.warc.gz"));
/// assert!(!pattern.matches("crawl-01.warc.gz.part"));
/// // As in the shell, `*` does not match hidden files.
/// assert!(!pattern.matches_file(".hidden.warc"));
/// # Ok::<(), pattern::TooManyAlternatives>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pattern {
    /// One for each expansion of the braces.
    alternatives: Vec<Alternative>,
    ignores_case: bool,
}

/// A pattern without braces.
#[derive(Debug, Clone)]
struct Alternative {
    /// For comparison by characters; `None` if it is not valid UTF-8.
    characters: Option<Elements>,
    bytes: Elements,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If its braces expand to more alternatives than [`TooManyAlternatives::MAX`].
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, TooManyAlternatives> {
        Self::read(text.as_ref(), false)
    }

    /// Parses a pattern that ignores case.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn without_case(text: impl AsRef<[u8]>) -> Result<Self, TooManyAlternatives> {
        Self::read(text.as_ref(), true)
    }

    fn read(text: &[u8], ignores_case: bool) -> Result<Self, TooManyAlternatives> {
        let alternatives = braces::alternatives(text)?.into_iter();
        let alternatives = alternatives.map(|text| Alternative {
            characters: std::str::from_utf8(&text).ok().map(Elements::of_characters),
            bytes: Elements::of_bytes(&text),
        });
        Ok(Self {
            alternatives: alternatives.collect(),
            ignores_case,
        })
    }

    /// Returns whether the pattern matches the whole name.
    pub fn matches(&self, name: impl AsRef<[u8]>) -> bool {
        self.any(name.as_ref(), |_| true)
    }

    /// Like [`Pattern::matches`], but a name that begins with a dot matches only a pattern that
    /// begins with one. The shell matches the files of a folder in this way.
    pub fn matches_file(&self, name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        self.any(name, |elements| {
            !name.starts_with(b".") || elements.begins_with_dot()
        })
    }

    fn any(&self, name: &[u8], counts: impl Fn(&Elements) -> bool) -> bool {
        let text = std::str::from_utf8(name).ok();
        self.alternatives
            .iter()
            .any(|alternative| match (&alternative.characters, text) {
                (Some(elements), Some(text)) => {
                    counts(elements) && elements.match_characters(text, self.ignores_case)
                }
                _ => counts(&alternative.bytes) && alternative.bytes.match_bytes(name, self.ignores_case),
            })
    }
}

/// Returns whether a text contains `*`, `?` or `[`. Braces do not count as wildcards.
pub fn has_wildcard(text: impl AsRef<[u8]>) -> bool {
    text.as_ref().iter().any(|byte| b"*?[".contains(byte))
}
