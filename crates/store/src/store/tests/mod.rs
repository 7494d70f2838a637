//! The store over volumes in memory, with faults.

mod layouts;
mod listing;
mod model;
mod parts;
mod races;
mod reads;
mod writes;

use crate::key::Key;

fn key(name: &str) -> Key {
    Key::new("bucket", name).unwrap()
}

/// Bytes that differ from block to block and from seed to seed.
fn content(size: usize, seed: u8) -> Vec<u8> {
    (0..size)
        .map(|i| (i / 1000 % 251) as u8 ^ (i % 253) as u8 ^ seed)
        .collect()
}
