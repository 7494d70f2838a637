//! Cutting a query into pieces: words with what stands before them, and quoted texts.

use crate::note;

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

/// A stretch of the query: a word with its prefixes, or a quoted text with its.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) negated: bool,
    /// Name of a field before a colon, lower case.
    pub(super) name: Option<String>,
    /// A name before a colon that is no field, lower case; it is part of the text.
    pub(super) unknown_name: Option<String>,
    pub(super) text: String,
    pub(super) quoted: bool,
    /// Quoted, and the quote does not end before the query does.
    pub(super) unclosed: bool,
    /// A parenthesis was taken off.
    pub(super) in_parentheses: bool,
}

/// Cuts a query at white space, but not inside quotes. A quote that is not closed ends with the query.
/// Parentheses around pieces are taken off.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    loop {
        let inside = rest.trim_start_matches(|c: char| is_gap(c) || matches!(c, '(' | ')'));
        let skipped = &rest[..rest.len() - inside.len()];
        if inside.is_empty() {
            return pieces;
        }
        let mut piece = Piece {
            in_parentheses: skipped.contains('('),
            ..Piece::default()
        };
        rest = read_signs(inside, &mut piece);
        rest = read_name(rest, &mut piece);
        rest = read_text(rest, &mut piece);
        pieces.push(piece);
    }
}

/// Whether `text`, as a query, is one word and nothing else: no field, sign or operator, nothing taken off.
pub(super) fn reads_as_word(text: &str) -> bool {
    match pieces(text).as_slice() {
        [piece] => {
            let plain = !piece.negated && piece.name.is_none() && piece.unknown_name.is_none();
            plain && piece.text == text && !is_operator(piece)
        }
        _ => false,
    }
}

/// Whether `text`, as a query, is one field with this value.
pub(super) fn reads_as_value(text: &str, value: &str) -> bool {
    matches!(pieces(text).as_slice(), [piece] if piece.name.is_some() && !piece.quoted && piece.text == value)
}

pub(super) fn is_operator(piece: &Piece) -> bool {
    let plain = !piece.quoted && piece.name.is_none() && !piece.negated;
    plain && (is_or(&piece.text) || matches!(piece.text.as_str(), "AND" | "&" | "&&" | "NOT"))
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

/// Reads signs, and the parentheses behind signs that mean nothing: of `+(a OR b)` the group is read as any other.
fn read_signs<'t>(rest: &'t str, piece: &mut Piece) -> &'t str {
    let mut rest = read_sign(rest, piece);
    while !piece.negated && rest.starts_with('(') {
        piece.in_parentheses = true;
        rest = read_sign(rest.trim_start_matches('('), piece);
    }
    rest
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
    if FIELDS.contains(&name.as_str()) {
        piece.name = Some(name);
        return value;
    }
    if looks_like_field(&name, value) {
        piece.unknown_name = Some(name);
    }
    rest
}

/// Whether somebody may have meant `name` as a field: not in `http://`, `std::io`, `localhost:80`, `note: x`.
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
        let end = inside.find(is_quote);
        piece.unclosed = end.is_none();
        let end = end.unwrap_or(inside.len());
        piece.text = inside[..end].to_owned();
        let close = inside[end..].chars().next().map_or(0, char::len_utf8);
        return &inside[end + close..];
    }
    let end = rest.find(|c: char| is_gap(c) || is_quote(c));
    let end = end.unwrap_or(rest.len());
    let text = without_closing(&rest[..end]);
    piece.in_parentheses |= text.len() < end;
    piece.text = text.to_owned();
    &rest[end..]
}

/// Without the parentheses at the end that are not opened in the text: not of `Foo_(bar)`.
fn without_closing(text: &str) -> &str {
    let count = |text: &str, c: char| text.matches(c).count();
    let mut text = text;
    while text.ends_with(')') && count(text, ')') > count(text, '(') {
        text = &text[..text.len() - 1];
    }
    text
}
