//! Splits a condition into tokens.

use super::ConditionError;

/// A token, and its byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) offset: usize,
    pub(super) what: TokenKind<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// Letters: a field, a unit, `and`, `or`, `not`.
    Word(&'a str),
    /// Digits, with an optional decimal point.
    Number(&'a str),
    /// Text between quotation marks.
    Text(&'a str),
    /// `(`, `)` or a comparison.
    Mark(&'a str),
    End,
}

impl TokenKind<'_> {
    pub(super) fn describe(&self) -> String {
        match self {
            TokenKind::Word(text) | TokenKind::Number(text) | TokenKind::Mark(text) => format!("`{text}`"),
            TokenKind::Text(text) => format!("{text:?}"),
            TokenKind::End => "the end".to_owned(),
        }
    }
}

const MARKS: [&str; 9] = ["==", "!=", "<=", ">=", "<", ">", "(", ")", "%"];

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ConditionError> {
    let mut tokens = Vec::new();
    let mut offset = 0;
    while let Some(first) = text[offset..].chars().next() {
        let rest = &text[offset..];
        let while_is = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let (what, length) = if first.is_whitespace() {
            offset += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() {
            let length = while_is(|c| c.is_ascii_digit() || c == '.' || c == '_');
            (TokenKind::Number(&rest[..length]), length)
        } else if first.is_alphabetic() || first == '_' {
            let length = while_is(|c| c.is_alphanumeric() || c == '_');
            (TokenKind::Word(&rest[..length]), length)
        } else if first == '"' || first == '\'' {
            let Some(length) = rest[1..].find(first) else {
                return Err(ConditionError {
                    offset,
                    message: "this quotation mark is not closed".to_owned(),
                });
            };
            (TokenKind::Text(&rest[1..=length]), length + 2)
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            (TokenKind::Mark(mark), mark.len())
        } else {
            let hint = if first == '=' { ": equality is `==`" } else { "" };
            return Err(ConditionError {
                offset,
                message: format!("unexpected `{first}`{hint}"),
            });
        };
        tokens.push(Token { offset, what });
        offset += length;
    }
    tokens.push(Token {
        offset,
        what: TokenKind::End,
    });
    Ok(tokens)
}
