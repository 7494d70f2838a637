//! Buckets of counts that are reported to search: in-links, and hosts that use an anchor text.

/// Returns the bucket of a number of in-links, in half-octaves: 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15,
/// ...
///
/// A change of bucket is reported as [`crate::PageChange::Bucket`], so search keeps the page's
/// prior up to date without a report for every in-link.
pub fn inlinks_bucket(inlinks: u64) -> u8 {
    let Some(octave) = inlinks.checked_ilog2() else {
        return 0;
    };
    match octave {
        0 => 1,
        _ => (2 * octave + (inlinks >> (octave - 1) & 1) as u32) as u8,
    }
}

/// Returns the weight of an anchor text that `hosts` hosts use: 1 for one host, 1 more each time
/// the number doubles, at most 8.
pub fn anchor_weight(hosts: u64) -> u8 {
    hosts
        .checked_ilog2()
        .map_or(0, |octaves| (octaves + 1).min(8) as u8)
}
