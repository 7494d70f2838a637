//! The id of a version, and its place among the other versions of its object.

use std::collections::BTreeMap;
use std::fmt;

use data_encoding::HEXLOWER;
use store_protocol::{Key, KeyError, Meta, Term, Version};

/// The hidden bucket of older versions and delete markers.
pub(super) const BUCKET: &str = ".versions";

/// Attribute: the id of a version. [`OWN`] in the version that was written with it. Absent in a
/// current version whose id is `null`, because its bucket kept no versions.
pub(crate) const VERSION_ID: &str = "weft-version-id";

/// Value of [`VERSION_ID`]: the id follows from this version's own number.
pub(super) const OWN: &str = "own";

/// The id of a version that was written while its bucket kept no versions.
const NULL: &str = "null";

/// Attribute of a delete marker.
const MARKER: &str = "weft-delete-marker";

/// Bytes of a place: term, milliseconds, counter and node of a version.
const PLACE_BYTES: usize = 8 + 6 + 4 + 4;

/// Ends the name of an object in the key of a version. No escaped name contains it.
const END: char = '\0';

/// The position of a version among the others of its object: the number of the write that made it,
/// inverted, so that the newest sorts first. Text form: 44 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Position([u8; PLACE_BYTES]);

/// The id of a version. Clients see 44 hexadecimal digits, which are opaque to them, or `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionId(Option<Position>);

/// Returns whether the attributes are those of a delete marker.
pub fn is_delete_marker(attributes: &BTreeMap<String, String>) -> bool {
    attributes.contains_key(MARKER)
}

/// Returns the attribute that makes an object a delete marker.
pub(super) fn marker() -> (String, String) {
    (MARKER.to_owned(), "on".to_owned())
}

impl Position {
    /// Returns the place of a version with this number.
    pub(super) fn of(version: Version) -> Self {
        let mut bytes = [0; PLACE_BYTES];
        let mut term = version.term.to_le_bytes();
        term.reverse();
        bytes[..8].copy_from_slice(&term);
        bytes[8..14].copy_from_slice(&version.millis.to_be_bytes()[2..]);
        bytes[14..18].copy_from_slice(&version.counter.to_be_bytes());
        bytes[18..].copy_from_slice(&version.node.to_be_bytes());
        Self(bytes.map(|byte| !byte))
    }

    /// Returns a place that is newer than this one but older than the next write of the object:
    /// that write has a later time, which comes before the node in the order. Different values of
    /// `step` keep simultaneous callers apart.
    pub(super) fn above(self, step: u16) -> Self {
        let mut bytes = self.0;
        let mut rest = u32::from(step) + 1;
        for byte in bytes.iter_mut().rev() {
            let [.., low] = rest.to_be_bytes();
            let (less, borrow) = byte.overflowing_sub(low);
            *byte = less;
            rest = (rest >> 8) + u32::from(borrow);
        }
        Self(bytes)
    }

    /// Returns a place older than all versions, for a marker of an object about which nothing is
    /// known.
    pub(super) fn of_marker_alone(now: Version) -> Self {
        // Terms come first in the order, so whatever is written next is newer, whichever node
        // decides it.
        Self::of(Version {
            term: Term::NONE,
            ..now
        })
    }

    /// Returns the place recorded in the current version's metadata.
    pub(super) fn of_current(meta: &Meta) -> Self {
        let id = VersionId::of(meta);
        id.0.unwrap_or_else(|| Self::of(meta.version))
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// Returns the key of the entry at this place.
    pub(super) fn key(self, object: &Key) -> Result<Key, KeyError> {
        Key::new(BUCKET, &format!("{}{self}", name(object)))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl VersionId {
    /// The id of a version that was written while its bucket kept no versions.
    pub const NULL: Self = Self(None);

    pub(super) fn at(place: Position) -> Self {
        Self(Some(place))
    }

    /// Returns the place that the id encodes; `None` for `null`, which may be at any place.
    pub(super) fn place(self) -> Option<Position> {
        self.0
    }

    /// Returns the id of a version from its metadata.
    pub fn of(meta: &Meta) -> Self {
        match meta.attributes.get(VERSION_ID).map(String::as_str) {
            Some(OWN) => Self(Some(Position::of(meta.version))),
            Some(text) => Self::parse(text).unwrap_or(Self::NULL),
            None => Self::NULL,
        }
    }

    /// Parses an id as given to clients. Returns `None` if the text is not an id.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            NULL => Some(Self::NULL),
            text => Position::parse(text).map(Self::at),
        }
    }

    /// Writes the id into a current version's attributes.
    pub(super) fn write_to(self, attributes: &mut BTreeMap<String, String>) {
        match self.0 {
            Some(place) => attributes.insert(VERSION_ID.to_owned(), place.to_string()),
            None => attributes.remove(VERSION_ID),
        };
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(place) => place.fmt(f),
            None => f.write_str(NULL),
        }
    }
}

