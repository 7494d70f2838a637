//! Periodic maintenance of the tables of facts while the server runs.

use std::sync::Arc;
use std::time::Duration;

use sql::{Database, SqlError, maintain};

/// Time between two rounds: within it, loads that commit several times a second leave a few
/// thousand small files.
const EVERY: Duration = Duration::from_secs(3600);

/// Delay of the first round, to let an initial load get under way.
const FIRST_AFTER: Duration = Duration::from_secs(300);

/// Retention of old files, as `weft sql maintain` has by default.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maintains the facts periodically.
pub(super) async fn run(database: Arc<Database>) {
    tokio::time::sleep(FIRST_AFTER).await;
    loop {
        match maintain(&database, KEEP).await {
            Ok(tables) => tracing::info!(?tables, "maintenance of the facts is done"),
            Err(SqlError::NoFacts(_)) => tracing::debug!("the archive has no facts"),
            Err(error) => {
                tracing::warn!(%error, "maintenance of the facts failed; retrying in an hour")
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}
