//! What happens in a run, line by line, and how often what happens.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;

/// The trace of one run. Copies write to the same trace.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<String>,
    counts: BTreeMap<String, u64>,
    /// Text that is left out of lines: the directory of the run, whose name is new every time.
    hidden: String,
}

impl Trace {
    /// Writes a line. It must not depend on anything that the seed does not decide: no clocks, no addresses, no
    /// order of threads.
    pub fn line(&self, text: impl Display) {
        let mut state = self.state.lock();
        let mut text = text.to_string();
        if !state.hidden.is_empty() {
            text = text.replace(&state.hidden, "");
        }
        state.lines.push(text);
    }

    /// Leaves this text out of all lines from now on.
    pub fn hide(&self, text: impl Display) {
        self.state.lock().hidden = text.to_string();
    }

    /// Counts that something happened.
    pub fn count(&self, what: &str) {
        *self.state.lock().counts.entry(what.to_owned()).or_default() += 1;
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.state.lock().lines.clone()
    }

    /// How often what happened.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.state.lock().counts.clone()
    }
}
