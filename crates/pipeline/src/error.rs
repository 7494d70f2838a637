//! Errors of stages and pipelines.

use std::error::Error;

/// The pipeline is ending: a caller that sends or waits should return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pipeline has stopped")]
pub struct Stopped;

/// The result of a handler.
pub type StageResult = Result<(), StageError>;

/// Why a handler returned early. The `?` operator turns any error into [`StageError::Failed`], and
/// [`Stopped`] into [`StageError::Stopped`].
#[derive(Debug)]
pub enum StageError {
    /// The pipeline was already ending.
    Stopped,
    /// The stage failed, and the pipeline ends with this error.
    Failed(Box<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for StageError {
    fn from(error: E) -> StageError {
        let boxed: Box<dyn Error + Send + Sync> = Box::new(error);
        // `From` for all errors excludes a separate one for `Stopped`, so it is recognised at run
        // time.
        match boxed.downcast::<Stopped>() {
            Ok(_) => StageError::Stopped,
            Err(other) => StageError::Failed(other),
        }
    }
}

/// Why a pipeline ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// A stage's handler failed.
    #[error("stage {stage}: {source}")]
    Failed {
        /// Name of the stage.
        stage: &'static str,
        /// The error of the handler.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A stage's handler panicked.
    #[error("stage {stage} panicked: {message}")]
    Panicked {
        /// Name of the stage.
        stage: &'static str,
        /// The panic message.
        message: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread of stage {stage}: {source}")]
    Spawn {
        /// Name of the stage.
        stage: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// [`crate::Monitor::cancel`] was called.
    #[error("cancelled")]
    Cancelled,
}
