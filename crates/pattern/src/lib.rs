//! Patterns of names: `*`, `?`, `[a-z]`, `{a,b}` and `\`, as the shell reads them. Inputs, `files find` and policies
//! take patterns of this one kind.
//!
//! Invariants:
//!  - a pattern and a name are compared by characters; if one of the two is not valid UTF-8, both are by bytes;
//!  - every text is a pattern: a bracket or brace that is not closed stands for itself;
//!  - a match takes time in the product of both lengths at most.
//!
//! It knows no folders: `*` and `?` match a slash, too. Who walks through folders takes a pattern for each name.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod braces;
mod class;
mod elements;
mod set;

use elements::Elements;

pub use braces::TooManyAlternatives;

/// A pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// One for each way through the braces.
    alternatives: Vec<Alternative>,
    ignores_case: bool,
}

/// A pattern without braces.
#[derive(Debug, Clone)]
struct Alternative {
    /// By characters; `None` if it is not valid UTF-8.
    characters: Option<Elements>,
    bytes: Elements,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// If its braces make more alternatives than [`TooManyAlternatives::MAX`].
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, TooManyAlternatives> {
        Self::read(text.as_ref(), false)
    }

    /// Reads a pattern that matches without regard to case.
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

    /// Whether it matches the whole name.
    pub fn matches(&self, name: impl AsRef<[u8]>) -> bool {
        self.any(name.as_ref(), |_| true)
    }

    /// As [`Pattern::matches`], but a name that begins with a dot is matched only by a pattern that does: so the shell
    /// chooses among the files of a folder.
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

/// Whether a text has a wildcard outside of braces: `*`, `?` or `[`.
pub fn has_wildcard(text: impl AsRef<[u8]>) -> bool {
    text.as_ref().iter().any(|byte| b"*?[".contains(byte))
}
