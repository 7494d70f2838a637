//! The tables of facts, at the version that corresponds to the epoch of a statement.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::TableProvider;
use datafusion::datasource::empty::EmptyTable;
use datafusion::execution::session_state::SessionState;
use deltalake_core::DeltaTable;
use deltalake_core::logstore::LogStore;
use facts::{Kind, LocalFileStore, PerTable, Table};
use tokio::sync::Mutex;

use crate::SqlError;
use crate::exact_filters::ExactFilters;
use crate::facts_folder::FactsFolder;

/// Application id under which our commits record their epoch (docs/facts.md).
const APP_ID: &str = "weft";

/// Limit on the delay of the tables behind the index: an epoch's facts are published some
/// milliseconds after it.
const BEHIND_TIME_MAX: Duration = Duration::from_secs(5);

const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Bounds on the version of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EpochRange {
    /// The latest epoch that the version may contain.
    pub(crate) max: u64,
    /// The latest epoch that the version must contain.
    pub(crate) min: u64,
}

/// The tables in one folder. Their logs stay cached for the next statement.
pub(crate) struct FactTables {
    folder: FactsFolder,
    known: PerTable<Mutex<Option<DeltaTable>>>,
}

impl FactTables {
    pub(crate) fn new(folder: FactsFolder) -> FactTables {
        FactTables {
            folder,
            known: PerTable::default(),
        }
    }

    pub(crate) fn address(&self) -> &str {
        self.folder.address()
    }

    /// Returns the reason why reading the tables failed if their files are damaged; otherwise the
    /// original error.
    pub(crate) async fn diagnose_damage(&self, error: SqlError) -> SqlError {
        if !error.may_be_of_facts() || inputs::is_address(self.address()) {
            return error;
        }
        let place: Arc<dyn system::FileStore> =
            Arc::new(LocalFileStore::new(&inputs::path_of(self.address())));
        let checked = system::blocking(move || {
            for table in Table::ALL {
                match facts::damages(&place, table) {
                    Ok(damages) if damages.is_empty() => {}
                    Ok(damages) => return damages.first().map(ToString::to_string),
                    Err(error) => return Some(error.to_string()),
                }
            }
            None
        });
        match checked.await {
            Ok(Some(damage)) => SqlError::Damaged(damage),
            _ => error,
        }
    }

    /// Returns a table that a session can read.
    pub(crate) async fn provider(
        &self,
        table: Table,
        epochs: EpochRange,
        session: Arc<SessionState>,
    ) -> Result<Arc<dyn TableProvider>, SqlError> {
        let Some(delta) = self.table_at(table, epochs).await? else {
            return Ok(Arc::new(EmptyTable::new(schema_of(table))));
        };
        delta
            .update_datafusion_session(&*session)
            .map_err(SqlError::facts(table.name()))?;
        let scan = delta.table_provider().with_session(session).await?;
        Ok(Arc::new(ExactFilters(scan)))
    }

