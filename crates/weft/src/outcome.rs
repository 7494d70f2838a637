//! The outcome of a command: done, done with losses, or an error with a specific exit code.

/// The outcome of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything was done: exit code 0.
    Done,
    /// Done, but something was lost, failed or differs; the command has reported it: exit code 1.
    Losses,
}

/// The user requested something that makes no sense: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUse(pub(crate) String);

/// Something that the user named does not exist: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);
