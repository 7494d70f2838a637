//! Tests of the store over volumes in memory, with faults.

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

use store_protocol::Key;

fn key(name: &str) -> Key {
    Key::new("bucket", name).unwrap()
}

/// Returns bytes that differ from block to block and from seed to seed. The first byte is the seed.
fn content(size: usize, seed: u8) -> Vec<u8> {
    // This length does not divide the block length.
    let pattern: Vec<u8> = (0..4099).map(|i| (i % 253) as u8 ^ seed).collect();
    let mut content = pattern.repeat(size / pattern.len() + 1);
    content.truncate(size);
    content
}
