//! A running web server and its shutdown, for `weft serve` and `weft demo`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use archive::{Archive, ServedTables};
use cache::Cache;
use server::storage::{FaceCounts, Storage};
use server::{Answers, ServeError, Server, ServerParts, ServerSettings, SqlServer, UploadSettings};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::commands::files;
use crate::sql_program::SqlProgram;
use crate::threads;

/// Time to wait for threads that still run queries after the last request has ended.
const SHUTDOWN_TIME_MAX: Duration = Duration::from_millis(500);

/// Other services of this process whose figures the web server shows.
#[derive(Clone, Default)]
pub(crate) struct OtherServices {
    /// The store node.
    pub(crate) store: Option<Arc<dyn Storage>>,
    /// The S3 gateway.
    pub(crate) gateway: Option<FaceCounts>,
    /// The cache for reads, if any.
    pub(crate) cache: Option<Cache>,
}

/// A server that accepts connections until [`WebServer::end`].
pub(crate) struct WebServer {
    runtime: Runtime,
    address: SocketAddr,
    replay: Option<SocketAddr>,
    /// The SQL program, if it is installed.
    sql: Option<Arc<SqlProgram>>,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl WebServer {
    /// Binds the first free address in `settings`, and starts serving with that address's settings.
    /// Uploads are stored in the archive's directory.
    pub(crate) fn start(
        archive: &Archive,
        services: OtherServices,
        sql: Option<SqlProgram>,
        settings: &[ServerSettings],
    ) -> anyhow::Result<WebServer> {
        let sql = sql.map(Arc::new);
        let served = |sql: Option<Arc<SqlProgram>>| ServerParts {
            store: services.store.clone(),
            gateway: services.gateway.clone(),
            cache: services.cache.clone(),
            sql: sql.map(|sql| -> Arc<dyn SqlServer> { sql }),
            files: Some(files::catalogue_place(archive.dir())),
            ..ServerParts::from(archive.clone())
        };
        let with_uploads = |settings: &ServerSettings| ServerSettings {
            uploads: Some(UploadSettings::at(archive.uploads_path())),
            ..settings.clone()
        };
        let settings: Vec<ServerSettings> = settings.iter().map(with_uploads).collect();
        WebServer::run(|| served(sql.clone()), sql.clone(), &settings)
    }

    /// As [`WebServer::start`], for serving tables instead of an archive.
    pub(crate) fn start_tables(tables: &ServedTables, settings: ServerSettings) -> anyhow::Result<WebServer> {
        let served = || {
            let tables: Arc<dyn Answers> = Arc::new(tables.clone());
            ServerParts::from(tables)
        };
        WebServer::run(served, None, &[settings])
    }

    fn run(
        served: impl Fn() -> ServerParts,
        sql: Option<Arc<SqlProgram>>,
        settings: &[ServerSettings],
    ) -> anyhow::Result<WebServer> {
        let runtime = threads::start("server")?;
        let server = runtime.block_on(bind(served, settings))?;
        let address = server.address();
        let replay = server.replay_address();
        let (end, ended) = oneshot::channel();
        let task = runtime.spawn(server.run(async {
            // An error means that the sender was dropped, which is the end as well.
            let _ = ended.await;
        }));
        Ok(WebServer {
            runtime,
            address,
            replay,
            sql,
            end,
            task,
        })
    }

    /// Returns the address it listens on, with the actual port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the replay origin, if there is one.
    pub(crate) fn replay_address(&self) -> Option<SocketAddr> {
        self.replay
    }

    /// Starts the SQL program now instead of at the first request.
    pub(crate) fn start_sql(&self) -> anyhow::Result<()> {
        let Some(sql) = &self.sql else { return Ok(()) };
        self.runtime.block_on(sql.start()).context("start weft-sql")
    }

    /// Returns the URL for a browser on this machine.
    pub(crate) fn url(&self) -> String {
        here(self.address)
    }

    /// Returns the URL of the replay origin for a browser on this machine, if there is one.
    pub(crate) fn replay_url(&self) -> Option<String> {
        self.replay.map(here)
    }

    /// Stops accepting connections, then returns when running requests have completed or timed out.
    pub(crate) fn end(self) {
        // An error means that the server has already ended.
        let _ = self.end.send(());
        let _ = self.runtime.block_on(self.task);
        if let Some(sql) = &self.sql {
            self.runtime.block_on(sql.end());
        }
        // Dropping the runtime would wait indefinitely for running queries. They are read-only, so
        // abandoning them is safe.
        self.runtime.shutdown_timeout(SHUTDOWN_TIME_MAX);
    }
}

/// Returns the URL of an address for a browser on this machine.
fn here(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}/")
}

async fn bind(served: impl Fn() -> ServerParts, settings: &[ServerSettings]) -> anyhow::Result<Server> {
    let mut refused = None;
    // Uses the first free address. Only the last bind error is reported.
    for settings in settings {
        match Server::bind(served(), settings.clone()).await {
            Ok(server) => return Ok(server),
            Err(error) => refused = Some(error),
        }
    }
    let error: ServeError = refused.context("no address to listen on")?;
    anyhow::bail!("{error}; --listen 127.0.0.1:0 takes any free port")
}
