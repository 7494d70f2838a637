//! The visibility of captures for a client: the rules that apply to its groups at a time.

use crate::matcher::{CaptureAttributes, Matcher};
use crate::rule::Access;

/// The identity of a sight. Two sights with the same id show the same captures of every archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessFilterId([u8; 32]);

/// The visibility of captures for a client.
///
/// A capture is hidden if a clause of `deny` matches. Other captures are visible if the default is
/// to allow, or if a clause of `allow` matches.
#[derive(Debug, Clone)]
pub struct AccessFilter {
    id: AccessFilterId,
    default: Access,
    strict: bool,
    deny: Vec<Matcher>,
    /// Empty if the default is to allow.
    allow: Vec<Matcher>,
}

impl AccessFilter {
    /// Returns the sight of a client that sees everything, such as the owner on the command line.
    pub fn everything() -> AccessFilter {
        AccessFilter::new(Access::Allow, false, Vec::new(), Vec::new())
    }

    pub(crate) fn new(
        default: Access,
        strict: bool,
        deny: Vec<Matcher>,
        allow: Vec<Matcher>,
    ) -> AccessFilter {
        let deny = Matcher::joined(deny);
        let allow = match default {
            Access::Allow => Vec::new(),
            Access::Deny => Matcher::joined(allow),
        };
        let mut sight = AccessFilter {
            id: AccessFilterId([0; 32]),
            default,
            strict,
            deny,
            allow,
        };
        // `Debug` of these values prints every field in a fixed order, so two sights have the same
        // text only if they are equal.
        let text = format!("{default:?} {strict} {:?} {:?}", sight.deny, sight.allow);
        sight.id = AccessFilterId(*blake3::hash(text.as_bytes()).as_bytes());
        sight
    }

    /// Returns the id.
    pub fn id(&self) -> AccessFilterId {
        self.id
    }

    /// Returns whether nothing is hidden, now or after future loads.
    pub fn sees_everything(&self) -> bool {
        let is_all = |clause: &Matcher| clause.depends_on_key_only() && clause.keys.is_none();
        self.deny.is_empty() && (self.default == Access::Allow || self.allow.iter().any(is_all))
    }

    /// Returns whether every URL key alone decides if its captures are visible.
    pub fn depends_on_keys_only(&self) -> bool {
        let mut clauses = self.deny.iter().chain(&self.allow);
        self.sees_everything() || clauses.all(Matcher::depends_on_key_only)
    }

    /// Returns whether answers must not depend on hidden captures at all, including the statistics
    /// behind scores.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns the access to captures that no clause matches.
    pub fn default(&self) -> Access {
        self.default
    }

    /// Returns the clauses that hide captures.
    pub fn deny(&self) -> &[Matcher] {
        &self.deny
    }

    /// Returns the clauses that show captures if the default is to deny.
    pub fn allow(&self) -> &[Matcher] {
        &self.allow
    }

    /// Returns whether a capture is visible.
    pub fn is_visible(&self, subject: &CaptureAttributes<'_>) -> bool {
        if self.deny.iter().any(|clause| clause.matches(subject)) {
            return false;
        }
        self.default == Access::Allow || self.allow.iter().any(|clause| clause.matches(subject))
    }

    /// Returns the range of keys around `url_key` that the rules hide completely, if any. The range
    /// begins at or before the key, or at the first of all keys if it has no start. Its end is
    /// exclusive; without an end it extends to the last key.
    pub fn hidden_key_range(&self, url_key: &str) -> Option<(Option<&str>, Option<&str>)> {
        let of_keys = |clause: &&Matcher| clause.depends_on_key_only();
        for clause in self.deny.iter().filter(of_keys) {
            match &clause.keys {
                None => return Some((None, None)),
                Some(keys) => {
                    if let Some(range) = keys.range_of(url_key) {
                        return Some((Some(&range.start), Some(&range.end)));
                    }
                }
            }
        }
        if self.default == Access::Allow {
            return None;
        }
        // The gap between the keys that may be allowed.
        let (mut from, mut to) = (None, None);
        for clause in &self.allow {
            let (after, before) = clause.keys.as_ref()?.gap_around(url_key)?;
            from = from.max(after);
            to = match (to, before) {
                (Some(to), Some(before)) => Some(std::cmp::min::<&str>(to, before)),
                (to, before) => to.or(before),
            };
        }
        Some((from, to))
    }

    /// Returns whether the captures of a URL key are visible, if the key alone decides it; `None`
    /// if other properties matter.
    pub fn is_key_visible(&self, url_key: &str) -> Option<bool> {
        let found = |clauses: &[Matcher]| {
            let mut clauses = clauses.iter().filter(|clause| clause.has_key(url_key)).peekable();
            let is_any = clauses.peek().is_some();
            let is_certain = clauses.any(Matcher::depends_on_key_only);
            (is_any, is_certain)
        };
        let (may_be_denied, is_denied) = found(&self.deny);
        let (may_be_allowed, is_allowed) = match self.default {
            Access::Allow => (true, true),
            Access::Deny => found(&self.allow),
        };
        if is_denied || !may_be_allowed {
            return Some(false);
        }
        (is_allowed && !may_be_denied).then_some(true)
    }
}
