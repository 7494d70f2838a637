//! The file of a replica, formats 1 and 2: head, content, block table, meta, tail.
//! `docs/format-replica.md` has the byte layout.
//!
//! Invariants:
//!  - The content is contiguous at [`CONTENT_AT`], as the client sent it.
//!  - The length of the file is the sum of the lengths of its parts in the tail.
//!  - The digest in the tail covers everything after the content, the digest in the head everything
//!    before it. The digests of the content are in the table, and the root of the table is in meta
//!    and in the head.
//!  - Reading allocates at most as much as the length of the file justifies, and never panics on
//!    untrusted bytes.
//!
//! This module does not verify the content.

use std::io;

use store_protocol::{BLOCK_BYTES, BlockTable, Key, Meta, Term, Version, block_count};

use crate::io::DiskFile;

/// Format of files whose version has no term.
pub const FORMAT: u16 = 1;

/// Format of files whose version has a term; the term replaces zeros of format 1.
pub const FORMAT_OF_TERMS: u16 = 2;

/// Offset of the content: `dd bs=2048 skip=1` and a length extract it.
pub const CONTENT_AT: u64 = HEAD_BYTES as u64;

/// Maximum length of the meta text in bytes. S3 allows 2 KB of user metadata and some 8 KB of
/// headers in total.
pub const META_BYTES_MAX: usize = 1 << 20;

/// Room for the fields, the longest key (1,344 bytes) and a digest.
const HEAD_BYTES: usize = 2048;
const TAIL_BYTES: usize = 64;
const HEAD_MAGIC: &[u8; 8] = b"WEFTREPL";
const TAIL_MAGIC: &[u8; 8] = b"WEFTTAIL";
const TERM_AT: usize = 120;
const KEY_AT: usize = 128;
const HEAD_DIGEST_AT: usize = HEAD_BYTES - 32;

/// A replica without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// The object.
    pub meta: Meta,
    /// Digests of its blocks. Their root is `meta.digests.blake3`, except for tombstones.
    pub table: BlockTable,
    /// Length of the whole file.
    pub file_bytes: u64,
}

/// The fields of the head, which suffice to identify a truncated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The object's name.
    pub key: Key,
    /// Its version.
    pub version: Version,
    /// Whether it is a tombstone.
    pub deleted: bool,
    /// Length of the content.
    pub size: u64,
    /// BLAKE3 of the content.
    pub blake3: [u8; 32],
}

/// Why a file is not a whole replica.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The disk could not read the bytes.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A part of the file has an unexpected value.
    #[error("{part}: found {found}, expected {expected}")]
    Differs {
        /// Part of the file.
        part: &'static str,
        /// The value found.
        found: String,
        /// The expected value.
        expected: String,
    },
}

/// Returns the bytes before the content.
pub fn head(meta: &Meta) -> Vec<u8> {
    let key = meta.key.as_str().as_bytes();
    let mut head = vec![0; HEAD_BYTES];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, HEAD_MAGIC);
    put(8, &format_of(&meta.version).to_le_bytes());
    put(10, &(HEAD_BYTES as u16).to_le_bytes());
    put(12, &(BLOCK_BYTES as u32).to_le_bytes());
    put(16, &meta.size.to_le_bytes());
    put(24, meta.version.stamp().as_bytes());
    put(52, &[u8::from(meta.deleted)]);
    // A key has at most 63 + 1 + 1,280 bytes, so it fits between `KEY_AT` and the digest, and its
    // length into 16 bits.
    put(54, &(key.len() as u16).to_le_bytes());
    put(56, &meta.key.hash());
    put(88, &meta.digests.blake3);
    put(TERM_AT, &meta.version.term.to_le_bytes());
    put(KEY_AT, key);
    // The digest comes last and covers all other fields of the head.
    let digest = blake3::hash(&head[..HEAD_DIGEST_AT]);
    head[HEAD_DIGEST_AT..].copy_from_slice(digest.as_bytes());
    head
}

/// Returns the bytes after the content.
///
/// # Errors
/// Fails if the meta text is longer than [`META_BYTES_MAX`].
pub fn trailer(meta: &Meta, table: &BlockTable) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(meta)?;
    if text.len() > META_BYTES_MAX {
        let detail = format!("meta has {} bytes: expected at most {META_BYTES_MAX}", text.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, detail));
    }
    let table_bytes = table.values().len() * 32;
    let mut trailer = Vec::with_capacity(table_bytes + text.len() + TAIL_BYTES);
    trailer.extend(table.values().iter().flatten());
    trailer.extend(&text);
    trailer.extend(meta.size.to_le_bytes());
    trailer.extend((table_bytes as u64).to_le_bytes());
    // The length fits into 32 bits: it was compared with `META_BYTES_MAX` above.
    trailer.extend((text.len() as u32).to_le_bytes());
    trailer.extend(format_of(&meta.version).to_le_bytes());
    trailer.extend([0; 2]);
    let digest = *blake3::hash(&trailer).as_bytes();
    trailer.extend(digest);
    trailer.extend(TAIL_MAGIC);
    Ok(trailer)
}

