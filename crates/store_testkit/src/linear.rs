//! Checks whether a history of one object is linearizable to a single register.
//!
//! The search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with the memory
//! of Lowe ("Testing for linearizability", 2017): operations are put in an order that respects real
//! time and explains every response. States reached before are not searched again. Objects are
//! independent of each other, so each is checked alone.

use std::collections::HashSet;

/// A content, by number; 0 means no object. No two writes of a history have the same value.
pub type Value = u32;

/// The condition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    Absent,
    Is(Value),
}

/// The requested operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterRequest {
    Read,
    /// A deletion writes 0. If there is no object it does nothing.
    Write {
        value: Value,
        when: When,
    },
}

/// The response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The result of a read.
    Found(Value),
    Written,
    /// The condition did not hold for this value.
    Refused(Value),
    /// A deletion found no object.
    Nothing,
    /// No response, or an unknown outcome: the operation may happen at any time, or never.
    Unknown,
}

/// One operation and its time interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub asked: RegisterRequest,
    pub answer: Answer,
    /// Logical times, in one order for all operations: of the request, and of the response.
    pub begun: u64,
    pub ended: u64,
}

impl Event {
    fn is_unknown(&self) -> bool {
        self.answer == Answer::Unknown
    }

    /// Returns the value afterwards, if the operation can happen at this value with this response.
    fn apply(&self, state: Value) -> Option<Value> {
        let RegisterRequest::Write { value, when } = self.asked else {
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

/// Returns whether the history of one object, absent at first, is linearizable. At most 128 events.
pub fn is_linearizable(events: &[Event]) -> bool {
    // An unanswered read gives no information.
    let told = |event: &&Event| !(event.is_unknown() && event.asked == RegisterRequest::Read);
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
        // An operation that begins after another has ended cannot come before it.
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

    fn event(asked: RegisterRequest, answer: Answer, begun: u64, ended: u64) -> Event {
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
        event(RegisterRequest::Write { value, when }, answer, begun, ended)
    }

    fn read(value: Value, begun: u64, ended: u64) -> Event {
        event(RegisterRequest::Read, Answer::Found(value), begun, ended)
    }

    #[test]
    fn good_histories_are_accepted() {
        let unknown = |value, begun| write(value, When::Always, Answer::Unknown, begun, begun + 1);
        let good: [&[Event]; 8] = [
            &[],
            &[read(0, 1, 2), put(1, 3, 4), read(1, 5, 6)],
            // Concurrent, so either order is possible.
            &[put(1, 1, 10), put(2, 2, 9), read(1, 11, 12)],
            &[put(1, 1, 10), put(2, 2, 9), read(2, 11, 12)],
            // One reader sees the value before the write is answered, and no reader sees the old
            // one afterwards.
            &[
                put(1, 1, 2),
                put(2, 3, 20),
                read(1, 4, 5),
                read(2, 6, 7),
                read(2, 8, 9),
            ],
            // It is unknown whether the write has happened, until a reader sees its value, late.
            &[
                put(1, 1, 2),
                unknown(2, 3),
                read(1, 5, 6),
                read(1, 7, 8),
                read(2, 9, 10),
            ],
            &[put(1, 1, 2), unknown(2, 3), read(1, 9, 10)],
            // Two clients create the object, and one is refused with the other's value.
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
            // One reader has seen the new value, a later one sees the old.
            &[put(1, 1, 2), put(2, 3, 20), read(2, 4, 5), read(1, 6, 7)],
            // A condition that held for a value already overwritten.
            &[
                put(1, 1, 2),
                put(2, 3, 4),
                write(3, When::Is(1), Answer::Written, 5, 6),
            ],
            // Created although it exists.
            &[put(1, 1, 2), write(2, When::Absent, Answer::Written, 3, 4)],
            // Read after it was deleted.
            &[
                put(1, 1, 2),
                write(0, When::Always, Answer::Written, 3, 4),
                read(1, 5, 6),
            ],
            // A write with unknown outcome has happened twice.
            &[
                put(1, 1, 2),
                write(2, When::Always, Answer::Unknown, 3, 4),
                read(2, 5, 6),
                put(3, 7, 8),
                read(3, 9, 10),
                read(2, 11, 12),
            ],
            // Both created it.
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
