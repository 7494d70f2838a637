//! The log of actions on files, and digests of their content. Scans neither read nor write these
//! rows.

use std::sync::Arc;

use fjall::PersistMode;

use crate::action::ActionKind;
use crate::attributes::FileId;
use crate::catalogue::{Catalogue, number_of_key};
use crate::change::CRASH_POINTS;
use crate::error::CatalogueError;
use crate::tables::Table;
use crate::varint::{Corrupt, Reader, put, put_bytes, put_signed};

/// The version of a file at the time of an action. If any field differs, it is another file or has
/// changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileVersion {
    /// Identity of the file.
    pub id: FileId,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Time of the last content change, in nanoseconds since 1970.
    pub modified_ns: i64,
}

impl FileVersion {
    /// Returns the version of a file from its attributes.
    pub fn of(file: &crate::Attributes) -> FileVersion {
        FileVersion {
            id: file.id,
            size_bytes: file.size_bytes,
            modified_ns: file.modified_ns,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_bytes());
        put(out, self.size_bytes);
        put_signed(out, self.modified_ns);
    }

    fn read(reader: &mut Reader<'_>) -> Result<FileVersion, Corrupt> {
        Ok(FileVersion {
            id: FileId::read(reader)?,
            size_bytes: reader.number()?,
            modified_ns: reader.signed()?,
        })
    }
}

/// The digest of the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The version that was read.
    pub version: FileVersion,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// When all content was last read and had this digest, in milliseconds since 1970.
    pub verified_ms: i64,
    /// When the content had another digest although the file shows no sign of a write: damage.
    /// `None` if that never happened.
    pub damaged_ms: Option<i64>,
    /// The copy in a store, if any.
    pub copy: Option<Copy>,
}

/// A copy of a file in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Address of the object: `store://bucket/name`.
    pub address: String,
    /// Number of replicas read in full and verified.
    pub replicas: u32,
    /// Time of that verification, in milliseconds since 1970.
    pub verified_ms: i64,
}

impl Digest {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.version.write(&mut out);
        out.extend_from_slice(&self.sha256);
        put_signed(&mut out, self.verified_ms);
        put_signed(&mut out, self.damaged_ms.unwrap_or(0));
        match &self.copy {
            None => out.push(0),
            Some(copy) => {
                out.push(1);
                put_bytes(&mut out, copy.address.as_bytes());
                put(&mut out, u64::from(copy.replicas));
                put_signed(&mut out, copy.verified_ms);
            }
        }
        out
    }

    fn of_bytes(bytes: &[u8]) -> Result<Digest, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a digest");
        let corrupt = reader.corrupt();
        let seen = FileVersion::read(reader)?;
        let sha256 = reader.take(32)?.try_into().map_err(|_| corrupt)?;
        let verified_ms = reader.signed()?;
        let damaged_ms = Some(reader.signed()?).filter(|ms| *ms != 0);
        let copy = match reader.byte()? {
            0 => None,
            _ => Some(Copy {
                address: text(reader)?,
                replicas: reader.small()?,
                verified_ms: reader.signed()?,
            }),
        };
        Ok(Digest {
            version: seen,
            sha256,
            verified_ms,
            damaged_ms,
            copy,
        })
    }
}

fn text(reader: &mut Reader<'_>) -> Result<String, Corrupt> {
    let corrupt = reader.corrupt();
    String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| corrupt)
}

/// The state of an action or a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActState {
    /// Recorded before it is carried out. After a crash, it is unknown whether it was.
    Begun,
    /// Done.
    Done,
    /// Not done, because the file is no longer the planned version.
    Skipped,
    /// Tried, and failed.
    Failed,
    /// Done, and undone later.
    Undone,
    /// Done, and the trashed files were deleted for good later; for a run, all files it had
    /// trashed.
    Emptied,
}

impl ActState {
    const ALL: [ActState; 6] = [
        ActState::Begun,
        ActState::Done,
        ActState::Skipped,
        ActState::Failed,
        ActState::Undone,
        ActState::Emptied,
    ];

    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            ActState::Begun => "begun",
            ActState::Done => "done",
            ActState::Skipped => "skipped",
            ActState::Failed => "failed",
            ActState::Undone => "undone",
            ActState::Emptied => "emptied",
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<ActState, Corrupt> {
        let number = usize::from(reader.byte()?);
        ActState::ALL.get(number).copied().ok_or(reader.corrupt())
    }
}

