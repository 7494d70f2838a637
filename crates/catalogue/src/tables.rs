//! The tables and the configuration of the engine.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

/// A table; its number is its index in [`Table::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// Directory, first name -> entries.
    Packs,
    /// Directory -> its parent and the scan that read it.
    Dirs,
    /// Directory -> sums over everything below it.
    Trees,
    /// File with several names -> its names.
    Linked,
    /// Orphaned directory -> its former path. It is removed at the end of the scan unless found
    /// elsewhere. Also marks files of forgotten trees that have digests.
    Orphans,
    /// Owner, group, kind, format -> sums.
    Groups,
    /// Path -> catalogued tree.
    Roots,
    /// Number -> scan.
    Scans,
    /// Directory, name -> read error.
    Faults,
    /// Epoch, position -> names that changed.
    Changes,
    /// Day, group -> sums.
    Days,
    /// File -> digest of its content.
    Digests,
    /// Number -> run of a policy.
    Runs,
    /// Run, number within it -> action on a file.
    Acts,
    /// Name -> epoch, format, numbers of file systems.
    Meta,
    /// Path of a root -> state of its watch.
    Watches,
}

impl Table {
    const ALL: [(Table, &'static str); 16] = [
        (Table::Packs, "packs"),
        (Table::Dirs, "dirs"),
        (Table::Trees, "trees"),
        (Table::Linked, "linked"),
        (Table::Orphans, "orphans"),
        (Table::Groups, "groups"),
        (Table::Roots, "roots"),
        (Table::Scans, "scans"),
        (Table::Faults, "faults"),
        (Table::Changes, "changes"),
        (Table::Days, "days"),
        (Table::Digests, "digests"),
        (Table::Runs, "runs"),
        (Table::Acts, "acts"),
        (Table::Meta, "meta"),
        (Table::Watches, "watches"),
    ];

    fn options(self) -> KeyspaceCreateOptions {
        let options = KeyspaceCreateOptions::default()
            .manual_journal_persist(true)
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4));
        match self {
            // Packs are large rows.
            Table::Packs => options
                .max_memtable_size(32 << 20)
                .data_block_size_policy(BlockSizePolicy::all(16 * 1024)),
            Table::Dirs | Table::Trees => options.max_memtable_size(16 << 20),
            _ => options.max_memtable_size(4 << 20),
        }
    }
}

/// The open database. The field order is the drop order: the engine closes, then the journals are
/// emptied, and only then can another process open it.
pub(crate) struct Tables {
    spaces: Vec<Keyspace>,
    db: Database,
    journals: Journals,
}

/// Maximum size of unwritten rows that opening may have to replay from the journal: some 10 ms.
const UNSETTLED_SIZE_BYTES_MAX: u64 = 1 << 20;

/// File name extension of the engine's journals.
const JOURNAL_EXTENSION: &str = "jnl";

