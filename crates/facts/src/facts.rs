//! The tables of one archive.
//!
//! Invariants:
//! - A data file is named after its epoch, so an epoch that is indexed again replaces its own files.
//!   A file that a commit names is never overwritten. In a place where writes of a killed process
//!   may arrive late ([`FileStore::may_arrive_late`](system::FileStore::may_arrive_late)), no name is used twice, and unreferenced files
//!   stay until the table is vacuumed.
//! - Each table has the epochs' rows in order, each once: its log has the last epoch (`txn`) and
//!   refuses earlier ones.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::check::FileDamage;
use crate::crash;
use crate::data_file::{self, DataFile, Fate, Writer};
use crate::delta::{Add, Change, Log, Remove, Step, now_ms};
use crate::error::FactsError;
use crate::note::{Note, Renamed};
use crate::per_table::PerTable;
use crate::rows::Rows;
use crate::tables::{Fact, Settings, Table};
use system::FileStore;

/// Maximum number of rows in a row group. An epoch's rows are in memory as columns, one row group
/// at a time.
const ROW_GROUP_ROWS: usize = 1 << 15;

/// Minimum number of links of an epoch that are split into two files.
const SPLIT_LINKS_MIN: usize = 1 << 16;

/// Maximum size of texts in a row group, in bytes.
const ROW_GROUP_TEXT_BYTES: usize = 16 << 20;

/// The size of a table of facts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactsTable {
    /// Name of the table.
    #[cfg_attr(feature = "schema", schemars(example = &"captures"))]
    pub table: String,
    /// The last epoch from which it has rows.
    pub epoch: u64,
    /// Number of its rows.
    pub rows: u64,
    /// Number of its data files.
    pub files: u64,
    /// Size of its data files in bytes.
    pub bytes: u64,
}

/// The result of [`Facts::purge`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Purged {
    /// Number of data files removed.
    pub files: u64,
    /// Number of commits rewritten, because they had statistics of such files.
    pub commits: u64,
    /// Logs with checkpoints of other engines. These may still have statistics of such files, until
    /// the next checkpoint is written and the older ones are deleted.
    pub checkpoints: Vec<String>,
}

/// The tables of an archive. One process writes them; other engines may compact them meanwhile.
pub struct Facts {
    place: Arc<dyn FileStore>,
    archive: String,
    tables: Vec<Table>,
    /// Log of each table. Read on first use, because queries need none.
    logs: Mutex<Vec<Option<Log>>>,
}

impl Facts {
    /// Returns the tables below `place` that belong to the archive `archive`
    /// ([`new_id`](crate::new_id)). Reads and writes nothing yet.
    pub fn new(place: Arc<dyn FileStore>, archive: String, settings: &Settings) -> Facts {
        let tables = settings.tables();
        Facts {
            place,
            archive,
            logs: Mutex::new(tables.iter().map(|_| None).collect()),
            tables,
        }
    }

    /// Writes the data files of an epoch; durable when it returns, but not yet visible. `facts`
    /// must be the epoch's new captures, sorted by URL key.
    ///
    /// # Errors
    /// [`FactsError`]. The next attempt writes the files again.
    pub fn stage(&self, epoch: u64, facts: &[Fact<'_>]) -> Result<Note, FactsError> {
        // If a table has a later epoch, files of this one must not be written: commits may name
        // them.
        self.with_logs(|logs| {
            let ahead = logs.iter().find(|log| log.epoch() >= epoch);
            ahead.map_or(Ok(()), |log| {
                Err(FactsError::Ahead {
                    table: self.place.locate(&log.path("")),
                    found: log.epoch(),
                    expected: epoch.saturating_sub(1),
                })
            })
        })?;
        let mut note = Note {
            epoch,
            before: self.last_epochs()?,
            ..Note::default()
        };
        let parts = self.parts(facts);
        // One thread per file, because the epoch waits for all of them.
        let written: Vec<Result<Option<Add>, FactsError>> = std::thread::scope(|scope| {
            let (last, others) = match parts.split_last() {
                Some((last, others)) => (Some(last), others),
                None => (None, [].as_slice()),
            };
            let spawn = |part| scope.spawn(move || self.write(epoch, part));
            let running: Vec<_> = others.iter().map(spawn).collect();
            let here = last.map(|part| self.write(epoch, part));
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            running.into_iter().map(join).chain(here).collect()
        });
        for (part, added) in parts.iter().zip(written) {
            note.added[part.table].extend(added?);
        }
        crash::point("stage.done");
        Ok(note)
    }

    /// Returns the data files of an epoch, each with its facts.
    fn parts<'f, 'a>(&self, facts: &'f [Fact<'a>]) -> Vec<Part<'f, 'a>> {
        let mut parts = Vec::new();
        for table in &self.tables {
            let (table, mut rest) = (*table, facts);
            let mut links: usize = facts.iter().map(|fact| fact.links().count()).sum();
            let mut number = 0;
            // Half of the links for each of two cores.
            if table == Table::Links && links >= SPLIT_LINKS_MIN {
                let half = links / 2;
                let end = facts.iter().position(|fact| {
                    links -= fact.links().count();
                    links <= half
                });
                let (first, second) = facts.split_at(end.map_or(0, |end| end + 1));
                parts.push(Part {
                    table,
                    number,
                    facts: first,
                });
                (rest, number) = (second, 1);
            }
            parts.push(Part {
                table,
                number,
                facts: rest,
            });
        }
        parts
    }

