//! Conditions: which files a policy applies to.
//!
//! ```text
//! size > 1 GiB and format == "warc" and not (last_modified < 30 d or name == "*.tmp")
//! ```

mod fields;
mod parse;
mod quantity;
mod token;

use std::sync::Arc;

use catalogue::{Attributes, Digest, Format, Kind};
use pattern::Pattern;

use fields::NumberField;
pub use quantity::{QuantityError, Unit, quantity};

/// An error in a condition, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// Byte offset in the text at which the error was detected.
    pub offset: usize,
    /// Describes the error and the expected input.
    pub message: String,
}

/// A condition that a file is tested against.
///
/// ```
/// use catalogue::Attributes;
/// use policy::{Condition, ConditionNames, Subject};
///
/// let names = ConditionNames { user: &|_| None, group: &|_| None, class: &|_| None };
/// let condition = Condition::parse(r#"size > 1 GiB and not name == "*.tmp""#, &names)?;
/// let file = Attributes { size_bytes: 2 << 30, ..Attributes::default() };
/// let subject = |path| Subject { path, depth: 1, file: &file, digest: None, now_ms: 0 };
/// assert!(condition.holds(&subject(b"/crawls/a.warc")));
/// assert!(!condition.holds(&subject(b"/crawls/a.tmp")));
/// # Ok::<(), policy::ConditionError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Condition(Node);

#[derive(Debug, Clone)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    /// Compares a number of the file with a given one.
    Number(NumberField, Comparison, i64),
    Name(Pattern),
    Path(Pattern),
    Owner(u32),
    Group(u32),
    Kind(Kind),
    Format(Format),
    Damaged,
    Class(Arc<Condition>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Is,
    IsNot,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    fn holds(self, found: i64, wanted: i64) -> bool {
        match self {
            Comparison::Is => found == wanted,
            Comparison::IsNot => found != wanted,
            Comparison::Less => found < wanted,
            Comparison::AtMost => found <= wanted,
            Comparison::More => found > wanted,
            Comparison::AtLeast => found >= wanted,
        }
    }
}

/// Looks up the names in conditions that the system and the rules define.
pub struct ConditionNames<'a> {
    /// Returns the number of a user.
    pub user: &'a dyn Fn(&str) -> Option<u32>,
    /// Returns the number of a group.
    pub group: &'a dyn Fn(&str) -> Option<u32>,
    /// Returns the condition of a class.
    pub class: &'a dyn Fn(&str) -> Option<Arc<Condition>>,
}

/// A file to test.
pub struct Subject<'a> {
    /// Its path, as bytes.
    pub path: &'a [u8],
    /// Number of directories between it and its tree.
    pub depth: usize,
    /// Its attributes, from the catalogue or the disk.
    pub file: &'a Attributes,
    /// The digest of its current content, if known.
    pub digest: Option<&'a Digest>,
    /// The current time, in milliseconds since 1970.
    pub now_ms: i64,
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// [`ConditionError`], with the place.
    pub fn parse(text: &str, known: &ConditionNames<'_>) -> Result<Condition, ConditionError> {
        parse::condition(text, known).map(Condition)
    }

    /// Returns the condition that every file meets.
    pub fn all() -> Condition {
        Condition(Node::All(Vec::new()))
    }

    /// Returns whether the file meets the condition.
    pub fn holds(&self, subject: &Subject<'_>) -> bool {
        self.0.holds(subject)
    }

    /// Returns whether the condition depends on digests, which have to be looked up.
    pub fn needs_digest(&self) -> bool {
        self.0.needs_digest()
    }
}

impl Node {
    fn holds(&self, subject: &Subject<'_>) -> bool {
        let file = subject.file;
        match self {
            Node::All(nodes) => nodes.iter().all(|node| node.holds(subject)),
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(subject)),
            Node::Not(node) => !node.holds(subject),
            Node::Number(field, comparison, wanted) => comparison.holds((field.value)(subject), *wanted),
            Node::Name(pattern) => pattern.matches(name_of(subject.path)),
            Node::Path(pattern) => pattern.matches(subject.path),
            Node::Owner(uid) => file.uid == *uid,
            Node::Group(gid) => file.gid == *gid,
            Node::Kind(kind) => file.kind == *kind,
            Node::Format(format) => file.kind == Kind::File && file.format == *format,
            Node::Damaged => subject.digest.is_some_and(|digest| digest.damaged_ms.is_some()),
            Node::Class(condition) => condition.holds(subject),
        }
    }

    fn needs_digest(&self) -> bool {
        match self {
            Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(Node::needs_digest),
            Node::Not(node) => node.needs_digest(),
            Node::Number(field, ..) => field.needs_digest,
            Node::Damaged => true,
            Node::Class(condition) => condition.needs_digest(),
            _ => false,
        }
    }
}

/// Returns the last name of a path.
pub fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
