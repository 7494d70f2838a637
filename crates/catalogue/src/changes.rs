//! Rows of the changes that scans found, and their encoding. `docs/files.md` describes them.

use crate::attributes::{Attributes, Entry, FileId, Kind};
use crate::varint::{Corrupt, Reader, put, put_bytes, put_signed};

/// How a name changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The name is new.
    Added,
    /// The name is gone.
    Removed,
    /// The attributes changed, or the name now refers to another file.
    Changed,
    /// The file or directory had another name before ([`crate::join_renames`]).
    Renamed,
}

/// Changed names of one directory, as one scan found them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChangesRow {
    pub(crate) at_ms: i64,
    /// Path of the directory.
    pub(crate) dir: Vec<u8>,
    pub(crate) names: Vec<NameChange>,
    /// The scan that found them; 0 if a watch did, or if the row is in the old format.
    pub(crate) scan: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameChange {
    /// Never [`ChangeKind::Renamed`]: renames are detected when changes are read.
    pub(crate) what: ChangeKind,
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
    /// Size before and after; 0 where the name did not exist.
    pub(crate) size_bytes: (u64, u64),
    /// Identity of the file; `None` in rows of the old format.
    pub(crate) file: Option<FileIdentity>,
}

/// The file that a name refers to, or referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    /// The current file, or the last one.
    pub(crate) id: FileId,
    /// The previous file, if it was a different one.
    pub(crate) before: Option<FileId>,
    /// Whether one of them has, or had, other names.
    pub(crate) has_other_names: bool,
}

