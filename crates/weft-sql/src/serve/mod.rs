//! `weft-sql serve`: serves statements over HTTP, with a page for browsers, and over Arrow Flight
//! SQL. Meanwhile it maintains the facts.

mod about;
mod chart;
mod flight;
mod http;
mod keys;
mod page;
mod prepared;
mod statements;
mod types;
mod upkeep;

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use format::terminal::Style;
use hyper_util::service::TowerToHyperService;
use listen::{ConnectionLimiter, Hosts, IdleLimit, Limits};
use listen::{ListenAddress, Port, PortSettings, Security};
use sql::Database;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;
use ui::Parts;

use self::http::Shared;
use self::statements::{StatementRunner, Threads};
use crate::wrong_use::WrongUse;

/// Time for running requests to complete after a shutdown request.
const GRACE: Duration = Duration::from_secs(5);

/// Time limit for receiving a request, and for idle connections.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// Size limit of a request header: a statement may be in its address.
const HEAD_BYTES_MAX: usize = 128 * 1024;

const EXAMPLES: &str = "\
Examples:
  weft sql serve
  weft sql serve --listen 127.0.0.1:9090 --flight none --time-limit 300
  curl --data-urlencode 'q=select count(*) from captures' http://127.0.0.1:8090/api/v1/sql
  curl 'http://127.0.0.1:8090/api/v1/sql?format=csv&q=select+url+from+pages' > pages.csv

`weft serve` starts this server itself and shows its page at /sql. Only this machine can connect
unless --listen or --flight name another address. There is no access control: anybody who can
connect can read the whole archive. docs/sql.md describes how ADBC and JDBC clients connect.";

/// Serves statements over HTTP and Arrow Flight SQL, with a page for browsers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Address for HTTP; port 0 picks any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8090")]
    listen: ListenAddress,

    /// Address for Arrow Flight SQL, or none [default: the next port after --listen]
    #[arg(long, value_name = "HOST:PORT|none", value_parser = parse_flight)]
    flight: Option<Flight>,

    /// Host name that browsers may use for this server, besides localhost and the address it
    /// listens on; repeat for more
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// Time limit of a statement in seconds, until its last row is sent
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time_limit: u64,

    /// Maximum number of concurrent statements; further ones wait
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    statements_max: u16,

    /// Listen on this socket instead, and exit when standard input closes; used by `weft serve`
    #[arg(long, value_name = "FILE", hide = true)]
    socket: Option<PathBuf>,

    /// Link to the pages of an archive and of a store
    #[arg(long, hide = true)]
    beside_store: bool,
}

#[derive(Debug, Clone, Copy)]
enum Flight {
    None,
    At(SocketAddr),
}

fn parse_flight(text: &str) -> anyhow::Result<Flight> {
    if text == "none" {
        return Ok(Flight::None);
    }
    let listen: ListenAddress = text.parse()?;
    Ok(Flight::At(listen.address))
}

impl ServeArgs {
    /// Returns the address for Flight SQL, if any.
    fn flight(&self) -> anyhow::Result<Option<SocketAddr>> {
        match (self.flight, &self.socket) {
            (Some(Flight::At(address)), _) => Ok(Some(address)),
            (Some(Flight::None), _) | (None, Some(_)) => Ok(None),
            (None, None) => {
                let mut address = self.listen.address;
                let next = match address.port() {
                    0 => Some(0),
                    port => port.checked_add(1),
                };
                let next =
                    next.ok_or_else(|| WrongUse("no port after 65535: set one with --flight".into()))?;
                address.set_port(next);
                Ok(Some(address))
            }
        }
    }
}

pub(crate) async fn run(
    database: Database,
    args: &ServeArgs,
    json: bool,
    read_only: bool,
) -> anyhow::Result<ExitCode> {
    let database = Arc::new(database);
    // Report a mistyped archive at startup, not in response to the first request.
    if args.socket.is_none() {
        database.tables().await?;
    }
    let time_max = Duration::from_secs(args.time_limit);
    let statements_max = args.statements_max.into();
    let threads = Threads::start(statements_max).context("start the threads for statements")?;
    let runner = StatementRunner::new(Arc::clone(&database), threads, time_max, statements_max);
    let flight = match args.flight()? {
        None => None,
        Some(address) => {
            Some(TcpIncoming::bind(address).with_context(|| format!("listen on {address} for Flight SQL"))?)
        }
    };
    let flight_address = match &flight {
        None => None,
        Some(incoming) => Some(incoming.local_addr().context("the address of Flight SQL")?),
    };
    let (end, ended) = watch::channel(false);
    let flight =
        flight.map(|incoming| tokio::spawn(flight::serve(runner.clone(), incoming, stopped(ended.clone()))));
    if !read_only {
        tokio::spawn(upkeep::run(Arc::clone(&database)));
    }
    let served = match &args.socket {
        Some(socket) => serve_socket(socket, &database, runner, args, ended)?,
        None => {
            let port = bind_port(args).await?;
            announce(database.dir(), port.address(), flight_address, json)?;
            serve_port(port, runner, args, ended)
        }
    };
    wait_for_end(args.socket.is_some()).await?;
    end.send_replace(true);
    // A second signal or a running statement must not delay the exit.
    let both = async {
        served.await.context("the server failed")??;
        if let Some(flight) = flight {
            flight.await.context("the Flight SQL server failed")??;
        }
        anyhow::Ok(())
    };
    let ended = tokio::time::timeout(GRACE, both).await;
    match ended {
        Ok(ended) => ended?,
        Err(_) => tracing::info!("running statements were aborted"),
    }
    Ok(ExitCode::SUCCESS)
}

