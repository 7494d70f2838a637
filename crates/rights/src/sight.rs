//! What somebody sees: the rules that are for their groups, at a time.

use crate::clause::Clause;
use crate::rule::Access;

/// What rules ask of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'s> {
    /// Its URL key.
    pub url_key: &'s str,
    /// Label of its input; empty if it has none.
    pub collection: &'s str,
    /// Media type as in the view `captures`.
    pub mime: &'s str,
    /// Digest as in the view `captures`.
    pub digest: &'s str,
    /// Time of capture, in milliseconds since 1970.
    pub fetch_time_ms: i64,
}

/// Two sights of one id see the same of every archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SightId([u8; 32]);

/// What somebody sees.
///
/// Hidden is what a clause of `deny` matches; of the rest, everything is seen, or if the archive is closed what a clause of
/// `allow` matches.
#[derive(Debug, Clone)]
pub struct Sight {
    id: SightId,
    default: Access,
    strict: bool,
    deny: Vec<Clause>,
    /// Empty where the archive is not closed.
    allow: Vec<Clause>,
}

impl Sight {
    /// Of who sees everything, such as the owner at the command line.
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
        // `Debug` of plain values names each of them, in one order: two sights have one text only if they are the same.
        let text = format!("{default:?} {strict} {:?} {:?}", sight.deny, sight.allow);
        sight.id = SightId(*blake3::hash(text.as_bytes()).as_bytes());
        sight
    }

    /// Its id.
    pub fn id(&self) -> SightId {
        self.id
    }

    /// Whether nothing is hidden, now or of what will be loaded.
    pub fn sees_everything(&self) -> bool {
        let is_all = |clause: &Clause| clause.is_of_keys_alone() && clause.keys.is_none();
        self.deny.is_empty() && (self.default == Access::Allow || self.allow.iter().any(is_all))
    }

    /// Whether the captures of a URL key are all seen or all hidden, whatever the key.
    pub fn goes_by_keys(&self) -> bool {
        let mut clauses = self.deny.iter().chain(&self.allow);
        self.sees_everything() || clauses.all(Clause::is_of_keys_alone)
    }

    /// Whether nothing that depends on hidden captures may show in an answer, the statistics behind scores included.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// What is said of captures that no clause matches.
    pub fn default(&self) -> Access {
        self.default
    }

    /// What hides.
    pub fn deny(&self) -> &[Clause] {
        &self.deny
    }

    /// What shows in a closed archive.
    pub fn allow(&self) -> &[Clause] {
        &self.allow
    }

    /// Whether a capture is seen.
    pub fn sees(&self, subject: &Subject<'_>) -> bool {
        if self.deny.iter().any(|clause| clause.matches(subject)) {
            return false;
        }
        self.default == Access::Allow || self.allow.iter().any(|clause| clause.matches(subject))
    }

    /// A range of keys around a key of which nothing is seen, whatever the captures are; `None` where there is no such range. It begins
    /// at or before the key, from the first key there is if it has no beginning, and ends before its end, if it has one.
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
        // Between the keys of which something may be allowed.
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

    /// Whether the captures of a URL key are seen, where the key alone says so; `None` where more of each has to be known.
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
