//! A bracket expression `[...]` in a pattern.

use crate::class::Class;
use crate::unit::{Unit, variants};

/// The characters of a bracket expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    is_negated: bool,
    /// First and last character of each range.
    ranges: Vec<(Unit, Unit)>,
    classes: Vec<Class>,
}

const fn unit(c: char) -> Unit {
    c as Unit
}

impl Set {
    /// Parses a bracket expression and returns its length. `None` if it is not closed and therefore
    /// literal.
    pub(super) fn read(pattern: &[Unit]) -> Option<(Self, usize)> {
        let is_negated = pattern.get(1).is_some_and(|c| [unit('!'), unit('^')].contains(c));
        let start = if is_negated { 2 } else { 1 };
        let mut set = Self {
            is_negated,
            ranges: Vec::new(),
            classes: Vec::new(),
        };
        let mut at = start;
        loop {
            let first = *pattern.get(at)?;
            // A closing bracket at the start is a member.
            if first == unit(']') && at > start {
                return Some((set, at + 1));
            }
            if first == unit('[') && pattern.get(at + 1) == Some(&unit(':')) {
                at = set.take_class(pattern, at);
                continue;
            }
            let (first, behind) = member(pattern, at)?;
            at = behind;
            if pattern.get(at) == Some(&unit('-')) && pattern.get(at + 1) != Some(&unit(']')) {
                let (last, behind) = member(pattern, at + 1)?;
                set.ranges.push((first, last));
                at = behind;
            } else {
                set.ranges.push((first, first));
            }
        }
    }

    /// Parses `[:name:]` and returns the position after it. An unknown class has no members.
    fn take_class(&mut self, pattern: &[Unit], at: usize) -> usize {
        let name = &pattern[at + 2..];
        match name.windows(2).position(|two| two == [unit(':'), unit(']')]) {
            Some(length) => {
                self.classes.extend(Class::named(&name[..length]));
                at + 2 + length + 2
            }
            None => at + 1,
        }
    }

    /// Returns whether the set contains a character, or a byte if bytes are compared.
    pub(super) fn contains(&self, c: Unit, ignores_case: bool) -> bool {
        let has = |c: Unit| {
            self.ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&c))
                || char::from_u32(c).is_some_and(|c| self.classes.iter().any(|class| class.contains(c)))
        };
        let inside = if ignores_case {
            variants(c).into_iter().any(has)
        } else {
            has(c)
        };
        inside != self.is_negated
    }
}

/// Parses one member: a character, `\` and a character, or `[.c.]` and `[=c=]`. Returns it with the
/// position after it.
fn member(pattern: &[Unit], at: usize) -> Option<(Unit, usize)> {
    let first = *pattern.get(at)?;
    if first == unit('\\') {
        return Some((*pattern.get(at + 1)?, at + 2));
    }
    if first == unit('[')
        && let Some(&[mark, c, again, close]) = pattern.get(at + 1..at + 5)
        && mark == again
        && [unit('.'), unit('=')].contains(&mark)
        && close == unit(']')
    {
        return Some((c, at + 5));
    }
    Some((first, at + 1))
}
