//! Versions: which of two writes to one key is later, whichever node took them.
//!
//! A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): milliseconds of the
//! wall clock, a counter for writes within one, and the node for ties. A node that sees a version
//! ahead of its own clock continues from that version: a later write never gets an earlier version.

use std::fmt;
use std::str::FromStr;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

mod wall;

pub use wall::DRIFT_MS_MAX;
use wall::Wall;

/// A turn of one node at deciding the writes of a partition. A later turn of any node is greater.
///
/// If two nodes both assume that it is their turn, the others refuse the one with the lower term.
/// So the term comes first in the order of versions: a version left behind by an earlier turn never
/// wins over one decided in a later turn, whatever the clocks said.
///
/// Text form: 16 hexadecimal digits, 8 of the number, 8 of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Term(u64);

/// The position of a write in the single order that all nodes agree on.
///
/// Text form: 12 hexadecimal digits of milliseconds, 8 of counter, 8 of node, without separators;
/// before them, if there is a term, `t` and the term. Texts sort as versions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    /// The turn in which it was decided. [`Term::NONE`] in a store of one node, which takes no
    /// turns.
    pub term: Term,
    /// Milliseconds since 1970, below 2^48.
    pub millis: u64,
    /// Counts writes within one millisecond.
    pub counter: u32,
    /// The node that issued the version: the first four bytes of BLAKE3 of its name.
    pub node: u32,
}

/// The text is not a version or a term.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version: expected 28 hexadecimal digits, or t and 44 hexadecimal digits")]
pub struct VersionError(String);

/// A version is too far ahead of this machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "version {version} is {ahead_ms} ms ahead of this machine's clock (at most {DRIFT_MS_MAX} ms are \
         allowed): synchronise the clocks"
)]
pub struct DriftError {
    /// The version seen.
    pub version: Version,
    /// How far ahead it is, in milliseconds.
    pub ahead_ms: u64,
}

/// Issues versions, each later than any issued or observed before.
#[derive(Debug)]
pub struct Clock {
    node: u32,
    wall: Wall,
    last: Mutex<(u64, u32)>,
}

impl Clock {
    /// Returns a clock for the node of this name.
    pub fn new(node_name: &str) -> Self {
        Self::with(node_name, Wall::of_machine())
    }

    fn with(node_name: &str, wall: Wall) -> Self {
        let hash = blake3::hash(node_name.as_bytes());
        let [a, b, c, d, ..] = *hash.as_bytes();
        Self {
            node: u32::from_be_bytes([a, b, c, d]),
            wall,
            last: Mutex::new((0, 0)),
        }
    }

    /// Returns a version later than every version that this clock has issued or observed.
    pub fn now(&self) -> Version {
        let wall = self.wall.now_ms();
        let mut last = self.last.lock();
        let before = *last;
        // A wall clock that went back does not matter: the counter continues from the last version.
        *last = if wall > last.0 { (wall, 0) } else { next(*last) };
        debug_assert!(before < *last, "version {last:?} after {before:?}");
        Version {
            term: Term::NONE,
            millis: last.0,
            counter: last.1,
            node: self.node,
        }
    }

    /// Returns a version in `term` that is later than `before`, which must be of that term or an
    /// earlier one.
    pub fn after(&self, before: Option<Version>, term: Term) -> Version {
        if let Some(before) = before {
            // The clock ignores a version that is too far ahead. In that case the match below
            // continues from that version.
            let _ = self.observe(before);
        }
        debug_assert!(
            before.is_none_or(|before| before.term <= term),
            "a version of term {term:?} after {before:?}"
        );
        let now = Version { term, ..self.now() };
        match before {
            Some(before) if before >= now => {
                let (millis, counter) = next((before.millis, before.counter));
                Version {
                    millis,
                    counter,
                    ..now
                }
            }
            _ => now,
        }
    }

    /// Returns this node's term with this number.
    pub fn term(&self, number: u32) -> Term {
        // The number is in the high half, so it decides the order first and the node only breaks
        // ties.
        Term(u64::from(number) << 32 | u64::from(self.node))
    }

