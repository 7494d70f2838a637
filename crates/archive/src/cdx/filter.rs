//! Filters and collapsing.
//!
//! | written | pywb | Internet Archive |
//! |---|---|---|
//! | `field:text` | contains the text | the whole value matches the expression |
//! | `=field:text` | is the text | not known there; read as pywb does |
//! | `~field:text` | an expression matches the beginning | as above |
//! | `!` before any | the opposite | the opposite |
//!
//! Without a field the whole line is meant. Expressions take time linear in what they are matched with, so a
//! stranger's cannot hold a server up; look-around and back-references are not there for that reason.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::Dialect;
use super::field::{Field, text_line};
use crate::question::CdxRow;

/// Bytes that a compiled expression may take.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;

/// Filters of one look-up: each costs time for every capture looked at.
const FILTERS_MAX: usize = 16;

/// What a value is tested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Test {
    Contains,
    Is,
    /// An expression matches the beginning.
    Begins,
    /// An expression matches the whole.
    Matches,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// `None`: the whole line.
    pub field: Option<Field>,
    /// What it is tested for.
    pub test: Test,
    /// Text or expression.
    pub text: String,
    /// Whether the opposite is wanted.
    pub negated: bool,
}

/// Adjacent captures of which all but the first are left out: those equal in these fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collapse {
    /// The field compared.
    pub field: Field,
    /// Only its first characters; all where absent.
    pub chars: Option<usize>,
}

/// Why a filter or a collapse cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum FilterError {
    #[error(
        "there is no field {0:?}; known: urlkey, timestamp, url (original), mime (mimetype), status (statuscode), digest, length, offset, filename, collection"
    )]
    Field(String),
    #[error("{0:?} is no number of characters")]
    Chars(String),
    #[error("{text:?} is no expression that is known here: {reason}")]
    Expression { text: String, reason: String },
    #[error("more than {FILTERS_MAX} filters")]
    TooMany,
}

impl Filter {
    /// Reads a filter as `dialect` writes it. On pywb's side the names that only the Internet Archive has
    /// (`mimetype`, `statuscode`, `original`) make an expression of it, so that its filters mean the same everywhere.
    ///
    /// # Errors
    /// [`FilterError`] for a field or an expression that is not known.
    pub fn read(text: &str, dialect: Dialect) -> Result<Filter, FilterError> {
        let (negated, rest) = strip(text, '!');
        let (is, rest) = strip(rest, '=');
        let (begins, rest) = if is { (false, rest) } else { strip(rest, '~') };
        let (name, text) = match rest.split_once(':') {
            Some((name, text)) => (Some(name), text),
            None => (None, rest),
        };
        let field = name.map(|name| field_of(name, dialect)).transpose()?;
        let wayback = dialect == Dialect::WaybackMachine || name.is_some_and(Field::is_wayback_name);
        let filter = Filter {
            field,
            test: match (is, begins, wayback) {
                (true, _, _) => Test::Is,
                (_, true, _) => Test::Begins,
                (_, _, true) => Test::Matches,
                _ => Test::Contains,
            },
            text: text.to_owned(),
            negated,
        };
        // An expression that is none is told where it was written, not by each question.
        Ready::new(&filter)?;
        Ok(filter)
    }
}

impl Collapse {
    /// Reads `field` or `field:CHARS`.
    ///
    /// # Errors
    /// [`FilterError`] for a field or a number that is not known.
    pub fn read(text: &str) -> Result<Collapse, FilterError> {
        let (name, chars) = match text.split_once(':') {
            Some((name, chars)) => (name, Some(chars)),
            None => (text, None),
        };
        let number = |chars: &str| match chars.parse() {
            Ok(chars @ 1..) => Ok(chars),
            _ => Err(FilterError::Chars(chars.to_owned())),
        };
        Ok(Collapse {
            field: field_of(name, Dialect::Pywb)?,
            chars: chars.map(number).transpose()?,
        })
    }

