//! Sets of URL keys, stored as ranges.

use urlkey::KeyRange;

/// A set of URL keys: ranges in ascending order, disjoint and not adjacent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyRanges(Vec<KeyRange>);

impl KeyRanges {
    /// Returns the keys in any of `ranges`.
    pub fn any_of(mut ranges: Vec<KeyRange>) -> KeyRanges {
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => {
                    if range.end > last.end {
                        last.end = range.end;
                    }
                }
                _ => merged.push(range),
            }
        }
        KeyRanges(merged)
    }

    /// Returns these keys except `others`.
    pub fn without(self, others: &KeyRanges) -> KeyRanges {
        let mut left = Vec::new();
        for mut range in self.0 {
            for other in &others.0 {
                if other.end <= range.start || other.start >= range.end {
                    continue;
                }
                if other.start > range.start {
                    left.push(KeyRange {
                        start: range.start.clone(),
                        end: other.start.clone(),
                    });
                }
                range.start = other.end.clone();
                if range.start >= range.end {
                    break;
                }
            }
            if range.start < range.end {
                left.push(range);
            }
        }
        KeyRanges(left)
    }

    /// Returns whether a key is in the set.
    pub fn contains(&self, url_key: &str) -> bool {
        self.range_of(url_key).is_some()
    }

    /// Returns the range that contains a key.
    pub fn range_of(&self, url_key: &str) -> Option<&KeyRange> {
        // A range that begins after the key cannot contain it, and of the others only the last can.
        let after = self.0.partition_point(|range| range.start.as_str() <= url_key);
        self.0[..after].last().filter(|range| range.contains(url_key))
    }

    /// Returns the end of the range before a key and the start of the one after it; `None` if the
    /// key is in a range.
    pub fn gap_around(&self, url_key: &str) -> Option<(Option<&str>, Option<&str>)> {
        let after = self.0.partition_point(|range| range.start.as_str() <= url_key);
        let before = self.0[..after].last();
        if before.is_some_and(|range| range.contains(url_key)) {
            return None;
        }
        let start = self.0.get(after).map(|range| range.start.as_str());
        Some((before.map(|range| range.end.as_str()), start))
    }

    /// Returns the ranges in ascending order.
    pub fn ranges(&self) -> &[KeyRange] {
        &self.0
    }

    /// Returns the keys of all of these sets.
    pub(crate) fn union(sets: Vec<KeyRanges>) -> KeyRanges {
        KeyRanges::any_of(sets.into_iter().flat_map(|set| set.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges(bounds: &[(u8, u8)]) -> KeyRanges {
        let text = |n: u8| char::from(b'a' + n % 26).to_string();
        let of = |&(from, to): &(u8, u8)| KeyRange {
            start: text(from.min(to)),
            end: text(from.max(to)) + "~",
        };
        KeyRanges::any_of(bounds.iter().map(of).collect())
    }

    proptest! {
        #[test]
        fn sets_of_keys_are_as_if_each_key_was_asked(
            some in prop::collection::vec((0_u8..26, 0_u8..26), 0..6),
            others in prop::collection::vec((0_u8..26, 0_u8..26), 0..6),
        ) {
            let in_any = |bounds: &[(u8, u8)], key: &str| bounds.iter().any(|one| ranges(&[*one]).contains(key));
            let (a, b) = (ranges(&some), ranges(&others));
            let less = a.clone().without(&b);
            for key in ('a'..='z').flat_map(|c| [c.to_string(), format!("{c}m"), format!("{c}\u{7f}")]) {
                prop_assert_eq!(a.contains(&key), in_any(&some, &key), "{}", key);
                prop_assert_eq!(less.contains(&key), in_any(&some, &key) && !in_any(&others, &key), "{}", key);
            }
            prop_assert!(a.ranges().is_sorted_by(|one, next| one.end < next.start));
        }
    }
}
