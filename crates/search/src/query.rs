//! Reading a query. Any text is one: what cannot be used is left out, and said.
//!
//! Grammar, loosely: clauses stand side by side and must all hold; `a OR b` are alternatives; `-clause`
//! or `NOT clause` must not hold; a clause is a word, a `"phrase"` or a filter `name:value`. What looks
//! like one word but is several (`e-mail`, `iana.org`, a run of Chinese) is a phrase.

use std::fmt;

use crate::dates;
use crate::words::{self, Words};

/// Bytes of a query that are read.
const QUERY_BYTES_MAX: usize = 8192;

/// Words that are searched; keeps any sum of scores within what `rank` can add exactly.
pub(crate) const WORDS_MAX: usize = 64;

/// Filters and phrases together with the words; a bound on the work of odd queries.
const CLAUSES_MAX: usize = 128;

/// A query as understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// All must hold; all different.
    pub(crate) clauses: Vec<Clause>,
    /// What was left out, in words.
    pub(crate) notes: Vec<String>,
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
    /// A collection.
    Collection(String),
}

/// Words at relative positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// Offset and word, in the form of the index; at least one.
    pub(crate) words: Vec<(usize, String)>,
    /// As written, white space collapsed.
    pub(crate) shown: String,
    /// Whether it was quoted, or is several words.
    pub(crate) quoted: bool,
}

impl Parsed {
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

/// Reads a query.
pub(crate) fn parse(text: &str) -> Parsed {
    let mut parser = Parser::default();
    let text = parser.cut(text);
    for piece in pieces(&text) {
        parser.take(&piece);
    }
    parser.finish()
}

/// A stretch of the query: a word with its prefixes, or a quoted text with its.
#[derive(Debug, Default)]
struct Piece {
    negated: bool,
    /// Name before a colon, lower case.
    name: Option<String>,
    text: String,
    quoted: bool,
}

/// Cuts a query at white space, but not inside quotes. A quote that is not closed ends with the query.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
        if rest.is_empty() {
            return pieces;
        }
        let mut piece = Piece::default();
        rest = read_sign(rest, &mut piece);
        rest = read_name(rest, &mut piece);
        rest = read_text(rest, &mut piece);
        pieces.push(piece);
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '＂')
}

fn read_sign<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    let stripped = rest.trim_start_matches(['-', '−', '–', '+', '!']);
    let signs = &rest[..rest.len() - stripped.len()];
    let followed = stripped.chars().next().is_some_and(|c| !c.is_whitespace());
    piece.negated = signs == "-" && followed;
    if signs.is_empty() || followed {
        stripped
    } else {
        rest
    }
}

fn read_name<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    let Some((name, value)) = rest.split_once(':') else {
        return rest;
    };
    let name = name.to_ascii_lowercase();
    if FILTERS.contains(&name.as_str()) {
        piece.name = Some(name);
        return value;
    }
    rest
}

fn read_text<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    if let Some(open) = rest.chars().next().filter(|&c| is_quote(c)) {
        piece.quoted = true;
        let inside = &rest[open.len_utf8()..];
        let end = inside.find(is_quote).unwrap_or(inside.len());
        piece.text = inside[..end].to_owned();
        let close = inside[end..].chars().next().map_or(0, char::len_utf8);
        return &inside[end + close..];
    }
    let end = rest.find(|c: char| c.is_whitespace() || c.is_control() || is_quote(c));
    let end = end.unwrap_or(rest.len());
    piece.text = rest[..end].to_owned();
    &rest[end..]
}

const FILTERS: [&str; 9] = [
    "site",
    "type",
    "lang",
    "language",
    "year",
    "from",
    "to",
    "collection",
    "filetype",
];

#[derive(Default)]
struct Parser {
    parsed: Parsed,
    /// The next clause joins the one before as an alternative.
    or: bool,
    /// The next clause is negated.
    not: bool,
    words: usize,
    words_dropped: usize,
    clauses_dropped: usize,
}

