//! What can fail on the way to a node.

use std::sync::Arc;

use tokio::time::Duration;

/// Longest time for the response to a ping. A busy machine with hundreds of runnable threads still
/// answers within it.
pub(super) const PING_MAX: Duration = Duration::from_millis(2500);

/// What failed on the way to a node.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum LinkError {
    /// The limit in seconds has passed.
    #[error("no answer within {0} s")]
    Late(u64),
    /// The process does not answer.
    #[error("no answer to a ping within {PING_MAX:?}")]
    NoPing,
    /// The address and path make no request.
    #[error("{0}: {1}")]
    Request(String, Arc<http::Error>),
    /// The connection to the address: its error with the causes, or advice.
    #[error("{0}: {1}")]
    Connection(String, String),
}
