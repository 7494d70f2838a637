//! Walks through captures: forward or backward through ranges of keys, or from one time of a URL in both
//! directions.
//!
//! Memory does not depend on the number of captures. Even the captures nearest in time are found with two
//! walks away from that time, of which the nearer one advances.

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use weave::{CaptureRow, Captures, KeyRange, Snapshot, SnapshotError};

use super::time;
use crate::AskError;
use crate::cdx::Order;

/// A place between two captures, from which a walk can continue. It contains row keys as Base64 text, which
/// is a third as long as lists of numbers: a key may have 60,000 bytes, and a cursor is part of an address.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Place {
    /// Index of the range.
    range: usize,
    /// Row key of the last capture returned; empty before the first.
    at: String,
    /// In a walk in both directions: the last capture returned by the backward walk.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    back: String,
    /// Values that collapsing compares the next capture with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) collapsed: Vec<String>,
}

/// Captures in the order asked for.
pub(super) enum Walk {
    Along(Box<Along>),
    Nearest(Box<Nearest>),
}

impl Walk {
    pub(super) fn new(
        snapshot: &Snapshot,
        ranges: Vec<KeyRange>,
        order: &Order,
        from: Option<Place>,
    ) -> Result<Walk, AskError> {
        let from = from.unwrap_or_default();
        Ok(match (order, ranges.as_slice()) {
            (Order::Closest(wanted), [KeyRange::Exact(url_key)]) => {
                let wanted = civil::ms_of_digits(time::check(wanted)?) / 1000;
                Walk::Nearest(Box::new(Nearest::new(snapshot, url_key, wanted, &from)?))
            }
            _ => Walk::Along(Box::new(Along::new(
                snapshot,
                ranges,
                *order == Order::Reverse,
                &from,
            )?)),
        })
    }

    pub(super) fn next(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        match self {
            Walk::Along(walk) => walk.next(),
            Walk::Nearest(walk) => walk.next(),
        }
    }

    /// The place just after the last capture returned.
    pub(super) fn place(&self) -> Place {
        match self {
            Walk::Along(walk) => walk.place(),
            Walk::Nearest(walk) => walk.place(),
        }
    }

    /// Whether the last capture returned is after `end`. Only forward walks have an end.
    pub(super) fn is_past(&self, end: &Place) -> bool {
        match self {
            Walk::Along(walk) if !walk.reversed => {
                let end_at = BASE64URL_NOPAD.decode(end.at.as_bytes()).unwrap_or_default();
                (walk.index, walk.at.as_slice()) > (end.range, end_at.as_slice())
            }
            _ => false,
        }
    }

    /// Skips `count` captures. Returns how many there were.
    pub(super) fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        match self {
            Walk::Along(walk) => walk.skip_rows(count),
            Walk::Nearest(walk) => {
                for passed in 0..count {
                    if walk.next()?.is_none() {
                        return Ok(passed);
                    }
                }
                Ok(count)
            }
        }
    }
}

/// A walk through ranges in ascending order, or through all of them backward.
pub(super) struct Along {
    snapshot: Snapshot,
    ranges: Vec<KeyRange>,
    reversed: bool,
    /// The range that `captures` goes through; `ranges.len()` after the end.
    index: usize,
    captures: Option<Captures>,
    /// Row key of the last capture returned from this range; empty before the first.
    at: Vec<u8>,
}

impl Along {
    fn new(
        snapshot: &Snapshot,
        ranges: Vec<KeyRange>,
        reversed: bool,
        from: &Place,
    ) -> Result<Along, AskError> {
        let mut walk = Along {
            snapshot: snapshot.clone(),
            ranges,
            reversed,
            index: from.range,
            captures: None,
            at: row_key(&from.at)?,
        };
        walk.enter();
        Ok(walk)
    }

    /// Enters the range of `index`, after the row key `at`.
    fn enter(&mut self) {
        let last = self.ranges.len().checked_sub(1 + self.index);
        let wanted = if self.reversed { last } else { Some(self.index) };
        let range = wanted.and_then(|n| self.ranges.get(n)).cloned();
        let at = Some(self.at.as_slice()).filter(|at| !at.is_empty());
        self.captures = range.map(|range| match self.reversed {
            true => self.snapshot.captures_reversed(range, at),
            false => self.snapshot.captures(range, at),
        });
    }

