//! The version of this program.

/// The version of this program. The owner and the processes that ask it must have the same one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
