//! The tables: the only place that knows how the engine is set up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

/// A table; the numbers index [`Table::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// Directory, first name -> entries.
    Packs,
    /// Directory -> its place, and when it was read.
    Dirs,
    /// Directory -> sums over all that is below it.
    Trees,
    /// File with several names -> them.
    Linked,
    /// Directory that lost its place -> its path then; it goes at the end of the scan unless it was found elsewhere.
    Orphans,
    /// Owner, group, kind, format -> sums.
    Groups,
    /// Path -> a tree that is catalogued.
    Roots,
    /// Number -> scan.
    Scans,
    /// Directory, name -> what could not be read.
    Faults,
    /// Epoch, place -> names that changed.
    Changes,
    /// Day, path of a root, group -> sums.
    Days,
    /// File -> what is known of its content.
    Digests,
    /// Number -> run of a policy.
    Runs,
    /// Run, number in it -> what was done with a file.
    Acts,
    /// Name -> epoch, format, numbers of file systems.
    Meta,
    /// Path of a root -> how far a watch keeps it current.
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

/// The open database. Fields are dropped in this order: the journals are emptied when the engine is closed.
pub(crate) struct Tables {
    spaces: Vec<Keyspace>,
    db: Database,
    journals: Journals,
}

/// Unwritten rows that opening may have to read from the journal again: some 10 ms.
const UNSETTLED_SIZE_BYTES_MAX: u64 = 1 << 20;

/// What the names of the engine's journals end in.
const JOURNAL_EXTENSION: &str = "jnl";

impl Tables {
    pub(crate) fn open(dir: &Path, cache_size_bytes: u64) -> fjall::Result<Tables> {
        let db = Database::builder(dir)
            .cache_size(cache_size_bytes)
            // Synced by `Change::commit` alone, once an epoch.
            .manual_journal_persist(true)
            .journal_compression(CompressionType::None)
            .worker_threads(1)
            .open()?;
        let open = |(table, name): (Table, &'static str)| db.keyspace(name, || table.options());
        let spaces = Table::ALL
            .into_iter()
            .map(open)
            .collect::<fjall::Result<Vec<_>>>()?;
        let journals = Journals {
            dir: dir.to_owned(),
            are_needless: false,
        };
        Ok(Tables { spaces, db, journals })
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    pub(crate) fn space(&self, table: Table) -> &Keyspace {
        &self.spaces[table as usize]
    }

    /// Writes all rows from memory to their tables, so that opening has no long journal to read.
    pub(crate) fn settle(&self) -> fjall::Result<()> {
        if self.db.write_buffer_size() <= UNSETTLED_SIZE_BYTES_MAX {
            return Ok(());
        }
        for space in &self.spaces {
            // Handed to the engine's thread; the loop below waits until it has written it.
            space.rotate_memtable()?;
        }
        while self
            .spaces
            .iter()
            .any(|space| space.tree.sealed_memtable_count() > 0)
        {
            // Gives `Poisoned` where a background thread has failed.
            self.db.persist(PersistMode::Buffer)?;
            ambient::pause(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Waits until every table has room for another batch, so that the engine itself never has to hold one back: it would
    /// wait for ever for a background thread that a full disk has ended.
    pub(crate) fn wait_for_room(&self) -> fjall::Result<()> {
        // Below the counts at which the engine begins to hold writers back.
        let is_behind =
            |space: &Keyspace| space.tree.sealed_memtable_count() > 2 || space.tree.l0_run_count() > 18;
        while self.spaces.iter().any(is_behind) {
            // Gives `Poisoned` where a background thread has failed.
            self.db.persist(PersistMode::Buffer)?;
            ambient::pause(Duration::from_millis(2));
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

/// Empties the journals, where tables hold all rows: the engine would read them through when it is opened again.
struct Journals {
    dir: PathBuf,
    are_needless: bool,
}

impl Drop for Journals {
    fn drop(&mut self) {
        if self.are_needless
            && let Err(error) = self.empty()
        {
            // They are only longer than they need be.
            tracing::debug!(%error, "the journal of the catalogue of files was not emptied");
        }
    }
}

impl Journals {
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
