//! Code that several benchmarks share.

pub mod process;
pub mod program;
pub mod s3;
