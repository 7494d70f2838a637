//! The visibility of captures for a client: the rules that apply to its groups at a time.

use crate::matcher::{Clause, Subject};
use crate::rule::Access;

/// The identity of a sight. Two sights with the same id show the same captures of every archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SightId([u8; 32]);

/// The visibility of captures for a client.
///
/// A capture is hidden if a clause of `deny` matches. Other captures are visible if the default is
/// to allow, or if a clause of `allow` matches.
#[derive(Debug, Clone)]
pub struct Sight {
    id: SightId,
    default: Access,
    strict: bool,
    deny: Vec<Clause>,
    /// Empty if the default is to allow.
    allow: Vec<Clause>,
}

impl Sight {
    /// Returns the sight of a client that sees everything, such as the owner on the command line.
    pub fn everything() -> Sight {
        Sight::new(Access::Allow, false, Vec::new(), Vec::new())
    }

    pub(crate) fn new(default: Access, strict: bool, deny: Vec<Clause>, allow: Vec<Clause>) -> Sight {
        let deny = Clause::joined(deny);
        let allow = match default {
            Access::Allow => Vec::new(),
            Access::Deny => Clause::joined(allow),
        };
        let mut sight = Sight {
            id: SightId([0; 32]),
            default,
            strict,
            deny,
            allow,
        };
        // `Debug` of these values prints every field in a fixed order, so two sights have the same
        // text only if they are equal.
        let text = format!("{default:?} {strict} {:?} {:?}", sight.deny, sight.allow);
        sight.id = SightId(*blake3::hash(text.as_bytes()).as_bytes());
        sight
    }

    /// Returns the id.
    pub fn id(&self) -> SightId {
        self.id
    }

    /// Returns whether nothing is hidden, now or after future loads.
    pub fn sees_everything(&self) -> bool {
        let is_all = |clause: &Clause| clause.is_of_keys_alone() && clause.keys.is_none();
        self.deny.is_empty() && (self.default == Access::Allow || self.allow.iter().any(is_all))
    }

    /// Returns whether every URL key alone decides if its captures are visible.
    pub fn goes_by_keys(&self) -> bool {
        let mut clauses = self.deny.iter().chain(&self.allow);
        self.sees_everything() || clauses.all(Clause::is_of_keys_alone)
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
    pub fn deny(&self) -> &[Clause] {
        &self.deny
    }

    /// Returns the clauses that show captures if the default is to deny.
    pub fn allow(&self) -> &[Clause] {
        &self.allow
    }

    /// Returns whether a capture is visible.
    pub fn sees(&self, subject: &Subject<'_>) -> bool {
        if self.deny.iter().any(|clause| clause.matches(subject)) {
            return false;
        }
        self.default == Access::Allow || self.allow.iter().any(|clause| clause.matches(subject))
    }

    /// Returns the range of keys around `url_key` that the rules hide completely, if any. The range
    /// begins at or before the key, or at the first of all keys if it has no start. Its end is
    /// exclusive; without an end it extends to the last key.
    pub fn hidden_around(&self, url_key: &str) -> Option<(Option<&str>, Option<&str>)> {
        let of_keys = |clause: &&Clause| clause.is_of_keys_alone();
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
    pub fn sees_key(&self, url_key: &str) -> Option<bool> {
        let found = |clauses: &[Clause]| {
            let mut clauses = clauses.iter().filter(|clause| clause.has_key(url_key)).peekable();
            let is_any = clauses.peek().is_some();
            let is_certain = clauses.any(Clause::is_of_keys_alone);
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
