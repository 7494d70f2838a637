//! The version of this program.

/// The version of this program. The owner and its client processes must run the same version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
