//! Code that several benchmarks share.

pub mod http;
pub mod process;
pub mod program;
pub mod s3;
pub mod sql_server;
pub mod store_server;
pub mod weft_server;
