//! Whether a history of one object could have happened to a single register, one operation after the other.
//!
//! The search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with the memory of Lowe ("Testing for
//! linearizability", 2017): operations are put in an order that keeps to real time and explains every answer; states
//! reached before are not searched again. Objects are independent of each other, so each is checked alone.

use std::collections::HashSet;

/// A content, by number; 0 is none. No two writes of a history are of the same.
pub type Value = u32;

/// What must hold for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    Absent,
    Is(Value),
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Read,
    /// A deletion writes 0; of nothing it does nothing.
    Write {
        value: Value,
        when: When,
    },
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Of a read.
    Found(Value),
    Written,
    /// The condition does not hold of this value.
    Refused(Value),
    /// A deletion found nothing.
    Nothing,
    /// None, or that it is not known: it may happen at any time, or never.
    Unknown,
}

/// One operation and when it was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub asked: Asked,
    pub answer: Answer,
    /// Moments, in one order for all: when it was asked, and when it was answered.
    pub begun: u64,
    pub ended: u64,
}

impl Event {
    fn is_unknown(&self) -> bool {
        self.answer == Answer::Unknown
    }

    /// The value afterwards, if it may happen at this value with this answer.
    fn apply(&self, state: Value) -> Option<Value> {
        let Asked::Write { value, when } = self.asked else {
            return (self.answer == Answer::Found(state)).then_some(state);
        };
        let holds = match when {
            When::Always => true,
            When::Absent => state == 0,
            When::Is(expected) => state == expected && state != 0,
        };
        match self.answer {
            Answer::Written => (holds && (value != 0 || state != 0)).then_some(value),
            Answer::Refused(current) => (!holds && current == state).then_some(state),
            Answer::Nothing => (holds && value == 0 && state == 0).then_some(state),
            Answer::Unknown => Some(if holds { value } else { state }),
            Answer::Found(_) => None,
        }
    }
}

/// Whether the history of one object, which was absent at first, can be explained. At most 128 events.
pub fn is_linearizable(events: &[Event]) -> bool {
    // An unanswered read says nothing.
    let told = |event: &&Event| !(event.is_unknown() && event.asked == Asked::Read);
    let events: Vec<Event> = events.iter().filter(told).copied().collect();
    assert!(events.len() <= 128, "{} events are too many", events.len());
    let mut seen = HashSet::new();
    let mut open = vec![(0_u128, 0)];
    while let Some((done, state)) = open.pop() {
        if !seen.insert((done, state)) {
            continue;
        }
        let left = || (0..events.len()).filter(move |at| done & (1 << at) == 0);
        if left().all(|at| events[at].is_unknown()) {
            return true;
        }
        // Nothing comes after something that begins when it has ended.
        let known = left().filter(|at| !events[*at].is_unknown());
        let first_end = known.map(|at| events[at].ended).min().unwrap_or(u64::MAX);
        for at in left().filter(|at| events[*at].begun <= first_end) {
            if let Some(state) = events[at].apply(state) {
                open.push((done | (1 << at), state));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(asked: Asked, answer: Answer, begun: u64, ended: u64) -> Event {
        Event {
            asked,
            answer,
            begun,
            ended,
        }
    }

    fn put(value: Value, begun: u64, ended: u64) -> Event {
        write(value, When::Always, Answer::Written, begun, ended)
    }

    fn write(value: Value, when: When, answer: Answer, begun: u64, ended: u64) -> Event {
        event(Asked::Write { value, when }, answer, begun, ended)
    }

    fn read(value: Value, begun: u64, ended: u64) -> Event {
        event(Asked::Read, Answer::Found(value), begun, ended)
    }

    #[test]
    fn good_histories_are_accepted() {
        let unknown = |value, begun| write(value, When::Always, Answer::Unknown, begun, begun + 1);
        let good: [&[Event]; 8] = [
            &[],
            &[read(0, 1, 2), put(1, 3, 4), read(1, 5, 6)],
            // Under way at the same time: either order.
            &[put(1, 1, 10), put(2, 2, 9), read(1, 11, 12)],
            &[put(1, 1, 10), put(2, 2, 9), read(2, 11, 12)],
            // One reader sees it before it is answered, nobody the old one afterwards.
            &[
                put(1, 1, 2),
                put(2, 3, 20),
                read(1, 4, 5),
                read(2, 6, 7),
                read(2, 8, 9),
            ],
            // Nobody knows whether it has happened, until somebody sees it, late.
            &[
                put(1, 1, 2),
                unknown(2, 3),
                read(1, 5, 6),
                read(1, 7, 8),
                read(2, 9, 10),
            ],
            &[put(1, 1, 2), unknown(2, 3), read(1, 9, 10)],
            // Two create it, one is refused with the other's value.
            &[
                write(1, When::Absent, Answer::Written, 1, 5),
                write(2, When::Absent, Answer::Refused(1), 2, 6),
                write(0, When::Is(1), Answer::Written, 7, 8),
                write(0, When::Always, Answer::Nothing, 9, 10),
                write(3, When::Absent, Answer::Written, 11, 12),
            ],
        ];
        for history in good {
            assert!(is_linearizable(history), "{history:#?}");
        }
    }

    #[test]
    fn bad_histories_are_refused() {
        let bad: [&[Event]; 8] = [
            &[put(1, 1, 2), read(0, 3, 4)],
            &[put(1, 1, 2), put(2, 3, 4), read(1, 5, 6)],
            // One has seen the new value, a later one sees the old.
            &[put(1, 1, 2), put(2, 3, 20), read(2, 4, 5), read(1, 6, 7)],
            // A condition that held of what was overwritten already.
            &[
                put(1, 1, 2),
                put(2, 3, 4),
                write(3, When::Is(1), Answer::Written, 5, 6),
            ],
            // Created although it exists.
            &[put(1, 1, 2), write(2, When::Absent, Answer::Written, 3, 4)],
            // There after it was deleted.
            &[
                put(1, 1, 2),
                write(0, When::Always, Answer::Written, 3, 4),
                read(1, 5, 6),
            ],
            // What may have happened has happened twice.
            &[
                put(1, 1, 2),
                write(2, When::Always, Answer::Unknown, 3, 4),
                read(2, 5, 6),
                put(3, 7, 8),
                read(3, 9, 10),
                read(2, 11, 12),
            ],
            // Both won.
            &[
                write(1, When::Absent, Answer::Written, 1, 5),
                write(2, When::Absent, Answer::Written, 2, 6),
            ],
        ];
        for history in bad {
            assert!(!is_linearizable(history), "{history:#?}");
        }
    }
}