/// Reads a replica without its content, and checks that its parts agree.
///
/// # Errors
/// [`ReplicaError`] if the file cannot be read or is not a whole replica.
pub fn read(file: &dyn DiskFile) -> Result<Replica, ReplicaError> {
    let file_bytes = file.stat()?.bytes;
    let head = read_head(file)?;
    let ends = Ends::read(file, file_bytes)?;
    let mut after = vec![0; ends.after_bytes()];
    file.read_at(&mut after, CONTENT_AT + ends.size)?;
    let (table, text) = ends.split(&after)?;
    let meta: Meta = serde_json::from_slice(text).map_err(|error| ReplicaError::Differs {
        part: "meta",
        found: error.to_string(),
        expected: "JSON of meta".to_owned(),
    })?;
    agree(&head, &meta, &table, ends.size)?;
    Ok(Replica {
        meta,
        table,
        file_bytes,
    })
}

/// Reads the block table as stored in the file of a replica of `size` bytes, even if other parts
/// are damaged. The caller must check its root.
///
/// # Errors
/// Fails if the file is too short for the table or cannot be read there.
pub fn stored_table(file: &dyn DiskFile, size: u64) -> io::Result<BlockTable> {
    let at = CONTENT_AT.saturating_add(size);
    let table_bytes = block_count(size).saturating_mul(32);
    // Checked before the allocation, because the size comes from the index, not from the file.
    if file.stat()?.bytes < at.saturating_add(table_bytes) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = vec![0; usize::try_from(table_bytes).map_err(io::Error::other)?];
    file.read_at(&mut bytes, at)?;
    let (values, _) = bytes.as_chunks::<32>();
    Ok(BlockTable::from_values(values.to_vec()))
}

/// Reads only the head.
///
/// # Errors
/// [`ReplicaError`] if the head cannot be read or is damaged.
pub fn read_head(file: &dyn DiskFile) -> Result<Head, ReplicaError> {
    let mut bytes = [0; HEAD_BYTES];
    file.read_at(&mut bytes, 0)?;
    same("magic of the head", &text(&bytes[..8]), &text(HEAD_MAGIC))?;
    let term = Term::from_le_bytes(array_at(&bytes, TERM_AT));
    let format = if term == Term::NONE {
        FORMAT
    } else {
        FORMAT_OF_TERMS
    };
    same("format", &u16_at(&bytes, 8), &format)?;
    let digest = blake3::hash(&bytes[..HEAD_DIGEST_AT]);
    same(
        "digest of the head",
        &text(&bytes[HEAD_DIGEST_AT..]),
        &text(digest.as_bytes()),
    )?;
    same(
        "length of the head",
        &usize::from(u16_at(&bytes, 10)),
        &HEAD_BYTES,
    )?;
    let block_bytes = u32::from_le_bytes(array_at(&bytes, 12));
    same("length of a block", &u64::from(block_bytes), &BLOCK_BYTES)?;
    let key_bytes = usize::from(u16_at(&bytes, 54));
    let unusable = |part, found: String| ReplicaError::Differs {
        part,
        found,
        expected: "what was written".to_owned(),
    };
    let key = bytes[KEY_AT..HEAD_DIGEST_AT]
        .get(..key_bytes)
        .and_then(|key| std::str::from_utf8(key).ok())
        .and_then(|key| Key::parse(key).ok())
        .ok_or_else(|| unusable("key in the head", format!("{key_bytes} bytes")))?;
    same(
        "hash of the key in the head",
        &text(&bytes[56..88]),
        &text(&key.hash()),
    )?;
    let stamp: Version = String::from_utf8_lossy(&bytes[24..52])
        .parse()
        .map_err(|error: store_protocol::VersionError| unusable("version in the head", error.to_string()))?;
    Ok(Head {
        key,
        version: Version { term, ..stamp },
        deleted: bytes[52] == 1,
        size: u64::from_le_bytes(array_at(&bytes, 16)),
        blake3: array_at(&bytes, 88),
    })
}

