//! Why a string has no URL key.

/// Why a string has no URL key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is empty or only white space.
    #[error("empty URL")]
    Empty,
    /// An http or https URL without a host.
    #[error("no host in an http or https URL")]
    NoHost,
}
