//! Fuzz targets, one per module, each with `run(bytes)`.

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

/// Code that reads untrusted bytes, with its properties.
pub struct Target {
    /// Name, as in `fuzz_targets/`.
    pub name: &'static str,
    /// Description of its inputs.
    pub about: &'static str,
    /// Panics if a property does not hold.
    pub run: fn(&[u8]),
    /// Initial inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Converts the content of a file to an input.
    pub from_file: fn(Vec<u8>) -> Vec<u8>,
    /// Words to insert into inputs.
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
