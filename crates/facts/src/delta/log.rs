//! The log of one table: reading it, and adding commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::action::{Action, Add, MetaData, Protocol, READER_VERSION, Remove, Txn, WRITER_VERSION};
use super::{checkpoint, stats};
use crate::error::FactsError;
use crate::field::{Field, delta_schema};
use system::FileStore;

/// Identifies this program's commits that rename an input (`txn.appId`).
const NAMES_APP_ID: &str = "weft-names";

/// Identifies this program's commits among those of other writers of a table (`txn.appId`).
const APP_ID: &str = "weft";

/// Key in a table's configuration: the archive that it belongs to.
const ARCHIVE_KEY: &str = "weft.archive";

/// Length of a commit's name: its version in 20 digits, and `.json`.
const COMMIT_NAME_BYTES: usize = 25;

/// Maximum number of attempts to commit while other writers commit first.
const ATTEMPTS_MAX: usize = 100;

/// Number of commits requested at once when a log is opened. Each is a few KiB.
const COMMITS_AT_ONCE: usize = 256;

/// This program's steps in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CommittedSteps {
    /// The last epoch.
    pub(crate) epoch: u64,
    /// Number of renames of inputs.
    pub(crate) names: u64,
}

/// The step that a commit adds to the table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// This epoch.
    Epoch(u64),
    /// This number of renames.
    Names(u64),
}

impl CommittedSteps {
    fn has_step(self, step: Step) -> bool {
        match step {
            Step::Epoch(epoch) => self.epoch >= epoch,
            Step::Names(names) => self.names >= names,
        }
    }

    fn take(&mut self, txn: &Txn) {
        let version = txn.version.max(0) as u64;
        match txn.app_id.as_str() {
            // After a roll-back, the epoch is smaller than in the previous commit.
            APP_ID => self.epoch = version,
            NAMES_APP_ID => self.names = self.names.max(version),
            _ => {}
        }
    }
}

/// The changes of a commit.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) adds: Vec<Add>,
    pub(crate) removes: Vec<Remove>,
}

/// The newest state of a table that was read.
pub(crate) struct Log {
    place: Arc<dyn FileStore>,
    /// Directory of the table.
    table: &'static str,
    /// Version of the last commit that was read.
    version: i64,
    /// Live files, by path.
    files: BTreeMap<String, Add>,
    steps: CommittedSteps,
    metadata: Option<MetaData>,
}

impl Log {
    /// Reads the log, or creates it. An existing log must belong to `archive`.
    pub(crate) fn open(
        place: Arc<dyn FileStore>,
        table: &'static str,
        fields: &[Field],
        archive: &str,
    ) -> Result<Log, FactsError> {
        let mut log = Log::read(place, table)?;
        if log.version < 0 {
            log.begin(fields, archive)?;
        }
        log.check_metadata(fields, archive)?;
        log.add_columns(fields)?;
        Ok(log)
    }

    /// Reads the log of a table, whichever archive it belongs to.
    pub(crate) fn read(place: Arc<dyn FileStore>, table: &'static str) -> Result<Log, FactsError> {
        let mut log = Log {
            place,
            table,
            version: -1,
            files: BTreeMap::new(),
            steps: CommittedSteps::default(),
            metadata: None,
        };
        let names = list(&*log.place, &log_folder(table))?;
        log.read_checkpoint(&names)?;
        log.read_listed(&names)?;
        log.read_on()?;
        Ok(log)
    }

    /// Returns whether a table has a log.
    pub(crate) fn is_there(place: &dyn FileStore, table: &str) -> Result<bool, FactsError> {
        Ok(!list(place, &log_folder(table))?.is_empty())
    }

    /// Returns whether the newest commit has this step or a later one. Reads no other commit.
    pub(crate) fn newest_has_step(
        place: &dyn FileStore,
        table: &str,
        step: Step,
    ) -> Result<bool, FactsError> {
        let folder = log_folder(table);
        let names = list(place, &folder)?;
        let Some(newest) = names.iter().filter(|name| is_commit(name)).max() else {
            return Ok(false);
        };
        let bytes = get(place, &format!("{folder}/{newest}"))?;
        let actions = serde_json::Deserializer::from_slice(bytes.as_deref().unwrap_or_default());
        let mut steps = CommittedSteps::default();
        // A damaged commit counts as another writer's. Reading the whole log reports it.
        for action in actions.into_iter::<Action>().map_while(Result::ok) {
            if let Action::Txn(txn) = action {
                steps.take(&txn);
            }
        }
        Ok(steps.has_step(step))
    }