    /// Writes one data file, unless it has no rows.
    fn write(&self, epoch: u64, part: &Part<'_, '_>) -> Result<Option<Add>, FactsError> {
        let file = write(part.table, epoch, part.facts).map_err(|error| encode(part.table, &error))?;
        let Some(file) = file else { return Ok(None) };
        let added = self.put(
            part.table,
            self.file_name(&format!("epoch-{epoch:012}"), part.number),
            file,
        )?;
        crash::point("stage.after_file");
        Ok(Some(added))
    }

    /// Publishes the changes of a note. Does nothing if they are already published.
    ///
    /// # Errors
    /// [`FactsError`]. Some tables may have the changes then; a later call publishes them in the
    /// others.
    pub fn publish(&self, note: &Note) -> Result<(), FactsError> {
        let tables = self.tables.clone();
        self.with_logs(|logs| {
            for (table, log) in tables.iter().zip(logs) {
                if !note.concerns(*table) {
                    continue;
                }
                self.check_whole(*table, log, note)?;
                let operation = match (note.removes_rows(), &note.renamed) {
                    (true, _) => "DELETE",
                    (_, Some(_)) => "UPDATE",
                    _ => "WRITE",
                };
                log.commit(step(note), operation, |log| self.change(*table, note, log))?;
                crash::point("publish.after_table");
            }
            Ok(())
        })
    }

    /// Returns the note for renaming an input, in an archive at epoch `epoch`.
    ///
    /// # Errors
    /// [`FactsError`] if a log cannot be read.
    pub fn note_of_renamed(&self, epoch: u64, input_id: u32, name: &str) -> Result<Note, FactsError> {
        let before = self.last_epochs()?;
        let number = self.with_logs(|logs| Ok(logs.iter().map(|log| log.names()).max()))?;
        Ok(Note {
            epoch,
            before,
            renamed: Some(Renamed {
                input_id,
                name: name.to_owned(),
                number: number.unwrap_or_default() + 1,
            }),
            ..Note::default()
        })
    }

    /// Returns the last epoch of each table; 0 for tables that are not written.
    fn last_epochs(&self) -> Result<PerTable<u64>, FactsError> {
        let tables = self.tables.clone();
        self.with_logs(|logs| {
            let mut epochs = PerTable::default();
            for (table, log) in tables.iter().zip(logs) {
                epochs[*table] = log.epoch();
            }
            Ok(epochs)
        })
    }

    /// Fails if a table lacks earlier epochs, or the files of the epoch are missing: adding it
    /// would hide the loss.
    fn check_whole(&self, table: Table, log: &Log, note: &Note) -> Result<(), FactsError> {
        let missing = |path: &str| {
            Err(FactsError::Missing {
                path: self.place.locate(path),
                epoch: note.epoch,
            })
        };
        if log.has_step(step(note)) {
            return Ok(());
        }
        if log.epoch() < note.before[table] {
            return missing(table.name());
        }
        for add in &note.added[table] {
            let path = log.path(&add.path);
            let is_there = self.place.exists(&path).map_err(|source| FactsError::Io {
                doing: "look for",
                path: self.place.locate(&path),
                source,
            })?;
            if !is_there {
                return missing(&path);
            }
        }
        Ok(())
    }

