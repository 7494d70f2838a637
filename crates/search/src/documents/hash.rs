//! Hashes of keys and digests, as columns of the index hold them.

/// Returns the hash of a key, which is the same in every index.
pub(crate) fn hash(url_key: &str) -> u64 {
    // A cryptographic hash, because anyone can publish URLs, and could choose them to collide under
    // a simpler one.
    let hash = blake3::hash(url_key.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash is part of the format: data on disk is found by it.
    #[test]
    fn the_hash_of_a_key_stays() {
        // First bytes of BLAKE3's test vector for empty input.
        assert_eq!(
            hash(""),
            u64::from_le_bytes([0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6])
        );
        assert_ne!(hash("org,example)/"), hash("org,example)/a"));
    }
}
