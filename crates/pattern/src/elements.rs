//! A parsed pattern without braces, and how it matches a name.

use crate::set::Set;
use crate::unit::{Unit, unit_of, variants};

/// An element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    /// `*`
    Any,
    /// `?`
    One,
    Set(Set),
    Unit(Unit),
}

/// A pattern without braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Elements(Vec<Element>);

impl Elements {
    pub(super) fn of_characters(text: &str) -> Self {
        Self::of(&text.chars().map(Unit::from).collect::<Vec<_>>())
    }

    pub(super) fn of_bytes(text: &[u8]) -> Self {
        Self::of(&text.iter().map(|byte| unit_of(*byte)).collect::<Vec<_>>())
    }

    fn of(pattern: &[Unit]) -> Self {
        let mut elements = Vec::with_capacity(pattern.len());
        let mut at = 0;
        while let Some(&first) = pattern.get(at) {
            let (element, length) = match char::from_u32(first) {
                Some('*') => (Element::Any, 1),
                Some('?') => (Element::One, 1),
                Some('[') => match Set::read(&pattern[at..]) {
                    Some((set, length)) => (Element::Set(set), length),
                    None => (Element::Unit(first), 1),
                },
                // A backslash at the end is literal.
                Some('\\') => match pattern.get(at + 1) {
                    Some(&escaped) => (Element::Unit(escaped), 2),
                    None => (Element::Unit(first), 1),
                },
                _ => (Element::Unit(first), 1),
            };
            if element != Element::Any || elements.last() != Some(&Element::Any) {
                elements.push(element);
            }
            at += length;
        }
        Self(elements)
    }

    pub(super) fn begins_with_dot(&self) -> bool {
        self.0.first() == Some(&Element::Unit(Unit::from('.')))
    }

    pub(super) fn match_characters(&self, name: &str, ignores_case: bool) -> bool {
        let at = |offset: usize| {
            let c = name.get(offset..)?.chars().next()?;
            Some((Unit::from(c), c.len_utf8()))
        };
        self.walk(at, ignores_case)
    }

    pub(super) fn match_bytes(&self, name: &[u8], ignores_case: bool) -> bool {
        let at = |offset: usize| Some((unit_of(*name.get(offset)?), 1));
        self.walk(at, ignores_case)
    }

    /// Matches a name. `at` returns the unit at an offset, with its length. Backtracks only to the
    /// last `*`.
    fn walk(&self, at: impl Fn(usize) -> Option<(Unit, usize)>, ignores_case: bool) -> bool {
        let elements = &self.0;
        let (mut element, mut offset) = (0, 0);
        // The last `*`, and the end of the text that it matches.
        let mut star: Option<(usize, usize)> = None;
        while let Some((unit, length)) = at(offset) {
            match elements.get(element) {
                Some(Element::Any) => {
                    star = Some((element, offset));
                    element += 1;
                }
                Some(one) if one.takes(unit, ignores_case) => {
                    element += 1;
                    offset += length;
                }
                _ => {
                    let Some((any, taken)) = star else { return false };
                    // The walk has been there, so there is a unit.
                    let taken = taken + at(taken).map_or(1, |(_, length)| length);
                    star = Some((any, taken));
                    (element, offset) = (any + 1, taken);
                }
            }
        }
        elements[element..].iter().all(|rest| *rest == Element::Any)
    }
}

impl Element {
    fn takes(&self, unit: Unit, ignores_case: bool) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Set(set) => set.contains(unit, ignores_case),
            Self::Unit(own) if ignores_case => *own == unit || variants(*own)[0] == variants(unit)[0],
            Self::Unit(own) => *own == unit,
        }
    }
}
