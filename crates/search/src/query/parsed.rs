//! A query as understood, and its text: read again, it means the same.

use std::fmt;

use rights::KeyRanges;

use super::pieces::{quotable, reads_as_value};
use crate::likeness;
use crate::note::Note;
use crate::visible::Versions;
use crate::words::{self, Word};

/// A query as understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// All must hold; all different.
    pub(crate) clauses: Vec<Clause>,
    /// What was left out, or is done instead.
    pub(crate) notes: Vec<Note>,
}

/// Alternatives, one of which must hold; or none of which may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) negated: bool,
    /// At least one, all different.
    pub(crate) any: Vec<Leaf>,
    /// How often it was written: a word written twice counts twice.
    pub(crate) times: u32,
}

/// The smallest part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Words next to each other; mostly one.
    Words(Phrase),
    /// A host or domain, with all below it.
    Site(String),
    /// Addresses of one host that begin so, or a port of it; as written, and their keys.
    Address { written: String, keys: KeyRanges },
    /// A public suffix, with nothing of the domains below it that are suffixes themselves.
    Suffix(String),
    /// A MIME type, part of one, or a beginning of one (with a slash).
    Type(String),
    /// A language; `en` holds for `en-GB` too.
    Language(String),
    /// First and last 14-digit date, and how it was written.
    Date {
        name: &'static str,
        value: String,
        first: u64,
        last: u64,
    },
    /// What was current at a time: the last 14-digit date of it, and how it was written.
    At { value: String, last: u64 },
    /// A collection.
    Collection(String),
    /// Near-duplicates of the text with this likeness.
    Like(u64),
}

/// Where words are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Title, URL or text.
    Any,
    Title,
    Url,
}

/// Words at relative positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    pub(crate) part: Part,
    /// Offset and word; at least one.
    pub(crate) words: Vec<(usize, Word)>,
    /// As written, white space collapsed.
    pub(crate) shown: String,
    /// Whether it was quoted, or is several words.
    pub(crate) quoted: bool,
    /// The only word is the beginning of words.
    pub(crate) beginning: bool,
}

impl Phrase {
    /// Whether other words of the same stem hold as well: for a word alone, unless quotation marks ask for it as it is.
    pub(crate) fn takes_stems(&self) -> bool {
        self.single().is_some_and(|word| !words::is_pair(&word.folded))
    }

    /// The word, where it stands alone, not in quotation marks, and whole.
    pub(crate) fn single(&self) -> Option<&Word> {
        match self.words.as_slice() {
            [(_, word)] if !self.quoted && !self.beginning && !words::is_half_pair(&word.folded) => {
                Some(word)
            }
            _ => None,
        }
    }
}

impl Parsed {
    /// Which versions are looked at: past ones where the query says of which time.
    pub(crate) fn versions(&self) -> Versions {
        let is_of_a_time = |leaf: &Leaf| match leaf {
            Leaf::At { .. } => true,
            Leaf::Date { name, .. } => *name != "year",
            _ => false,
        };
        match self
            .clauses
            .iter()
            .flat_map(|clause| &clause.any)
            .any(is_of_a_time)
        {
            true => Versions::All,
            false => Versions::Current,
        }
    }

    /// What matches are ranked and marked by: the words of all clauses that are not negated, and how
    /// often each counts.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = (&Phrase, u32)> {
        let wanted = self.clauses.iter().filter(|clause| !clause.negated);
        let leaves = wanted.flat_map(|clause| clause.any.iter().map(|leaf| (leaf, clause.times)));
        leaves.filter_map(|(leaf, times)| match leaf {
            Leaf::Words(phrase) => Some((phrase, times)),
            _ => None,
        })
    }
}

impl Leaf {
    /// The MIME terms of a `type:` value, or the beginning of them.
    pub(crate) fn type_terms(value: &str) -> Vec<&str> {
        match value {
            "html" | "htm" => vec!["html", "xhtml+xml"],
            "text" => vec!["text", "plain"],
            "txt" => vec!["text/plain"],
            "js" => vec!["javascript", "x-javascript"],
            "jpg" => vec!["jpeg"],
            "doc" | "word" => vec!["msword"],
            _ => vec![value],
        }
    }
}

impl fmt::Display for Parsed {
    /// The query as understood, in the same language: read again it means the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut repeated = Vec::with_capacity(self.clauses.len());
        for clause in &self.clauses {
            repeated.extend(std::iter::repeat_n(clause, clause.times as usize));
        }
        for (index, clause) in repeated.into_iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            for (index, leaf) in clause.any.iter().enumerate() {
                if index > 0 {
                    f.write_str(" OR ")?;
                }
                write!(f, "{}{leaf}", if clause.negated { "-" } else { "" })?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.part {
            Part::Any => "",
            Part::Title => "title:",
            Part::Url => "url:",
        })?;
        match self {
            phrase if phrase.quoted => write!(f, "\"{}\"", phrase.shown),
            phrase if phrase.beginning => write!(f, "{}*", phrase.shown),
            phrase => f.write_str(&phrase.shown),
        }
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaf::Words(phrase) => phrase.fmt(f),
            Leaf::Site(host) => write!(f, "site:{host}"),
            Leaf::Address { written, .. } => write_value(f, "site", written),
            Leaf::Suffix(suffix) => write!(f, "suffix:{suffix}"),
            Leaf::Type(value) => write_value(f, "type", value),
            Leaf::Language(value) => write_value(f, "lang", value),
            Leaf::Date { name, value, .. } => write_value(f, name, value),
            Leaf::At { value, .. } => write_value(f, "at", value),
            Leaf::Collection(value) => write_value(f, "collection", value),
            Leaf::Like(likeness) => write!(f, "like:{}", likeness::text(*likeness)),
        }
    }
}

fn write_value(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    f.write_str(&filter_text(name, value))
}

/// A filter as it is written.
pub(super) fn filter_text(name: &str, value: &str) -> String {
    let text = format!("{name}:{value}");
    match reads_as_value(&text, value) {
        true => text,
        false => format!("{name}:\"{}\"", quotable(value)),
    }
}
