//! Code that several benchmarks share.

pub mod program;
pub mod s3;
