//! A parsed query and its canonical text, which parses to the same query.

use std::fmt;

use access::KeyRanges;

use super::pieces::{quotable, reads_as_value};
use crate::dates;
use crate::query::note::Note;
use crate::words::likeness;
use crate::words::{self, Word};

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParsedQuery {
    /// No two are equal.
    pub(crate) clauses: Vec<Clause>,
    /// Notes on parts that were left out or changed.
    pub(crate) notes: Vec<Note>,
}

/// Alternatives. At least one must match or, if negated, none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) negated: bool,
    /// At least one; no two are equal.
    pub(crate) any: Vec<Leaf>,
    /// How often it was written. A word written twice counts twice.
    pub(crate) times: u32,
    /// Whether pages must have its word, which is written with `+` or joined by `AND`. Clauses that
    /// are not a plain word are demanded in any case ([`Clause::wanted`]).
    pub(crate) demanded: bool,
}

/// The smallest part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Adjacent words; usually one.
    Words(Phrase),
    /// A host or domain and everything below it.
    Site(String),
    /// URLs of one host that begin with a path or have a port: as written, and the ranges of their
    /// keys.
    Address { written: String, keys: KeyRanges },
    /// A public suffix, without the domains below longer suffixes.
    Suffix(String),
    /// A MIME type, part of one, or (with a slash) a prefix of one.
    Type(String),
    /// A language. `en` also matches `en-GB`.
    Language(String),
    /// First and last 14-digit date, and the date as written.
    Date {
        name: &'static str,
        value: String,
        first: u64,
        last: u64,
    },
    /// The versions current at a time: its last 14-digit date, and the time as written.
    At { value: String, last: u64 },
    /// A collection.
    Collection(String),
    /// Near-duplicates of the text with this likeness.
    Like(u64),
}

/// The part of the page to search words in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Title, URL, text or anchors.
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
    /// As written, with white space collapsed.
    pub(crate) source_text: String,
    /// Whether it was quoted, or has several words.
    pub(crate) quoted: bool,
    /// Whether its only word is a prefix of words.
    pub(crate) beginning: bool,
}

/// Which versions are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Versions {
    /// The current ones. The default.
    Current,
    /// Past versions as well, if a query names a time.
    All,
}

impl Phrase {
    /// Returns whether it is neither quoted nor the beginning of a word, and is searched in all
    /// parts of a page.
    fn is_plain(&self) -> bool {
        let is_half_pair = matches!(self.words.as_slice(), [(_, word)] if words::is_half_pair(&word.folded));
        self.part == Part::Any && !self.quoted && !self.beginning && !is_half_pair
    }

    /// Returns whether other words with the same stem also match. They do for a single word without
    /// quotation marks.
    pub(crate) fn takes_stems(&self) -> bool {
        self.single().is_some_and(|word| !words::is_pair(&word.folded))
    }

    /// Returns the word if it is a single, complete word without quotation marks.
    pub(crate) fn single(&self) -> Option<&Word> {
        match self.words.as_slice() {
            [(_, word)] if !self.quoted && !self.beginning && !words::is_half_pair(&word.folded) => {
                Some(word)
            }
            _ => None,
        }
    }
}

impl Clause {
    /// Returns its word if pages should have it, but need not: a word without an operator, in any
    /// part of the page. All other clauses must match.
    pub(crate) fn wanted(&self) -> Option<&Phrase> {
        self.plain_word().filter(|_| !self.demanded)
    }

    /// Returns its word or phrase if it is the only alternative and not negated.
    pub(crate) fn demanded_words(&self) -> Option<&Phrase> {
        match self.any.as_slice() {
            [Leaf::Words(phrase)] if !self.negated => Some(phrase),
            _ => None,
        }
    }

    /// Returns whether pages must have one of several words or phrases.
    pub(crate) fn has_alternative_words(&self) -> bool {
        let is_words = |leaf: &Leaf| matches!(leaf, Leaf::Words(_));
        !self.negated && self.any.len() > 1 && self.any.iter().any(is_words)
    }

    /// Returns whether its times leave out a year.
    fn leaves_out(&self, year: u64) -> bool {
        if self.negated {
            return self.any.iter().any(|leaf| leaf.covers_all_of(year));
        }
        self.any.iter().all(|leaf| leaf.is_outside(year))
    }

    /// Returns its word if pages must have it only because of `+` or `AND`.
    pub(super) fn plain_word(&self) -> Option<&Phrase> {
        self.demanded_words().filter(|phrase| phrase.is_plain())
    }
}

impl ParsedQuery {
    /// Returns the words that pages should have, each with how often it counts.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (&Phrase, u32)> {
        let clauses = self.clauses.iter();
        clauses.filter_map(|clause| Some((clause.wanted()?, clause.times)))
    }

    /// Returns the versions to search: past ones too if the query names a time.
    pub(crate) fn versions(&self) -> Versions {
        let is_of_a_time = |leaf: &Leaf| match leaf {
            Leaf::At { .. } => true,
            Leaf::Date { name, .. } => *name != "year",
            _ => false,
        };
        if self
            .clauses
            .iter()
            .flat_map(|clause| &clause.any)
            .any(is_of_a_time)
        {
            Versions::All
        } else {
            Versions::Current
        }
    }

    /// Returns whether the times that the query names leave out a year. Versions whose last capture
    /// is in such a year can match nevertheless, if they began before it.
    pub(crate) fn leaves_out(&self, year: u64) -> bool {
        self.clauses.iter().any(|clause| clause.leaves_out(year))
    }

    /// Returns the words that matches are ranked and highlighted by: those of all clauses that are
    /// not negated, each with how often it counts.
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
    /// Returns whether it names a time that has nothing of a year.
    fn is_outside(&self, year: u64) -> bool {
        match self {
            Leaf::Date { first, last, .. } => year < dates::year_of(*first) || year > dates::year_of(*last),
            Leaf::At { last, .. } => year != dates::year_of(*last),
            _ => false,
        }
    }

    /// Returns whether it names a period that has the whole of a year.
    fn covers_all_of(&self, year: u64) -> bool {
        let (Leaf::Date { first, last, .. }, Some((january, december))) =
            (self, dates::range_of(&format!("{year:04}")))
        else {
            return false;
        };
        *first <= january && *last >= december
    }

    /// Returns the MIME terms for a value of `type:`, or the prefix of them.
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

impl Clause {
    fn sign(&self) -> &'static str {
        match (self.negated, self.demanded) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        }
    }
}

impl fmt::Display for ParsedQuery {
    /// Writes the query as parsed, in the query language. The result parses to the same query.
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
                write!(f, "{}{leaf}", clause.sign())?;
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
            phrase if phrase.quoted => write!(f, "\"{}\"", phrase.source_text),
            phrase if phrase.beginning => write!(f, "{}*", phrase.source_text),
            phrase => f.write_str(&phrase.source_text),
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

/// Formats a filter for a query, quoted if needed.
pub(super) fn filter_text(name: &str, value: &str) -> String {
    let text = format!("{name}:{value}");
    if reads_as_value(&text, value) {
        text
    } else {
        format!("{name}:\"{}\"", quotable(value))
    }
}