    /// Returns whether all tables have the changes of a note. Reads only the newest commits: after
    /// many later commits of another engine this returns false, and publishing finds out.
    ///
    /// # Errors
    /// [`FactsError`].
    pub fn is_published(&self, note: &Note) -> Result<bool, FactsError> {
        for table in &self.tables {
            if note.concerns(*table) && !Log::newest_has_step(&*self.place, table.name(), step(note))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes data files that are no longer live, and their statistics in older commits. Readers
    /// of earlier versions no longer find these files. No epoch may be staged and unpublished.
    ///
    /// # Errors
    /// [`FactsError`]. Some files may be removed; a later call continues.
    pub fn purge(&self) -> Result<Purged, FactsError> {
        let mut purged = Purged::default();
        for (table, slot) in self.tables.iter().zip(self.logs.lock().iter_mut()) {
            if slot.is_none() && !Log::is_there(&*self.place, table.name())? {
                continue;
            }
            let log = self.read(*table, slot)?;
            purged.commits += log.drop_history()?;
            if log.has_checkpoint()? {
                purged
                    .checkpoints
                    .push(self.place.locate(&log.path("_delta_log")));
            }
            for name in log.stray_files()? {
                let path = log.path(&name);
                self.place.remove(&path).map_err(|source| FactsError::Io {
                    doing: "remove",
                    path: self.place.locate(&path),
                    source,
                })?;
                purged.files += 1;
            }
        }
        Ok(purged)
    }

    /// Returns the sizes of the tables.
    ///
    /// # Errors
    /// [`FactsError`] if a log cannot be read.
    pub fn sums(&self) -> Result<Vec<FactsTable>, FactsError> {
        let mut sums = Vec::new();
        for (table, slot) in self.tables.iter().zip(self.logs.lock().iter_mut()) {
            // A missing table is not created here.
            if slot.is_none() && !Log::is_there(&*self.place, table.name())? {
                continue;
            }
            let log = self.read(*table, slot)?;
            sums.push(FactsTable {
                table: table.name().to_owned(),
                epoch: log.epoch(),
                rows: log.files().filter_map(Add::records).sum(),
                files: log.files().count() as u64,
                bytes: log.files().map(|add| add.size.max(0) as u64).sum(),
            });
        }
        Ok(sums)
    }

    /// Removes the rows of all epochs after `epoch`, which the archive has lost. The tables'
    /// history continues.
    ///
    /// # Errors
    /// [`FactsError::Ahead`] if one of these epochs removed rows, which cannot be restored. Others
    /// if a log cannot be read or written.
    pub fn roll_back(&self, epoch: u64) -> Result<(), FactsError> {
        self.with_logs(|logs| logs.iter_mut().try_for_each(|log| log.roll_back(epoch)))
    }

    /// Returns the damage of the tables. With `has_rows`, captures must exist.
    ///
    /// # Errors
    /// [`FactsError`] if a log cannot be read, or the place fails.
    pub fn damages(&self, has_rows: bool) -> Result<Vec<FileDamage>, FactsError> {
        let mut damages = Vec::new();
        for table in &self.tables {
            // Opening the archive creates a removed table again, without an epoch.
            let must_be_there = has_rows && *table == Table::Captures;
            let is_there = !must_be_there
                || (Log::is_there(&*self.place, table.name())?
                    && Log::read(self.place.clone(), table.name())?.epoch() > 0);
            if !is_there {
                damages.push(FileDamage {
                    path: self.place.locate(table.name()),
                    found: "its rows are missing, but the archive has captures".to_owned(),
                });
            }
            damages.extend(crate::damages(&self.place, *table)?);
        }
        Ok(damages)
    }

    /// Returns the changes of a note in a table.
    fn change(&self, table: Table, note: &Note, log: &Log) -> Result<Change, FactsError> {
        if note.removes_rows() {
            let leaves = |input: i64, offset: i64| {
                u32::try_from(input).is_ok_and(|input| note.removes(input, offset as u64))
            };
            let fate = |input, offset| {
                if leaves(input, offset) {
                    Fate::Leaves
                } else {
                    Fate::Stays
                }
            };
            let name = |number| self.file_name(&format!("epoch-{:012}", note.epoch), number);
            return self.rewrite(table, log, &note.inputs_with_removed_rows(), fate, name);
        }
        if let Some(renamed) = &note.renamed {
            let is_meant = |input: i64| input == i64::from(renamed.input_id);
            let fate = |input, _| {
                if is_meant(input) {
                    Fate::Renamed(&renamed.name)
                } else {
                    Fate::Stays
                }
            };
            let name = |number| self.file_name(&format!("names-{:012}", renamed.number), number);
            return self.rewrite(table, log, &[renamed.input_id], fate, name);
        }
        Ok(Change {
            adds: note.added[table].clone(),
            removes: Vec::new(),
        })
    }

    /// Rewrites the files that may contain rows of some inputs.
    fn rewrite<'a>(
        &self,
        table: Table,
        log: &Log,
        input_ids: &[u32],
        fate: impl Fn(i64, i64) -> Fate<'a>,
        name: impl Fn(usize) -> String,
    ) -> Result<Change, FactsError> {
        let mut change = Change::default();
        for (number, add) in log.files_of_inputs(input_ids).iter().enumerate() {
            let path = log.path(&add.path);
            let located = || self.place.locate(&path);
            let read = self.place.get(&path).map_err(|source| FactsError::Io {
                doing: "read",
                path: located(),
                source,
            })?;
            let damaged = |why: String| FactsError::Damaged { path: located(), why };
            let bytes = read.ok_or_else(|| damaged("it is missing".to_owned()))?;
            let rest = data_file::rewrite(table.fields(), bytes, ROW_GROUP_ROWS, &fate)
                .map_err(|error| damaged(error.to_string()))?;
            let Some(rest) = rest else { continue };
            if let Some(file) = rest.finish().map_err(|error| encode(table, &error))? {
                change.adds.push(self.put(table, name(number), file)?);
                crash::point("retract.after_file");
            }
            change.removes.push(Remove::of(add, now_ms()));
        }
        Ok(change)
    }

    /// Name of a data file; names sort by the files' contents.
    fn file_name(&self, of: &str, number: usize) -> String {
        let only_once = if self.place.may_arrive_late() {
            format!("-{:016x}", system::random::<u64>())
        } else {
            String::new()
        };
        format!("{of}-{number:05}{only_once}.zstd.parquet")
    }

    fn put(&self, table: Table, name: String, file: DataFile) -> Result<Add, FactsError> {
        let path = format!("{}/{name}", table.name());
        let size = file.bytes.len();
        self.place
            .put(&path, file.bytes.into())
            .map_err(|source| FactsError::Io {
                doing: "write",
                path: self.place.locate(&path),
                source,
            })?;
        Ok(Add {
            path: name,
            partition_values: Default::default(),
            size: size as i64,
            modification_time: now_ms(),
            data_change: true,
            stats: Some(file.stats.to_json()),
        })
    }

    fn with_logs<T>(
        &self,
        run: impl FnOnce(&mut [&mut Log]) -> Result<T, FactsError>,
    ) -> Result<T, FactsError> {
        let mut slots = self.logs.lock();
        let mut logs = Vec::with_capacity(slots.len());
        for (table, slot) in self.tables.iter().zip(slots.iter_mut()) {
            logs.push(self.read(*table, slot)?);
        }
        run(&mut logs)
    }

    /// Returns the log of a table. Reads or creates it on first use.
    fn read<'l>(&self, table: Table, slot: &'l mut Option<Log>) -> Result<&'l mut Log, FactsError> {
        match slot {
            Some(log) => Ok(log),
            None => {
                let place = self.place.clone();
                let log = Log::open(place, table.name(), table.fields(), &self.archive)?;
                Ok(slot.insert(log))
            }
        }
    }
}