impl Parser {
    fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.parsed.notes.len() < 10 && !self.parsed.notes.contains(&text) {
            self.parsed.notes.push(text);
        }
    }

    fn cut(&mut self, text: &str) -> String {
        let mut end = text.len().min(QUERY_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end < text.len() {
            self.note(format!("only the first {end} bytes of the query were read"));
        }
        text[..end].to_owned()
    }

    fn take(&mut self, piece: &Piece) {
        if !piece.quoted && piece.name.is_none() && !piece.negated {
            match piece.text.as_str() {
                "OR" | "|" | "||" => return self.or = true,
                "AND" | "&" | "&&" => return,
                "NOT" => return self.not = true,
                _ => {}
            }
        }
        let leaf = match &piece.name {
            Some(name) => self.filter(name, piece.text.trim()),
            None => self.words(piece),
        };
        if let Some(leaf) = leaf {
            self.push(leaf, piece.negated);
        }
    }

    fn push(&mut self, leaf: Leaf, negated: bool) {
        let negated = negated || std::mem::take(&mut self.not);
        let or = std::mem::take(&mut self.or);
        let count: usize = self.parsed.clauses.iter().map(|clause| clause.any.len()).sum();
        if count >= CLAUSES_MAX {
            self.clauses_dropped += 1;
            return;
        }
        match self.parsed.clauses.last_mut() {
            Some(last) if or && last.negated == negated => {
                if !last.any.contains(&leaf) {
                    last.any.push(leaf);
                }
            }
            _ => self.parsed.clauses.push(Clause {
                negated,
                any: vec![leaf],
                times: 1,
            }),
        }
    }

    /// Makes clauses that are alike one.
    fn fold_repeats(&mut self) {
        let mut different: Vec<Clause> = Vec::with_capacity(self.parsed.clauses.len());
        for clause in std::mem::take(&mut self.parsed.clauses) {
            let alike = |other: &&mut Clause| other.any == clause.any && other.negated == clause.negated;
            match different.iter_mut().find(alike) {
                Some(same) => same.times += 1,
                None => different.push(clause),
            }
        }
        self.parsed.clauses = different;
    }

    fn words(&mut self, piece: &Piece) -> Option<Leaf> {
        let text = without_scheme(&piece.text);
        let mut words = phrase_words(text);
        let room = WORDS_MAX - self.words;
        if words.len() > room {
            self.words_dropped += words.len() - room;
            words.truncate(room);
        }
        self.words += words.len();
        if words.is_empty() {
            return None;
        }
        let shown = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        Some(Leaf::Words(Phrase {
            quoted: piece.quoted,
            words,
            shown,
        }))
    }

    fn filter(&mut self, name: &str, value: &str) -> Option<Leaf> {
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        if value.is_empty() {
            self.note(format!("{name}: has no value and was left out"));
            return None;
        }
        match name {
            "site" => self.site(&value),
            "type" | "filetype" => Some(Leaf::Type(value.to_lowercase())),
            "lang" | "language" => Some(Leaf::Language(value.to_lowercase())),
            "year" => self.date("year", &value),
            "from" => self.date("from", &value),
            "to" => self.date("to", &value),
            _ => Some(Leaf::Collection(value)),
        }
    }

    fn site(&mut self, value: &str) -> Option<Leaf> {
        let host = host_of(value);
        if host.is_none() {
            self.note(format!("site:{value} is no host name and was left out"));
        }
        host.map(Leaf::Site)
    }

    fn date(&mut self, name: &'static str, value: &str) -> Option<Leaf> {
        let (first, last) = match value.split_once("..") {
            Some((first, last)) => (dates::range_of(first), dates::range_of(last)),
            None => (dates::range_of(value), dates::range_of(value)),
        };
        let (Some((first, _)), Some((_, last))) = (first, last) else {
            self.note(format!(
                "{name}:{value} is no date (1 to 14 digits or YYYY-MM-DD) and was left out"
            ));
            return None;
        };
        Some(Leaf::Date {
            name,
            value: value.to_owned(),
            first: if name == "to" { 0 } else { first },
            last: if name == "from" { u64::MAX } else { last },
        })
    }

    fn finish(mut self) -> Parsed {
        self.fold_repeats();
        if self.words_dropped > 0 {
            let dropped = self.words_dropped;
            self.note(format!(
                "only the first {WORDS_MAX} words were searched, {dropped} were left out"
            ));
        }
        if self.clauses_dropped > 0 {
            let dropped = self.clauses_dropped;
            self.note(format!(
                "{dropped} parts of the query beyond {CLAUSES_MAX} were left out"
            ));
        }
        self.parsed
    }
}

/// The words of a phrase with their offsets. Of a run of pairs the last, which is one character alone,
/// is left out: the pair before holds it.
fn phrase_words(text: &str) -> Vec<(usize, String)> {
    let mut reader = Words::new(text);
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut word = String::new();
    let mut end_before = 0;
    let mut offset = 0;
    while let Some(range) = reader.next_into(&mut word) {
        let inside_run = range.start < end_before;
        if !(inside_run && words::is_half_pair(&word)) {
            found.push((offset, word.clone()));
        }
        end_before = range.end;
        offset += 1;
    }
    found
}

fn without_scheme(text: &str) -> &str {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    match () {
        () if lower.starts_with("http://") => &text[7..],
        () if lower.starts_with("https://") => &text[8..],
        () => text,
    }
}

/// The host in what somebody wrote after `site:`.
fn host_of(value: &str) -> Option<String> {
    let value = without_scheme(value);
    let value = value.strip_prefix("*.").unwrap_or(value);
    let value = value.split(['/', '?', '#']).next().unwrap_or(value);
    let value = value.trim_matches('.');
    if value.parse::<std::net::Ipv6Addr>().is_ok() {
        return Some(value.to_lowercase());
    }
    let host = match value.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':') => host,
        _ => value,
    };
    let host = url::Host::parse(host).ok()?;
    Some(host.to_string().trim_matches(['[', ']', '.']).to_owned())
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

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaf::Words(phrase) if phrase.quoted => write!(f, "\"{}\"", phrase.shown),
            Leaf::Words(phrase) => f.write_str(&phrase.shown),
            Leaf::Site(host) => write!(f, "site:{host}"),
            Leaf::Type(value) => write_value(f, "type", value),
            Leaf::Language(value) => write_value(f, "lang", value),
            Leaf::Date { name, value, .. } => write_value(f, name, value),
            Leaf::Collection(value) => write_value(f, "collection", value),
        }
    }
}

fn write_value(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    if value.contains(|c: char| c.is_whitespace() || is_quote(c)) {
        return write!(f, "{name}:\"{}\"", value.replace(is_quote, " "));
    }
    write!(f, "{name}:{value}")
}

/// `query` narrowed by a filter, as text.
pub(crate) fn narrowed(query: &str, name: &str, value: &str) -> String {
    let clause = if value.contains(char::is_whitespace) {
        format!("{name}:\"{value}\"")
    } else {
        format!("{name}:{value}")
    };
    if query.is_empty() {
        return clause;
    }
    format!("{query} {clause}")
}

#[cfg(test)]
mod tests;
