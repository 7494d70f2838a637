//! Packs: the entries of a directory in order of name, several hundred in a row.
//!
//! A row per entry would cost the engine more time than reading the file system takes. The key of
//! the first pack of a directory ends in the empty name; the key of each other pack ends in its
//! first name. Packs keep their keys while entries are added and removed, so that a scan that finds
//! the same entries produces the same bytes.

use crate::attributes::{Attributes, Entry, ID_LENGTH};
use crate::varint::{Corrupt, Reader, put};
use crate::{FileId, pack};

/// Number of entries in a newly written pack.
pub(crate) const ENTRIES: usize = 512;
/// Maximum number of entries; a larger pack is split.
pub(crate) const ENTRIES_MAX: usize = 1024;

/// Returns the key of a pack of `dir` that starts at `first_name`.
pub(crate) fn key(dir: FileId, first_name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(ID_LENGTH + first_name.len());
    key.extend_from_slice(&dir.to_bytes());
    key.extend_from_slice(first_name);
    key
}

/// Returns the first name from the key of a pack.
pub(crate) fn first_name(key: &[u8]) -> &[u8] {
    key.get(ID_LENGTH..).unwrap_or_default()
}

/// Encodes entries, which must be in order of name.
pub(crate) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() * 48);
    put(&mut out, entries.len() as u64);
    let first = Entry::default();
    let mut before = &first;
    for entry in entries {
        let shared = shared_length(&before.name, &entry.name);
        put(&mut out, shared as u64);
        crate::varint::put_bytes(&mut out, &entry.name[shared..]);
        entry.attributes.write(&before.attributes, &mut out);
        before = entry;
    }
    out
}

fn shared_length(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// An iterator over the entries of a pack, in order of name.
pub(crate) struct Entries<'a> {
    reader: Reader<'a>,
    left: u64,
    name: Vec<u8>,
    before: Attributes,
}

pub(crate) fn entries(bytes: &[u8]) -> Result<Entries<'_>, Corrupt> {
    let mut reader = Reader::new(bytes, "a pack of entries");
    let left = reader.number()?;
    Ok(Entries {
        reader,
        left,
        name: Vec::new(),
        before: Attributes::default(),
    })
}

/// Decodes a whole pack.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Entry>, Corrupt> {
    let mut entries = pack::entries(bytes)?;
    let mut all = Vec::new();
    while let Some((name, attributes)) = entries.next()? {
        let (name, attributes) = (name.into(), attributes.clone());
        all.push(Entry { name, attributes });
    }
    Ok(all)
}

impl Entries<'_> {
    /// Returns the next entry without copying its name.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], &Attributes)>, Corrupt> {
        if self.left == 0 {
            return if self.reader.is_at_end() {
                Ok(None)
            } else {
                Err(self.reader.corrupt())
            };
        }
        self.left -= 1;
        let shared = self.reader.small()?;
        if shared > self.name.len() {
            return Err(self.reader.corrupt());
        }
        self.name.truncate(shared);
        self.name.extend_from_slice(self.reader.bytes()?);
        self.before = Attributes::read(&self.before, &mut self.reader)?;
        Ok(Some((&self.name, &self.before)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attributes::Kind;
    use crate::format::Format;

    fn entry() -> impl Strategy<Value = Entry> {
        let name = prop::collection::vec(1u8..4, 1..6);
        let times = (any::<i64>(), any::<i64>(), any::<i64>(), any::<i64>());
        let rest = (
            0usize..8,
            0u16..4096,
            any::<u32>(),
            any::<u32>(),
            any::<u32>(),
            any::<u64>(),
            any::<u64>(),
        );
        (
            name,
            times,
            rest,
            any::<u64>(),
            prop::option::of(prop::collection::vec(any::<u8>(), 0..5)),
        )
            .prop_map(|(name, times, rest, inode, target)| Entry {
                name: name.into(),
                attributes: Attributes {
                    id: FileId {
                        volume: rest.2 % 3,
                        inode,
                        born_ns: times.0,
                    },
                    kind: Kind::ALL[rest.0],
                    mode: rest.1,
                    uid: rest.2 % 3,
                    gid: rest.3,
                    links: rest.4 % 3,
                    size_bytes: rest.5,
                    blocks: rest.6,
                    modified_ns: times.1,
                    changed_ns: if rest.0 % 2 == 0 { times.1 } else { times.2 },
                    accessed_s: times.3,
                    format: Format::of_name(b"a.warc"),
                    is_sniffed: rest.5 % 2 == 0,
                    target: target.map(Into::into),
                },
            })
    }

    proptest! {
        #[test]
        fn what_is_packed_is_read(mut entries in prop::collection::vec(entry(), 0..40)) {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            prop_assert_eq!(decode(&encode(&entries)).unwrap(), entries);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_damaged_pack_does_not_panic(
            entries in prop::collection::vec(entry(), 1..10), at: prop::sample::Index, byte: u8,
        ) {
            let mut bytes = encode(&entries);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = decode(&bytes);
            let _ = decode(&bytes[..at]);
        }
    }
}
