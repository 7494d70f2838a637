//! Keeps the tables of facts in order while the server runs.

use std::sync::Arc;
use std::time::Duration;

use sql::{Database, SqlError, maintain};

/// Time between two rounds: loads that commit several times a second leave some thousand small files in it.
const EVERY: Duration = Duration::from_secs(3600);

/// The first round waits until the load that people begin with is well under way.
const FIRST_AFTER: Duration = Duration::from_secs(300);

/// As long as `weft sql maintain` keeps old files without being told otherwise.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maintains the facts again and again.
pub(super) async fn run(database: Arc<Database>) {
    tokio::time::sleep(FIRST_AFTER).await;
    loop {
        match maintain(&database, KEEP).await {
            Ok(tables) => tracing::info!(?tables, "the facts are in order"),
            Err(SqlError::NoFacts(_)) => tracing::debug!("the archive keeps no facts"),
            Err(error) => {
                tracing::warn!(%error, "the facts could not be put in order; the next try is in an hour")
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}
