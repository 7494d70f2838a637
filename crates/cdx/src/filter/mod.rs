//! Filters of CDX look-ups.
//!
//! | written | pywb | Internet Archive, OutbackCDX |
//! |---|---|---|
//! | `field:text` | contains the text | the whole value matches the expression |
//! | `=field:text` | equals the text | not known there; read as in pywb |
//! | `~field:text` | an expression matches the beginning | contains the text |
//! | `!` before any, in the others also after `~` | negation | negation |
//!
//! A filter without a field tests the whole line; OutbackCDX has no such filters. Matching takes
//! time linear in the length of the text, so that a stranger's expression cannot stall a server.
//! For that reason look-around and back-references are not supported.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::Dialect;
use super::field::{Field, text_line};
use super::row::CdxRow;

/// Limit of the size of a compiled expression in bytes. The time per capture grows with it: at one
/// mebibyte, some thousand captures take a second.
const EXPRESSION_BYTES_MAX: usize = 128 << 10;

/// Limit of filters in one look-up. Each one takes time for every capture read.
const FILTERS_MAX: usize = 16;

/// How a value is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Test {
    Contains,
    Is,
    /// An expression matches the beginning.
    Begins,
    /// An expression matches the whole value.
    Matches,
}

/// One condition that captures must meet.
///
/// ```
/// use cdx::{Dialect, Field, Filter, Test};
///
/// let filter = Filter::read("!=status:200", Dialect::Pywb)?;
/// assert_eq!((filter.field, filter.test, filter.negated), (Some(Field::Status), Test::Is, true));
/// // The same text is an expression in the dialect of the Internet Archive.
/// let filter = Filter::read("statuscode:30[12]", Dialect::WaybackMachine)?;
/// assert_eq!((filter.test, filter.text.as_str()), (Test::Matches, "30[12]"));
/// # Ok::<(), cdx::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The field to test; `None` for the whole line.
    pub field: Option<Field>,
    /// How the field is tested.
    pub test: Test,
    /// The text or expression.
    pub text: String,
    /// Whether the test must fail.
    pub negated: bool,
}

/// Why a filter or a collapse is invalid.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum FilterError {
    #[error(
        "there is no field {0:?}; known: urlkey, timestamp, url (original), mime (mimetype), status (statuscode), digest, length, offset, filename, collection"
    )]
    Field(String),
    #[error("{0:?} is not a positive number of characters")]
    Chars(String),
    #[error("{text:?} is not a supported regular expression: {reason}")]
    Expression { text: String, reason: String },
    #[error("more than {FILTERS_MAX} filters")]
    TooMany,
    #[error("{0:?} has no field name: filters of OutbackCDX have the form [~][!]field:text")]
    NoField(String),
}

impl Filter {
    /// Parses a filter as written for `dialect`. A field name that only the Internet Archive uses
    /// (`mimetype`, `statuscode`, `original`) makes the text an expression in pywb's dialect too,
    /// so that such a filter means the same everywhere.
    ///
    /// # Errors
    /// [`FilterError`] if the field is unknown or the expression is invalid.
    pub fn read(text: &str, dialect: Dialect) -> Result<Filter, FilterError> {
        let (negated, rest) = strip(text, '!');
        let (is, rest) = strip(rest, '=');
        let (tilde, rest) = if is { (false, rest) } else { strip(rest, '~') };
        let follows_wayback = dialect != Dialect::Pywb;
        let (negated, rest) = if tilde && follows_wayback && !negated {
            strip(rest, '!')
        } else {
            (negated, rest)
        };
        let (name, text) = match rest.split_once(':') {
            Some((name, text)) => (Some(name), text),
            None => (None, rest),
        };
        let field = name.map(|name| field_of(name, dialect)).transpose()?;
        if field.is_none() && dialect == Dialect::OutbackCdx {
            return Err(FilterError::NoField(text.chars().take(40).collect()));
        }
        let is_expression = follows_wayback || name.is_some_and(Field::is_wayback_name);
        let filter = Filter {
            field,
            test: match (is, tilde) {
                (true, _) => Test::Is,
                (_, true) if follows_wayback => Test::Contains,
                (_, true) => Test::Begins,
                _ if is_expression => Test::Matches,
                _ => Test::Contains,
            },
            text: text.to_owned(),
            negated,
        };
        // Compile now, so that an invalid expression is reported here and not by each question.
        Ready::new(&filter)?;
        Ok(filter)
    }
}

fn strip(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

/// Returns the field with this name. The Internet Archive also accepts the number of a column, and
/// pywb a letter.
pub(super) fn field_of(name: &str, dialect: Dialect) -> Result<Field, FilterError> {
    let short = match dialect {
        Dialect::WaybackMachine => name
            .parse::<usize>()
            .ok()
            .and_then(|n| Field::PUBLIC.get(n).copied()),
        Dialect::Pywb => Field::of_letter(name),
        Dialect::OutbackCdx => None,
    };
    short
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
    // First compile it alone: `a)|(b` is invalid, although it would be valid between brackets.
    compile(text).map_err(failed)?;
    compile(&format!("{before}{text}{after}")).map_err(failed)
}

/// All filters of a look-up.
pub struct Filters<'f>(Vec<Ready<'f>>);

impl<'f> Filters<'f> {
    /// Compiles the filters of a look-up.
    ///
    /// # Errors
    /// A regular expression cannot be compiled, or there are too many filters.
    pub fn new(filters: &'f [Filter]) -> Result<Filters<'f>, FilterError> {
        if filters.len() > FILTERS_MAX {
            return Err(FilterError::TooMany);
        }
        filters
            .iter()
            .map(Ready::new)
            .collect::<Result<_, _>>()
            .map(Filters)
    }

    /// Returns true if a capture passes every filter.
    pub fn fit(&self, row: &CdxRow) -> bool {
        self.0.iter().all(|filter| filter.fits(row))
    }
}

#[cfg(test)]
mod tests;
