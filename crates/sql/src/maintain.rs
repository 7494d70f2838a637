//! Maintenance of the tables of facts: compacts small files, writes checkpoints, and removes unused
//! files.

use std::num::NonZeroU64;
use std::time::Duration;

use datafusion::object_store::ObjectStoreExt as _;
use deltalake_core::DeltaTable;
use deltalake_core::operations::optimize::OptimizeType;
use deltalake_core::operations::vacuum::VacuumMode;
use deltalake_core::protocol::checkpoints;
use facts::Table;
use serde::Serialize;

use crate::{Database, SqlError};

/// Target size of compacted files.
const FILE_BYTES: NonZeroU64 = NonZeroU64::new(256 << 20).unwrap();

/// Minimum number of small files to compact; below, rewriting them costs more than it saves.
const SMALL_FILES_MIN: usize = 8;

/// Size below which a file is small.
const SMALL_FILE_BYTES: i64 = 64 << 20;

/// Number of commits after which a checkpoint is written, as by Delta Lake's own writers.
const COMMITS_MIN: u64 = 10;

/// The result of maintaining a table.
#[derive(Debug, Serialize)]
pub struct MaintainReport {
    /// Its name.
    pub table: &'static str,
    /// Number of files before.
    pub files_before: usize,
    /// Number of files after.
    pub files_after: usize,
    /// Whether a checkpoint was written.
    pub checkpoint: bool,
    /// Number of old commits removed.
    pub commits_removed: usize,
    /// Number of old data files removed.
    pub files_removed: usize,
}

/// Compacts small files, writes checkpoints, and removes files that no version younger than `keep`
/// needs. The archive may be loaded at the same time.
///
/// # Errors
/// [`SqlError`]; the work on other tables stays done.
pub async fn maintain(database: &Database, keep: Duration) -> Result<Vec<MaintainReport>, SqlError> {
    let cut = database.cut().await?;
    let facts = database.facts(cut.archive())?;
    let facts = facts.map_err(|why| SqlError::NoFacts(why.to_string()))?;
    drop(cut);
    let mut done = Vec::new();
    for table in Table::ALL {
        if let Some(delta) = facts.newest(table).await? {
            done.push(
                maintain_table(table, delta, keep)
                    .await
                    .map_err(SqlError::facts(table.name()))?,
            );
        }
    }
    Ok(done)
}

async fn maintain_table(
    table: Table,
    delta: DeltaTable,
    keep: Duration,
) -> Result<MaintainReport, deltalake_core::DeltaTableError> {
    let sizes = |delta: &DeltaTable| -> Result<Vec<i64>, deltalake_core::DeltaTableError> {
        Ok(delta
            .snapshot()?
            .log_data()
            .iter()
            .map(|file| file.size())
            .collect())
    };
    let before = sizes(&delta)?;
    let small = before.iter().filter(|size| **size < SMALL_FILE_BYTES).count();
    let mut delta = delta;
    if small >= SMALL_FILES_MIN {
        let properties = table
            .writer_properties()
            .map_err(deltalake_core::DeltaTableError::generic)?;
        let (optimized, _) = delta
            .optimize()
            .with_type(OptimizeType::Compact)
            .with_target_size(FILE_BYTES)
            .with_writer_properties(properties)
            .await?;
        delta = optimized;
    }
    // Only files that a commit removed, never files without a commit: these may belong to an epoch
    // about to be published.
    let (vacuumed, metrics) = delta
        .vacuum()
        .with_mode(VacuumMode::Lite)
        .with_retention_period(chrono::Duration::from_std(keep).unwrap_or(chrono::Duration::MAX))
        .with_enforce_retention_duration(false)
        .await?;
    delta = vacuumed;
    let version = delta.version().unwrap_or_default();
    let checkpoint = commits_since_checkpoint(&delta, version).await >= COMMITS_MIN;
    let mut commits_removed = 0;
    if checkpoint {
        checkpoints::create_checkpoint(&delta, None).await?;
        commits_removed = checkpoints::cleanup_metadata(&delta, None).await?;
    }
    Ok(MaintainReport {
        table: table.name(),
        files_before: before.len(),
        files_after: sizes(&delta)?.len(),
        checkpoint,
        commits_removed,
        files_removed: metrics.files_deleted.len(),
    })
}

/// Returns the number of commits after the last checkpoint, which every reader must read.
async fn commits_since_checkpoint(delta: &DeltaTable, version: u64) -> u64 {
    let path = delta.log_store().log_path().clone().join("_last_checkpoint");
    let last = async {
        let bytes = delta.object_store().get(&path).await.ok()?.bytes().await.ok()?;
        let last: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        last.get("version")?.as_u64()
    };
    // Without a checkpoint the first commit must be read, too.
    last.await
        .map_or(version + 1, |last| version.saturating_sub(last))
}
