//! The store over volumes in memory, with faults.

mod bucket;
mod domains;
mod layouts;
mod linear;
mod listing;
mod model;
mod object;
mod parts;
mod protection;
mod races;
mod reads;
mod torn;
mod versions;
mod writes;

use contract::Key;

fn key(name: &str) -> Key {
    Key::new("bucket", name).unwrap()
}

/// Bytes that differ from block to block and from seed to seed; the first is the seed.
fn content(size: usize, seed: u8) -> Vec<u8> {
    // A length that does not divide a block's.
    let pattern: Vec<u8> = (0..4099).map(|i| (i % 253) as u8 ^ seed).collect();
    let mut content = pattern.repeat(size / pattern.len() + 1);
    content.truncate(size);
    content
}
