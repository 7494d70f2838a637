//! The tables: the only module that knows the set-up of the engine.
//!
//! Every table is a keyspace of one database, so one batch updates them all. A table gets a share
//! of the memory for unwritten rows in proportion to its growth; `uris` grows fastest.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions};

use crate::compactor::{self, Compactor};
use crate::crash;
use crate::packed::Dictionary;
use crate::settings::Settings;
use crate::shown::ShownPages;

/// A table; the numbers index [`Table::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    /// URL key, time, input, offset -> capture.
    Captures,
    /// URL key -> current version.
    Versions,
    /// Source key -> all its links.
    Links,
    /// URL key -> counts and the first in-links.
    Uris,
    /// Target number, epoch -> sources numbered in that epoch, for URIs with many in-links.
    Inlinks,
    /// Target number, hash of a text -> anchor text and number of hosts; with the host, number of
    /// its pages. For URIs with many anchors.
    Anchors,
    /// Epoch, place -> keys of sources.
    Sources,
    /// Domain -> counts.
    Domains,
    /// Scope, bucket, URL key -> nothing.
    Rankings,
    /// URL key -> text.
    Texts,
    /// URL key, hash -> text of captures that are not current.
    PastTexts,
    /// Source key, hash -> links of captures that are not current.
    PastLinks,
    /// Hash of a target key, source key -> nothing; only past versions of the source link to the
    /// target.
    PastInlinks,
    /// URL key, input, offset -> capture that may become current when an input is renamed.
    Ties,
    /// Input number -> ledger entry.
    Inputs,
    /// Input number, offset, reason -> entry.
    Quarantine,
    /// Epoch -> pages that it changed.
    Changes,
    /// Name -> epoch, totals, settings, takedowns.
    Meta,
    /// Input number, offset -> takedown that keeps the capture there out.
    TakenDown,
    /// URL key, time, input, offset -> capture that an index lists.
    IndexLines,
    /// URL key, time, input, offset -> text of a page as a browser rendered it.
    RenderedTexts,
    /// Reference of a revisit of another URL, key of the revisit's row -> nothing.
    References,
    /// Hash of a digest, time, URL key -> nothing, for pages and documents.
    Payloads,
}

impl Table {
    pub(crate) const ALL: [Table; 23] = [
        Table::Captures,
        Table::Versions,
        Table::Links,
        Table::Uris,
        Table::Inlinks,
        Table::Anchors,
        Table::Sources,
        Table::Domains,
        Table::Rankings,
        Table::Texts,
        Table::PastTexts,
        Table::PastLinks,
        Table::PastInlinks,
        Table::Ties,
        Table::Inputs,
        Table::Quarantine,
        Table::Changes,
        Table::Meta,
        Table::TakenDown,
        Table::IndexLines,
        Table::RenderedTexts,
        Table::References,
        Table::Payloads,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Table::Captures => "captures",
            Table::Versions => "versions",
            Table::Links => "links",
            Table::Uris => "uris",
            Table::Inlinks => "inlinks",
            Table::Anchors => "anchors",
            Table::Sources => "sources",
            Table::Domains => "domains",
            Table::Rankings => "rankings",
            Table::Texts => "texts",
            Table::PastTexts => "past_texts",
            Table::PastLinks => "past_links",
            Table::PastInlinks => "past_inlinks",
            Table::Ties => "ties",
            Table::Inputs => "inputs",
            Table::Quarantine => "quarantine",
            Table::Changes => "changes",
            Table::Meta => "meta",
            Table::TakenDown => "taken_down",
            Table::IndexLines => "index_lines",
            Table::RenderedTexts => "rendered_texts",
            Table::References => "references",
            Table::Payloads => "payloads",
        }
    }

    /// Share of [`Settings::memtable_size_bytes`], in 64ths (the shares add up to 64).
    fn memtable_share(self) -> u64 {
        match self {
            Table::Uris => 15,
            Table::Links => 11,
            Table::Texts | Table::Inlinks => 8,
            Table::Captures | Table::Versions => 4,
            Table::Domains => 3,
            _ => 1,
        }
    }

    fn options(self, settings: &Settings) -> KeyspaceCreateOptions {
        let memtable_size_bytes = (settings.memtable_size_bytes / 64 * self.memtable_share()).max(1 << 20);
        let options = KeyspaceCreateOptions::default()
            .manual_journal_persist(true)
            .max_memtable_size(memtable_size_bytes)
            // New files are compressed too, because they may move down unchanged.
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4));
        match self {
            // Texts are large and already compressed: the tree only holds their positions.
            Table::Texts | Table::PastTexts | Table::RenderedTexts | Table::Changes => options
                .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
                .with_kv_separation(Some(
                    KvSeparationOptions::default()
                        .separation_threshold(512)
                        .compression(CompressionType::None),
                )),
            // Mostly read in order, and larger blocks compress better.
            Table::Captures | Table::Links | Table::Inlinks | Table::IndexLines => {
                options.data_block_size_policy(BlockSizePolicy::all(16 * 1024))
            }
            _ => options.data_block_size_policy(BlockSizePolicy::all(8 * 1024)),
        }
        .compaction_strategy(Arc::new(compactor::engine_strategy()))
    }
}

/// Key of the dictionary of links in table `meta`.
pub(crate) const LINK_DICTIONARY_ROW: &str = "link dictionary";

/// File extension of the engine's journals.
const JOURNAL_EXTENSION: &str = "jnl";

