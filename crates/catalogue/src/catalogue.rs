//! The catalogue: opens its tables for one process, and reads them.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::Overlay;
use fjall::PersistMode;
use parking_lot::Mutex;

use crate::attributes::{BUCKETS_BEGIN, Entry, FileId};
use crate::error::CatalogueError;
use crate::objects::shown_name;
use crate::pack;
use crate::rows::{DirRow, Group, LinkedRow, RootRow, ScanRow};
use crate::tables::{Table, Tables};
use crate::usage::Usage;
use crate::varint::{Corrupt, Reader, put};
use crate::watch_heartbeat::WatchHeartbeat;

/// Format version of the tables.
const FORMAT: u64 = 1;

/// A catalogue of files, opened by this process.
pub struct Catalogue {
    pub(crate) dir: PathBuf,
    pub(crate) tables: Tables,
    /// Numbers of file systems, keyed by the name that the system gives them.
    volumes: Mutex<Vec<(String, u32)>>,
    /// Set if the catalogue is opened read-only: the overlay folder that holds the opened tables,
    /// and the lock that excludes writers. Dropped last.
    read_only: Option<(Overlay, File)>,
}

/// Settings of an open catalogue.
#[derive(Debug, Clone)]
pub struct CatalogueSettings {
    /// Size of the block cache.
    pub cache_size_bytes: u64,
}

impl Default for CatalogueSettings {
    fn default() -> CatalogueSettings {
        CatalogueSettings {
            cache_size_bytes: 64 << 20,
        }
    }
}

const FORMAT_ROW: &str = "format";
const EPOCH_ROW: &str = "epoch";
const VOLUME_ROWS: &str = "volume ";

impl Catalogue {
    /// Opens the catalogue in a directory; creates it if it is missing.
    ///
    /// # Errors
    /// [`CatalogueError::InUse`] while another process has it open; errors of the engine and the
    /// system.
    pub fn create(dir: &Path, settings: &CatalogueSettings) -> Result<Catalogue, CatalogueError> {
        if !Catalogue::exists_in(dir) {
            create_empty(dir, settings)?;
        }
        Catalogue::open_tables(dir, settings)
    }

