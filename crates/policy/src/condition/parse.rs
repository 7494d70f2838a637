//! Parses conditions. `and` binds tighter than `or`, and `not` tighter than `and`.

use super::fields::{Field, FieldKind};
use super::token::{Token, TokenKind, tokens};
use super::{Comparison, ConditionError, ConditionNames, Node, Unit};

/// Maximum nesting depth of conditions: more than people write, and far less than a stack holds.
const DEPTH_MAX: usize = 100;

pub(super) fn condition(text: &str, known: &ConditionNames<'_>) -> Result<Node, ConditionError> {
    let mut parser = Parser {
        tokens: tokens(text)?.into_iter(),
        known,
        depth: 0,
    };
    let node = parser.any()?;
    match parser.next() {
        Token {
            what: TokenKind::End, ..
        } => Ok(node),
        token => Err(token.wrong("expected `and`, `or` or the end")),
    }
}

impl Token<'_> {
    fn wrong(&self, expected: &str) -> ConditionError {
        ConditionError {
            offset: self.offset,
            message: format!("{}: {expected}", self.what.describe()),
        }
    }
}

struct Parser<'a, 'k> {
    tokens: std::vec::IntoIter<Token<'a>>,
    known: &'k ConditionNames<'k>,
    depth: usize,
}

impl<'a> Parser<'a, '_> {
    fn next(&mut self) -> Token<'a> {
        let end = Token {
            offset: 0,
            what: TokenKind::End,
        };
        self.tokens.next().unwrap_or(end)
    }

    fn is_next(&self, what: &TokenKind<'_>) -> bool {
        self.tokens
            .as_slice()
            .first()
            .is_some_and(|token| token.what == *what)
    }

    fn any(&mut self) -> Result<Node, ConditionError> {
        let mut nodes = vec![self.all()?];
        while self.is_next(&TokenKind::Word("or")) {
            self.next();
            nodes.push(self.all()?);
        }
        Ok(Node::Any(nodes))
    }

    fn all(&mut self) -> Result<Node, ConditionError> {
        let mut nodes = vec![self.one()?];
        while self.is_next(&TokenKind::Word("and")) {
            self.next();
            nodes.push(self.one()?);
        }
        Ok(Node::All(nodes))
    }

    fn one(&mut self) -> Result<Node, ConditionError> {
        let token = self.next();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(token.wrong("the condition is nested too deeply"));
        }
        let node = match token.what {
            TokenKind::Word("not") => Node::Not(Box::new(self.one()?)),
            TokenKind::Mark("(") => {
                let node = self.any()?;
                let token = self.next();
                if token.what != TokenKind::Mark(")") {
                    return Err(token.wrong("expected `and`, `or` or `)`"));
                }
                node
            }
            TokenKind::Word(field) => self.comparison(field, &token)?,
            _ => return Err(token.wrong(&format!("expected a field: {}", Field::expected()))),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn comparison(&mut self, name: &str, at: &Token<'_>) -> Result<Node, ConditionError> {
        let field = Field::named(name)
            .ok_or_else(|| at.wrong(&format!("unknown field; expected {}", Field::expected())))?;
        let test = match &field.kind {
            FieldKind::Number(number) => {
                let comparison = self.operator()?;
                return Ok(Node::Number(*number, comparison, self.quantity(number.unit)?));
            }
            FieldKind::Damaged => return Ok(Node::Damaged),
            FieldKind::Text(test) => test,
        };
        let mark = self.next();
        let is_equal = match mark.what {
            TokenKind::Mark("==") => true,
            TokenKind::Mark("!=") => false,
            _ => return Err(mark.wrong("expected `==` or `!=`")),
        };
        let value = self.next();
        let TokenKind::Text(text) = value.what else {
            return Err(value.wrong("expected text in quotation marks"));
        };
        let node = test(text, self.known).map_err(|error| ConditionError {
            offset: value.offset,
            message: error.to_string(),
        })?;
        Ok(if is_equal { node } else { Node::Not(Box::new(node)) })
    }

    fn operator(&mut self) -> Result<Comparison, ConditionError> {
        let token = self.next();
        Ok(match token.what {
            TokenKind::Mark("==") => Comparison::Is,
            TokenKind::Mark("!=") => Comparison::IsNot,
            TokenKind::Mark("<") => Comparison::Less,
            TokenKind::Mark("<=") => Comparison::AtMost,
            TokenKind::Mark(">") => Comparison::More,
            TokenKind::Mark(">=") => Comparison::AtLeast,
            _ => return Err(token.wrong("expected a comparison: ==, !=, <, <=, > or >=")),
        })
    }

    fn quantity(&mut self, unit: Unit) -> Result<i64, ConditionError> {
        let token = self.next();
        let TokenKind::Number(number) = token.what else {
            return Err(token.wrong("expected a number"));
        };
        let mut suffix = "";
        if let Some(Token {
            what: TokenKind::Word(word),
            ..
        }) = self.tokens.as_slice().first()
            && !matches!(*word, "and" | "or")
        {
            suffix = word;
            self.next();
        }
        unit.of(number, suffix).map_err(|error| ConditionError {
            offset: token.offset,
            message: error.to_string(),
        })
    }
}