    /// Returns the table at the requested version; `None` if it does not exist yet.
    async fn table_at(&self, table: Table, epochs: EpochRange) -> Result<Option<DeltaTable>, SqlError> {
        let failed = SqlError::facts(table.name());
        let deadline = system::now() + BEHIND_TIME_MAX;
        loop {
            let Some(newest) = self.newest(table).await? else {
                if epochs.min == 0 {
                    return Ok(None);
                }
                return Err(SqlError::Epoch {
                    table: table.name(),
                    why: format!(
                        "{} has no such table, but the archive has facts of epoch {}; were they moved?",
                        self.address(),
                        epochs.min
                    ),
                });
            };
            let Some(found) = version_of(table, &newest, epochs.max).await? else {
                return Ok(None);
            };
            if found.epoch >= epochs.min {
                let mut at = newest.clone();
                if newest.version() != Some(found.version) {
                    at.load_version(found.version).await.map_err(failed)?;
                }
                return Ok(Some(at));
            }
            if system::now() >= deadline {
                return Err(SqlError::Epoch {
                    table: table.name(),
                    why: format!(
                        "it has epoch {}, but the archive has facts of epoch {}: publishing them failed; \
                         weft status shows why, and the next load tries again",
                        found.epoch, epochs.min
                    ),
                });
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Returns the newest version; `None` if there is no such table.
    pub(crate) async fn newest(&self, table: Table) -> Result<Option<DeltaTable>, SqlError> {
        let failed = SqlError::facts(table.name());
        let mut known = self.known[table].lock().await;
        if let Some(delta) = &mut *known {
            delta.update_state().await.map_err(&failed)?;
            return Ok(Some(delta.clone()));
        }
        let opened = self.folder.open(table.name()).await?;
        known.clone_from(&opened);
        Ok(opened)
    }
}

/// A version of a table and the latest epoch that it contains.
struct TableVersion {
    version: u64,
    epoch: u64,
}

/// Returns the newest version of a table without any epoch after `epoch`; `None` if every version
/// has one.
async fn version_of(table: Table, newest: &DeltaTable, epoch: u64) -> Result<Option<TableVersion>, SqlError> {
    let failed = SqlError::facts(table.name());
    let log = newest.log_store();
    let mut version = newest.version().unwrap_or_default();
    // From the newest commit backwards. Commits of other writers (compactions) record no epoch.
    for at in (0..=version).rev() {
        match epoch_of(&*log, at).await.map_err(&failed)? {
            Commit::Of(of) if of <= epoch => return Ok(Some(TableVersion { version, epoch: of })),
            Commit::Of(_) => match at.checked_sub(1) {
                Some(before) => version = before,
                None => return Ok(None),
            },
            Commit::OfOthers => {}
            Commit::Gone => {
                // The preceding checkpoint records the rest, provided that no later commit must be
                // excluded.
                let state = newest.snapshot().map_err(&failed)?;
                let of = state
                    .snapshot()
                    .transaction_version(&*log, APP_ID)
                    .await
                    .map_err(&failed)?;
                let of = of.unwrap_or_default().max(0) as u64;
                if Some(version) == newest.version() && of <= epoch {
                    return Ok(Some(TableVersion { version, epoch: of }));
                }
                return Err(SqlError::Epoch {
                    table: table.name(),
                    why: format!("its history no longer goes back to epoch {epoch}"),
                });
            }
        }
    }
    // Only the commit that created the table.
    Ok(Some(TableVersion { version, epoch: 0 }))
}

/// The epoch that a commit recorded.
enum Commit {
    Of(u64),
    OfOthers,
    Gone,
}

async fn epoch_of(log: &dyn LogStore, version: u64) -> Result<Commit, deltalake_core::DeltaTableError> {
    let Some(bytes) = log.read_commit_entry(version).await? else {
        return Ok(Commit::Gone);
    };
    let mut found = Commit::OfOthers;
    for action in serde_json::Deserializer::from_slice(&bytes).into_iter::<serde_json::Value>() {
        let Ok(action) = action else { break };
        let txn = action.get("txn");
        let is_ours = |txn: &&serde_json::Value| txn.get("appId").and_then(|id| id.as_str()) == Some(APP_ID);
        if let Some(epoch) = txn.filter(is_ours).and_then(|txn| txn.get("version")?.as_u64()) {
            found = Commit::Of(epoch);
        }
    }
    Ok(found)
}

/// Returns the columns of a table as in its files.
fn schema_of(table: Table) -> SchemaRef {
    let field = |field: &facts::Field| {
        let data_type = match field.kind {
            Kind::Text => DataType::Utf8View,
            Kind::Int => DataType::Int32,
            Kind::Long => DataType::Int64,
            Kind::Bool => DataType::Boolean,
            Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::TimeMs => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        };
        Field::new(field.name, data_type, field.is_nullable)
    };
    Arc::new(Schema::new(table.fields().iter().map(field).collect::<Vec<_>>()))
}