/// One run of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Name of the policy.
    pub policy: String,
    /// Its action.
    pub action: ActionKind,
    /// What started the run.
    pub cause: String,
    /// State: begun, done, failed or emptied.
    pub state: ActState,
    /// Start time, in milliseconds since 1970.
    pub begun_ms: i64,
    /// Time of its end or last write, in milliseconds since 1970.
    pub ended_ms: i64,
    /// Number of planned files, and their total bytes.
    pub planned: (u64, u64),
    /// Number of processed files, and their total bytes.
    pub done: (u64, u64),
    /// Number of files that were no longer the planned version.
    pub skipped: u64,
    /// Number of files for which the action failed.
    pub failed: u64,
    /// Why it ended early; empty if it did not.
    pub end: String,
}

impl RunRow {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![self.state as u8];
        for text in [&self.policy, self.action.name(), &self.cause, &self.end] {
            put_bytes(&mut out, text.as_bytes());
        }
        put_signed(&mut out, self.begun_ms);
        put_signed(&mut out, self.ended_ms);
        for number in [
            self.planned.0,
            self.planned.1,
            self.done.0,
            self.done.1,
            self.skipped,
            self.failed,
        ] {
            put(&mut out, number);
        }
        out
    }

    fn of_bytes(bytes: &[u8]) -> Result<RunRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of a run");
        let state = ActState::read(reader)?;
        let (policy, action, cause, end) = (text(reader)?, text(reader)?, text(reader)?, text(reader)?);
        let (begun_ms, ended_ms) = (reader.signed()?, reader.signed()?);
        Ok(RunRow {
            policy,
            action: ActionKind::of_row(action),
            cause,
            state,
            begun_ms,
            ended_ms,
            planned: (reader.number()?, reader.number()?),
            done: (reader.number()?, reader.number()?),
            skipped: reader.number()?,
            failed: reader.number()?,
            end,
        })
    }
}

/// One action on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    /// What was done.
    pub action: ActionKind,
    /// State of the action.
    pub state: ActState,
    /// When the row was written, in milliseconds since 1970.
    pub at_ms: i64,
    /// Path of the file, as bytes.
    pub path: Vec<u8>,
    /// Destination: a path or the address of an object; empty if the file did not move.
    pub to: Vec<u8>,
    /// The version of the file before the action.
    pub version: FileVersion,
    /// Permission bits, owner and group, to restore the file with.
    pub access: (u16, u32, u32),
    /// Why it was done, or why not.
    pub why: String,
}

impl ActRow {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![self.state as u8];
        put_bytes(&mut out, self.action.name().as_bytes());
        put_signed(&mut out, self.at_ms);
        put_bytes(&mut out, &self.path);
        put_bytes(&mut out, &self.to);
        self.version.write(&mut out);
        put(&mut out, u64::from(self.access.0));
        put(&mut out, u64::from(self.access.1));
        put(&mut out, u64::from(self.access.2));
        put_bytes(&mut out, self.why.as_bytes());
        out
    }

    fn of_bytes(bytes: &[u8]) -> Result<ActRow, Corrupt> {
        let reader = &mut Reader::new(bytes, "a row of an action");
        Ok(ActRow {
            state: ActState::read(reader)?,
            action: ActionKind::of_row(text(reader)?),
            at_ms: reader.signed()?,
            path: reader.bytes()?.to_vec(),
            to: reader.bytes()?.to_vec(),
            version: FileVersion::read(reader)?,
            access: (reader.small()?, reader.small()?, reader.small()?),
            why: text(reader)?,
        })
    }
}

/// Rows that become durable together.
#[derive(Debug, Default)]
pub struct LogBatch {
    /// Runs with their numbers.
    pub runs: Vec<(u64, RunRow)>,
    /// Actions, each with the number of its run and its number within the run.
    pub acts: Vec<(u64, u64, ActRow)>,
    /// Digests of files.
    pub digests: Vec<Digest>,
}

fn act_key(run: u64, act: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&run.to_be_bytes());
    key[8..].copy_from_slice(&act.to_be_bytes());
    key
}