    fn value(self, row: &CdxRow) -> String {
        let text = self.field.text(row);
        match self.chars {
            Some(chars) => text.chars().take(chars).collect(),
            None => text.into_owned(),
        }
    }
}

fn strip(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

/// The Internet Archive also takes the number of a column.
fn field_of(name: &str, dialect: Dialect) -> Result<Field, FilterError> {
    let numbered = || {
        name.parse::<usize>()
            .ok()
            .and_then(|n| Field::PUBLIC.get(n).copied())
    };
    let by_number = if dialect == Dialect::WaybackMachine {
        numbered()
    } else {
        None
    };
    by_number
        .or_else(|| Field::named(name))
        .ok_or_else(|| FilterError::Field(name.chars().take(40).collect()))
}

/// A filter with its expression compiled.
struct Ready<'f> {
    filter: &'f Filter,
    expression: Option<Regex>,
}

impl<'f> Ready<'f> {
    fn new(filter: &'f Filter) -> Result<Ready<'f>, FilterError> {
        let expression = match filter.test {
            Test::Contains | Test::Is => None,
            Test::Begins => Some(expression(&filter.text, r"\A(?:", ")")?),
            Test::Matches => Some(expression(&filter.text, r"\A(?:", r")\z")?),
        };
        Ok(Ready { filter, expression })
    }

    fn fits(&self, row: &CdxRow) -> bool {
        let value = match self.filter.field {
            Some(field) => field.text(row).into_owned(),
            None => text_line(&Field::PUBLIC, row),
        };
        let met = match (self.filter.test, &self.expression) {
            (Test::Is, _) => value == self.filter.text,
            (_, Some(expression)) => expression.is_match(&value),
            (_, None) => value.contains(&self.filter.text),
        };
        met != self.filter.negated
    }
}

fn expression(text: &str, before: &str, after: &str) -> Result<Regex, FilterError> {
    let failed = |reason: regex::Error| FilterError::Expression {
        text: text.chars().take(100).collect(),
        reason: reason.to_string().lines().last().unwrap_or_default().to_owned(),
    };
    let compile = |text: &str| RegexBuilder::new(text).size_limit(EXPRESSION_BYTES_MAX).build();
    // Alone first: `a)|(b` is none, although it is one between brackets.
    compile(text).map_err(failed)?;
    compile(&format!("{before}{text}{after}")).map_err(failed)
}

/// All filters of a look-up.
pub(crate) struct Filters<'f>(Vec<Ready<'f>>);

impl<'f> Filters<'f> {
    pub(crate) fn new(filters: &'f [Filter]) -> Result<Filters<'f>, FilterError> {
        if filters.len() > FILTERS_MAX {
            return Err(FilterError::TooMany);
        }
        filters
            .iter()
            .map(Ready::new)
            .collect::<Result<_, _>>()
            .map(Filters)
    }

    pub(crate) fn fit(&self, row: &CdxRow) -> bool {
        self.0.iter().all(|filter| filter.fits(row))
    }
}

/// Leaves out what equals the capture before it. With several fields, all of them must be equal.
pub(crate) struct Collapsing<'c> {
    fields: &'c [Collapse],
    /// Values of the capture let through last; empty before the first.
    last: Vec<String>,
}

impl<'c> Collapsing<'c> {
    /// Goes on after a capture with the values `last`.
    pub(crate) fn new(fields: &'c [Collapse], last: Vec<String>) -> Collapsing<'c> {
        Collapsing { fields, last }
    }

    pub(crate) fn last(&self) -> &[String] {
        &self.last
    }

    /// Whether `row` is let through.
    pub(crate) fn lets(&mut self, row: &CdxRow) -> bool {
        if self.fields.is_empty() {
            return true;
        }
        let values: Vec<String> = self.fields.iter().map(|field| field.value(row)).collect();
        let new = values != self.last;
        self.last = values;
        new
    }
}

#[cfg(test)]
mod tests;
