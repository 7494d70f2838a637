//! Parses conditions. `and` binds tighter than `or`, and `not` tighter than `and`.

use catalogue::{Format, Kind};
use pattern::Pattern;

use super::token::{Token, What, tokens};
use super::{Age, Known, Node, Number, Order, Text, Unit, Wrong};

/// Maximum nesting depth of conditions: more than people write, and far less than a stack holds.
const DEPTH_MAX: usize = 100;

const FIELDS: &str = "name, path, type, format, size, disk_size, links, depth, owner, group, last_modified, last_changed, \
                      last_accessed, created, last_verified, last_copied, replicas, damaged or class";

pub(super) fn condition(text: &str, known: &Known<'_>) -> Result<Node, Wrong> {
    let mut parser = Parser {
        tokens: tokens(text)?.into_iter(),
        known,
        depth: 0,
    };
    let node = parser.any()?;
    match parser.next() {
        Token { what: What::End, .. } => Ok(node),
        token => Err(token.wrong("expected `and`, `or` or the end")),
    }
}

impl Token<'_> {
    fn wrong(&self, expected: &str) -> Wrong {
        Wrong {
            offset: self.offset,
            message: format!("{}: {expected}", self.what.shown()),
        }
    }
}

struct Parser<'a, 'k> {
    tokens: std::vec::IntoIter<Token<'a>>,
    known: &'k Known<'k>,
    depth: usize,
}

impl<'a> Parser<'a, '_> {
    fn next(&mut self) -> Token<'a> {
        let end = Token {
            offset: 0,
            what: What::End,
        };
        self.tokens.next().unwrap_or(end)
    }

    fn is_next(&self, what: &What<'_>) -> bool {
        self.tokens
            .as_slice()
            .first()
            .is_some_and(|token| token.what == *what)
    }

    fn any(&mut self) -> Result<Node, Wrong> {
        let mut nodes = vec![self.all()?];
        while self.is_next(&What::Word("or")) {
            self.next();
            nodes.push(self.all()?);
        }
        Ok(Node::Any(nodes))
    }

    fn all(&mut self) -> Result<Node, Wrong> {
        let mut nodes = vec![self.one()?];
        while self.is_next(&What::Word("and")) {
            self.next();
            nodes.push(self.one()?);
        }
        Ok(Node::All(nodes))
    }

    fn one(&mut self) -> Result<Node, Wrong> {
        let token = self.next();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(token.wrong("the condition is nested too deeply"));
        }
        let node = match token.what {
            What::Word("not") => Node::Not(Box::new(self.one()?)),
            What::Mark("(") => {
                let node = self.any()?;
                let token = self.next();
                if token.what != What::Mark(")") {
                    return Err(token.wrong("expected `and`, `or` or `)`"));
                }
                node
            }
            What::Word("damaged") => Node::Damaged,
            What::Word(field) => self.comparison(field, &token)?,
            _ => return Err(token.wrong(&format!("expected a field: {FIELDS}"))),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn comparison(&mut self, field: &str, at: &Token<'_>) -> Result<Node, Wrong> {
        let number = match field {
            "size" => Some((Number::Size, Unit::Bytes)),
            "disk_size" => Some((Number::DiskSize, Unit::Bytes)),
            "links" => Some((Number::Links, Unit::Count)),
            "depth" => Some((Number::Depth, Unit::Count)),
            "replicas" => Some((Number::Replicas, Unit::Count)),
            _ => None,
        };
        if let Some((number, unit)) = number {
            let order = self.order()?;
            return Ok(Node::Number(number, order, self.quantity(unit)?));
        }
        let age = match field {
            "last_modified" => Some(Age::Modified),
            "last_changed" => Some(Age::Changed),
            "last_accessed" => Some(Age::Accessed),
            "created" => Some(Age::Created),
            "last_verified" => Some(Age::Verified),
            "last_copied" => Some(Age::Copied),
            _ => None,
        };
        if let Some(age) = age {
            let order = self.order()?;
            return Ok(Node::Age(age, order, self.quantity(Unit::Time)?));
        }
        if !matches!(
            field,
            "name" | "path" | "type" | "format" | "owner" | "group" | "class"
        ) {
            return Err(at.wrong(&format!("unknown field; expected {FIELDS}")));
        }
        let mark = self.next();
        let is_equal = match mark.what {
            What::Mark("==") => true,
            What::Mark("!=") => false,
            _ => return Err(mark.wrong("expected `==` or `!=`")),
        };
        let value = self.next();
        let What::Text(text) = value.what else {
            return Err(value.wrong("expected text in quotation marks"));
        };
        let node = self.text(field, text).map_err(|message| Wrong {
            offset: value.offset,
            message,
        })?;
        Ok(if is_equal { node } else { Node::Not(Box::new(node)) })
    }

    fn text(&self, field: &str, text: &str) -> Result<Node, String> {
        let numbered = |find: &dyn Fn(&str) -> Option<u32>, what: &str| {
            find(text)
                .or_else(|| text.parse().ok())
                .ok_or_else(|| format!("there is no {what} {text:?} here: give the number"))
        };
        Ok(match field {
            "name" => Node::Text(Text::Name, name_pattern(text)?),
            "path" => Node::Text(Text::Path, name_pattern(text)?),
            "owner" => Node::Owner(numbered(self.known.user, "user")?),
            "group" => Node::Group(numbered(self.known.group, "group")?),
            "type" => {
                let kind = Kind::ALL.iter().find(|kind| kind.name() == text);
                Node::Kind(*kind.ok_or_else(|| {
                    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                    format!("unknown type {text:?}; expected one of {}", names.join(", "))
                })?)
            }
            "format" => Node::Format(Format::named(text).ok_or_else(|| {
                let names: Vec<&str> = Format::names().collect();
                format!("unknown format {text:?}; expected one of {}", names.join(", "))
            })?),
            _ => Node::Class((self.known.class)(text).ok_or_else(|| {
                format!("no class {text:?} is defined before this point: define it as [class.{text}]")
            })?),
        })
    }

    fn order(&mut self) -> Result<Order, Wrong> {
        let token = self.next();
        Ok(match token.what {
            What::Mark("==") => Order::Is,
            What::Mark("!=") => Order::IsNot,
            What::Mark("<") => Order::Less,
            What::Mark("<=") => Order::AtMost,
            What::Mark(">") => Order::More,
            What::Mark(">=") => Order::AtLeast,
            _ => return Err(token.wrong("expected a comparison: ==, !=, <, <=, > or >=")),
        })
    }

    fn quantity(&mut self, unit: Unit) -> Result<i64, Wrong> {
        let token = self.next();
        let What::Number(number) = token.what else {
            return Err(token.wrong("expected a number"));
        };
        let mut suffix = "";
        if let Some(Token {
            what: What::Word(word),
            ..
        }) = self.tokens.as_slice().first()
            && !matches!(*word, "and" | "or")
        {
            suffix = word;
            self.next();
        }
        unit.of(number, suffix).map_err(|message| Wrong {
            offset: token.offset,
            message,
        })
    }
}

fn name_pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| format!("invalid pattern {text:?}: {error}"))
}
