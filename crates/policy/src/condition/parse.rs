//! Parses conditions. `and` binds tighter than `or`, and `not` tighter than `and`.

use catalogue::{Format, Kind};
use pattern::Pattern;

use super::token::{Token, TokenKind, tokens};
use super::{AgeField, Comparison, ConditionError, ConditionNames, Node, NumberField, TextField, Unit};

/// Maximum nesting depth of conditions: more than people write, and far less than a stack holds.
const DEPTH_MAX: usize = 100;

const FIELDS: &str = "name, path, type, format, size, disk_size, links, depth, owner, group, last_modified, last_changed, \
                      last_accessed, created, last_verified, last_copied, replicas, damaged or class";

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
            TokenKind::Word("damaged") => Node::Damaged,
            TokenKind::Word(field) => self.comparison(field, &token)?,
            _ => return Err(token.wrong(&format!("expected a field: {FIELDS}"))),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn comparison(&mut self, field: &str, at: &Token<'_>) -> Result<Node, ConditionError> {
        let number = match field {
            "size" => Some((NumberField::Size, Unit::Bytes)),
            "disk_size" => Some((NumberField::DiskSize, Unit::Bytes)),
            "links" => Some((NumberField::Links, Unit::Count)),
            "depth" => Some((NumberField::Depth, Unit::Count)),
            "replicas" => Some((NumberField::Replicas, Unit::Count)),
            _ => None,
        };
        if let Some((number, unit)) = number {
            let comparison = self.operator()?;
            return Ok(Node::Number(number, comparison, self.quantity(unit)?));
        }
        let age = match field {
            "last_modified" => Some(AgeField::Modified),
            "last_changed" => Some(AgeField::Changed),
            "last_accessed" => Some(AgeField::Accessed),
            "created" => Some(AgeField::Created),
            "last_verified" => Some(AgeField::Verified),
            "last_copied" => Some(AgeField::Copied),
            _ => None,
        };
        if let Some(age) = age {
            let comparison = self.operator()?;
            return Ok(Node::Age(age, comparison, self.quantity(Unit::Time)?));
        }
        if !matches!(
            field,
            "name" | "path" | "type" | "format" | "owner" | "group" | "class"
        ) {
            return Err(at.wrong(&format!("unknown field; expected {FIELDS}")));
        }
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
        let node = self.text(field, text, value.offset)?;
        Ok(if is_equal { node } else { Node::Not(Box::new(node)) })
    }

    fn text(&self, field: &str, text: &str, offset: usize) -> Result<Node, ConditionError> {
        let wrong = |message| ConditionError { offset, message };
        let numbered = |find: &dyn Fn(&str) -> Option<u32>, what: &str| {
            find(text)
                .or_else(|| text.parse().ok())
                .ok_or_else(|| wrong(format!("there is no {what} {text:?} here: give the number")))
        };
        let pattern =
            || Pattern::new(text).map_err(|error| wrong(format!("invalid pattern {text:?}: {error}")));
        Ok(match field {
            "name" => Node::Text(TextField::Name, pattern()?),
            "path" => Node::Text(TextField::Path, pattern()?),
            "owner" => Node::Owner(numbered(self.known.user, "user")?),
            "group" => Node::Group(numbered(self.known.group, "group")?),
            "type" => {
                let kind = Kind::ALL.iter().find(|kind| kind.name() == text);
                Node::Kind(*kind.ok_or_else(|| {
                    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                    wrong(format!(
                        "unknown type {text:?}; expected one of {}",
                        names.join(", ")
                    ))
                })?)
            }
            "format" => Node::Format(Format::named(text).ok_or_else(|| {
                let names: Vec<&str> = Format::names().collect();
                wrong(format!(
                    "unknown format {text:?}; expected one of {}",
                    names.join(", ")
                ))
            })?),
            _ => Node::Class((self.known.class)(text).ok_or_else(|| {
                wrong(format!(
                    "no class {text:?} is defined before this point: define it as [class.{text}]"
                ))
            })?),
        })
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
