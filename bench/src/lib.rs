//! What several benchmarks share.

pub mod s3;