/// Returns the step that a note adds to the tables.
fn step(note: &Note) -> Step {
    match &note.renamed {
        Some(renamed) => Step::Names(renamed.number),
        None => Step::Epoch(note.epoch),
    }
}

/// A data file to be written.
struct Part<'f, 'a> {
    table: Table,
    /// Number among the files of its table and epoch.
    number: usize,
    facts: &'f [Fact<'a>],
}

fn encode(table: Table, error: &parquet::errors::ParquetError) -> FactsError {
    FactsError::Encode {
        table: table.name(),
        why: error.to_string(),
    }
}

fn write(
    table: Table,
    epoch: u64,
    facts: &[Fact<'_>],
) -> Result<Option<DataFile>, parquet::errors::ParquetError> {
    let mut writer = Writer::new(table.fields())?;
    let mut rows = Rows::new(table.fields());
    let mut text_bytes = 0;
    for fact in facts {
        text_bytes += fact.page_text_bytes(table);
        fact.add_rows(table, epoch, &mut rows);
        if rows.len() >= ROW_GROUP_ROWS || text_bytes >= ROW_GROUP_TEXT_BYTES {
            let next = rows.like(table.fields());
            writer.write(std::mem::replace(&mut rows, next))?;
            text_bytes = 0;
        }
    }
    writer.write(rows)?;
    writer.finish()
}