impl Catalogue {
    /// Writes rows. They are durable when this returns.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn write_log(self: &Arc<Self>, notes: &LogBatch) -> Result<(), CatalogueError> {
        self.check_writable()?;
        self.tables.wait_for_room()?;
        let mut batch = self.tables.db().batch().durability(Some(PersistMode::Buffer));
        for (run, row) in &notes.runs {
            batch.insert(self.tables.space(Table::Runs), run.to_be_bytes(), row.to_bytes());
        }
        for (run, act, row) in &notes.acts {
            batch.insert(
                self.tables.space(Table::Acts),
                act_key(*run, *act),
                row.to_bytes(),
            );
        }
        for digest in &notes.digests {
            let key = digest.version.id.to_bytes();
            batch.insert(self.tables.space(Table::Digests), key, digest.to_bytes());
        }
        batch.commit()?;
        self.tables.db().persist(PersistMode::SyncData)?;
        system::failpoint::pass(&CRASH_POINTS, "files.after_note");
        Ok(())
    }

    /// Returns the digest recorded for a file, perhaps of an earlier version.
    ///
    /// # Errors
    /// Fails if a row cannot be read. The same holds for all reads below.
    pub fn digest(&self, id: FileId) -> Result<Option<Digest>, CatalogueError> {
        let row = self.tables.space(Table::Digests).get(id.to_bytes())?;
        Ok(row.map(|row| Digest::of_bytes(&row)).transpose()?)
    }

    /// Returns the digest of the current version of a file.
    pub fn current_digest(&self, file: &crate::Attributes) -> Result<Option<Digest>, CatalogueError> {
        Ok(self
            .digest(file.id)?
            .filter(|digest| digest.version == FileVersion::of(file)))
    }

    /// Returns all runs with their numbers, oldest first.
    pub fn runs(&self) -> Result<Vec<(u64, RunRow)>, CatalogueError> {
        let rows = self.tables.space(Table::Runs).iter().map(|row| {
            let (key, value) = row.into_inner()?;
            Ok((number_of_key(&key)?, RunRow::of_bytes(&value)?))
        });
        rows.collect()
    }

    /// Returns one run.
    pub fn run(&self, run: u64) -> Result<Option<RunRow>, CatalogueError> {
        let row = self.tables.space(Table::Runs).get(run.to_be_bytes())?;
        Ok(row.map(|row| RunRow::of_bytes(&row)).transpose()?)
    }

    /// Returns one action of a run.
    pub fn act(&self, run: u64, act: u64) -> Result<Option<ActRow>, CatalogueError> {
        let row = self.tables.space(Table::Acts).get(act_key(run, act))?;
        Ok(row.map(|row| ActRow::of_bytes(&row)).transpose()?)
    }

    /// Calls `each` with every action of one run, or of all runs, in the order they began: run
    /// number, number in the run, and row.
    ///
    /// # Errors
    /// Fails if a row cannot be read, and returns errors of `each`.
    pub fn each_act<E: From<CatalogueError>>(
        &self,
        run: Option<u64>,
        mut each: impl FnMut(u64, u64, ActRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let prefix = run.map(u64::to_be_bytes);
        let prefix = prefix.as_ref().map_or(&[][..], |prefix| &prefix[..]);
        for row in self.tables.space(Table::Acts).prefix(prefix) {
            let (key, value) = row.into_inner().map_err(CatalogueError::from)?;
            let corrupt = || Corrupt {
                what: "the key of an action",
            };
            let read = || -> Result<(u64, u64, ActRow), CatalogueError> {
                let act = number_of_key(key.get(8..).ok_or_else(corrupt)?)?;
                Ok((number_of_key(&key)?, act, ActRow::of_bytes(&value)?))
            };
            let (run, act, row) = read()?;
            each(run, act, row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let seen = FileVersion {
            id: FileId {
                volume: 3,
                inode: 1 << 40,
                born_ns: -7,
            },
            size_bytes: 12,
            modified_ns: -1,
        };
        let mut digest = Digest {
            version: seen,
            sha256: [7; 32],
            verified_ms: 5,
            damaged_ms: None,
            copy: None,
        };
        assert_eq!(Digest::of_bytes(&digest.to_bytes()), Ok(digest.clone()));
        digest.damaged_ms = Some(9);
        digest.copy = Some(Copy {
            address: "store://a/b".to_owned(),
            replicas: 2,
            verified_ms: 8,
        });
        assert_eq!(Digest::of_bytes(&digest.to_bytes()), Ok(digest));
        for state in ActState::ALL {
            let act = ActRow {
                action: ActionKind::Delete,
                state,
                at_ms: -3,
                path: b"/a\xff".to_vec(),
                to: Vec::new(),
                version: seen,
                access: (0o644, 1000, u32::MAX),
                why: "because".to_owned(),
            };
            assert_eq!(ActRow::of_bytes(&act.to_bytes()), Ok(act));
            let run = RunRow {
                policy: "p".to_owned(),
                action: ActionKind::Other("a".into()),
                cause: String::new(),
                state,
                begun_ms: 1,
                ended_ms: 2,
                planned: (3, 4),
                done: (5, 6),
                skipped: 7,
                failed: 8,
                end: "e".to_owned(),
            };
            assert_eq!(RunRow::of_bytes(&run.to_bytes()), Ok(run));
        }
        for cut in 0..20 {
            assert!(ActRow::of_bytes(&vec![1; cut]).is_err());
            assert!(Digest::of_bytes(&vec![1; cut]).is_err());
        }
    }
}
