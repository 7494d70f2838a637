//! The rows of the catalogue's tables other than packs and sums, as bytes. `docs/files.md` describes them.

use crate::attributes::{Attributes, FileId, ID_LENGTH, Kind};
use crate::format::Format;
use crate::usage::Usage;
use crate::varint::{Corrupt, Reader, put, put_bytes, put_signed};

/// What is known of a directory beside its entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DirRow {
    /// The directory that holds it; of a root, itself; `None` while it is in no directory that is known.
    pub(crate) parent: Option<FileId>,
    pub(crate) name: Box<[u8]>,
    /// The last scan that read it whole, 0 if none did.
    pub(crate) whole_scan: u64,
    /// Its times when that began: with the same ones it holds the same names.
    pub(crate) stamp: Stamp,
    pub(crate) entries: u64,
    /// Faults in table `faults` that are about it or its names.
    pub(crate) faults: u64,
}

/// Times of a directory that change with its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    pub(crate) modified_ns: i64,
    pub(crate) changed_ns: i64,
}

impl DirRow {
    /// Whether all of it could be read.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole_scan > 0 && self.faults == 0
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40 + self.name.len());
        match self.parent {
            Some(parent) => {
                out.push(1);
                out.extend_from_slice(&parent.to_bytes());
            }
            None => out.push(0),
        }
        put_bytes(&mut out, &self.name);
        put(&mut out, self.whole_scan);
        put_signed(&mut out, self.stamp.modified_ns);
        put_signed(
            &mut out,
            self.stamp.changed_ns.wrapping_sub(self.stamp.modified_ns),
        );
        put(&mut out, self.entries);
        put(&mut out, self.faults);
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<DirRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a directory");
        let parent = match reader.byte()? {
            0 => None,
            _ => Some(FileId::read(reader)?),
        };
        let name = reader.bytes()?.into();
        let whole_scan = reader.number()?;
        let modified_ns = reader.signed()?;
        let stamp = Stamp {
            modified_ns,
            changed_ns: modified_ns.wrapping_add(reader.signed()?),
        };
        Ok(DirRow {
            parent,
            name,
            whole_scan,
            stamp,
            entries: reader.number()?,
            faults: reader.number()?,
        })
    }
}

/// By what sums over all entries are kept: one row for each owner, group, kind and format that occur together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// User number of the owner.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
    /// What sort of thing.
    pub kind: Kind,
    /// What its name says it is.
    pub format: Format,
}

impl Group {
    pub(crate) fn of(file: &Attributes) -> Group {
        Group {
            uid: file.uid,
            gid: file.gid,
            kind: file.kind,
            format: file.format,
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..4].copy_from_slice(&self.uid.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.gid.to_be_bytes());
        bytes[8] = self.kind as u8;
        bytes[9] = self.format.number();
        bytes
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Group, Corrupt> {
        let corrupt = || Corrupt {
            what: "the key of a group",
        };
        let bytes: [u8; 10] = bytes.try_into().map_err(|_| corrupt())?;
        let [a, b, c, d, e, f, g, h, kind, format] = bytes;
        Ok(Group {
            uid: u32::from_be_bytes([a, b, c, d]),
            gid: u32::from_be_bytes([e, f, g, h]),
            kind: Kind::of_number(kind).ok_or_else(corrupt)?,
            format: Format::of_number(format).ok_or_else(corrupt)?,
        })
    }
}

/// A file with several names, and what each was seen with. It counts with the first, where that is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LinkedRow {
    /// In order of directory and name.
    pub(crate) names: Vec<LinkedName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkedName {
    pub(crate) dir: FileId,
    pub(crate) name: Box<[u8]>,
    pub(crate) attributes: Attributes,
}

impl LinkedRow {
    /// Place of a name, or where it would be.
    pub(crate) fn find(&self, dir: FileId, name: &[u8]) -> Result<usize, usize> {
        self.names
            .binary_search_by(|row| (row.dir, &*row.name).cmp(&(dir, name)))
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.names.len() as u64);
        for row in &self.names {
            out.extend_from_slice(&row.dir.to_bytes());
            put_bytes(&mut out, &row.name);
            row.attributes.write(&Attributes::default(), &mut out);
        }
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<LinkedRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a file with several names");
        let count = reader.number()?;
        let mut names = Vec::new();
        for _ in 0..count {
            let dir = FileId::read(reader)?;
            let name = reader.bytes()?.into();
            names.push(LinkedName {
                dir,
                name,
                attributes: Attributes::read(&Attributes::default(), reader)?,
            });
        }
        Ok(LinkedRow { names })
    }
}

/// A tree that is catalogued. Its key is its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootRow {
    pub(crate) attributes: Attributes,
    /// The last scan of all of it that ended, and when; 0 if none did.
    pub(crate) whole_scan: u64,
    pub(crate) whole_ended_ms: i64,
}