    /// Observes a version from another node: the next version that this clock issues is later.
    ///
    /// # Errors
    /// [`DriftError`] if it is more than [`DRIFT_MS_MAX`] ahead. The clock is then unchanged.
    pub fn observe(&self, version: Version) -> Result<(), DriftError> {
        let ahead_ms = version.millis.saturating_sub(self.wall.now_ms());
        if ahead_ms > DRIFT_MS_MAX {
            return Err(DriftError { version, ahead_ms });
        }
        let mut last = self.last.lock();
        *last = (*last).max((version.millis, version.counter));
        Ok(())
    }
}

/// Returns the step after `last`. A full counter moves on to the next millisecond.
fn next(last: (u64, u32)) -> (u64, u32) {
    match last.1.checked_add(1) {
        Some(counter) => (last.0, counter),
        None => (last.0 + 1, 0),
    }
}

impl Term {
    /// The term before all turns.
    pub const NONE: Self = Self(0);

    /// Returns the upper half of the term. Two nodes may use the same number.
    pub fn number(self) -> u32 {
        u32::try_from(self.0 >> 32).unwrap_or(u32::MAX)
    }

    /// Returns the lowest term that is greater than this one.
    #[must_use]
    pub fn after(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the eight bytes written to the head of a replica, little-endian.
    pub fn to_le_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// Reads the bytes that [`Term::to_le_bytes`] returns.
    pub fn from_le_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }
}

impl Version {
    /// Returns the version without its term: 28 digits.
    pub fn stamp(&self) -> String {
        format!("{:012x}{:08x}{:08x}", self.millis, self.counter, self.node)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Term {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let wrong = || VersionError(text.to_owned());
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| wrong())
    }
}

impl TryFrom<String> for Term {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<Term> for String {
    fn from(term: Term) -> Self {
        term.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.term != Term::NONE {
            // `t` sorts after every hexadecimal digit, so texts with a term sort after those
            // without one.
            write!(f, "t{}", self.term)?;
        }
        f.write_str(&self.stamp())
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let wrong = || VersionError(text.to_owned());
        let (term, stamp) = match text.strip_prefix('t') {
            Some(rest) => rest.split_at_checked(16).ok_or_else(wrong)?,
            None => ("", text),
        };
        if stamp.len() != 28 || !stamp.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let term = match term {
            "" => Term::NONE,
            // A version has exactly one text: without a term there is no `t`.
            term => Some(term.parse()?)
                .filter(|term| *term != Term::NONE)
                .ok_or_else(wrong)?,
        };
        let part = |range| u64::from_str_radix(&stamp[range], 16).map_err(|_| wrong());
        let small = |range| part(range).and_then(|n| u32::try_from(n).map_err(|_| wrong()));
        Ok(Self {
            term,
            millis: part(0..12)?,
            counter: small(12..20)?,
            node: small(20..28)?,
        })
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_term_is_later_whatever_the_clock_said() {
        let clock = Clock::new("n1");
        let early = Version {
            term: clock.term(2),
            ..clock.now()
        };
        let other = Clock::new("n2");
        let ahead = Version {
            millis: early.millis + 10 * DRIFT_MS_MAX,
            term: other.term(1),
            ..early
        };
        assert!(early > ahead);
        let next = clock.after(Some(ahead), clock.term(2));
        assert!(next > ahead && next.millis < ahead.millis);
        // Within a term the counter continues even if the clock is behind.
        let same = Version {
            term: clock.term(2),
            ..ahead
        };
        assert!(clock.after(Some(same), clock.term(2)) > same);
    }

    #[test]
    fn texts_order_as_versions_do() {
        let clock = Clock::new("n1");
        let none = clock.now();
        let first = clock.after(None, clock.term(1));
        let later = clock.after(None, clock.term(0x10));
        for version in [none, first, later] {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert!(none < first && first < later);
        assert!(none.to_string() < first.to_string() && first.to_string() < later.to_string());
        for wrong in [
            "t",
            "t0000000000000000",
            &format!("t{:016x}{none}", 0),
            &format!("t{none}"),
        ] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }
}
