//! Runs one seed and catches failures.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::{Simulation, Trace};

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Trace of the run.
    pub trace: Trace,
    /// Description of the failure, if any.
    pub failure: Option<String>,
}

thread_local! {
    /// Panics on this thread since the run began. A panic of a task does not reach the caller of
    /// the runtime.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs one seed. A panic of any task on this thread is a failure.
pub fn try_seed(simulation: &Simulation, seed: u64) -> Outcome {
    note_panics();
    PANICS.take();
    let trace = Trace::default();
    let result = catch_unwind(AssertUnwindSafe(|| (simulation.run)(seed, &trace)));
    let mut wrong = PANICS.take();
    match result {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => wrong.push(failure),
        Err(_) if wrong.is_empty() => wrong.push("the run panicked".to_owned()),
        Err(_) => {}
    }
    let failure = (!wrong.is_empty()).then(|| wrong.join("\n"));
    Outcome { trace, failure }
}

/// Records the message and the location of each panic for its run, because a caught panic contains
/// neither.
fn note_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.with_borrow_mut(|panics| panics.push(panic.to_string()));
            before(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulation(run: fn(u64, &Trace) -> Result<(), String>) -> Simulation {
        Simulation {
            name: "test",
            about: "a test",
            seeds_short: 1,
            run,
        }
    }

    #[test]
    fn a_run_that_returns_an_error_or_panics_has_failed() {
        let good = try_seed(&simulation(|_, _| Ok(())), 1);
        assert_eq!(good.failure, None);
        let wrong = try_seed(&simulation(|seed, _| Err(format!("seed {seed}"))), 7);
        assert_eq!(wrong.failure.as_deref(), Some("seed 7"));
        let panicked = try_seed(&simulation(|seed, _| panic!("seed {seed}")), 7);
        assert!(panicked.failure.is_some_and(|text| text.contains("seed 7")));
    }

    #[test]
    fn what_is_written_before_a_panic_is_kept() {
        let panicked = try_seed(
            &simulation(|_, trace| {
                trace.line("begun");
                panic!("no more")
            }),
            1,
        );
        assert_eq!(panicked.trace.lines(), ["begun"]);
    }
}
