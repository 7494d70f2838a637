//! Versions: which of two writes to one key is the later, whichever node took them.
//!
//! A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): milliseconds of the wall clock, a
//! counter for writes within one, and the node for ties. A node that sees a version from ahead of its own clock goes
//! on from there, so that a later write never gets an earlier version.

use std::fmt;
use std::str::FromStr;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

mod wall;

use wall::Wall;

/// How far ahead of this machine's clock a version from elsewhere may be, in milliseconds. What is further ahead is
/// refused: one machine with a broken clock must not drag all others along. As far as the clocks of nodes that talk to
/// each other may differ.
pub const DRIFT_MS_MAX: u64 = 5 * 60 * 1000;

/// When a write happened, in the one order that all nodes agree on.
///
/// Text form: 12 hexadecimal digits of milliseconds, 8 of counter, 8 of node, without separators; texts order as
/// versions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    /// Milliseconds since 1970, below 2^48.
    pub millis: u64,
    /// Counts writes within one millisecond.
    pub counter: u32,
    /// The node that gave the version out: the first four bytes of BLAKE3 of its name.
    pub node: u32,
}

/// A text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version: expected 28 hexadecimal digits")]
pub struct VersionError(String);

/// A version too far ahead of this machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "version {version} is {ahead_ms} ms ahead of this machine's clock (at most {DRIFT_MS_MAX}): set the clocks right"
)]
pub struct DriftError {
    /// The version seen.
    pub version: Version,
    /// How far ahead it is.
    pub ahead_ms: u64,
}

/// Gives out versions, each later than any given out or observed before.
#[derive(Debug)]
pub struct Clock {
    node: u32,
    wall: Wall,
    last: Mutex<(u64, u32)>,
}

impl Clock {
    /// A clock for the node of this name.
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

    /// A version later than all before.
    pub fn now(&self) -> Version {
        let wall = self.wall.now_ms();
        let mut last = self.last.lock();
        *last = if wall > last.0 { (wall, 0) } else { next(*last) };
        Version {
            millis: last.0,
            counter: last.1,
            node: self.node,
        }
    }

    /// Takes note of a version from elsewhere: the next own one is later.
    ///
    /// # Errors
    /// [`DriftError`] when it is more than [`DRIFT_MS_MAX`] ahead; the clock stays as it was.
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

/// The step after `last`; a full counter borrows from the next millisecond.
fn next(last: (u64, u32)) -> (u64, u32) {
    match last.1.checked_add(1) {
        Some(counter) => (last.0, counter),
        None => (last.0 + 1, 0),
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}{:08x}{:08x}", self.millis, self.counter, self.node)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let wrong = || VersionError(text.to_owned());
        if text.len() != 28 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let part = |range| u64::from_str_radix(&text[range], 16).map_err(|_| wrong());
        let small = |range| part(range).and_then(|n| u32::try_from(n).map_err(|_| wrong()));
        Ok(Self {
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