impl Tables {
    /// Opens the database in a directory; creates it if it is missing. Returns
    /// [`fjall::Error::Locked`] while another process has it open.
    pub(crate) fn open(dir: &Path, cache_size_bytes: u64) -> fjall::Result<Tables> {
        std::fs::create_dir_all(dir)?;
        let journals = Journals::lock(dir)?;
        let db = Database::builder(dir)
            .cache_size(cache_size_bytes)
            // Only `Change::commit` syncs, once per epoch.
            .manual_journal_persist(true)
            .journal_compression(CompressionType::None)
            .worker_threads(1)
            .open()?;
        let open = |(table, name): (Table, &'static str)| db.keyspace(name, || table.options());
        let spaces = Table::ALL
            .into_iter()
            .map(open)
            .collect::<fjall::Result<Vec<_>>>()?;
        Ok(Tables { spaces, db, journals })
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    pub(crate) fn space(&self, table: Table) -> &Keyspace {
        &self.spaces[table as usize]
    }

    /// Flushes all memtables, so that the next open has a short journal to replay.
    pub(crate) fn settle(&self) -> fjall::Result<()> {
        if self.db.write_buffer_size() <= UNSETTLED_SIZE_BYTES_MAX {
            return Ok(());
        }
        for space in &self.spaces {
            // The engine's thread does the flush; the loop below waits for it.
            space.rotate_memtable()?;
        }
        while self
            .spaces
            .iter()
            .any(|space| space.tree.sealed_memtable_count() > 0)
        {
            // Returns `Poisoned` if a background thread has failed.
            self.db.persist(PersistMode::Buffer)?;
            system::pause(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Waits until every table has room for another batch, so that the engine itself never stalls a
    /// writer: it would wait forever for a background thread that a full disk has ended.
    pub(crate) fn wait_for_room(&self) -> fjall::Result<()> {
        // These limits are below the counts at which the engine starts to stall writers.
        let is_behind =
            |space: &Keyspace| space.tree.sealed_memtable_count() > 2 || space.tree.l0_run_count() > 18;
        while self.spaces.iter().any(is_behind) {
            // Returns `Poisoned` if a background thread has failed.
            self.db.persist(PersistMode::Buffer)?;
            system::pause(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let is_written = |space: &Keyspace| {
            space.tree.active_memtable().is_empty() && space.tree.sealed_memtable_count() == 0
        };
        self.journals.are_needless = self.spaces.iter().all(is_written);
    }
}

/// Empties the journals once the tables hold all rows; otherwise the next open would replay them.
///
/// IMPORTANT: the engine's own lock is already released at this point. Without this lock another
/// process could open the database in between and write to a journal that is then emptied, and its
/// commits would be lost.
struct Journals {
    dir: PathBuf,
    are_needless: bool,
    /// Held until this value is dropped.
    lock: File,
}

/// A lock file next to the engine's files. It is locked while a process has the database open or is
/// closing it.
const LOCK: &str = "open";

/// Takes a lock that is shared with other readers and excludes writers. Returns
/// [`fjall::Error::Locked`] while a writer holds it.
pub(crate) fn lock_to_read(dir: &Path) -> fjall::Result<File> {
    let lock = File::open(dir.join(LOCK))?;
    match lock.try_lock_shared() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(fjall::Error::Locked),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

impl Drop for Journals {
    fn drop(&mut self) {
        if self.are_needless
            && let Err(error) = self.empty()
        {
            // Harmless: the journals are only longer than needed.
            tracing::debug!(%error, "cannot empty the journal of the catalogue of files");
        }
        if let Err(error) = engine::make_readable(&self.dir) {
            tracing::debug!(%error, "cannot make all files of the catalogue readable by other users");
        }
        // Closing the file is not enough: a forked child of another thread holds a copy of the
        // descriptor until it calls exec.
        if let Err(error) = self.lock.unlock() {
            tracing::debug!(%error, "cannot unlock the catalogue of files");
        }
    }
}

impl Journals {
    fn lock(dir: &Path) -> fjall::Result<Journals> {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false);
        let lock = file.open(dir.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Journals {
                dir: dir.to_owned(),
                are_needless: false,
                lock,
            }),
            Err(TryLockError::WouldBlock) => Err(fjall::Error::Locked),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    fn empty(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == JOURNAL_EXTENSION)
            {
                let journal = std::fs::File::options().write(true).open(path)?;
                journal.set_len(0)?;
                journal.sync_all()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process has closed the engine and is about to empty the journal. If another process could
    /// open the database now and commit, its rows would be lost with the journal.
    #[test]
    fn nobody_opens_the_database_before_its_journal_was_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let tables = Tables::open(dir.path(), 1 << 20).unwrap();
        tables.space(Table::Meta).insert("a", "1").unwrap();
        tables.db().persist(PersistMode::SyncAll).unwrap();
        drop(tables);
        let closing = Journals::lock(dir.path()).unwrap();
        let refused = Tables::open(dir.path(), 1 << 20);
        assert!(matches!(refused.err(), Some(fjall::Error::Locked)));
        drop(closing);
        let tables = Tables::open(dir.path(), 1 << 20).unwrap();
        assert!(tables.space(Table::Meta).get("a").unwrap().is_some());
    }

    /// Regression test: while one thread closed a catalogue, other threads started programs. Each
    /// child held a copy of the lock until exec, and the next process to open the catalogue failed
    /// with `Locked`.
    #[test]
    fn a_copy_of_the_lock_in_a_child_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let tables = Tables::open(dir.path(), 1 << 20).unwrap();
        let copy = tables.journals.lock.try_clone().unwrap();
        drop(tables);
        drop(Tables::open(dir.path(), 1 << 20).unwrap());
        drop(copy);
    }

    /// The same with many openers that read or write one row and close.
    #[test]
    fn rows_of_those_who_take_turns_are_all_there() {
        let dir = tempfile::tempdir().unwrap();
        let open = || loop {
            match Tables::open(dir.path(), 1 << 20) {
                Err(fjall::Error::Locked) => std::thread::yield_now(),
                tables => break tables.unwrap(),
            }
        };
        // An empty journal, which each reader empties again.
        drop(open());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..60).for_each(|_| drop(open())));
            }
            scope.spawn(|| {
                for n in 0..40u8 {
                    let tables = open();
                    tables.space(Table::Meta).insert([n], [n]).unwrap();
                    tables.db().persist(PersistMode::SyncData).unwrap();
                    drop(tables);
                    let tables = open();
                    assert!(
                        tables.space(Table::Meta).get([n]).unwrap().is_some(),
                        "row {n} is lost"
                    );
                    if n % 4 == 3 {
                        tables.space(Table::Meta).rotate_memtable_and_wait().unwrap();
                    }
                }
            });
        });
    }
}
