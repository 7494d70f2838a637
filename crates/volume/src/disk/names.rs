//! Names and paths in the directory of a volume.
//!
//! `objects/PPP/HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH.VVVVVVVVVVVVVVVVVVVVVVVVVVVV`: partition (the
//! first 3 digits of the hash), the first 32 digits of the hash of the key, and version. The name
//! identifies the replica, so files and index can be compared without opening a file.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use store_protocol::{Key, PARTITIONS, Partition, UploadId, Version};

/// The first half of the BLAKE3 hash of a key: long enough to be unique.
pub(super) type KeyHash = [u8; 16];

/// Directories of a volume.
pub(super) const DIRECTORIES: [&str; 3] = ["objects", "staging", "lost+found"];

/// The file with the identity of a volume.
pub(super) const IDENTITY: &str = "volume.json";

/// The listing index, a cache.
pub(super) const INDEX: &str = "index.redb";

/// Directory for the node's own files, which volumes do not touch.
pub const NODE_DIR: &str = "node";

/// Locked by the process that has the volume open.
pub(super) const LOCK: &str = "lock";

/// Returns the half hash of a key.
pub(super) fn hash_of(key: &Key) -> KeyHash {
    let [half, _] = halves(key.hash());
    half
}

fn halves(hash: [u8; 32]) -> [KeyHash; 2] {
    let mut halves = [[0; 16]; 2];
    halves[0].copy_from_slice(&hash[..16]);
    halves[1].copy_from_slice(&hash[16..]);
    halves
}

/// Returns the partition of a hash: its first 12 bits.
pub(super) fn partition_of(hash: &KeyHash) -> Partition {
    Partition(u16::from_be_bytes([hash[0], hash[1]]) >> 4)
}

/// Returns the first and the last half hash of a partition.
pub(super) fn hashes_of(partition: Partition) -> (KeyHash, KeyHash) {
    let (mut first, mut last) = ([0; 16], [0xff; 16]);
    first[..2].copy_from_slice(&(partition.0 << 4).to_be_bytes());
    last[..2].copy_from_slice(&(partition.0 << 4 | 0xf).to_be_bytes());
    (first, last)
}

/// Returns the file name of a replica in the directory of its partition.
pub(super) fn file_name(hash: &KeyHash, version: Version) -> String {
    format!("{}.{version}", HEXLOWER.encode(hash))
}

/// Parses a file name; `None` for names that [`file_name`] does not produce.
pub(super) fn parse_file_name(name: &str) -> Option<(KeyHash, Version)> {
    let (hash, version) = name.split_once('.')?;
    let hash: KeyHash = HEXLOWER.decode(hash.as_bytes()).ok()?.try_into().ok()?;
    let version = version.parse().ok()?;
    // Other spellings, such as upper case, are rejected although they decode.
    (file_name(&hash, version) == name).then_some((hash, version))
}

/// Returns the name of a partition's directory: three hexadecimal digits.
pub(super) fn partition_name(partition: Partition) -> String {
    format!("{:03x}", partition.0)
}

/// Parses the name of a partition's directory; `None` for names that [`partition_name`] does not
/// produce.
pub(super) fn parse_partition_name(name: &str) -> Option<Partition> {
    let partition = Partition(u16::from_str_radix(name, 16).ok()?);
    (partition.0 < PARTITIONS && partition_name(partition) == name).then_some(partition)
}

pub(super) fn partition_dir(root: &Path, partition: Partition) -> PathBuf {
    root.join("objects").join(partition_name(partition))
}

pub(super) fn replica_path(root: &Path, hash: &KeyHash, version: Version) -> PathBuf {
    partition_dir(root, partition_of(hash)).join(file_name(hash, version))
}

/// Returns the path of the temporary file of an upload.
pub(super) fn staging_path(root: &Path, upload: UploadId) -> PathBuf {
    root.join("staging").join(upload.to_string())
}

/// Returns a path relative to the volume as text, for reports.
pub(super) fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_were_made_from() {
        let key = Key::parse("b/some/name").unwrap();
        let version: Version = "0123456789ab0000000700000009".parse().unwrap();
        let hash = hash_of(&key);
        assert_eq!(partition_of(&hash), key.partition());
        let name = file_name(&hash, version);
        assert_eq!(parse_file_name(&name), Some((hash, version)));
        assert_eq!(parse_file_name(&name.to_uppercase()), None);
        assert_eq!(parse_file_name(&format!("{name}~")), None);
        let (first, last) = hashes_of(key.partition());
        assert!(first <= hash && hash <= last);
        assert_eq!(partition_of(&first), partition_of(&last));
        for n in [0, 15, 0xfff] {
            assert_eq!(
                parse_partition_name(&partition_name(Partition(n))),
                Some(Partition(n))
            );
        }
        for name in ["1000", "FFF", "ff", "+ff", "0ff0"] {
            assert_eq!(parse_partition_name(name), None, "{name}");
        }
    }
}
