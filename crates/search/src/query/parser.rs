//! From the pieces of a query to its clauses.

use super::parsed::{Clause, Leaf, Parsed, Part, Phrase};
use super::pieces::{Piece, is_operator, is_or, reads_as_word};
use crate::dates;
use crate::likeness;
use crate::note::{Note, NoteKind};
use crate::words::{self, Word, Words};

/// Bytes of a query that are read.
const QUERY_BYTES_MAX: usize = 8192;

/// Words that are searched; keeps any sum of scores within what `rank` can add exactly.
pub(crate) const WORDS_MAX: usize = 64;

/// Filters and phrases together with the words; a bound on the work of odd queries.
pub(super) const CLAUSES_MAX: usize = 128;

/// Characters before a `*`, at least: fewer would be found in a great part of all words.
const BEGINNING_CHARS_MIN: usize = 3;

/// Notes on parts of one query, at most; those on the whole come beside them.
const NOTES_MAX: usize = 10;

/// Reads pieces one by one.
#[derive(Default)]
pub(super) struct Parser {
    parsed: Parsed,
    /// The operator before the next clause, as written.
    operator: Option<String>,
    /// The next clause joins the one before as an alternative.
    or: bool,
    /// The next clause is negated.
    not: bool,
    words: usize,
    words_dropped: usize,
    clauses_dropped: usize,
}

impl Parser {
    fn note(&mut self, kind: NoteKind, part: impl Into<String>) {
        let note = Note::new(kind, part);
        if self.parsed.notes.len() < NOTES_MAX && !self.parsed.notes.contains(&note) {
            self.parsed.notes.push(note);
        }
    }

    /// What was left out of the whole is said however many parts have notes.
    fn note_on_whole(&mut self, kind: NoteKind, part: String) {
        self.parsed.notes.push(Note::new(kind, part));
    }

    /// The part of a query that is read.
    pub(super) fn cut(&mut self, text: &str) -> String {
        let mut end = text.len().min(QUERY_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end < text.len() {
            self.note(NoteKind::QueryCut, end.to_string());
        }
        text[..end].to_owned()
    }

    pub(super) fn take(&mut self, piece: &Piece) {
        if is_operator(piece) {
            return self.operator(&piece.text);
        }
        if piece.unclosed && !piece.text.trim().is_empty() {
            self.note(NoteKind::QuoteNotClosed, shown(&piece.text));
        }
        if let Some(name) = &piece.unknown_name {
            self.note(NoteKind::UnknownField, name);
        }
        match self.leaf(piece) {
            Some(leaf) => self.push(leaf, piece.negated),
            // What it would have joined is left out.
            None => self.drop_operator(),
        }
    }

    fn leaf(&mut self, piece: &Piece) -> Option<Leaf> {
        let Some(name) = piece.name.as_deref() else {
            return self.words(piece, Part::Any);
        };
        let value = piece.text.replace(char::is_control, "");
        let value = value.trim();
        if value.is_empty() {
            self.note(NoteKind::FieldWithoutValue, name);
            return None;
        }
        match name {
            "title" => self.words(piece, Part::Title),
            "url" => self.words(piece, Part::Url),
            _ => self.filter(name, value),
        }
    }

    fn drop_operator(&mut self) {
        if let Some(operator) = self.operator.take() {
            self.note(NoteKind::OperatorAlone, operator);
            (self.or, self.not) = (false, false);
        }
    }

    /// An operator counts when a clause follows; `AND` and `OR` also want one before.
    fn operator(&mut self, text: &str) {
        if text == "NOT" {
            self.not = true;
        } else {
            self.drop_operator();
            if self.parsed.clauses.is_empty() {
                return self.note(NoteKind::OperatorAlone, text);
            }
            self.or = is_or(text);
        }
        self.operator = Some(text.to_owned());
    }

    fn push(&mut self, leaf: Leaf, negated: bool) {
        self.operator = None;
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
                return;
            }
            Some(last) if or => {
                let unlike = if negated {
                    leaf.to_string()
                } else {
                    last.any[0].to_string()
                };
                self.note(NoteKind::OrWithNot, unlike);
            }
            _ => {}
        }
        self.parsed.clauses.push(Clause {
            negated,
            any: vec![leaf],
            times: 1,
        });
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

    fn words(&mut self, piece: &Piece, part: Part) -> Option<Leaf> {
        let text = without_schemes(&piece.text, piece.quoted);
        let starred = !piece.quoted && piece.text.contains('*');
        let mut words = phrase_words(text);
        // More words would overflow the exact sums of `rank`.
        let room = WORDS_MAX - self.words;
        if words.len() > room {
            self.words_dropped += words.len() - room;
            words.truncate(room);
        }
        if words.is_empty() {
            if text.contains(is_picture) {
                self.note(NoteKind::NoWords, shown(text));
            }
            return None;
        }
        self.words += words.len();
        let mut phrase = Phrase {
            part,
            quoted: piece.quoted,
            beginning: false,
            shown: shown(text),
            words,
        };
        // Searched as words, it must not be read as a field, or as something else, again.
        phrase.quoted |= !reads_as_word(&phrase.shown);
        if starred {
            self.star(&mut phrase, text);
        }
        Some(Leaf::Words(phrase))
    }

