//! The rows of all tables other than packs and sums, and their encoding. `docs/files.md` describes
//! them.

use crate::attributes::{Attributes, FileId, ID_LENGTH, Kind};
use crate::format::Format;
use crate::usage::Usage;
use crate::varint::{Corrupt, Reader, put, put_bytes, put_signed};

/// The row of a directory, apart from its entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DirRow {
    /// The parent directory; the directory itself for a root; `None` while it is attached nowhere.
    pub(crate) parent: Option<FileId>,
    pub(crate) name: Box<[u8]>,
    /// The last scan that read it in full, or 0.
    pub(crate) whole_scan: u64,
    /// Its times before that scan read it: while they are equal, the names are the same.
    pub(crate) stamp: Stamp,
    pub(crate) entries: u64,
    /// Number of rows in table `faults` about the directory or its names.
    pub(crate) faults: u64,
}

/// Times of a directory that change with its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    pub(crate) modified_ns: i64,
    pub(crate) changed_ns: i64,
}

impl DirRow {
    /// Returns whether all of it was read without errors.
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

/// The key of the sums over all entries: one row for each combination of owner, group, kind and
/// format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Type of the file.
    pub kind: Kind,
    /// Format of the file.
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

/// A file with several names, and the attributes seen with each. It is counted under the first
/// name.
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
    /// Returns the position of a name, or where to insert it.
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

/// A catalogued tree; its key is its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootRow {
    pub(crate) attributes: Attributes,
    /// The last finished scan of the whole tree, or 0, and when it ended.
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

/// The state of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanState {
    /// Not finished: it is running or was stopped. The next scan of the same directory resumes it.
    Begun,
    /// Finished.
    Done,
}

/// One walk of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRow {
    /// State of the scan.
    pub state: ScanState,
    /// The catalogued tree, as bytes.
    pub root: Box<[u8]>,
    /// The directory below the root to which the walk was limited; empty for the whole tree.
    pub below: Box<[u8]>,
    /// Start time, in milliseconds since 1970.
    pub begun_ms: i64,
    /// Time of its last write or end, in milliseconds since 1970.
    pub ended_ms: i64,
    /// Total running time over all resumptions, in milliseconds.
    pub spent_ms: u64,
    /// How many times it was resumed.
    pub resumed: u64,
    /// What it saw and changed.
    pub counts: ScanCounts,
    /// Sums of the tree at the end of the scan, including its root.
    pub total: Usage,
}

/// Counters of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ScanCounts {
    /// Names seen.
    pub entries: u64,
    /// Directories read.
    pub directories: u64,
    /// New names.
    pub added: u64,
    /// Removed names.
    pub removed: u64,
    /// Names whose file has other attributes.
    pub changed: u64,
    /// Names that disappeared between being listed and being examined.
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

/// A read error of a directory or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultRow {
    /// The system's error number.
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

/// A directory that is not attached and will be removed. Its key is its identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrphanRow {
    /// Whether its tree was forgotten, so that nothing changed on disk. Otherwise the directory is
    /// removed at the end of the scan unless it was found elsewhere.
    pub(crate) is_forgotten: bool,
    /// Its former path.
    pub(crate) path: Vec<u8>,
}

/// Prefix of the path of a forgotten directory. No path begins with it.
const FORGOTTEN: u8 = 1;

impl OrphanRow {
    pub(crate) fn lost(path: Vec<u8>) -> OrphanRow {
        OrphanRow {
            is_forgotten: false,
            path,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        if self.is_forgotten {
            [&[FORGOTTEN], &*self.path].concat()
        } else {
            self.path.clone()
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

/// Returns the directory at the start of a key of table `packs` or `faults`.
pub(crate) fn dir_of_key(key: &[u8]) -> Result<FileId, Corrupt> {
    FileId::of_bytes(key.get(..ID_LENGTH).unwrap_or_default())
}