    /// Opens the catalogue in a directory; read-only if the directory is not writable.
    ///
    /// # Errors
    /// [`CatalogueError::Missing`] if there is no catalogue; otherwise as [`Catalogue::create`].
    pub fn open(dir: &Path, settings: &CatalogueSettings) -> Result<Catalogue, CatalogueError> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        if !Catalogue::exists_in(dir) {
            return Err(CatalogueError::Missing { dir: dir.to_owned() });
        }
        match Catalogue::open_tables(dir, settings) {
            Err(CatalogueError::Io { source, .. })
                if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                Catalogue::open_to_read(dir, settings)
            }
            opened => opened,
        }
    }

    /// Opens the catalogue in a directory read-only. No byte there changes, and every write fails.
    ///
    /// # Errors
    /// As [`Catalogue::open`]; also fails if a file in it is not readable or the folder for
    /// temporary files is not writable.
    pub fn open_to_read(dir: &Path, settings: &CatalogueSettings) -> Result<Catalogue, CatalogueError> {
        if !Catalogue::exists_in(dir) {
            return Err(CatalogueError::Missing { dir: dir.to_owned() });
        }
        let failed = |source| CatalogueError::io("read the catalogue of files in", dir, source);
        let lock = crate::tables::lock_to_read(dir).map_err(|error| match error {
            fjall::Error::Locked => CatalogueError::InUse { dir: dir.to_owned() },
            fjall::Error::Io(source) => failed(source),
            error => CatalogueError::Engine(error),
        })?;
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or("files");
        let overlay = Overlay::over(parent.unwrap_or(Path::new(".")), &[name]).map_err(failed)?;
        let mut catalogue = Catalogue::open_tables(&overlay.path().join(name), settings)?;
        dir.clone_into(&mut catalogue.dir);
        catalogue.read_only = Some((overlay, lock));
        Ok(catalogue)
    }

    /// Fails if the catalogue is open read-only.
    pub(crate) fn check_writable(&self) -> Result<(), CatalogueError> {
        match self.read_only {
            None => Ok(()),
            Some(_) => Err(CatalogueError::ReadOnly {
                dir: self.dir.clone(),
            }),
        }
    }

    /// Returns whether a directory holds a catalogue. Another process may have it open.
    pub fn exists_in(dir: &Path) -> bool {
        // The engine writes this file last.
        dir.join("version").is_file()
    }

    fn open_tables(dir: &Path, settings: &CatalogueSettings) -> Result<Catalogue, CatalogueError> {
        let tables = Tables::open(dir, settings.cache_size_bytes).map_err(|error| match error {
            fjall::Error::Locked => CatalogueError::InUse { dir: dir.to_owned() },
            // The engine opens its files for writing even if it only reads them.
            fjall::Error::Io(source) => CatalogueError::io(
                "open, for reading and writing, the catalogue of files in",
                dir,
                source,
            ),
            error => CatalogueError::Engine(error),
        })?;
        let meta = tables.space(Table::Meta);
        let found = meta
            .get(FORMAT_ROW)?
            .map(|row| number(&row))
            .transpose()?
            .unwrap_or(0);
        if found != FORMAT {
            return Err(CatalogueError::Format {
                dir: dir.to_owned(),
                found,
                expected: FORMAT,
            });
        }
        let mut volumes = Vec::new();
        for row in meta.prefix(VOLUME_ROWS) {
            let (key, value) = row.into_inner()?;
            let name = String::from_utf8_lossy(&key[VOLUME_ROWS.len()..]).into_owned();
            volumes.push((name, u32::try_from(number(&value)?).unwrap_or(u32::MAX)));
        }
        Ok(Catalogue {
            dir: dir.to_owned(),
            tables,
            volumes: Mutex::new(volumes),
            read_only: None,
        })
    }

    /// Returns the number of the last durable epoch.
    ///
    /// # Errors
    /// Fails if a row cannot be read. The same holds for all reads below.
    pub fn epoch(&self) -> Result<u64, CatalogueError> {
        let row = self.tables.space(Table::Meta).get(EPOCH_ROW)?;
        Ok(row.map(|row| number(&row)).transpose()?.unwrap_or(0))
    }

    pub(crate) fn epoch_row(epoch: u64) -> (&'static str, Vec<u8>) {
        (EPOCH_ROW, bytes_of(epoch))
    }

    /// Returns a time from table `meta`, in milliseconds since 1970, or 0 if it is not set.
    pub(crate) fn time_in_meta(&self, name: &str) -> Result<i64, CatalogueError> {
        let row = self.tables.space(Table::Meta).get(name)?;
        let ms = row.map(|row| number(&row)).transpose()?.unwrap_or(0);
        Ok(i64::try_from(ms).unwrap_or(i64::MAX))
    }

    /// Stores a time in table `meta`. It becomes durable with the next commit, or earlier.
    pub(crate) fn set_time_in_meta(&self, name: &str, ms: i64) -> Result<(), CatalogueError> {
        self.check_writable()?;
        let row = bytes_of(u64::try_from(ms).unwrap_or(0));
        self.tables.space(Table::Meta).insert(name, row)?;
        Ok(())
    }

    /// Returns the number of the file system with this name. A new name gets the next free number
    /// at once.
    pub(crate) fn volume(&self, name: &str) -> Result<u32, CatalogueError> {
        self.number_of(name, 0..BUCKETS_BEGIN)
    }

    /// Returns the number of a bucket in the same way.
    pub(crate) fn bucket(&self, name: &str) -> Result<u32, CatalogueError> {
        self.number_of(name, BUCKETS_BEGIN..u32::MAX)
    }

    fn number_of(&self, name: &str, range: Range<u32>) -> Result<u32, CatalogueError> {
        let mut volumes = self.volumes.lock();
        if let Some((_, number)) = volumes.iter().find(|volume| volume.0 == name) {
            return Ok(*number);
        }
        let number = volumes
            .iter()
            .map(|volume| volume.1)
            .filter(|number| range.contains(number))
            .max()
            .map_or(range.start, |last| last + 1);
        let key = format!("{VOLUME_ROWS}{name}");
        self.tables
            .space(Table::Meta)
            .insert(key, bytes_of(u64::from(number)))?;
        volumes.push((name.to_owned(), number));
        Ok(number)
    }

    /// Returns the number of the file system with this name, if a scan has seen it.
    pub(crate) fn known_volume(&self, name: &str) -> Option<u32> {
        let volumes = self.volumes.lock();
        volumes
            .iter()
            .find(|volume| volume.0 == name)
            .map(|volume| volume.1)
    }

    /// Assigns the number that a file system had under another name to this name: some names change
    /// at reboot.
    pub(crate) fn rename_volume(&self, name: &str, number: u32) -> Result<(), CatalogueError> {
        let mut volumes = self.volumes.lock();
        let key = format!("{VOLUME_ROWS}{name}");
        self.tables
            .space(Table::Meta)
            .insert(key, bytes_of(u64::from(number)))?;
        volumes.retain(|volume| volume.0 != name);
        volumes.push((name.to_owned(), number));
        Ok(())
    }

    pub(crate) fn dir_row(&self, id: FileId) -> Result<Option<DirRow>, CatalogueError> {
        let row = self.tables.space(Table::Dirs).get(id.to_bytes())?;
        Ok(row.map(|row| DirRow::of_bytes(&row)).transpose()?)
    }

    pub(crate) fn tree(&self, id: FileId) -> Result<Usage, CatalogueError> {
        let row = self.tables.space(Table::Trees).get(id.to_bytes())?;
        Ok(row
            .map(|row| Usage::of_bytes(&row))
            .transpose()?
            .unwrap_or_default())
    }

    /// Returns the sums without the per-day histogram, and the first day of the histogram.
    pub(crate) fn tree_head(&self, id: FileId) -> Result<(Usage, Option<u16>), CatalogueError> {
        let row = self.tables.space(Table::Trees).get(id.to_bytes())?;
        Ok(row
            .map(|row| Usage::head_of_bytes(&row))
            .transpose()?
            .unwrap_or_default())
    }

    pub(crate) fn linked(&self, id: FileId) -> Result<Option<LinkedRow>, CatalogueError> {
        let row = self.tables.space(Table::Linked).get(id.to_bytes())?;
        Ok(row.map(|row| LinkedRow::of_bytes(&row)).transpose()?)
    }

    /// Returns whether a name is the first among those of a file with several names.
    pub(crate) fn is_first_name(
        &self,
        file: FileId,
        dir: FileId,
        name: &[u8],
    ) -> Result<bool, CatalogueError> {
        let row = self.linked(file)?.unwrap_or_default();
        Ok(row
            .names
            .first()
            .is_some_and(|first| first.dir == dir && *first.name == *name))
    }

    /// Returns the sums by owner, group, kind and format.
    pub fn groups(&self) -> Result<Vec<(Group, Usage)>, CatalogueError> {
        let rows = self.tables.space(Table::Groups).iter().map(|row| {
            let (key, value) = row.into_inner()?;
            Ok((Group::of_bytes(&key)?, Usage::of_bytes(&value)?))
        });
        rows.collect()
    }

    pub(crate) fn root(&self, path: &[u8]) -> Result<Option<RootRow>, CatalogueError> {
        let row = self.tables.space(Table::Roots).get(path)?;
        Ok(row.map(|row| RootRow::of_bytes(&row)).transpose()?)
    }

    pub(crate) fn roots(&self) -> Result<Vec<(Vec<u8>, RootRow)>, CatalogueError> {
        let rows = self.tables.space(Table::Roots).iter().map(|row| {
            let (key, value) = row.into_inner()?;
            Ok((key.to_vec(), RootRow::of_bytes(&value)?))
        });
        rows.collect()
    }

    /// Returns all scans with their numbers, oldest first.
    pub fn scans(&self) -> Result<Vec<(u64, ScanRow)>, CatalogueError> {
        let rows = self.tables.space(Table::Scans).iter().map(|row| {
            let (key, value) = row.into_inner()?;
            Ok((number_of_key(&key)?, ScanRow::of_bytes(&value)?))
        });
        rows.collect()
    }

    pub(crate) fn scan_row(&self, number: u64) -> Result<Option<ScanRow>, CatalogueError> {
        let row = self.tables.space(Table::Scans).get(number.to_be_bytes())?;
        Ok(row.map(|row| ScanRow::of_bytes(&row)).transpose()?)
    }

    /// Calls `each` with every entry of a directory, in order of name.
    pub(crate) fn each_entry(
        &self,
        dir: FileId,
        mut each: impl FnMut(&[u8], &crate::Attributes) -> Result<(), CatalogueError>,
    ) -> Result<(), CatalogueError> {
        for row in self.tables.space(Table::Packs).prefix(dir.to_bytes()) {
            let value = row.value()?;
            let mut entries = pack::entries(&value)?;
            while let Some((name, attributes)) = entries.next()? {
                each(name, attributes)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the entries of a directory in order of name, starting at `name`, until it
    /// returns false. Packs before that name are not read.
    pub(crate) fn each_entry_from<E: From<CatalogueError>>(
        &self,
        dir: FileId,
        name: &[u8],
        mut each: impl FnMut(Entry) -> Result<bool, E>,
    ) -> Result<(), E> {
        let packs = self.tables.space(Table::Packs);
        let before = packs
            .range(pack::key(dir, b"")..=pack::key(dir, name))
            .next_back();
        let begin = match before {
            Some(row) => row.key().map_err(CatalogueError::from)?.to_vec(),
            None => pack::key(dir, name),
        };
        for row in packs.range(begin..) {
            let (key, value) = row.into_inner().map_err(CatalogueError::from)?;
            if !key.starts_with(&dir.to_bytes()) {
                break;
            }
            for entry in pack::decode(&value).map_err(CatalogueError::from)? {
                if &*entry.name >= name && !each(entry)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns one entry of a directory.
    pub(crate) fn entry(&self, dir: FileId, name: &[u8]) -> Result<Option<Entry>, CatalogueError> {
        let keys = pack::key(dir, b"")..=pack::key(dir, name);
        let Some(row) = self.tables.space(Table::Packs).range(keys).next_back() else {
            return Ok(None);
        };
        let value = row.value()?;
        let mut entries = pack::entries(&value)?;
        while let Some((found, attributes)) = entries.next()? {
            if found == name {
                return Ok(Some(Entry {
                    name: name.into(),
                    attributes: attributes.clone(),
                }));
            }
        }
        Ok(None)
    }

    /// Returns the path of a directory: the path of its root, followed by the names that lead to
    /// it. `None` if the directory is in no catalogued tree.
    pub(crate) fn path_of(&self, id: FileId) -> Result<Option<Vec<u8>>, CatalogueError> {
        let mut names: Vec<Box<[u8]>> = Vec::new();
        let mut at = id;
        while let Some(row) = self.dir_row(at)? {
            match row.parent {
                Some(parent) if parent == at => {
                    let mut path = row.name.to_vec();
                    for name in names.iter().rev() {
                        join(&mut path, name);
                    }
                    return Ok(Some(path));
                }
                Some(parent) => {
                    names.push(row.name);
                    at = parent;
                }
                None => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// Returns how long a query waits for the catalogue in `dir`. A server holds it for a moment per
/// page, and so does a watch, except during a scan, which takes longer.
pub fn wait_max(dir: &Path) -> Duration {
    if WatchHeartbeat::is_running(dir) {
        Duration::from_secs(5)
    } else {
        Duration::from_secs(2)
    }
}

/// Calls `open`, and retries for up to `wait_max` while another process has the catalogue open.
/// Processes that only query hold it for milliseconds.
///
/// # Errors
/// Errors of `open`; [`CatalogueError::InUse`] after `wait_max`.
pub fn retry_while_in_use<T>(
    wait_max: Duration,
    open: impl Fn() -> Result<T, CatalogueError>,
) -> Result<T, CatalogueError> {
    let begun = system::now();
    loop {
        match open() {
            Err(CatalogueError::InUse { .. }) if system::since(begun) < wait_max => {
                system::pause(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

/// Creates an empty catalogue under a temporary name, and renames it when it is complete. The
/// engine cannot open a database left half created by a full disk or a kill.
fn create_empty(dir: &Path, settings: &CatalogueSettings) -> Result<(), CatalogueError> {
    let failed = |error| CatalogueError::io("create", dir, error);
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(failed)?;
    let parent = File::open(parent).map_err(failed)?;
    // Serializes creators. The system releases the lock when the process ends, even if it is
    // killed.
    parent.lock().map_err(failed)?;
    if Catalogue::exists_in(dir) {
        return Ok(());
    }
    let mut making = dir.file_name().unwrap_or_default().to_owned();
    making.push(".making");
    let making = dir.with_file_name(making);
    if making.exists() {
        std::fs::remove_dir_all(&making).map_err(failed)?;
    }
    let tables = Tables::open(&making, settings.cache_size_bytes)?;
    tables.space(Table::Meta).insert(FORMAT_ROW, bytes_of(FORMAT))?;
    tables.db().persist(PersistMode::SyncAll)?;
    drop(tables);
    // The rename also replaces an empty directory.
    std::fs::rename(&making, dir).map_err(failed)?;
    parent.sync_all().map_err(failed)
}

/// Appends a name to a path.
pub fn join(path: &mut Vec<u8>, name: &[u8]) {
    let name = shown_name(name);
    if !name.is_empty() {
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
}

fn bytes_of(number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, number);
    out
}

fn number(bytes: &[u8]) -> Result<u64, Corrupt> {
    Reader::new(bytes, "a number of table meta").number()
}

pub(crate) fn number_of_key(key: &[u8]) -> Result<u64, Corrupt> {
    let corrupt = Corrupt {
        what: "the key of a scan or of changes",
    };
    Ok(u64::from_be_bytes(
        key.get(..8)
            .ok_or(corrupt.clone())?
            .try_into()
            .map_err(|_| corrupt)?,
    ))
}