    /// The last epoch that the table has.
    pub(crate) fn epoch(&self) -> u64 {
        self.steps.epoch
    }

    /// Number of renames of inputs.
    pub(crate) fn names(&self) -> u64 {
        self.steps.names
    }

    /// Returns whether the table has a step.
    pub(crate) fn has_step(&self, step: Step) -> bool {
        self.steps.has_step(step)
    }

    /// Live files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Add> {
        self.files.values()
    }

    /// Returns the files that may contain rows of some inputs.
    pub(crate) fn files_of_inputs(&self, input_ids: &[u32]) -> Vec<Add> {
        let may_hold = |add: &&Add| {
            let bounds = add
                .stats
                .as_deref()
                .and_then(|text| stats::numbers(text, "input_id"));
            let is_within = |(least, greatest): (i64, i64)| {
                let mut inputs = input_ids.iter().map(|id| i64::from(*id));
                inputs.any(|id| (least..=greatest).contains(&id))
            };
            bounds.is_none_or(is_within)
        };
        self.files.values().filter(may_hold).cloned().collect()
    }

    /// Removes the bounds of unreferenced files from older commits, and returns how many commits
    /// were rewritten. The commits still add and remove the same files.
    pub(crate) fn drop_history(&mut self) -> Result<u64, FactsError> {
        self.read_on()?;
        let names = list(&*self.place, &log_folder(self.table))?;
        let mut written = 0;
        for name in names.iter().filter(|name| is_commit(name)) {
            let path = self.path(&format!("_delta_log/{name}"));
            let Some(bytes) = get(&*self.place, &path)? else {
                continue;
            };
            let mut kept = Vec::new();
            let mut is_changed = false;
            for line in serde_json::Deserializer::from_slice(&bytes).into_iter::<serde_json::Value>() {
                let mut line = line.map_err(|error| self.damaged(&path, error))?;
                is_changed |= self.drop_bounds(&mut line);
                serde_json::to_writer(&mut kept, &line).map_err(|error| self.damaged(&path, error))?;
                kept.push(b'\n');
            }
            if !is_changed {
                continue;
            }
            self.place
                .put(&path, kept.into())
                .map_err(|source| FactsError::Io {
                    doing: "write",
                    path: self.place.locate(&path),
                    source,
                })?;
            written += 1;
        }
        Ok(written)
    }

    /// Removes the bounds of columns from an action that adds a file that is no longer live.
    /// Returns whether it had any.
    fn drop_bounds(&self, action: &mut serde_json::Value) -> bool {
        let Some(add) = action.get_mut("add").and_then(|add| add.as_object_mut()) else {
            return false;
        };
        let path = add.get("path").and_then(|path| path.as_str());
        let is_gone = path.is_some_and(|path| !self.files.contains_key(path));
        is_gone && add.remove("stats").is_some()
    }

    /// Returns whether another engine wrote a checkpoint.
    pub(crate) fn has_checkpoint(&self) -> Result<bool, FactsError> {
        let names = list(&*self.place, &log_folder(self.table))?;
        Ok(names.iter().any(|name| name.contains(".checkpoint.")))
    }

    /// Returns the names of this program's data files that are no longer live or were never
    /// committed. Files of other engines are left out, because a commit may be about to name them.
    pub(crate) fn stray_files(&self) -> Result<Vec<String>, FactsError> {
        let mut names = list(&*self.place, self.table)?;
        let is_ours = |name: &str| name.starts_with("epoch-") || name.starts_with("names-");
        names.retain(|name| is_ours(name) && name.ends_with(".parquet") && !self.files.contains_key(name));
        Ok(names)
    }

    /// Path of a file of the table, relative to the place.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.table)
    }

    /// Commits a step with the changes that `change` returns for the current state. Does nothing if
    /// the table already has the step. If another writer commits first, `change` is called again.
    pub(crate) fn commit(
        &mut self,
        step: Step,
        operation: &str,
        mut change: impl FnMut(&Log) -> Result<Change, FactsError>,
    ) -> Result<(), FactsError> {
        for _ in 0..ATTEMPTS_MAX {
            // Files that another engine has replaced may have been deleted.
            self.read_on()?;
            if self.steps.has_step(step) {
                return Ok(());
            }
            let change = change(self)?;
            let now_ms = super::now_ms();
            let mut actions = vec![Action::CommitInfo(json!({
                "timestamp": now_ms,
                "operation": operation,
                "operationParameters": {},
                "isBlindAppend": change.removes.is_empty(),
                "engineInfo": concat!("weft/", env!("CARGO_PKG_VERSION")),
            }))];
            let (app_id, version) = match step {
                Step::Epoch(epoch) => (APP_ID, epoch),
                Step::Names(names) => (NAMES_APP_ID, names),
            };
            actions.push(Action::Txn(Txn {
                app_id: app_id.to_owned(),
                version: version as i64,
                last_updated: Some(now_ms),
            }));
            actions.extend(change.removes.into_iter().map(Action::Remove));
            actions.extend(change.adds.into_iter().map(Action::Add));
            if self.put(&actions)? {
                return Ok(());
            }
        }
        Err(FactsError::Contended {
            table: self.path(""),
            attempts: ATTEMPTS_MAX,
        })
    }

    /// Removes the files of all epochs after `epoch`.
    pub(crate) fn roll_back(&mut self, epoch: u64) -> Result<(), FactsError> {
        for _ in 0..ATTEMPTS_MAX {
            self.read_on()?;
            if self.steps.epoch <= epoch {
                return Ok(());
            }
            let now_ms = super::now_ms();
            let mut actions = vec![
                Action::CommitInfo(json!({
                    "timestamp": now_ms,
                    "operation": "RESTORE",
                    "operationParameters": {},
                    "isBlindAppend": false,
                    "engineInfo": concat!("weft/", env!("CARGO_PKG_VERSION")),
                })),
                Action::Txn(Txn {
                    app_id: APP_ID.to_owned(),
                    version: epoch as i64,
                    last_updated: Some(now_ms),
                }),
            ];
            let later = self.added_after(epoch)?;
            actions.extend(later.iter().map(|add| Action::Remove(Remove::of(add, now_ms))));
            if self.put(&actions)? {
                return Ok(());
            }
        }
        Err(FactsError::Contended {
            table: self.path(""),
            attempts: ATTEMPTS_MAX,
        })
    }

    /// Returns the files that commits after `epoch` added.
    fn added_after(&self, epoch: u64) -> Result<Vec<Add>, FactsError> {
        let mut added = Vec::new();
        for version in (0..=self.version).rev() {
            let path = self.commit_path(version);
            // Without the later commits, it is unknown what they removed.
            let bytes = get(&*self.place, &path)?.ok_or_else(|| self.ahead(epoch))?;
            let (mut is_later, mut removes_rows) = (true, false);
            let mut of_commit = Vec::new();
            for action in serde_json::Deserializer::from_slice(&bytes).into_iter::<Action>() {
                match action.map_err(|error| self.damaged(&path, error))? {
                    Action::Txn(txn) if txn.app_id == APP_ID && txn.version.max(0) as u64 <= epoch => {
                        is_later = false
                    }
                    Action::Add(add) => of_commit.push(add),
                    Action::Remove(_) => removes_rows = true,
                    _ => {}
                }
            }
            if !is_later {
                break;
            }
            if removes_rows {
                return Err(self.ahead(epoch));
            }
            added.extend(of_commit);
        }
        added.retain(|add| self.files.contains_key(&add.path));
        Ok(added)
    }

    fn ahead(&self, epoch: u64) -> FactsError {
        FactsError::Ahead {
            table: self.place.locate(&self.path("")),
            found: self.steps.epoch,
            expected: epoch,
        }
    }

    /// Writes the next commit. Returns false if another writer was first.
    fn put(&mut self, actions: &[Action]) -> Result<bool, FactsError> {
        let path = self.commit_path(self.version + 1);
        let mut lines = Vec::new();
        for action in actions {
            serde_json::to_writer(&mut lines, action).map_err(|error| self.damaged(&path, error))?;
            lines.push(b'\n');
        }
        let is_ours = self
            .place
            .put_if_absent(&path, lines.into())
            .map_err(|source| FactsError::Io {
                doing: "write",
                path: self.place.locate(&path),
                source,
            })?;
        if is_ours {
            self.version += 1;
            for action in actions {
                self.take(action.clone());
            }
        }
        Ok(is_ours)
    }

    fn begin(&mut self, fields: &[Field], archive: &str) -> Result<(), FactsError> {
        let now_ms = super::now_ms();
        let actions = [
            Action::CommitInfo(json!({
                "timestamp": now_ms,
                "operation": "CREATE TABLE",
                "operationParameters": {},
                "engineInfo": concat!("weft/", env!("CARGO_PKG_VERSION")),
            })),
            Action::Protocol(Protocol {
                min_reader_version: READER_VERSION,
                min_writer_version: WRITER_VERSION,
            }),
            Action::MetaData(MetaData {
                id: crate::id::new_id(),
                format: json!({"provider": "parquet", "options": {}}),
                schema_string: delta_schema(fields),
                partition_columns: Vec::new(),
                configuration: BTreeMap::from([(ARCHIVE_KEY.to_owned(), archive.to_owned())]),
                created_time: Some(now_ms),
            }),
        ];
        if !self.put(&actions)? {
            self.read_on()?;
        }
        Ok(())
    }

    fn check_metadata(&self, fields: &[Field], archive: &str) -> Result<(), FactsError> {
        let table = || self.place.locate(self.table);
        let Some(metadata) = &self.metadata else {
            return Err(self.damaged(&self.path("_delta_log"), "no commit has table metadata"));
        };
        let found = metadata.configuration.get(ARCHIVE_KEY);
        if found.map(String::as_str) != Some(archive) {
            return Err(FactsError::Foreign {
                table: table(),
                found: found.cloned().unwrap_or_else(|| "no archive".to_owned()),
                expected: archive.to_owned(),
            });
        }
        // Engines may encode the same schema differently, so only names are compared.
        let names = column_names(&metadata.schema_string).unwrap_or_default();
        let (begun, later) = fields.split_at(names.len().min(fields.len()));
        let is_alike = names
            .iter()
            .map(String::as_str)
            .eq(begun.iter().map(|field| field.name));
        if names.is_empty() || !is_alike || !later.iter().all(|field| field.is_nullable) {
            return Err(FactsError::Columns {
                table: table(),
                found: names.join(", "),
            });
        }
        Ok(())
    }

    /// Adds the columns that are newer than the program that created the table. Older rows have no
    /// value in them.
    fn add_columns(&mut self, fields: &[Field]) -> Result<(), FactsError> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(metadata) = self.metadata.clone() else {
                return Ok(());
            };
            let names = column_names(&metadata.schema_string).unwrap_or_default();
            if names.len() >= fields.len() {
                return Ok(());
            }
            let added = fields[names.len()..].iter().map(|field| field.name);
            let actions = [
                Action::CommitInfo(json!({
                    "timestamp": super::now_ms(),
                    "operation": "ADD COLUMNS",
                    "operationParameters": {"columns": added.collect::<Vec<_>>().join(",")},
                    "engineInfo": concat!("weft/", env!("CARGO_PKG_VERSION")),
                })),
                Action::MetaData(MetaData {
                    schema_string: delta_schema(fields),
                    ..metadata
                }),
            ];
            if self.put(&actions)? {
                return Ok(());
            }
            self.read_on()?;
        }
        Err(FactsError::Contended {
            table: self.path(""),
            attempts: ATTEMPTS_MAX,
        })
    }

    fn read_checkpoint(&mut self, names: &[String]) -> Result<(), FactsError> {
        let folder = log_folder(self.table);
        let Some(newest) = checkpoint::newest(names) else {
            return Ok(());
        };
        for name in &newest.names {
            let path = format!("{folder}/{name}");
            let bytes = get(&*self.place, &path)?.ok_or_else(|| self.damaged(&path, "it is missing"))?;
            let actions = checkpoint::read(bytes).map_err(|error| self.damaged(&path, error))?;
            for action in actions {
                self.take(action);
            }
        }
        self.version = newest.version;
        Ok(())
    }

    /// Reads the commits in a listing of the log, many at once.
    fn read_listed(&mut self, names: &[String]) -> Result<(), FactsError> {
        let is_there: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let listed: Vec<String> = (self.version + 1..)
            .take_while(|version| is_there.contains(commit_name(*version).as_str()))
            .map(|version| self.commit_path(version))
            .collect();
        for paths in listed.chunks(COMMITS_AT_ONCE) {
            let contents = self.place.get_all(paths).map_err(|source| FactsError::Io {
                doing: "read",
                path: self.place.locate(&log_folder(self.table)),
                source,
            })?;
            for (path, bytes) in paths.iter().zip(contents) {
                // Deleted since it was listed: an engine wrote a checkpoint and removed the older
                // log.
                let bytes = bytes.ok_or_else(|| self.damaged(path, "it is missing"))?;
                self.take_commit(path, &bytes)?;
            }
        }
        Ok(())
    }

    /// Reads the commits after the last one that was read.
    fn read_on(&mut self) -> Result<(), FactsError> {
        loop {
            let path = self.commit_path(self.version + 1);
            let Some(bytes) = get(&*self.place, &path)? else {
                return Ok(());
            };
            self.take_commit(&path, &bytes)?;
        }
    }

    /// Applies the next commit, completely or not at all.
    fn take_commit(&mut self, path: &str, bytes: &[u8]) -> Result<(), FactsError> {
        let mut actions = Vec::new();
        for action in serde_json::Deserializer::from_slice(bytes).into_iter::<Action>() {
            let action = action.map_err(|error| self.damaged(path, error))?;
            if action.is_malformed() {
                return Err(self.damaged(path, "an action violates the format"));
            }
            actions.push(action);
        }
        for action in actions {
            self.take(action);
        }
        self.version += 1;
        Ok(())
    }

    fn take(&mut self, action: Action) {
        match action {
            Action::Add(add) => {
                self.files.insert(add.path.clone(), add);
            }
            Action::Remove(remove) => {
                self.files.remove(&remove.path);
            }
            Action::Txn(txn) => self.steps.take(&txn),
            Action::MetaData(metadata) => self.metadata = Some(metadata),
            Action::Protocol(_) | Action::CommitInfo(_) | Action::Other(_) => {}
        }
    }

    fn commit_path(&self, version: i64) -> String {
        self.path(&format!("_delta_log/{}", commit_name(version)))
    }

    fn damaged(&self, path: &str, why: impl std::fmt::Display) -> FactsError {
        FactsError::Damaged {
            path: self.place.locate(path),
            why: why.to_string(),
        }
    }
}

fn is_commit(name: &str) -> bool {
    name.len() == COMMIT_NAME_BYTES && name.ends_with(".json")
}

fn commit_name(version: i64) -> String {
    format!("{version:020}.json")
}

fn log_folder(table: &str) -> String {
    format!("{table}/_delta_log")
}

fn list(place: &dyn FileStore, folder: &str) -> Result<Vec<String>, FactsError> {
    place.list(folder).map_err(|source| FactsError::Io {
        doing: "list",
        path: place.locate(folder),
        source,
    })
}

fn get(place: &dyn FileStore, path: &str) -> Result<Option<Bytes>, FactsError> {
    place.get(path).map_err(|source| FactsError::Io {
        doing: "read",
        path: place.locate(path),
        source,
    })
}

fn column_names(schema: &str) -> Option<Vec<String>> {
    let schema: serde_json::Value = serde_json::from_str(schema).ok()?;
    let fields = schema.get("fields")?.as_array()?;
    fields
        .iter()
        .map(|field| Some(field.get("name")?.as_str()?.to_owned()))
        .collect()
}