impl RootRow {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.attributes.write(&Attributes::default(), &mut out);
        put(&mut out, self.whole_scan);
        put_signed(&mut out, self.whole_ended_ms);
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<RootRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a root");
        Ok(RootRow {
            attributes: Attributes::read(&Attributes::default(), reader)?,
            whole_scan: reader.number()?,
            whole_ended_ms: reader.signed()?,
        })
    }
}

/// How a scan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanState {
    /// Begun and not ended: it runs, or was stopped, and the next scan of the same directory goes on with it.
    Begun,
    /// Ended.
    Done,
}

/// One walk of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRow {
    /// How it stands.
    pub state: ScanState,
    /// The catalogued tree, as bytes.
    pub root: Box<[u8]>,
    /// The directory below the root that alone was walked; empty for all.
    pub below: Box<[u8]>,
    /// When it began, in milliseconds since 1970.
    pub begun_ms: i64,
    /// When it last wrote or ended.
    pub ended_ms: i64,
    /// Time spent, over all its runs, in milliseconds.
    pub spent_ms: u64,
    /// How often it was taken up again.
    pub resumed: u64,
    /// What it did.
    pub counts: ScanCounts,
    /// What the tree held when it ended, with its root.
    pub total: Usage,
}

/// What a scan met and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ScanCounts {
    /// Names seen.
    pub entries: u64,
    /// Directories read.
    pub directories: u64,
    /// Names that were new.
    pub added: u64,
    /// Names that were gone.
    pub removed: u64,
    /// Names whose file had other attributes.
    pub changed: u64,
    /// Names that went away between being listed and being looked at.
    pub vanished: u64,
    /// Directories and names that could not be read.
    pub faults: u64,
}

impl ScanCounts {
    fn numbers(&mut self) -> [&mut u64; 7] {
        [
            &mut self.entries,
            &mut self.directories,
            &mut self.added,
            &mut self.removed,
            &mut self.changed,
            &mut self.vanished,
            &mut self.faults,
        ]
    }

    pub(crate) fn add(&mut self, mut other: ScanCounts) {
        for (mine, theirs) in self.numbers().into_iter().zip(other.numbers()) {
            *mine += *theirs;
        }
    }
}

impl ScanRow {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.push(u8::from(self.state == ScanState::Done));
        put_bytes(&mut out, &self.root);
        put_bytes(&mut out, &self.below);
        put_signed(&mut out, self.begun_ms);
        put_signed(&mut out, self.ended_ms);
        put(&mut out, self.spent_ms);
        put(&mut out, self.resumed);
        for number in self.counts.clone().numbers() {
            put(&mut out, *number);
        }
        put_bytes(&mut out, &self.total.to_bytes());
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<ScanRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a scan");
        let state = if reader.byte()? == 0 {
            ScanState::Begun
        } else {
            ScanState::Done
        };
        let (root, below) = (reader.bytes()?.into(), reader.bytes()?.into());
        let (begun_ms, ended_ms) = (reader.signed()?, reader.signed()?);
        let (spent_ms, resumed) = (reader.number()?, reader.number()?);
        let mut counts = ScanCounts::default();
        for number in counts.numbers() {
            *number = reader.number()?;
        }
        let total = Usage::of_bytes(reader.bytes()?)?;
        Ok(ScanRow {
            state,
            root,
            below,
            begun_ms,
            ended_ms,
            spent_ms,
            resumed,
            counts,
            total,
        })
    }
}

/// What could not be read of a directory or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultRow {
    /// Number of the system's error.
    pub(crate) errno: i32,
    pub(crate) scan: u64,
}

impl FaultRow {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_signed(&mut out, i64::from(self.errno));
        put(&mut out, self.scan);
        out
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<FaultRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a fault");
        let errno = i32::try_from(reader.signed()?).map_err(|_| reader.corrupt())?;
        Ok(FaultRow {
            errno,
            scan: reader.number()?,
        })
    }
}

/// A directory without a place, which waits to be taken away. Its key is its identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrphanRow {
    /// Whether its tree was forgotten: then nothing on the disk has changed. Else it is gone at the end of a scan, unless it
    /// was found elsewhere.
    pub(crate) is_forgotten: bool,
    /// The path that it had.
    pub(crate) path: Vec<u8>,
}

/// In front of the path of a directory that was forgotten: no path begins with it.
const FORGOTTEN: u8 = 1;

impl OrphanRow {
    pub(crate) fn lost(path: Vec<u8>) -> OrphanRow {
        OrphanRow {
            is_forgotten: false,
            path,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self.is_forgotten {
            true => [&[FORGOTTEN], &*self.path].concat(),
            false => self.path.clone(),
        }
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> OrphanRow {
        let forgotten = bytes.strip_prefix(&[FORGOTTEN]);
        OrphanRow {
            is_forgotten: forgotten.is_some(),
            path: forgotten.unwrap_or(bytes).to_vec(),
        }
    }
}

/// The directory that a key of table `packs` or `faults` begins with.
pub(crate) fn dir_of_key(key: &[u8]) -> Result<FileId, Corrupt> {
    FileId::of_bytes(key.get(..ID_LENGTH).unwrap_or_default())
}
