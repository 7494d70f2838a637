//! Walks through captures: forward or backward through ranges of keys, or from one time of a URL in
//! both directions.
//!
//! Memory does not depend on the number of captures. The captures nearest in time are found with
//! two walks away from that time, of which the nearer one advances.

use cdx::Order;
use index::{CaptureRow, KeyRange, Snapshot, SnapshotError};
use serde::{Deserialize, Serialize};

use super::key::UrlSpelling;
use super::time;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;
use crate::views::CaptureWalk;

/// A place between two captures, from which a walk can continue. One is taken before each capture,
/// and few become a cursor.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct WalkPosition {
    /// Index of the range.
    range: usize,
    /// Row key of the last capture returned; empty before the first.
    #[serde(with = "base64_text")]
    at: Vec<u8>,
    /// In a walk in both directions: the last capture returned by the backward walk.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "base64_text")]
    back: Vec<u8>,
    /// In a walk in both directions: whether all captures of the URL asked for have been returned,
    /// and those of other spellings follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    others: bool,
    /// Values that collapsing compares the next capture with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) collapsed: Vec<String>,
}

/// Row keys in Base64, which takes a third of the space of lists of numbers: a key may have 60,000
/// bytes, and a cursor is part of an address.
mod base64_text {
    use data_encoding::BASE64URL_NOPAD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64URL_NOPAD.encode(key))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64URL_NOPAD.decode(text.as_bytes()).map_err(de::Error::custom)
    }
}

/// Captures in the order asked for.
pub(super) enum Walk<'s> {
    KeyOrder(Box<KeyOrder<'s>>),
    NearestFirst(Box<NearestFirst<'s>>),
}

impl<'s> Walk<'s> {
    /// `asked` selects the captures of one URL key that come first in a walk from a time.
    pub(super) fn new(
        visible: &'s VisibleSnapshot<'s>,
        ranges: Vec<KeyRange>,
        (order, asked): (&Order, UrlSpelling),
        from: Option<WalkPosition>,
        records_only: bool,
    ) -> Result<Walk<'s>, AskError> {
        let reach = Reach {
            visible,
            records_only,
        };
        let from = from.unwrap_or_default();
        Ok(match (order, ranges.as_slice()) {
            (Order::Closest(wanted), [KeyRange::Exact(url_key)]) => {
                let wanted = format::date::ms_of_digits(time::check(wanted)?) / 1000;
                Walk::NearestFirst(Box::new(NearestFirst::new(reach, url_key, asked, wanted, from)?))
            }
            _ => Walk::KeyOrder(Box::new(KeyOrder::new(
                reach,
                ranges,
                *order == Order::Reverse,
                from,
            ))),
        })
    }

    pub(super) fn next(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        match self {
            Walk::KeyOrder(walk) => walk.next(),
            Walk::NearestFirst(walk) => walk.next(),
        }
    }

    /// Returns whether the last capture returned is due in this pass. If not, the caller must skip
    /// it. In a walk from a time, captures of exactly the URL asked for come before others.
    pub(super) fn is_turn_of(&mut self, capture: &CaptureRow) -> bool {
        match self {
            Walk::KeyOrder(_) => true,
            Walk::NearestFirst(walk) => walk.is_turn_of(capture),
        }
    }

    /// Returns the place just after the last capture returned.
    pub(super) fn place(&self) -> WalkPosition {
        let mut place = WalkPosition::default();
        self.mark(&mut place);
        place
    }

    /// Sets `place` to the place just after the last capture returned.
    pub(super) fn mark(&self, place: &mut WalkPosition) {
        match self {
            Walk::KeyOrder(walk) => {
                place.range = walk.index;
                place.at.clone_from(&walk.at);
            }
            Walk::NearestFirst(walk) => {
                place.at.clone_from(&walk.later.at);
                place.back.clone_from(&walk.earlier.at);
                place.others = walk.others;
            }
        }
    }

    /// Returns whether the last capture returned is after `end`. Only forward walks have an end.
    pub(super) fn is_past(&self, end: &WalkPosition) -> bool {
        match self {
            Walk::KeyOrder(walk) if !walk.reversed => (walk.index, &walk.at) > (end.range, &end.at),
            _ => false,
        }
    }

    /// Skips up to `count` captures. Returns how many there were.
    pub(super) fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        match self {
            Walk::KeyOrder(walk) if walk.visible.sees_everything() => walk.skip_rows(count),
            Walk::KeyOrder(walk) => skip(count, || walk.next_or_stay()),
            Walk::NearestFirst(walk) => skip(count, || walk.next()),
        }
    }
}

