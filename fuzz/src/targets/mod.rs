//! What is tried, one module a target, each with `run(bytes)`.

pub mod extract;
pub mod index_lines;
pub mod inflate;
pub mod node_frames;
pub mod query;
pub mod replica;
pub mod s3_body;
pub mod url_key;
pub mod warc_reader;
pub mod warc_repair;

/// Something that reads bytes from outside.
pub struct Target {
    /// Its name, as in `fuzz_targets/`.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Panics if what must hold does not.
    pub run: fn(&[u8]),
    /// Inputs to begin from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Makes an input of a file's content.
    pub from_file: fn(Vec<u8>) -> Vec<u8>,
    /// Words that its inputs are made of.
    pub tokens: &'static [&'static [u8]],
}

/// All targets.
pub const TARGETS: &[&Target] = &[
    &warc_reader::TARGET,
    &warc_repair::TARGET,
    &extract::TARGET,
    &url_key::TARGET,
    &query::TARGET,
    &replica::TARGET,
    &node_frames::TARGET,
    &s3_body::TARGET,
    &index_lines::TARGET,
    &inflate::TARGET,
];