/// A running HTTP server.
type Server = JoinHandle<std::io::Result<()>>;

/// Serves the parent process, `weft serve`, which passes on requests of browsers.
fn serve_socket(
    socket: &Path,
    database: &Database,
    runner: StatementRunner,
    args: &ServeArgs,
    ended: watch::Receiver<bool>,
) -> anyhow::Result<Server> {
    let parts = Parts {
        archive: true,
        // `weft serve` passes on requests only from users who may see everything.
        running: true,
        store: args.beside_store,
        sql: true,
        // If a catalogue is first created later, the link appears after a restart.
        files: database.dir().join("files").is_dir(),
        // The server always has a cache page.
        cache: true,
    };
    let shared = Shared {
        runner,
        hosts: None,
        parts,
    };
    let listener = bind_socket(socket)?;
    Ok(tokio::spawn(async move {
        let routes = http::routes(shared);
        axum::serve(listener, routes)
            .with_graceful_shutdown(stopped(ended))
            .await
    }))
}

async fn bind_port(args: &ServeArgs) -> anyhow::Result<Port> {
    let address = args.listen.address;
    let door = ConnectionLimiter::new(Limits {
        connections_max: 256,
        per_address_max: 64,
        reserve: 0,
    });
    Port::bind(address, door)
        .await
        .with_context(|| format!("listen on {address}; --listen 127.0.0.1:0 takes any free port"))
}

/// Serves browsers and programs, without a parent process.
fn serve_port(port: Port, runner: StatementRunner, args: &ServeArgs, ended: watch::Receiver<bool>) -> Server {
    let mut hosts = args.hosts.clone();
    hosts.push(args.listen.host.clone());
    let hosts = Some(Hosts::new(port.address(), hosts));
    let parts = Parts {
        sql: true,
        ..Parts::default()
    };
    let routes = TowerToHyperService::new(http::routes(Shared { runner, hosts, parts }));
    tokio::spawn(async move {
        let answer = move |request, _| hyper::service::Service::call(&routes, request);
        port.serve(terms(), answer, stopped(ended)).await;
        Ok(())
    })
}

/// Waits until the process is asked to end.
async fn stopped(mut ended: watch::Receiver<bool>) {
    // An error means that the sender is gone: stop as well.
    let _ = ended.wait_for(|ended| *ended).await;
}

/// Waits for Ctrl-C, SIGTERM, or the end of the parent process.
async fn wait_for_end(has_parent: bool) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate()).context("listen for signals")?;
    let parent_ends = async {
        if !has_parent {
            std::future::pending::<()>().await;
        }
        // The parent never writes: the read returns when the parent exits.
        let _ = system::blocking(|| std::io::stdin().read(&mut [0])).await;
    };
    // Ctrl-C reaches all processes of a terminal; the parent then ends this one.
    let interrupted = async {
        if has_parent {
            std::future::pending().await
        } else {
            tokio::signal::ctrl_c().await
        }
    };
    tokio::select! {
        interrupted = interrupted => interrupted.context("listen for signals"),
        _ = terminated.recv() => Ok(()),
        () = parent_ends => Ok(()),
    }
}

/// Binds the socket for the parent process, in a folder that only its owner may enter.
fn bind_socket(socket: &Path) -> anyhow::Result<UnixListener> {
    let bind = || {
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        Ok::<_, std::io::Error>(listener)
    };
    bind().with_context(|| format!("listen at {}", socket.display()))
}

/// Returns the limits and rules for connections.
fn terms() -> PortSettings {
    PortSettings {
        // A public server runs behind a proxy that terminates TLS.
        security: Security::Plain,
        handshake_time_max: IDLE_MAX,
        head_bytes_max: HEAD_BYTES_MAX,
        head_time_max: IDLE_MAX,
        buffer_bytes_max: None,
        write_idle_max: Some(IDLE_MAX),
        idle_limit: IdleLimit::FirstRequest(Duration::from_secs(10)),
        grace: GRACE,
    }
}

fn announce(archive: &Path, http: SocketAddr, flight: Option<SocketAddr>, json: bool) -> anyhow::Result<()> {
    let url = format!("http://{}/sql", reachable(http));
    let flight = flight.map(|address| format!("grpc://{}", reachable(address)));
    let mut out = std::io::stdout().lock();
    if json {
        let announcement =
            serde_json::json!({ "archive": archive.display().to_string(), "url": url, "flight": flight });
        writeln!(out, "{announcement}")?;
    } else {
        let style = Style::new(std::io::IsTerminal::is_terminal(&std::io::stdout()));
        writeln!(out, "SQL over {} at {}", archive.display(), style.address(&url))?;
        if let Some(flight) = flight {
            writeln!(out, "Arrow Flight SQL at {}", style.address(&flight))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Returns the address for a client on this machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    address
}