/// Calls `next` up to `count` times, until it returns nothing. Returns how many captures there
/// were.
fn skip(
    count: usize,
    mut next: impl FnMut() -> Result<Option<CaptureRow>, SnapshotError>,
) -> Result<usize, SnapshotError> {
    for passed in 0..count {
        if next()?.is_none() {
            return Ok(passed);
        }
    }
    Ok(count)
}

/// Returns a position in the rows after those of all keys before `from`. The row of a key is the
/// key, a NUL and more, so it may sort after a longer key: `a` is before `a\0`, but its rows are
/// not.
fn behind_keys_before(from: &str) -> Vec<u8> {
    let (before, nul) = match from.bytes().position(|byte| byte == 0) {
        Some(length) => (&from[..length], Some(1)),
        None => (from, None),
    };
    before.bytes().chain(nul).collect()
}

/// The captures that a walk reads.
#[derive(Clone, Copy)]
struct Reach<'s> {
    visible: &'s VisibleSnapshot<'s>,
    /// Whether captures known only from indexes are left out.
    records_only: bool,
}

impl Reach<'_> {
    /// Returns the captures of a range after the row key `at`.
    fn captures(self, range: KeyRange, reversed: bool, at: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        let snapshot = self.visible.snapshot();
        match (self.records_only, reversed) {
            (false, _) => snapshot.captures_and_lines(range, reversed, at),
            (true, false) => snapshot.captures(range, at),
            (true, true) => snapshot.captures_reversed(range, at),
        }
    }
}

/// A walk through ranges in ascending order, or through all of them backward. Hidden captures are
/// skipped and never recorded as a place, because a cursor must not reveal them.
pub(super) struct KeyOrder<'s> {
    visible: &'s VisibleSnapshot<'s>,
    reach: Reach<'s>,
    ranges: Vec<KeyRange>,
    reversed: bool,
    /// The range that `captures` reads; `ranges.len()` after the end.
    index: usize,
    captures: Option<Box<dyn CaptureWalk>>,
    /// Row key of the last capture returned from this range; empty before the first.
    at: Vec<u8>,
}

impl<'s> KeyOrder<'s> {
    fn new(reach: Reach<'s>, ranges: Vec<KeyRange>, reversed: bool, from: WalkPosition) -> KeyOrder<'s> {
        let mut walk = KeyOrder {
            visible: reach.visible,
            reach,
            ranges,
            reversed,
            index: from.range,
            captures: None,
            at: from.at,
        };
        walk.enter();
        walk
    }

    /// Enters the range `index`, after the row key `at`.
    fn enter(&mut self) {
        let at = Some(self.at.as_slice()).filter(|at| !at.is_empty());
        self.captures = self.captures_from(at);
    }

    /// Returns the captures of the range `index` after a row key.
    fn captures_from(&self, at: Option<&[u8]>) -> Option<Box<dyn CaptureWalk>> {
        let last = self.ranges.len().checked_sub(1 + self.index);
        let wanted = if self.reversed { last } else { Some(self.index) };
        let range = wanted.and_then(|n| self.ranges.get(n)).cloned();
        range.map(|range| self.reach.captures(range, self.reversed, at))
    }

    fn enter_next(&mut self) {
        self.index += 1;
        self.at.clear();
        self.enter();
    }

    fn next(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        while let Some(captures) = &mut self.captures {
            let Some(capture) = captures.next().transpose()? else {
                self.enter_next();
                continue;
            };
            if self.visible.sees(&capture) {
                self.at.clear();
                self.at.extend_from_slice(captures.cursor());
                return Ok(Some(capture));
            }
            self.pass_over(&capture.url_key);
        }
        Ok(None)
    }

    /// Like [`KeyOrder::next`], but at the end keeps the place of the last capture.
    fn next_or_stay(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        let (index, at) = (self.index, self.at.clone());
        let next = self.next()?;
        if next.is_none() {
            (self.index, self.at) = (index, at);
        }
        Ok(next)
    }

    /// Skips the range of keys around a hidden key that the rules hide completely, if the order of
    /// rows permits.
    fn pass_over(&mut self, url_key: &str) {
        let Some((from, to)) = self.visible.filter().hidden_key_range(url_key) else {
            return;
        };
        let edge = if self.reversed {
            from.map(behind_keys_before)
        } else {
            to.map(|to| to.as_bytes().to_vec())
        };
        let Some(edge) = edge else {
            return self.enter_next();
        };
        let here = self
            .captures
            .as_ref()
            .map_or(&[][..], |captures| captures.cursor());
        // A hidden range of one key ends where the rows of this key begin, so these rows are
        // skipped one by one.
        let is_ahead = self.reversed == (edge.as_slice() < here);
        if is_ahead {
            self.captures = self.captures_from(Some(&edge));
        }
    }

    fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        let mut passed = 0;
        let mut last = (self.index, self.at.clone());
        while passed < count
            && let Some(captures) = &mut self.captures
        {
            let here = captures.skip_rows(count - passed)?;
            if here > 0 {
                self.at = captures.cursor().to_vec();
                last = (self.index, self.at.clone());
            }
            passed += here;
            if passed < count {
                // If there is no further range, keep the last place: it is the end of a block, and
                // a place after it would not be.
                self.enter_next();
                if self.captures.is_none() {
                    (self.index, self.at) = last.clone();
                }
            }
        }
        Ok(passed)
    }
}