    /// Makes a phrase the beginning of words, where a star asks for that. Without its star a text may read
    /// as something else (`*site:x`), so it is quoted then.
    fn star(&mut self, phrase: &mut Phrase, text: &str) {
        let start = text.trim_end_matches('*');
        phrase.shown = shown(&start.replace('*', " "));
        let at_end = start.len() < text.len() && !start.contains('*');
        if at_end && phrase.words.iter().all(|(_, word)| words::is_pair(&word.folded)) {
            // Any part of a run is found, its beginning too.
            return;
        }
        let chars = phrase
            .words
            .first()
            .map_or(0, |(_, word)| word.folded.chars().count());
        if !at_end || phrase.words.len() > 1 {
            phrase.quoted = true;
            self.note(NoteKind::StarIgnored, shown(text));
        } else if chars < BEGINNING_CHARS_MIN {
            phrase.quoted = true;
            self.note(NoteKind::BeginningTooShort, shown(text));
        } else {
            phrase.beginning = true;
        }
    }

    fn filter(&mut self, name: &str, value: &str) -> Option<Leaf> {
        match name {
            "site" => self.site(value).map(Leaf::Site),
            "suffix" => self.site(value).map(Leaf::Suffix),
            "type" | "filetype" => Some(Leaf::Type(value.to_lowercase())),
            "lang" | "language" => Some(Leaf::Language(value.to_lowercase())),
            "year" => self.date("year", value),
            "from" => self.date("from", value),
            "to" => self.date("to", value),
            "at" => self.at(value),
            "like" => self.like(value),
            _ => Some(Leaf::Collection(value.to_owned())),
        }
    }

    fn site(&mut self, value: &str) -> Option<String> {
        let host = host_of(value);
        if host.is_none() {
            self.note(NoteKind::NotAHost, value);
        }
        host
    }

    fn like(&mut self, value: &str) -> Option<Leaf> {
        let likeness = likeness::read(value);
        if likeness.is_none() {
            self.note(NoteKind::NotALikeness, value);
        }
        likeness.map(Leaf::Like)
    }

    fn date(&mut self, name: &'static str, value: &str) -> Option<Leaf> {
        let (first, last) = match value.split_once("..") {
            Some((first, last)) => (dates::range_of(first), dates::range_of(last)),
            None => (dates::range_of(value), dates::range_of(value)),
        };
        let (Some((first, _)), Some((_, last))) = (first, last) else {
            self.note(NoteKind::NotADate, format!("{name}:{value}"));
            return None;
        };
        Some(Leaf::Date {
            name,
            value: value.to_owned(),
            // `to:2010` has no beginning, and `from:2010` no end.
            first: if name == "to" { 0 } else { first },
            last: if name == "from" { u64::MAX } else { last },
        })
    }

    fn at(&mut self, value: &str) -> Option<Leaf> {
        let Some((_, last)) = dates::range_of(value) else {
            self.note(NoteKind::NotADate, format!("at:{value}"));
            return None;
        };
        let value = value.to_owned();
        Some(Leaf::At { value, last })
    }

    pub(super) fn finish(mut self, pieces: &[Piece]) -> Parsed {
        self.drop_operator();
        // Without alternatives, grouping would change nothing.
        let or = pieces
            .iter()
            .any(|piece| is_operator(piece) && is_or(&piece.text));
        if or && pieces.iter().any(|piece| piece.in_parentheses) {
            self.note(NoteKind::Parentheses, "");
        }
        self.fold_repeats();
        if self.words_dropped > 0 {
            self.note_on_whole(NoteKind::WordsLeftOut, self.words_dropped.to_string());
        }
        if self.clauses_dropped > 0 {
            self.note_on_whole(NoteKind::PartsLeftOut, self.clauses_dropped.to_string());
        }
        if self.parsed.clauses.is_empty() {
            self.note_on_whole(NoteKind::NothingToSearch, String::new());
        }
        self.parsed
    }
}

/// Emoji, arrows and other signs that somebody may look for, other than what only stands between words.
fn is_picture(c: char) -> bool {
    !c.is_alphanumeric() && c >= '\u{2190}' && !matches!(c, '\u{3000}'..='\u{303F}' | '\u{FE00}'..='\u{FFEF}')
}

/// White space collapsed, controls left out.
fn shown(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// The words of a phrase with their offsets. Of a run of pairs the last, which is one character alone,
/// is left out: the pair before holds it.
fn phrase_words(text: &str) -> Vec<(usize, Word)> {
    let mut reader = Words::new(text);
    let mut found: Vec<(usize, Word)> = Vec::new();
    let mut end_before = 0;
    let mut offset = 0;
    while let Some((word, range)) = reader.next_word() {
        let inside_run = range.start < end_before;
        if !(inside_run && words::is_half_pair(&word.folded)) {
            found.push((offset, word));
        }
        end_before = range.end;
        offset += 1;
    }
    found
}

/// The text without what `shown` leaves out at its beginning, and without the schemes behind that. All of them
/// are taken off, so that a text that is read again stays as it is.
fn without_schemes(text: &str, quoted: bool) -> &str {
    let left_out = |c: char| c.is_whitespace() || c.is_control();
    let mut rest = text.trim_start_matches(left_out);
    loop {
        // `shown` keeps stars only between quotation marks.
        let bare = rest.trim_start_matches(|c| left_out(c) || c == '*' && !quoted);
        let next = without_scheme(bare);
        if next.len() == bare.len() {
            return rest;
        }
        rest = next.trim_start_matches(left_out);
    }
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
    let host = url::Host::parse(host).ok()?.to_string();
    let host = host.trim_matches(['[', ']', '.']);
    // URLs allow more, such as parentheses; in a query these are punctuation.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    // The index has the hosts of URL keys.
    let host = urlkey::host_without_www(host);
    (!host.is_empty() && host.bytes().all(plain)).then(|| host.to_owned())
}