impl NameChange {
    /// Creates the change of a name from its entries before and now, at least one of which must be
    /// present.
    pub(crate) fn new(
        what: ChangeKind,
        name: &[u8],
        before: Option<&Entry>,
        now: Option<&Entry>,
    ) -> NameChange {
        let size = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.attributes.size_bytes);
        let file = now.or(before).map(|entry| &entry.attributes);
        let before_id = before.map(|entry| entry.attributes.id);
        let is_linked = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.attributes.is_linked());
        let which = |file: &Attributes| FileIdentity {
            id: file.id,
            before: before_id.filter(|id| *id != file.id),
            has_other_names: is_linked(before) || is_linked(now),
        };
        NameChange {
            what,
            name: name.into(),
            kind: file.map_or(Kind::Unknown, |file| file.kind),
            inode: file.map_or(0, |file| file.id.inode),
            size_bytes: (size(before), size(now)),
            file: file.map(which),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut first = match self.what {
            ChangeKind::Added => 0,
            ChangeKind::Removed => 1,
            ChangeKind::Changed | ChangeKind::Renamed => 2,
        };
        if let Some(file) = &self.file {
            first |= HAS_FILE;
            first |= if file.before.is_some() { HAD_ANOTHER } else { 0 };
            first |= if file.has_other_names { HAS_OTHER_NAMES } else { 0 };
        }
        out.push(first);
        out.push(self.kind as u8);
        put_bytes(out, &self.name);
        put(out, self.inode);
        put(out, self.size_bytes.0);
        put(out, self.size_bytes.1);
        if let Some(file) = &self.file {
            put(out, u64::from(file.id.volume));
            put_signed(out, file.id.born_ns);
            if let Some(before) = file.before {
                out.extend_from_slice(&before.to_bytes());
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<NameChange, Corrupt> {
        let first = reader.byte()?;
        let what = match first & WHAT {
            0 => ChangeKind::Added,
            1 => ChangeKind::Removed,
            2 => ChangeKind::Changed,
            _ => return Err(reader.corrupt()),
        };
        if first & !(WHAT | HAS_FILE | HAD_ANOTHER | HAS_OTHER_NAMES) != 0 {
            return Err(reader.corrupt());
        }
        let kind = Kind::of_number(reader.byte()?).ok_or(reader.corrupt())?;
        let (name, inode) = (reader.bytes()?.into(), reader.number()?);
        let size_bytes = (reader.number()?, reader.number()?);
        let file = match first & HAS_FILE {
            0 => None,
            _ => Some(FileIdentity {
                id: FileId {
                    volume: reader.small()?,
                    inode,
                    born_ns: reader.signed()?,
                },
                before: match first & HAD_ANOTHER {
                    0 => None,
                    _ => Some(FileId::read(reader)?),
                },
                has_other_names: first & HAS_OTHER_NAMES != 0,
            }),
        };
        Ok(NameChange {
            what,
            name,
            kind,
            inode,
            size_bytes,
            file,
        })
    }
}

// Flags in the first byte of a name: the change, and the fields that follow the sizes. The old
// format has only the change.
const WHAT: u8 = 3;
const HAS_FILE: u8 = 4;
const HAD_ANOTHER: u8 = 8;
const HAS_OTHER_NAMES: u8 = 16;

impl ChangesRow {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_signed(&mut out, self.at_ms);
        put_bytes(&mut out, &self.dir);
        put(&mut out, self.names.len() as u64);
        for change in &self.names {
            change.write(&mut out);
        }
        put(&mut out, self.scan);
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<ChangesRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of changes");
        let (at_ms, dir, count) = (reader.signed()?, reader.bytes()?.to_vec(), reader.number()?);
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(NameChange::read(reader)?);
        }
        // Rows of the old format end here.
        let scan = if reader.is_at_end() { 0 } else { reader.number()? };
        Ok(ChangesRow {
            at_ms,
            dir,
            names,
            scan,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A row in the old format, which kept only the inode: two names in `/data`, one new and one
    /// changed.
    const OF_OLD: &[u8] =
        b"\xd0\x0f\x05/data\x02\x00\x00\x03new\xac\x02\x00\x05\x02\x01\x05inner\x07\x80\x20\x80\x40";

    #[test]
    fn rows_of_old_are_read() {
        let name = |what, name: &[u8], kind, inode, size_bytes| NameChange {
            what,
            name: name.into(),
            kind,
            inode,
            size_bytes,
            file: None,
        };
        let expected = ChangesRow {
            at_ms: 1000,
            dir: b"/data".to_vec(),
            names: vec![
                name(ChangeKind::Added, b"new", Kind::File, 300, (0, 5)),
                name(ChangeKind::Changed, b"inner", Kind::Directory, 7, (4096, 8192)),
            ],
            scan: 0,
        };
        assert_eq!(ChangesRow::of_bytes(OF_OLD), Ok(expected));
    }

    fn id() -> impl Strategy<Value = FileId> {
        any::<(u32, u64, i64)>().prop_map(|(volume, inode, born_ns)| FileId {
            volume,
            inode,
            born_ns,
        })
    }

    fn name() -> impl Strategy<Value = NameChange> {
        let what = prop::sample::select(vec![ChangeKind::Added, ChangeKind::Removed, ChangeKind::Changed]);
        let file = prop::option::of((id(), prop::option::of(id()), any::<bool>()));
        (what, any::<Vec<u8>>(), any::<u64>(), any::<(u64, u64)>(), file).prop_map(
            |(what, name, inode, size_bytes, file)| NameChange {
                what,
                name: name.into(),
                kind: Kind::Pipe,
                inode: file.map_or(inode, |file| file.0.inode),
                size_bytes,
                file: file.map(|(id, before, has_other_names)| FileIdentity {
                    id,
                    before,
                    has_other_names,
                }),
            },
        )
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            at_ms: i64, dir: Vec<u8>, names in prop::collection::vec(name(), 0..5), scan: u64, cut: prop::sample::Index,
        ) {
            let row = ChangesRow { at_ms, dir, names, scan };
            let bytes = row.to_bytes();
            prop_assert_eq!(ChangesRow::of_bytes(&bytes), Ok(row));
            // A truncated row is corrupt or, without its last number, a row of the old format. It
            // never panics.
            let _ = ChangesRow::of_bytes(&bytes[..cut.index(bytes.len())]);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = ChangesRow::of_bytes(&bytes);
        }
    }
}