    fn enter_next(&mut self) {
        self.index += 1;
        self.at.clear();
        self.enter();
    }

    fn next(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        while let Some(captures) = &mut self.captures {
            if let Some(capture) = captures.next().transpose()? {
                self.at.clear();
                self.at.extend_from_slice(captures.cursor());
                return Ok(Some(capture));
            }
            self.enter_next();
        }
        Ok(None)
    }

    fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        let mut passed = 0;
        while passed < count
            && let Some(captures) = &mut self.captures
        {
            let here = captures.skip_rows(count - passed)?;
            if here > 0 {
                self.at = captures.cursor().to_vec();
            }
            passed += here;
            if passed < count {
                // Keep the last place if there is no further range: it is the end of a block, and a place
                // beyond it would not be.
                let (index, at) = (self.index, self.at.clone());
                self.enter_next();
                if self.captures.is_none() {
                    (self.index, self.at) = (index, at);
                }
            }
        }
        Ok(passed)
    }

    fn place(&self) -> Place {
        Place {
            range: self.index,
            at: BASE64URL_NOPAD.encode(&self.at),
            ..Place::default()
        }
    }
}

/// Captures of one URL key by their distance from a time.
pub(super) struct Nearest {
    wanted_s: i64,
    later: Side,
    earlier: Side,
}

/// A walk away from the time, nearest captures first.
struct Side {
    captures: Captures,
    ahead: Option<CaptureRow>,
    /// Row key of `ahead`.
    ahead_at: Vec<u8>,
    /// Row key of the last capture returned, or where the walk began.
    at: Vec<u8>,
}

impl Side {
    fn new(captures: Captures, at: Vec<u8>) -> Result<Side, SnapshotError> {
        let mut side = Side {
            captures,
            ahead: None,
            ahead_at: Vec::new(),
            at,
        };
        side.look_ahead()?;
        Ok(side)
    }

    fn look_ahead(&mut self) -> Result<(), SnapshotError> {
        self.ahead = self.captures.next().transpose()?;
        self.ahead_at = self.captures.cursor().to_vec();
        Ok(())
    }

    fn distance_s(&self, wanted_s: i64) -> Option<i64> {
        let ahead = self.ahead.as_ref()?;
        Some((ahead.fetch_time_ms.div_euclid(1000) - wanted_s).abs())
    }

    fn take(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        let taken = self.ahead.take();
        self.at = std::mem::take(&mut self.ahead_at);
        self.look_ahead()?;
        Ok(taken)
    }
}

impl Nearest {
    fn new(snapshot: &Snapshot, url_key: &str, wanted_s: i64, from: &Place) -> Result<Nearest, AskError> {
        let begin = Snapshot::captures_cursor_at(url_key, wanted_s.saturating_mul(1000));
        let begin_at = |at: &str| match at.is_empty() {
            true => Ok(begin.clone()),
            false => row_key(at),
        };
        let range = || KeyRange::Exact(url_key.to_owned());
        let (later, earlier) = (begin_at(&from.at)?, begin_at(&from.back)?);
        Ok(Nearest {
            wanted_s,
            later: Side::new(snapshot.captures(range(), Some(&later)), later)?,
            earlier: Side::new(snapshot.captures_reversed(range(), Some(&earlier)), earlier)?,
        })
    }

    fn next(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        let distances = (
            self.earlier.distance_s(self.wanted_s),
            self.later.distance_s(self.wanted_s),
        );
        match distances {
            (Some(earlier), Some(later)) if earlier <= later => self.earlier.take(),
            (Some(_), None) => self.earlier.take(),
            _ => self.later.take(),
        }
    }

    fn place(&self) -> Place {
        Place {
            at: BASE64URL_NOPAD.encode(&self.later.at),
            back: BASE64URL_NOPAD.encode(&self.earlier.at),
            ..Place::default()
        }
    }
}

fn row_key(text: &str) -> Result<Vec<u8>, AskError> {
    BASE64URL_NOPAD
        .decode(text.as_bytes())
        .map_err(|_| AskError::bad_request(super::cursor::NO_CURSOR))
}
