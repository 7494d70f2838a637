//! How a command went: done, done with losses, or an error that has an exit code of its own.

/// How a command that ran to its end went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything asked for was done: exit code 0.
    Done,
    /// Done, but something was lost, failed or differs; the command has said what: exit code 1.
    Losses,
}

/// The user asked for something that cannot be meant: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUse(pub(crate) String);

/// What the user named is not there: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFound(pub(crate) String);
