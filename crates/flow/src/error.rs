//! Errors of stages, and the reasons why a pipeline ended.

use std::error::Error;

/// The pipeline is ending: a caller that sends or waits should return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pipeline has stopped")]
pub struct Stopped;

/// What a handler returns.
pub type StageResult = Result<(), StageError>;

/// Why a handler returned early. The `?` operator turns any error into [`StageError::Failed`], and
/// [`Stopped`] into [`StageError::Stopped`].
#[derive(Debug)]
pub enum StageError {
    /// The pipeline was ending already.
    Stopped,
    /// This stage cannot go on: the pipeline ends with this error.
    Failed(Box<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for StageError {
    fn from(error: E) -> StageError {
        let boxed: Box<dyn Error + Send + Sync> = Box::new(error);
        // One `From` for all errors leaves no room for a second one for `Stopped`, so it is recognised at run
        // time.
        match boxed.downcast::<Stopped>() {
            Ok(_) => StageError::Stopped,
            Err(other) => StageError::Failed(other),
        }
    }
}

/// Why a pipeline did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// A stage's handler failed.
    #[error("stage {stage}: {source}")]
    Failed {
        /// The stage's name.
        stage: &'static str,
        /// The error that the handler returned.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A stage's handler panicked.
    #[error("stage {stage} panicked: {message}")]
    Panicked {
        /// The stage.
        stage: &'static str,
        /// The panic's message.
        message: String,
    },
    /// A thread could not be started.
    #[error("start a thread of stage {stage}: {source}")]
    Spawn {
        /// The stage's name.
        stage: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// [`crate::Monitor::cancel`] was called.
    #[error("cancelled")]
    Cancelled,
}
