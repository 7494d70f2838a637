//! The error of a load.

use pipeline::FlowError;

use crate::facts_writer::EpochError;

/// Why a load ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Flow(#[from] FlowError),
    #[error(transparent)]
    Index(#[from] index::ApplyError),
    #[error(transparent)]
    Epoch(#[from] EpochError),
    #[error("bring the search index up to date: {0}")]
    Search(#[from] crate::feed::FeedError),
    #[error("the load panicked")]
    Panic,
}
