//! Notes on a query: parts that were not used, and substitutions.
//!
//! A note has a kind for programs, the part of the query it is about, and a message for people. No
//! query is rejected. Problems are reported in notes, next to the results.

use serde::{Deserialize, Serialize};

/// A note on a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The kind of the note.
    pub kind: NoteKind,
    /// The part of the query that the note is about, as written; empty for the whole query.
    pub part: String,
    /// The message for people.
    pub text: String,
}

/// Kinds of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoteKind {
    /// The query has no usable word or filter, so there are no results.
    NothingToSearch,
    /// A quotation mark is not closed. Everything after it is one phrase.
    QuoteNotClosed,
    /// `name:` is not a field of the query language. It was searched as words.
    UnknownField,
    /// A field has no value and was left out.
    FieldWithoutValue,
    /// The value of `site:` or `suffix:` is not a host name. The filter was left out.
    NotAHost,
    /// The value of `at:`, `year:`, `from:` or `to:` is not a date. The filter was left out.
    NotADate,
    /// The value of `like:` is not one from an answer. The filter was left out.
    NotALikeness,
    /// A `*` that does not end a single word was left out.
    StarIgnored,
    /// The beginning of a word before `*` is too short. It was searched as a word.
    BeginningTooShort,
    /// `AND` or `OR` without a part on both sides, or `NOT` without a part after it, was left out.
    OperatorAlone,
    /// `OR` cannot join a negated part with one that is not. Both must match.
    OrWithNot,
    /// `AND` and `OR` are mixed. `AND` binds tighter.
    AndBeforeOr,
    /// `www.` in the value of `site:` or `suffix:` was left out: hosts with and without it are the
    /// same.
    WwwLeftOut,
    /// Parentheses do not group.
    Parentheses,
    /// A part has no letters or digits and was left out.
    NoWords,
    /// The query is too long. The rest was left out.
    QueryCut,
    /// The query has too many words. Some were left out.
    WordsLeftOut,
    /// The query has too many parts. Some were left out.
    PartsLeftOut,
    /// No page has enough of the words to match. These pages have fewer.
    FewOfTheWords,
    /// Past versions were left out, because the end of one could reveal hidden captures.
    PastVersionsLeftOut,
}

impl NoteKind {
    /// All kinds, for the API description.
    pub const ALL: [NoteKind; 20] = [
        NoteKind::NothingToSearch,
        NoteKind::QuoteNotClosed,
        NoteKind::UnknownField,
        NoteKind::FieldWithoutValue,
        NoteKind::NotAHost,
        NoteKind::NotADate,
        NoteKind::NotALikeness,
        NoteKind::StarIgnored,
        NoteKind::BeginningTooShort,
        NoteKind::OperatorAlone,
        NoteKind::OrWithNot,
        NoteKind::AndBeforeOr,
        NoteKind::WwwLeftOut,
        NoteKind::Parentheses,
        NoteKind::NoWords,
        NoteKind::QueryCut,
        NoteKind::WordsLeftOut,
        NoteKind::PartsLeftOut,
        NoteKind::FewOfTheWords,
        NoteKind::PastVersionsLeftOut,
    ];
}

/// Fields of other search engines, with the nearest field of this language.
const MEANT: [(&str, &str); 18] = [
    ("domain", "site"),
    ("host", "site"),
    ("hostname", "site"),
    ("tld", "suffix"),
    ("publicsuffix", "suffix"),
    ("intitle", "title"),
    ("allintitle", "title"),
    ("inurl", "url"),
    ("allinurl", "url"),
    ("link", "url"),
    ("mime", "type"),
    ("format", "type"),
    ("ext", "type"),
    ("date", "year"),
    ("after", "from"),
    ("since", "from"),
    ("before", "to"),
    ("until", "to"),
];

/// Returns the field nearest to one of another search engine.
pub(crate) fn meant(name: &str) -> Option<&'static str> {
    MEANT
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, field)| *field)
}

impl Note {
    /// Creates a note of a kind about a part of the query.
    pub fn new(kind: NoteKind, part: impl Into<String>) -> Note {
        let part = part.into();
        Note {
            text: words(kind, &part),
            kind,
            part,
        }
    }
}

fn words(kind: NoteKind, part: &str) -> String {
    match kind {
        NoteKind::NothingToSearch => "nothing in this query can be searched".to_owned(),
        NoteKind::QuoteNotClosed => format!("a quote is not closed: \"{part}\" was read as one phrase"),
        NoteKind::UnknownField => match meant(part) {
            Some(field) => format!("{part}: is not a field and was searched as a word; try {field}:"),
            None => format!("{part}: is not a field and was searched as a word"),
        },
        NoteKind::FieldWithoutValue => format!("{part}: has no value and was left out"),
        NoteKind::NotAHost => format!("{part} is not a host name and was left out"),
        NoteKind::NotADate => {
            format!("{part} is not a date (1 to 14 digits or YYYY-MM-DD) and was left out")
        }
        NoteKind::NotALikeness => {
            format!("like:{part} is not what a result gives (16 hexadecimal digits) and was left out")
        }
        NoteKind::StarIgnored => {
            format!("the star in {part} was ignored: it works at the end of a single word")
        }
        NoteKind::BeginningTooShort => format!("{part} is too short for a prefix and was searched as a word"),
        NoteKind::OperatorAlone => format!("{part} joins nothing here and was left out"),
        NoteKind::OrWithNot => {
            format!("OR does not join with {part}, which must not occur; both conditions hold")
        }
        NoteKind::AndBeforeOr => format!("AND binds tighter than OR; this was read as {part}"),
        NoteKind::WwwLeftOut => {
            format!(
                "a leading www. is ignored, because URLs with and without it are the same: {part} was \
                 searched"
            )
        }
        NoteKind::Parentheses => "parentheses do not group: OR joins only its neighbours".to_owned(),
        NoteKind::NoWords => format!("{part} has no letters or digits and was left out"),
        NoteKind::QueryCut => format!("only the first {part} bytes of the query were read"),
        NoteKind::WordsLeftOut => format!("the query has too many words: {part} were left out"),
        NoteKind::PartsLeftOut => format!("the query has too many parts: {part} were left out"),
        NoteKind::FewOfTheWords => {
            "no page has most of these words; these pages have some of them".to_owned()
        }
        NoteKind::PastVersionsLeftOut => {
            "past versions of pages are not searched here, because some captures may be hidden".to_owned()
        }
    }
}
