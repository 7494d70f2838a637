//! A running pipeline: its threads, its input, and its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::control::Control;
use crate::outlet::Outlet;
use crate::stats::{StageRow, StageStats};
use crate::{FlowError, Item, StageError, StageResult, Stopped};

/// State collected while the stages start. The last stage starts first, because each stage needs
/// the queue of the next one.
#[derive(Default)]
pub(crate) struct Build {
    pub(crate) control: Arc<Control>,
    pub(crate) stages: Vec<Arc<StageStats>>,
    threads: Vec<JoinHandle<()>>,
}

impl Build {
    pub(crate) fn spawn(
        &mut self,
        stage: &'static str,
        index: usize,
        run: impl FnOnce() -> StageResult + Send + 'static,
    ) -> Result<(), FlowError> {
        let control = self.control.clone();
        let thread = std::thread::Builder::new()
            .name(format!("{stage}-{index}"))
            .spawn(move || run_guarded(stage, &control, run))
            .map_err(|source| FlowError::Spawn { stage, source })?;
        self.threads.push(thread);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Pipeline {
        // Stages start from last to first, but reports list the first one first.
        self.stages.reverse();
        Pipeline {
            monitor: Monitor {
                control: self.control,
                stages: self.stages.into(),
            },
            threads: self.threads,
        }
    }

    pub(crate) fn abort(self) {
        self.control.stop(FlowError::Cancelled);
        join_all(self.threads);
    }
}

fn run_guarded(stage: &'static str, control: &Control, run: impl FnOnce() -> StageResult) {
    // A panic must stop the pipeline: other stages would wait forever for the missing thread. The
    // handler is not called again after a panic, so its broken state is not observed.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(()) | Err(StageError::Stopped)) => {}
        Ok(Err(StageError::Failed(source))) => control.stop(FlowError::Failed { stage, source }),
        Err(panic) => control.stop(FlowError::Panicked {
            stage,
            message: panic_message(&*panic),
        }),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(message) = panic.downcast_ref::<&str>() {
        // `panic!` with a plain literal carries a `&str`.
        (*message).to_owned()
    } else if let Some(message) = panic.downcast_ref::<String>() {
        // `panic!` with arguments carries a `String`.
        message.clone()
    } else {
        "no message".to_owned()
    }
}

fn join_all(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // `run_guarded` has already caught and reported any panic.
        let _ = thread.join();
    }
}

/// The input of a pipeline. Dropping the last clone ends the input.
pub struct Feeder<T: Item> {
    outlet: Arc<Outlet<T>>,
}

impl<T: Item> Clone for Feeder<T> {
    fn clone(&self) -> Self {
        Feeder {
            outlet: self.outlet.clone(),
        }
    }
}

impl<T: Item> Feeder<T> {
    pub(crate) fn new(outlet: Outlet<T>) -> Self {
        Feeder {
            outlet: Arc::new(outlet),
        }
    }

    /// Sends an item to the first stage. Waits until its queue has room.
    ///
    /// # Errors
    /// [`Stopped`] once the pipeline is ending; [`Pipeline::join`] returns the reason.
    pub fn send(&self, item: T) -> Result<(), Stopped> {
        self.outlet.send(item)
    }
}

/// Statistics and cancellation of a running pipeline. Cheap to clone.
#[derive(Clone)]
pub struct Monitor {
    control: Arc<Control>,
    stages: Arc<[Arc<StageStats>]>,
}

impl Monitor {
    /// Returns the state of every stage, first stage first.
    pub fn stages(&self) -> Vec<StageRow> {
        self.stages.iter().map(|stage| stage.report()).collect()
    }

    /// Cancels the pipeline: items in queues are dropped, and running handlers finish their item.
    pub fn cancel(&self) {
        self.control.stop(FlowError::Cancelled);
    }

    /// Returns whether the pipeline failed or was cancelled.
    pub fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }
}

/// A running pipeline. Dropping it cancels it and waits for its threads.
pub struct Pipeline {
    monitor: Monitor,
    threads: Vec<JoinHandle<()>>,
}

impl Pipeline {
    /// Returns a handle for statistics and cancellation that other threads can hold.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// Waits until every item is handled or the pipeline has failed. Drop all feeders first: the
    /// pipeline waits for items while a feeder exists.
    ///
    /// # Errors
    /// The first failure of a stage, or [`FlowError::Cancelled`] if the pipeline was cancelled
    /// first.
    pub fn join(mut self) -> Result<(), FlowError> {
        join_all(std::mem::take(&mut self.threads));
        match self.monitor.control.take_error() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.monitor.cancel();
            join_all(std::mem::take(&mut self.threads));
        }
    }
}
