//! The error for an invalid policy.

/// Why a policy document is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PolicyError(pub(super) String);
