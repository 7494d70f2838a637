//! Counts in steps that search is told of: of in-links, and of hosts that use an anchor text.

/// Bucket of a count of in-links, in half-octaves: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
///
/// A page's change of bucket is a [`crate::PageChange::Bucket`]: search keeps its prior up to date without being
/// told of every single in-link.
pub fn inlinks_bucket(inlinks: u64) -> u8 {
    let Some(octave) = inlinks.checked_ilog2() else {
        return 0;
    };
    match octave {
        0 => 1,
        _ => (2 * octave + (inlinks >> (octave - 1) & 1) as u32) as u8,
    }
}

/// How much an anchor text counts that so many hosts use: 1 for one, 1 more for each time that the number doubles, at most 8.
pub fn anchor_weight(hosts: u64) -> u8 {
    hosts
        .checked_ilog2()
        .map_or(0, |octaves| (octaves + 1).min(8) as u8)
}
