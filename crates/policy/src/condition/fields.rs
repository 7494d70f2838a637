//! The fields that conditions compare: the name of each, and its value in a file.

use catalogue::{Copy, Format, Kind};
use pattern::{Pattern, TooManyAlternatives};

use super::{ConditionNames, Node, Subject, Unit};

/// A field.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
}

/// How a field is tested.
pub(super) enum FieldKind {
    /// It is compared with a number.
    Number(NumberField),
    /// It equals a text or not. The function returns the test for equality.
    Text(fn(&str, &ConditionNames<'_>) -> Result<Node, FieldValueError>),
    /// It holds or not.
    Damaged,
}

/// Text that is no value of its field.
#[derive(Debug, thiserror::Error)]
pub(super) enum FieldValueError {
    #[error("unknown {field} {text:?}; expected one of {}", names.join(", "))]
    Name {
        field: &'static str,
        text: String,
        names: Vec<&'static str>,
    },
    #[error("there is no {field} {text:?} here: give the number")]
    Id { field: &'static str, text: String },
    #[error("no class {text:?} is defined before this point: define it as [class.{text}]")]
    Class { text: String },
    #[error("invalid pattern {text:?}: {error}")]
    Pattern {
        text: String,
        error: TooManyAlternatives,
    },
}

/// A number of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberField {
    pub(super) unit: Unit,
    pub(super) value: fn(&Subject<'_>) -> i64,
    /// Whether the value depends on the digest of the file.
    pub(super) needs_digest: bool,
}

/// All fields, in the order in which errors list them.
static FIELDS: [Field; 19] = [
    text("name", |text, _| Ok(Node::Name(name_pattern(text)?))),
    text("path", |text, _| Ok(Node::Path(name_pattern(text)?))),
    text("type", |text, _| {
        let kind = Kind::ALL.iter().find(|kind| kind.name() == text);
        Ok(Node::Kind(*kind.ok_or_else(|| FieldValueError::Name {
            field: "type",
            text: text.to_owned(),
            names: Kind::ALL.iter().map(|kind| kind.name()).collect(),
        })?))
    }),
    text("format", |text, _| {
        Ok(Node::Format(Format::named(text).ok_or_else(|| {
            FieldValueError::Name {
                field: "format",
                text: text.to_owned(),
                names: Format::names().collect(),
            }
        })?))
    }),
    number("size", Unit::Bytes, |of| signed(of.file.size_bytes)),
    number("disk_size", Unit::Bytes, |of| {
        signed(of.file.blocks.saturating_mul(512))
    }),
    number("links", Unit::Count, |of| of.file.links.into()),
    number("depth", Unit::Count, |of| signed(of.depth as u64)),
    text("owner", |text, names| {
        Ok(Node::Owner(id(text, "user", names.user)?))
    }),
    text("group", |text, names| {
        Ok(Node::Group(id(text, "group", names.group)?))
    }),
    number("last_modified", Unit::Time, |of| {
        age(of, Some(ms(of.file.modified_ns)))
    }),
    number("last_changed", Unit::Time, |of| {
        age(of, Some(ms(of.file.changed_ns)))
    }),
    number("last_accessed", Unit::Time, |of| {
        age(of, Some(of.file.accessed_s.saturating_mul(1000)))
    }),
    number("created", Unit::Time, |of| age(of, of.file.born_ns().map(ms))),
    number_of_digest("last_verified", Unit::Time, |of| {
        age(of, of.digest.map(|digest| digest.verified_ms))
    }),
    number_of_digest("last_copied", Unit::Time, |of| {
        age(of, copy(of).map(|copy| copy.verified_ms))
    }),
    number_of_digest("replicas", Unit::Count, |of| {
        copy(of).map_or(0, |copy| copy.replicas.into())
    }),
    Field {
        name: "damaged",
        kind: FieldKind::Damaged,
    },
    text("class", |text, names| {
        Ok(Node::Class((names.class)(text).ok_or_else(|| {
            FieldValueError::Class {
                text: text.to_owned(),
            }
        })?))
    }),
];

impl Field {
    /// Returns the field with this name.
    pub(super) fn named(name: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|field| field.name == name)
    }

    /// Returns the names of all fields, for an error.
    pub(super) fn expected() -> String {
        let [first @ .., last] = &FIELDS;
        let first: Vec<&str> = first.iter().map(|field| field.name).collect();
        format!("{} or {}", first.join(", "), last.name)
    }
}

const fn text(
    name: &'static str,
    test: fn(&str, &ConditionNames<'_>) -> Result<Node, FieldValueError>,
) -> Field {
    Field {
        name,
        kind: FieldKind::Text(test),
    }
}

const fn number(name: &'static str, unit: Unit, value: fn(&Subject<'_>) -> i64) -> Field {
    Field {
        name,
        kind: FieldKind::Number(NumberField {
            unit,
            value,
            needs_digest: false,
        }),
    }
}

const fn number_of_digest(name: &'static str, unit: Unit, value: fn(&Subject<'_>) -> i64) -> Field {
    Field {
        name,
        kind: FieldKind::Number(NumberField {
            unit,
            value,
            needs_digest: true,
        }),
    }
}

/// Returns the age in milliseconds. An event that never happened is older than any age.
fn age(of: &Subject<'_>, at_ms: Option<i64>) -> i64 {
    at_ms.map_or(i64::MAX, |at_ms| of.now_ms.saturating_sub(at_ms))
}

fn ms(ns: i64) -> i64 {
    ns.div_euclid(1_000_000)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn copy<'a>(of: &Subject<'a>) -> Option<&'a Copy> {
    of.digest?.copy.as_ref()
}

/// Returns the number of a user or group, which the text names or is.
fn id(text: &str, field: &'static str, find: &dyn Fn(&str) -> Option<u32>) -> Result<u32, FieldValueError> {
    find(text)
        .or_else(|| text.parse().ok())
        .ok_or_else(|| FieldValueError::Id {
            field,
            text: text.to_owned(),
        })
}

fn name_pattern(text: &str) -> Result<Pattern, FieldValueError> {
    Pattern::new(text).map_err(|error| FieldValueError::Pattern {
        text: text.to_owned(),
        error,
    })
}
