//! What somebody sees: the rules that are for their groups, on one day.

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

    /// Whether the captures of a URL key are seen, where the key alone says so; `None` where more of each has to be known.
    pub fn sees_key(&self, url_key: &str) -> Option<bool> {
        let found = |clauses: &[Clause]| {
            let mut clauses = clauses.iter().filter(|clause| clause.has_key(url_key)).peekable();
            let is_any = clauses.peek().is_some();
            let is_certain = clauses.any(Clause::is_of_keys_alone);
            (is_any, is_certain)
        };
        match (found(&self.deny), self.default) {
            ((_, true), _) => Some(false),
            ((true, false), _) => None,
            ((false, _), Access::Allow) => Some(true),
            ((false, _), Access::Deny) => match found(&self.allow) {
                (_, true) => Some(true),
                (true, false) => None,
                (false, _) => Some(false),
            },
        }
    }
}
