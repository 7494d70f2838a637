//! Builds the clauses of a query from its pieces.

use super::parsed::{Clause, Leaf, ParsedQuery, Part, Phrase};
use super::pieces::{Piece, is_operator, is_or, quotable, reads_as_word};
use crate::dates;
use crate::query::note::{Note, NoteKind};
use crate::words::likeness;
use crate::words::{self, Word, Words};

/// Maximum length of a query in bytes; the rest is ignored.
const QUERY_BYTES_MAX: usize = 8192;

/// Maximum number of words searched. It keeps sums of scores within the range in which `rank` adds
/// exactly.
pub(crate) const WORDS_MAX: usize = 64;

/// Maximum number of words, phrases and filters together. It limits the work for unusual queries.
pub(super) const CLAUSES_MAX: usize = 128;

/// Minimum number of characters before a `*`. A shorter prefix matches a large part of all words.
const BEGINNING_CHARS_MIN: usize = 3;

/// Maximum number of notes on parts of a query. Notes on the whole query are not counted.
const NOTES_MAX: usize = 10;

/// How a clause is joined to the one before. `AND` binds tighter than `OR`, and `OR` tighter than
/// adjacency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Join {
    #[default]
    Beside,
    And,
    Or,
}

/// A leaf with its signs.
struct SignedLeaf {
    leaf: Leaf,
    negated: bool,
    /// Whether it is written with `+` or joined by `AND`.
    demanded: bool,
}

/// Builds a query from its pieces, one by one.
#[derive(Default)]
pub(super) struct Parser {
    parsed: ParsedQuery,
    /// The operator before the next clause, as written.
    operator: Option<String>,
    /// How the next clause is joined to the one before.
    join: Join,
    /// Whether the next clause is negated.
    not: bool,
    /// The alternatives joined by operators so far. All leaves of an alternative must match.
    group: Vec<Vec<SignedLeaf>>,
    /// Whether the last clause ends a group in parentheses.
    closed: bool,
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

    /// Adds a note on the whole query. It is added even if there are many notes on parts.
    fn note_on_whole(&mut self, kind: NoteKind, part: String) {
        self.parsed.notes.push(Note::new(kind, part));
    }

