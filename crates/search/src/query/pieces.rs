//! Splits a query into pieces: words with their prefixes, and quoted texts.

use crate::query::note;

/// Names before a colon.
const FIELDS: [&str; 14] = [
    "title",
    "url",
    "site",
    "suffix",
    "type",
    "lang",
    "language",
    "year",
    "from",
    "to",
    "at",
    "collection",
    "like",
    "filetype",
];

/// A piece of the query: a word or a quoted text, with its prefixes.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) negated: bool,
    /// Whether it is written with `+`.
    pub(super) plus: bool,
    /// Name of a field before the colon, in lower case.
    pub(super) name: Option<String>,
    /// A name before a colon that is not a field, in lower case. It stays part of the text.
    pub(super) unknown_name: Option<String>,
    pub(super) text: String,
    pub(super) quoted: bool,
    /// Whether a quoted text lacks its closing quotation mark.
    pub(super) unclosed: bool,
    /// Whether a parenthesis was removed.
    pub(super) in_parentheses: bool,
    /// Whether an opening parenthesis was removed before it.
    pub(super) opens: bool,
    /// Whether a closing parenthesis was removed after it.
    pub(super) closes: bool,
}

/// Splits a query at white space outside of quotation marks. A quotation mark that is not closed
/// extends to the end. Parentheses around pieces are removed.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = text;
    loop {
        let inside = rest.trim_start_matches(|c: char| is_gap(c) || matches!(c, '(' | ')'));
        let skipped = &rest[..rest.len() - inside.len()];
        if let Some(before) = pieces.last_mut() {
            before.closes |= skipped.contains(')');
        }
        if inside.is_empty() {
            return pieces;
        }
        let mut piece = Piece {
            in_parentheses: skipped.contains('('),
            opens: skipped.contains('('),
            ..Piece::default()
        };
        rest = read_signs(inside, &mut piece);
        rest = read_name(rest, &mut piece);
        rest = read_text(rest, &mut piece);
        pieces.push(piece);
    }
}

/// Returns whether `text` parses as exactly one word, without a field, sign or operator, and with
/// nothing removed.
pub(super) fn reads_as_word(text: &str) -> bool {
    match pieces(text).as_slice() {
        [piece] => {
            let plain = !piece.negated && !piece.plus && piece.name.is_none() && piece.unknown_name.is_none();
            plain && piece.text == text && !is_operator(piece)
        }
        _ => false,
    }
}

/// Returns whether `text` parses as one field with this value.
pub(super) fn reads_as_value(text: &str, value: &str) -> bool {
    matches!(pieces(text).as_slice(), [piece] if piece.name.is_some() && !piece.quoted && piece.text == value)
}

pub(super) fn is_operator(piece: &Piece) -> bool {
    let plain = !piece.quoted && piece.name.is_none() && !piece.negated;
    plain && (is_or(&piece.text) || is_and(&piece.text) || piece.text == "NOT")
}

pub(super) fn is_and(text: &str) -> bool {
    matches!(text, "AND" | "&" | "&&")
}

pub(super) fn is_or(text: &str) -> bool {
    matches!(text, "OR" | "|" | "||")
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '＂')
}

/// Reads signs, and the parentheses after signs without meaning: the group in `+(a OR b)` is read
/// like any other.
fn read_signs<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    let mut rest = read_sign(rest, piece);
    while !piece.negated && rest.starts_with('(') {
        piece.in_parentheses = true;
        piece.opens = true;
        rest = read_sign(rest.trim_start_matches('('), piece);
    }
    rest
}

fn read_sign<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    let stripped = rest.trim_start_matches(['-', '−', '–', '+', '!']);
    let signs = &rest[..rest.len() - stripped.len()];
    let followed = stripped.chars().next().is_some_and(|c| !c.is_whitespace());
    piece.negated = signs == "-" && followed;
    piece.plus |= signs == "+" && followed;
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
    if FIELDS.contains(&name.as_str()) {
        piece.name = Some(name);
        return value;
    }
    if looks_like_field(&name, value) {
        piece.unknown_name = Some(name);
    }
    rest
}

/// Returns whether `name` may be meant as a field. It is not in `http://`, `std::io`,
/// `localhost:80` and `note: x`.
fn looks_like_field(name: &str, value: &str) -> bool {
    let named = (2..=20).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let Some(first) = value.chars().next() else {
        return false;
    };
    let valued = first.is_alphabetic() || is_quote(first);
    named && (valued || first.is_ascii_digit() && note::meant(name).is_some())
}

fn read_text<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    if let Some(open) = rest.chars().next().filter(|&c| is_quote(c)) {
        piece.quoted = true;
        let inside = &rest[open.len_utf8()..];
        // A quotation mark inside a word (`"27" צה"ל"`) ends the phrase only if no other one does.
        let end = quotes(inside).find(|quote| !quote.is_inside_word());
        let end = end.or_else(|| quotes(inside).next()).map(|quote| quote.at);
        piece.unclosed = end.is_none();
        let end = end.unwrap_or(inside.len());
        piece.text = inside[..end].to_owned();
        let close = inside[end..].chars().next().map_or(0, char::len_utf8);
        return &inside[end + close..];
    }
    let gap = rest.find(is_gap).unwrap_or(rest.len());
    // A quotation mark after a letter or a digit is part of the word: `צה"ל`, `27"`, `5'11"`.
    let opens = quotes(&rest[..gap]).find(|quote| !quote.behind_word);
    let end = opens.map_or(gap, |quote| quote.at);
    let text = without_closing(&rest[..end]);
    piece.closes |= text.len() < end;
    piece.in_parentheses |= text.len() < end;
    piece.text = text.to_owned();
    &rest[end..]
}

/// A quotation mark in a text.
struct Quote {
    at: usize,
    /// Whether a letter or a digit directly precedes it.
    behind_word: bool,
    /// Whether one directly follows it.
    before_word: bool,
}

impl Quote {
    fn is_inside_word(&self) -> bool {
        self.behind_word && self.before_word
    }
}

/// Returns the quotation marks of a text.
fn quotes(text: &str) -> impl Iterator<Item = Quote> {
    text.char_indices()
        .filter(|(_, c)| is_quote(*c))
        .map(|(at, c)| Quote {
            at,
            behind_word: text[..at].chars().next_back().is_some_and(is_of_word),
            before_word: text[at + c.len_utf8()..].chars().next().is_some_and(is_of_word),
        })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// Makes a text valid between quotation marks: replaces those in it that are not inside a word by
/// blanks.
pub(super) fn quotable(text: &str) -> String {
    let outside: Vec<usize> = quotes(text)
        .filter(|quote| !quote.is_inside_word())
        .map(|quote| quote.at)
        .collect();
    let kept = |(at, c)| if outside.contains(&at) { ' ' } else { c };
    text.char_indices().map(kept).collect()
}

/// Removes trailing parentheses that are not opened in the text; `Foo_(bar)` keeps its own.
fn without_closing(text: &str) -> &str {
    let count = |text: &str, c: char| text.matches(c).count();
    let mut text = text;
    while text.ends_with(')') && count(text, ')') > count(text, '(') {
        text = &text[..text.len() - 1];
    }
    text
}