/// Returns the prefix of the names of all versions of an object, in the bucket of versions.
pub(super) fn name(object: &Key) -> String {
    format!("{}/{}{END}", object.bucket(), escaped(object.name()))
}

/// Escapes the characters that could be taken for the end of a name. Keeps the order of names, and
/// a prefix of a name stays a prefix.
pub(super) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '\0' => escaped.push_str("\u{1}\u{1}"),
            '\u{1}' => escaped.push_str("\u{1}\u{2}"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Reads the name of an object, as written by [`escaped`], and the place after it.
pub(super) fn read(text: &str) -> Option<(String, Position)> {
    let (escaped, place) = text.split_once(END)?;
    let (mut name, mut letters) = (String::with_capacity(escaped.len()), escaped.chars());
    while let Some(letter) = letters.next() {
        name.push(match letter {
            '\u{1}' if letters.next()? == '\u{1}' => '\0',
            letter => letter,
        });
    }
    Some((name, Position::parse(place)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn version(parts: (u32, u64, u32, u32)) -> Version {
        let (number, millis, counter, node) = parts;
        Version {
            term: format!("{number:08x}00000000").parse().unwrap(),
            millis,
            counter,
            node,
        }
    }

    proptest! {
        #[test]
        fn the_newest_comes_first(
            a in (any::<u32>(), 0..1u64 << 48, any::<u32>(), any::<u32>()),
            b in (any::<u32>(), 0..1u64 << 48, any::<u32>(), any::<u32>()),
        ) {
            let (a, b) = (version(a), version(b));
            prop_assert_eq!(Position::of(a).cmp(&Position::of(b)), b.cmp(&a));
            prop_assert_eq!(Position::of(a).to_string().cmp(&Position::of(b).to_string()), b.cmp(&a));
            let id = VersionId::at(Position::of(a));
            prop_assert_eq!(VersionId::parse(&id.to_string()), Some(id));
        }

        /// A marker is above the version that it hides, and below the next write.
        #[test]
        fn above_one_version_and_below_the_next(
            of in (any::<u32>(), 0..(1u64 << 48) - 2, 0..u32::MAX - 2, any::<u32>()),
            step in any::<u16>(),
        ) {
            let (marker, place) = (Position::of(version(of)).above(step), Position::of(version(of)));
            prop_assert!(marker < place);
            let next = Position::of(version((of.0, of.1 + 1, 0, 0)));
            prop_assert!(next < marker);
        }

        #[test]
        fn names_keep_their_order(a in "[\0\u{1}\u{2}ab/\u{10FFFF}]{1,6}", b in "[\0\u{1}\u{2}ab/\u{10FFFF}]{1,6}") {
            let place = Position::of(version((0, 5, 0, 1)));
            let keys = [&a, &b].map(|name| place.key(&Key::new("bucket", name).unwrap()).unwrap());
            prop_assert_eq!(keys[0].cmp(&keys[1]), a.cmp(&b));
            prop_assert_eq!(escaped(&a).starts_with(&escaped(&b)), a.starts_with(&b));
            let text = keys[0].name().strip_prefix("bucket/").unwrap();
            prop_assert_eq!(read(text), Some((a, place)));
        }
    }

    #[test]
    fn what_is_no_id() {
        for text in [
            "",
            "Null",
            "12",
            &"g".repeat(44),
            &"A".repeat(44),
            &"0".repeat(46),
        ] {
            assert_eq!(VersionId::parse(text), None, "{text:?}");
        }
        assert_eq!(VersionId::parse("null"), Some(VersionId::NULL));
    }
}