    /// Returns the part of a query that is parsed.
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
            self.note(NoteKind::QuoteNotClosed, white_space_collapsed(&piece.text));
        }
        if let Some(name) = &piece.unknown_name {
            self.note(NoteKind::UnknownField, name);
        }
        match self.leaf(piece) {
            Some(leaf) => self.push(leaf, piece),
            // Without a clause to join, the operator is left out.
            None => self.drop_operator(),
        }
        self.closed = piece.closes;
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
            (self.join, self.not) = (Join::Beside, false);
        }
    }

    /// Records an operator. It is used only if a clause follows; `AND` and `OR` also need one
    /// before.
    fn operator(&mut self, text: &str) {
        if text == "NOT" {
            self.not = true;
        } else {
            self.drop_operator();
            if self.parsed.clauses.is_empty() && self.group.is_empty() {
                return self.note(NoteKind::OperatorAlone, text);
            }
            self.join = if is_or(text) { Join::Or } else { Join::And };
        }
        self.operator = Some(text.to_owned());
    }

    fn push(&mut self, leaf: Leaf, piece: &Piece) {
        self.operator = None;
        let negated = piece.negated || std::mem::take(&mut self.not);
        let join = std::mem::take(&mut self.join);
        let is_and = join == Join::And;
        if let (true, Some(before)) = (is_and, self.group.last_mut().and_then(|all| all.last_mut())) {
            before.demanded = true;
        }
        let join = match join {
            // `a AND (b OR c)` and `(a OR b) AND c` have their usual meaning without grouping.
            Join::And if piece.opens || self.closed => Join::Beside,
            join => join,
        };
        let demanded = piece.plus || is_and;
        let leaf = SignedLeaf {
            leaf,
            negated,
            demanded,
        };
        let in_group: usize = self.group.iter().map(Vec::len).sum();
        if self.leaves() + in_group >= CLAUSES_MAX {
            self.clauses_dropped += 1;
            return;
        }
        match (join, self.group.last_mut()) {
            (Join::And, Some(last)) => last.push(leaf),
            (Join::Or, Some(_)) => self.group.push(vec![leaf]),
            _ => {
                self.end_group();
                self.group.push(vec![leaf]);
            }
        }
    }

    /// Returns the number of leaves of all clauses.
    fn leaves(&self) -> usize {
        self.parsed.clauses.iter().map(|clause| clause.any.len()).sum()
    }

    /// Converts the alternatives to clauses. All clauses must match and each has alternatives, so
    /// `(a AND b) OR c` becomes `a OR c` and `b OR c`.
    fn end_group(&mut self) {
        let group = std::mem::take(&mut self.group);
        let has_both = group.len() > 1 && group.iter().any(|all| all.len() > 1);
        if !has_both {
            // Only `AND`, or only `OR`.
            let beside = group.len() <= 1;
            for (number, leaf) in group.into_iter().flatten().enumerate() {
                self.add(leaf, number > 0 && !beside);
            }
            return;
        }
        self.note(NoteKind::AndBeforeOr, shown_group(&group));
        let (mut alternatives, mut unlike) = (Vec::new(), Vec::new());
        for all in group {
            let (negated, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|leaf| leaf.negated);
            unlike.extend(negated);
            alternatives.push(others.into_iter().map(|other| other.leaf).collect::<Vec<Leaf>>());
        }
        for leaf in unlike {
            self.note(NoteKind::OrWithNot, leaf.leaf.to_string());
            self.add(leaf, false);
        }
        alternatives.retain(|all| !all.is_empty());
        while !self.has_room(&alternatives) {
            let dropped = alternatives.pop();
            self.clauses_dropped += dropped.map_or(0, |all| all.len());
        }
        let written: usize = alternatives.iter().flatten().map(words_of).sum();
        let clauses = one_of_each(&alternatives);
        let needed: usize = clauses.iter().flatten().map(words_of).sum();
        self.words += needed.saturating_sub(written);
        for any in clauses {
            self.push_clause(any, false, true);
        }
    }

    fn push_clause(&mut self, any: Vec<Leaf>, negated: bool, demanded: bool) {
        let mut clause = Clause {
            negated,
            any,
            times: 1,
            demanded,
        };
        // The sign would change nothing elsewhere.
        clause.demanded &= clause.plain_word().is_some();
        self.parsed.clauses.push(clause);
    }

    /// Returns whether the clauses of the alternatives are within the limits.
    fn has_room(&self, alternatives: &[Vec<Leaf>]) -> bool {
        let clauses = alternatives
            .iter()
            .try_fold(1_usize, |count, all| count.checked_mul(all.len()))
            .unwrap_or(usize::MAX);
        let leaves = clauses.saturating_mul(alternatives.len());
        // Each leaf of an alternative occurs in as many clauses as the other alternatives have
        // combinations.
        let words: usize = alternatives
            .iter()
            .map(|all| (clauses / all.len().max(1)).saturating_mul(all.iter().map(words_of).sum()))
            .fold(0, usize::saturating_add);
        let written: usize = alternatives.iter().flatten().map(words_of).sum();
        let more = words.saturating_sub(written);
        alternatives.is_empty()
            || leaves.saturating_add(self.leaves()) <= CLAUSES_MAX
                && self.words.saturating_add(more) <= WORDS_MAX
    }

    /// Adds a leaf as a new clause, or as an alternative of the last clause.
    fn add(&mut self, leaf: SignedLeaf, or: bool) {
        let SignedLeaf {
            leaf,
            negated,
            demanded,
        } = leaf;
        match self.parsed.clauses.last_mut() {
            Some(last) if or && last.negated == negated => {
                last.demanded = false;
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
        self.push_clause(vec![leaf], negated, demanded);
    }

    /// Merges equal clauses into one that counts several times.
    fn fold_repeats(&mut self) {
        let mut different: Vec<Clause> = Vec::with_capacity(self.parsed.clauses.len());
        for clause in std::mem::take(&mut self.parsed.clauses) {
            let alike = |other: &&mut Clause| other.any == clause.any && other.negated == clause.negated;
            match different.iter_mut().find(alike) {
                Some(same) => {
                    same.times += 1;
                    same.demanded |= clause.demanded;
                }
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
                self.note(NoteKind::NoWords, white_space_collapsed(text));
            }
            return None;
        }
        self.words += words.len();
        let mut phrase = Phrase {
            part,
            quoted: piece.quoted,
            beginning: false,
            source_text: white_space_collapsed(text),
            words,
        };
        // Searched as words, it must not be parsed again as a field or an operator.
        phrase.quoted |= !reads_as_word(&phrase.source_text);
        if starred {
            self.star(&mut phrase, text);
        }
        if phrase.quoted {
            phrase.source_text = white_space_collapsed(&quotable(&phrase.source_text));
        }
        Some(Leaf::Words(phrase))
    }

    /// Makes a phrase with a star match prefixes of words. Without its star, a text may parse as
    /// something else (`*site:x`), so it is then quoted.
    fn star(&mut self, phrase: &mut Phrase, text: &str) {
        let start = text.trim_end_matches('*');
        phrase.source_text = white_space_collapsed(&start.replace('*', " "));
        let at_end = start.len() < text.len() && !start.contains('*');
        if at_end && phrase.words.iter().all(|(_, word)| words::is_pair(&word.folded)) {
            // Any part of a run of pairs matches, including its beginning.
            return;
        }
        let chars = phrase
            .words
            .first()
            .map_or(0, |(_, word)| word.folded.chars().count());
        if !at_end || phrase.words.len() > 1 {
            phrase.quoted = true;
            self.note(NoteKind::StarIgnored, white_space_collapsed(text));
        } else if chars < BEGINNING_CHARS_MIN {
            phrase.quoted = true;
            self.note(NoteKind::BeginningTooShort, white_space_collapsed(text));
        } else {
            phrase.beginning = true;
        }
    }

    fn filter(&mut self, name: &str, value: &str) -> Option<Leaf> {
        match name {
            "site" => self.site(value),
            "suffix" => self.suffix(value),
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

    /// Parses a host, which matches everything below it. With a port or a path, only URLs of that
    /// host match.
    fn site(&mut self, value: &str) -> Option<Leaf> {
        let Some(site) = Site::read(value) else {
            self.note(NoteKind::NotAHost, value);
            return None;
        };
        if site.has_www {
            self.note(NoteKind::WwwLeftOut, format!("site:{}", site.written()));
        }
        if site.port.is_empty() && site.path.is_empty() {
            return Some(Leaf::Site(site.host));
        }
        match site.keys() {
            Some(keys) => Some(Leaf::Address {
                written: site.written(),
                keys,
            }),
            None => {
                self.note(NoteKind::NotAHost, value);
                None
            }
        }
    }

    fn suffix(&mut self, value: &str) -> Option<Leaf> {
        let site = Site::read(value).filter(|site| site.port.is_empty() && site.path.is_empty());
        let Some(site) = site else {
            self.note(NoteKind::NotAHost, value);
            return None;
        };
        if site.has_www {
            self.note(NoteKind::WwwLeftOut, format!("suffix:{}", site.host));
        }
        Some(Leaf::Suffix(site.host))
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
            // `to:2010` has no start, and `from:2010` no end.
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

    pub(super) fn finish(mut self, pieces: &[Piece]) -> ParsedQuery {
        self.drop_operator();
        self.end_group();
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

/// Returns whether a character is an emoji, an arrow or another sign that a user may search for,
/// and not only punctuation.
fn is_picture(c: char) -> bool {
    !c.is_alphanumeric() && c >= '\u{2190}' && !matches!(c, '\u{3000}'..='\u{303F}' | '\u{FE00}'..='\u{FFEF}')
}

/// Collapses white space and removes control characters.
fn white_space_collapsed(text: &str) -> String {
    let parts = text.split(|c: char| c.is_whitespace() || c.is_control());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Returns the words of a phrase with their offsets. The last word of a run of pairs is a single
/// character and is left out, because the pair before contains it.
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

/// Removes the characters that `white_space_collapsed` drops from the start of the text, and all
/// URL schemes after them. All schemes are removed, so that parsing the result again changes
/// nothing.
fn without_schemes(text: &str, quoted: bool) -> &str {
    let left_out = |c: char| c.is_whitespace() || c.is_control();
    let mut rest = text.trim_start_matches(left_out);
    loop {
        // `white_space_collapsed` keeps stars only between quotation marks.
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

/// Formats alternatives as they were parsed: `(a AND b) OR c`.
fn shown_group(group: &[Vec<SignedLeaf>]) -> String {
    let leaf = |signed: &SignedLeaf| format!("{}{}", if signed.negated { "-" } else { "" }, signed.leaf);
    let all = |all: &Vec<SignedLeaf>| {
        let leaves: Vec<String> = all.iter().map(leaf).collect();
        match leaves.as_slice() {
            [one] => one.clone(),
            leaves => format!("({})", leaves.join(" AND ")),
        }
    };
    let all: Vec<String> = group.iter().map(all).collect();
    all.join(" OR ")
}

/// Returns all combinations of one leaf from each alternative.
fn one_of_each(alternatives: &[Vec<Leaf>]) -> Vec<Vec<Leaf>> {
    let mut clauses: Vec<Vec<Leaf>> = if alternatives.is_empty() {
        Vec::new()
    } else {
        vec![Vec::new()]
    };
    for all in alternatives {
        let with = |clause: &Vec<Leaf>, leaf: &Leaf| {
            let mut clause = clause.clone();
            if !clause.contains(leaf) {
                clause.push(leaf.clone());
            }
            clause
        };
        clauses = clauses
            .iter()
            .flat_map(|clause| all.iter().map(move |leaf| with(clause, leaf)))
            .collect();
    }
    clauses
}

fn words_of(leaf: &Leaf) -> usize {
    match leaf {
        Leaf::Words(phrase) => phrase.words.len(),
        _ => 0,
    }
}

/// A value of `site:`.
struct Site {
    /// The host as in URL keys.
    host: String,
    /// Whether it was written with `www.`.
    has_www: bool,
    /// The digits of the port; empty for none or the default port of a scheme.
    port: String,
    /// From the slash or question mark on; empty for the whole host.
    path: String,
}

impl Site {
    fn read(value: &str) -> Option<Site> {
        let value = without_scheme(value);
        let value = value.strip_prefix("*.").unwrap_or(value);
        let end = value.find(['/', '?', '#']).unwrap_or(value.len());
        let (value, rest) = value.split_at(end);
        let path = rest.split('#').next().unwrap_or_default();
        let path = match path {
            "/" | "/*" | "?" => "",
            path => path,
        };
        let value = value.trim_matches('.');
        let (name, port) = match value.rsplit_once(':') {
            _ if value.parse::<std::net::Ipv6Addr>().is_ok() => (value, ""),
            Some((name, port))
                if port.bytes().all(|byte| byte.is_ascii_digit())
                    && (!name.contains(':') || name.ends_with(']')) =>
            {
                (name, port)
            }
            _ => (value, ""),
        };
        let host = match name.parse::<std::net::Ipv6Addr>() {
            Ok(_) => name.to_lowercase(),
            Err(_) => url::Host::parse(name.trim_end_matches('.')).ok()?.to_string(),
        };
        let host = host.trim_matches(['[', ']', '.']);
        // URLs allow more characters, such as parentheses, which are punctuation in a query.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if host.is_empty() || !host.bytes().all(plain) {
            return None;
        }
        // The index has hosts in the form of URL keys.
        let without = urlkey::host_without_www(host);
        Some(Site {
            host: without.to_owned(),
            has_www: without != host,
            port: match port {
                "80" | "443" => String::new(),
                port => port.to_owned(),
            },
            path: path.to_owned(),
        })
    }

    /// Returns host and port as in URLs.
    fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match self.port.as_str() {
            "" => host,
            port => format!("{host}:{port}"),
        }
    }

    fn written(&self) -> String {
        if self.port.is_empty() && self.path.is_empty() {
            self.host.clone()
        } else {
            format!("{}{}", self.authority(), self.path)
        }
    }

    /// Returns the keys of the port and path: complete path segments or, with a trailing star, all
    /// keys with the prefix.
    fn keys(&self) -> Option<access::KeyRanges> {
        let address = format!("http://{}{}", self.authority(), self.path);
        let is_open = address.ends_with('*');
        let address = address.trim_end_matches(['*', '/', '?', '&']);
        let key = urlkey::url_key(address).ok()?;
        let key = key.trim_end_matches('/');
        let begins = |end: &str| urlkey::prefix_range(&format!("{key}{end}"));
        let alone = urlkey::KeyRange {
            start: key.to_owned(),
            end: format!("{key}\0"),
        };
        let ranges = match (self.path.is_empty() || is_open, key.contains('?')) {
            (true, _) => vec![begins("")],
            (false, true) => vec![alone, begins("&")],
            (false, false) => vec![alone, begins("/"), begins("?")],
        };
        Some(access::KeyRanges::any_of(ranges))
    }
}