/// The lengths in the tail.
struct Ends {
    size: u64,
    table_bytes: usize,
    meta_bytes: usize,
}

impl Ends {
    /// Reads the tail. The lengths must add up to the length of the file, so no part is longer than
    /// the file.
    fn read(file: &dyn DiskFile, file_bytes: u64) -> Result<Self, ReplicaError> {
        let least = CONTENT_AT + TAIL_BYTES as u64;
        if file_bytes < least {
            return Err(differs(
                "length of the file",
                &file_bytes,
                &format!("at least {least}"),
            ));
        }
        let mut tail = [0; TAIL_BYTES];
        file.read_at(&mut tail, file_bytes - TAIL_BYTES as u64)?;
        same("magic of the tail", &text(&tail[56..]), &text(TAIL_MAGIC))?;
        let format = u16_at(&tail, 20);
        if format != FORMAT_OF_TERMS {
            same("format in the tail", &format, &FORMAT)?;
        }
        let size = u64::from_le_bytes(array_at(&tail, 0));
        let table_bytes = u64::from_le_bytes(array_at(&tail, 8));
        let meta_bytes = u32::from_le_bytes(array_at(&tail, 16));
        // The lengths come from the file, so their sum may overflow.
        let sum = size
            .checked_add(table_bytes)
            .and_then(|sum| sum.checked_add(u64::from(meta_bytes) + least));
        if sum != Some(file_bytes) {
            return Err(differs("length of the file", &file_bytes, &format!("{sum:?}")));
        }
        same("length of the table", &table_bytes, &(block_count(size) * 32))?;
        if meta_bytes as usize > META_BYTES_MAX {
            return Err(differs(
                "length of meta",
                &meta_bytes,
                &format!("at most {META_BYTES_MAX}"),
            ));
        }
        let table_bytes = usize::try_from(table_bytes)
            .map_err(|_| differs("length of the table", &table_bytes, &"what fits into memory"))?;
        Ok(Self {
            size,
            table_bytes,
            meta_bytes: meta_bytes as usize,
        })
    }

    fn after_bytes(&self) -> usize {
        self.table_bytes + self.meta_bytes + TAIL_BYTES
    }

    /// Splits the bytes after the content into the table and the meta text, after checking their
    /// digest.
    fn split<'a>(&self, after: &'a [u8]) -> Result<(BlockTable, &'a [u8]), ReplicaError> {
        // The last 40 bytes are the digest (32) and the magic (8).
        let covered = after.len() - 40;
        let digest = blake3::hash(&after[..covered]);
        same(
            "digest of table and meta",
            &text(&after[covered..covered + 32]),
            &text(digest.as_bytes()),
        )?;
        let (table, rest) = after.split_at(self.table_bytes);
        let values = table.chunks_exact(32).map(|value| array_at(value, 0)).collect();
        Ok((BlockTable::from_values(values), &rest[..self.meta_bytes]))
    }
}

/// Compares the values that head, meta, table and tail have in common.
fn agree(head: &Head, meta: &Meta, table: &BlockTable, size: u64) -> Result<(), ReplicaError> {
    same("key in meta", &meta.key.as_str(), &head.key.as_str())?;
    same("version in meta", &meta.version, &head.version)?;
    same("size in meta", &meta.size, &size)?;
    same("size in the head", &head.size, &size)?;
    same("deletion in meta", &meta.deleted, &head.deleted)?;
    same(
        "BLAKE3 in the head",
        &text(&head.blake3),
        &text(&meta.digests.blake3),
    )?;
    if !meta.deleted {
        let root = table.root().unwrap_or_default();
        same("root of the table", &text(&root), &text(&meta.digests.blake3))?;
    }
    Ok(())
}

/// Returns the format for a replica of this version.
fn format_of(version: &Version) -> u16 {
    if version.term == Term::NONE {
        FORMAT
    } else {
        FORMAT_OF_TERMS
    }
}

fn same<T: PartialEq + ToString>(part: &'static str, found: &T, expected: &T) -> Result<(), ReplicaError> {
    if found == expected {
        Ok(())
    } else {
        Err(differs(part, found, expected))
    }
}

fn differs(part: &'static str, found: &impl ToString, expected: &impl ToString) -> ReplicaError {
    ReplicaError::Differs {
        part,
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

/// Formats bytes for an error message: magic as text, anything else in hexadecimal.
fn text(bytes: &[u8]) -> String {
    if !bytes.is_empty() && bytes.iter().all(u8::is_ascii_graphic) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    data_encoding::HEXLOWER.encode(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

/// Returns `N` bytes of a buffer that is long enough.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests;
