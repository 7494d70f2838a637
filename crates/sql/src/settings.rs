//! Settings of a database and of a statement.

use std::path::PathBuf;
use std::time::Duration;

use cache::Cache;
use datafusion::arrow::array::RecordBatch;
use remote::Remote;

/// Settings of a database.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Memory for the rows of all statements, in bytes; larger results spill to temporary files. 1
    /// GiB if absent.
    pub memory_size_bytes: Option<u64>,
    /// Opens the archive without changing it.
    pub read_only: bool,
    /// Threads per statement; the number of cores if absent.
    pub threads: Option<usize>,
    /// Location of the facts: a folder, or `s3://bucket/name`. The archive's own location if
    /// absent.
    pub facts: Option<String>,
    /// Settings for facts in an S3 store.
    pub remote: remote::Settings,
    /// Settings file of the cache for such facts (`cache.toml`); no cache is used if absent.
    pub cache: Option<PathBuf>,
}

impl Settings {
    /// Returns the stores that may contain tables.
    pub(crate) fn remote(&self) -> Remote {
        let remote = Remote::new(self.remote.clone());
        if let Some(file) = self.cache.clone() {
            let in_memory_alone = self.read_only;
            remote.use_cache(move || Cache::open_if_possible(&file, "weft-sql", in_memory_alone));
        }
        remote
    }
}

/// Settings of a statement.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct QuerySettings {
    /// Shows the archive as of this epoch, as far back as the history of the facts goes. The views
    /// are then computed from the facts.
    pub at_epoch: Option<u64>,
    /// Time limit until the last row.
    pub time_max: Option<Duration>,
    /// Joins by sorting, which spills rows to temporary files when memory is short. Hash joins are
    /// faster, but need one side of each join in memory.
    pub sorts_for_joins: bool,
    /// Reduces names of inputs to their last part, and hides file names in plans, for users who
    /// must not learn where files are.
    pub base_names: bool,
    /// Joins in the order of the statement: the left side is held in memory. Otherwise the
    /// optimiser picks the side it estimates to be smaller.
    pub joins_as_written: bool,
    /// Values for the parameters of the statement (`?`, `$1`): a column for each, of one row.
    pub parameters: Option<RecordBatch>,
}