/// The open database.
pub(crate) struct Tables {
    dir: PathBuf,
    unsettled_size_bytes_max: u64,
    /// Dropped first, because it holds the engine open.
    compactor: Compactor,
    pub(crate) db: Database,
    pub(crate) shown: Arc<ShownPages>,
    spaces: Vec<Keyspace>,
    /// The dictionary of rows of links, set from the commit on that holds it.
    link_dictionary: OnceLock<Arc<Dictionary>>,
}

impl Tables {
    pub(crate) fn open(dir: &Path, settings: &Settings) -> fjall::Result<Tables> {
        let db = Database::builder(dir)
            .cache_size(settings.cache_size_bytes)
            // 64 MiB is the engine's minimum.
            .max_journaling_size(settings.journal_size_bytes.max(64 << 20))
            // Only `write::commit` syncs, once per epoch instead of with every write.
            .manual_journal_persist(true)
            // Rows are small and texts compressed, so compressing the journal would only cost time.
            .journal_compression(CompressionType::None)
            .worker_threads(2)
            .open()?;
        let spaces = Table::ALL
            .iter()
            .map(|table| db.keyspace(table.name(), || table.options(settings)))
            .collect::<fjall::Result<Vec<_>>>()?;
        let compactor = Compactor::start(&db, &spaces)?;
        Ok(Tables {
            dir: dir.to_owned(),
            unsettled_size_bytes_max: settings.unsettled_size_bytes_max,
            compactor,
            db,
            shown: Arc::new(ShownPages::new(settings.shown_pages_size_bytes)),
            spaces,
            link_dictionary: OnceLock::new(),
        })
    }

    pub(crate) fn link_dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.link_dictionary.get()
    }

    /// Uses a dictionary that is on disk. It does not change while the tables are open.
    pub(crate) fn use_link_dictionary(&self, dictionary: Arc<Dictionary>) {
        self.link_dictionary.get_or_init(|| dictionary);
    }

    pub(crate) fn space(&self, table: Table) -> &Keyspace {
        &self.spaces[table as usize]
    }

    /// Waits until every table has room for another batch, so that the engine itself never holds
    /// one back: it would wait forever for a background thread that a full disk has stopped.
    pub(crate) fn wait_for_room(&self) -> fjall::Result<()> {
        while self
            .spaces
            .iter()
            // Below the counts at which the engine starts to hold writers back.
            .any(|space| space.tree.sealed_memtable_count() > 1 || space.tree.l0_run_count() > 18)
        {
            // Returns `Poisoned` if a background thread has failed.
            self.db.persist(fjall::PersistMode::Buffer)?;
            self.compactor.check()?;
            self.compactor.wake();
            system::pause(Duration::from_millis(2));
        }
        self.compactor.check()
    }

    /// Signals the merging thread that rows were written.
    pub(crate) fn written(&self) {
        self.compactor.wake();
    }

    /// Writes all rows from memory to their tables, so that opening has little journal to replay.
    /// Does nothing if there are few.
    pub(crate) fn settle(&self) -> fjall::Result<()> {
        if self.db.write_buffer_size() > self.unsettled_size_bytes_max {
            self.write_out()
        } else {
            Ok(())
        }
    }

    /// As [`Tables::settle`], for closing the index: also writes if the journal is long although
    /// tables hold most of its rows. While the index is open, that would not shorten the journal,
    /// and every small load would write small files.
    pub(crate) fn settle_to_close(&self) -> fjall::Result<()> {
        if journal_bytes(&self.dir)? > self.unsettled_size_bytes_max {
            self.write_out()
        } else {
            self.settle()
        }
    }

    /// As [`Tables::settle`], however few rows there are.
    pub(crate) fn settle_all(&self) -> fjall::Result<()> {
        self.write_out()
    }

    fn write_out(&self) -> fjall::Result<()> {
        for space in &self.spaces {
            // Hands the rows to the engine's threads; the loop below waits until they are written.
            space.rotate_memtable()?;
        }
        while self
            .spaces
            .iter()
            .any(|space| space.tree.sealed_memtable_count() > 0)
        {
            self.db.persist(fjall::PersistMode::Buffer)?;
            system::pause(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Closes the index. If the tables hold all rows, empties the journal, which the engine would
    /// otherwise read through at the next opening (half a second after a load of a million pages).
    /// Only the writer may call it, after the last write.
    pub(crate) fn close(self) -> std::io::Result<()> {
        let is_written = |space: &Keyspace| {
            space.tree.active_memtable().is_empty() && space.tree.sealed_memtable_count() == 0
        };
        let all_written = self.spaces.iter().all(is_written);
        let dir = self.dir.clone();
        drop(self);
        if !all_written {
            return Ok(());
        }
        crash::closing_point("close.before_journal");
        for path in journals(&dir)? {
            let journal = std::fs::File::options().write(true).open(path)?;
            journal.set_len(0)?;
            journal.sync_all()?;
        }
        crash::closing_point("close.after_journal");
        Ok(())
    }

    pub(crate) fn disk_bytes(&self) -> Vec<(&'static str, u64)> {
        let mut rows: Vec<_> = Table::ALL
            .iter()
            .map(|&table| (table.name(), self.space(table).disk_space()))
            .collect();
        rows.push(("journal", self.db.journal_disk_space().unwrap_or(0)));
        rows
    }
}

/// Returns the paths of the engine's journals.
pub(crate) fn journals(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == JOURNAL_EXTENSION)
        {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Returns the disk space of the journals. The engine makes the files longer than their content.
fn journal_bytes(dir: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for path in journals(dir)? {
        // Blocks of 512 bytes, whatever the file system's block size (stat(2)).
        bytes += path.metadata().map_or(0, |found| found.blocks() * 512);
    }
    Ok(bytes)
}
