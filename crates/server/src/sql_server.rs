//! Connections to the program that answers SQL statements.

use std::io;

use async_trait::async_trait;
use tokio::net::UnixStream;

/// The program that answers SQL statements.
#[async_trait]
pub trait SqlServer: Send + Sync + 'static {
    /// Opens a connection to it. Starts the program if it does not run.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer.
    async fn connect(&self) -> io::Result<UnixStream>;
}
