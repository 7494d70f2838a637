//! Tests of the whole index against the brute-force model.

mod broken;
mod crash;
mod damage;
mod external;
mod format;
mod full_disk;
mod histories;
mod index_lines;
mod known_errors;
mod ledger;
mod packed;
mod rebuild;
mod snapshots;
mod support;
mod takedowns;

#[test]
fn buckets_are_half_octaves() {
    let buckets: Vec<u8> = (0..17).map(crate::inlinks_bucket).collect();
    assert_eq!(buckets, [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8]);
    assert_eq!(crate::inlinks_bucket(u64::MAX), 127);
}
