//! A cache tier of memory and disk under reads of objects that lie far away.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod origin;

pub use origin::{Answer, Cause, Description, Origin, OriginError, Validator};
