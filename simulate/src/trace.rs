//! The events of a run, line by line, and their counts.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;

/// The trace of a run. Clones write to the same trace.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    counts: BTreeMap<String, u64>,
    /// Text removed from lines: the directory of the run, whose name is always different.
    hidden: String,
}

impl Trace {
    /// Writes a line. It must depend only on the seed, not on clocks, addresses or the order of
    /// threads.
    pub fn line(&self, text: impl Display) {
        let mut state = self.state.lock();
        let mut text = text.to_string();
        if !state.hidden.is_empty() {
            text = text.replace(&state.hidden, "");
        }
        state.lines.push(text);
    }

    /// Removes this text from all later lines.
    pub fn hide(&self, text: impl Display) {
        self.state.lock().hidden = text.to_string();
    }

    /// Counts an event.
    pub fn count(&self, what: &str) {
        *self.state.lock().counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Returns all lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.state.lock().lines.clone()
    }

    /// Returns the counts of events.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.state.lock().counts.clone()
    }
}
