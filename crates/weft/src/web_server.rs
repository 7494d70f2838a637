//! A running server and its end, for `weft serve` and `weft demo`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use archive::Archive;
use server::storage::Storage;
use server::{ServeError, Served, Server, ServerSettings};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::threads;

/// How long to wait for threads that still answer questions when no request is left.
const FAREWELL: Duration = Duration::from_millis(500);

/// A server that accepts connections until [`WebServer::end`].
pub(crate) struct WebServer {
    runtime: Runtime,
    address: SocketAddr,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl WebServer {
    /// Binds the first free address in `settings`, and begins to serve with the settings of that address.
    pub(crate) fn start(
        archive: &Archive,
        store: Option<Arc<dyn Storage>>,
        settings: &[ServerSettings],
    ) -> anyhow::Result<WebServer> {
        let runtime = threads::start("server")?;
        let server = runtime.block_on(bind(archive, store, settings))?;
        let address = server.address();
        let (end, ended) = oneshot::channel();
        let task = runtime.spawn(server.run(async {
            // An error means that the sender was dropped, which is the end as well.
            let _ = ended.await;
        }));
        Ok(WebServer {
            runtime,
            address,
            end,
            task,
        })
    }

    /// The address on which it listens, with the real port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for a browser on this machine.
    pub(crate) fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{address}/")
    }

    /// Accepts no more connections, and returns when running requests are answered or their time is over.
    pub(crate) fn end(self) {
        // An error means that the server has ended already.
        let _ = self.end.send(());
        let _ = self.runtime.block_on(self.task);
        // Dropping the runtime would wait for every running question without limit. None of them changes
        // anything.
        self.runtime.shutdown_timeout(FAREWELL);
    }
}

async fn bind(
    archive: &Archive,
    store: Option<Arc<dyn Storage>>,
    settings: &[ServerSettings],
) -> anyhow::Result<Server> {
    let mut refused = None;
    // The first free port is used; only the last refusal is reported.
    for settings in settings {
        let served = Served {
            store: store.clone(),
            ..Served::from(archive.clone())
        };
        match Server::bind(served, settings.clone()).await {
            Ok(server) => return Ok(server),
            Err(error) => refused = Some(error),
        }
    }
    let error: ServeError = refused.context("no address to listen on")?;
    anyhow::bail!("{error}; --listen 127.0.0.1:0 takes any free port")
}