/// Captures of one URL key by their distance from a time: first those of exactly the URL asked for,
/// then those of other spellings.
pub(super) struct NearestFirst<'s> {
    reach: Reach<'s>,
    url_key: String,
    asked: UrlSpelling,
    wanted_s: i64,
    /// Whether this is the second of the two passes, which returns those of other spellings.
    others: bool,
    /// Whether the first pass skipped any, or began after some of the captures.
    has_others: bool,
    later: Side<'s>,
    earlier: Side<'s>,
}

/// A walk away from the time, nearest captures first.
struct Side<'s> {
    visible: &'s VisibleSnapshot<'s>,
    captures: Box<dyn CaptureWalk>,
    ahead: Option<CaptureRow>,
    /// Row key of `ahead`.
    ahead_at: Vec<u8>,
    /// Row key of the last capture returned, or of the start of the walk.
    at: Vec<u8>,
}

impl<'s> Side<'s> {
    fn new(
        visible: &'s VisibleSnapshot<'s>,
        captures: Box<dyn CaptureWalk>,
        at: Vec<u8>,
    ) -> Result<Side<'s>, SnapshotError> {
        let mut side = Side {
            visible,
            captures,
            ahead: None,
            ahead_at: Vec::new(),
            at,
        };
        side.look_ahead()?;
        Ok(side)
    }

    fn look_ahead(&mut self) -> Result<(), SnapshotError> {
        loop {
            self.ahead = self.captures.next().transpose()?;
            if self.ahead.as_ref().is_none_or(|ahead| self.visible.sees(ahead)) {
                break;
            }
        }
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

impl<'s> NearestFirst<'s> {
    fn new(
        reach: Reach<'s>,
        url_key: &str,
        asked: UrlSpelling,
        wanted_s: i64,
        from: WalkPosition,
    ) -> Result<NearestFirst<'s>, SnapshotError> {
        let begin = Snapshot::captures_cursor_at(url_key, wanted_s.saturating_mul(1000));
        let has_others = !from.at.is_empty();
        let begin_at = |at: Vec<u8>| if at.is_empty() { begin.clone() } else { at };
        let (later, earlier) = (begin_at(from.at), begin_at(from.back));
        let (later, earlier) = sides(reach, url_key, later, earlier)?;
        Ok(NearestFirst {
            reach,
            url_key: url_key.to_owned(),
            asked,
            wanted_s,
            others: from.others,
            has_others,
            later,
            earlier,
        })
    }

    fn next(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
        match self.nearest()? {
            None if !self.others && self.has_others => {
                self.others = true;
                let begin = Snapshot::captures_cursor_at(&self.url_key, self.wanted_s.saturating_mul(1000));
                (self.later, self.earlier) = sides(self.reach, &self.url_key, begin.clone(), begin)?;
                self.nearest()
            }
            nearest => Ok(nearest),
        }
    }

    /// Returns whether the last capture returned is due in this pass. One that is skipped belongs
    /// to the other pass.
    fn is_turn_of(&mut self, capture: &CaptureRow) -> bool {
        let is_other = !self.asked.is(&capture.url);
        self.has_others |= is_other;
        is_other == self.others
    }

    fn nearest(&mut self) -> Result<Option<CaptureRow>, SnapshotError> {
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
}

/// Starts two walks away from two row keys.
fn sides<'s>(
    reach: Reach<'s>,
    url_key: &str,
    later: Vec<u8>,
    earlier: Vec<u8>,
) -> Result<(Side<'s>, Side<'s>), SnapshotError> {
    let range = || KeyRange::Exact(url_key.to_owned());
    Ok((
        Side::new(reach.visible, reach.captures(range(), false, Some(&later)), later)?,
        Side::new(
            reach.visible,
            reach.captures(range(), true, Some(&earlier)),
            earlier,
        )?,
    ))
}
