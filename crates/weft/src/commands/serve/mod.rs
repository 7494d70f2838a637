//! `weft serve`: owns the archive, and answers browsers over HTTP and other commands over the
//! socket. With volumes it also runs a store node.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use archive::{Archive, OpenError, OpenSettings};
use cache::Cache;
use cluster::{ConnectSettings, VolumeSettings};

mod new_files;
mod policies;
mod tables;

use crate::ask;
use crate::cache_args::CacheArgs;
use crate::context::Context;
use crate::gateway::{Gateway, GatewayArgs};
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::remote_inputs::PROGRAM as CACHE_PROGRAM;
use crate::s3_server::{KEYS_FILE, S3Server, S3ServerArgs};
use crate::sql_program::{HOW_TO_GET_IT, PROGRAM, SqlProgram};
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::store_args::{ClusterArgs, only_in_long_help, parse_volume};
use crate::store_node::StoreNode;
use crate::style::clean;
use crate::web_args::WebArgs;
use crate::web_server::{OtherServices, WebServer};
use new_files::NewFiles;
use policies::Policies;

const EXAMPLES: &str = "\
Examples:
  weft serve
  weft serve --listen 127.0.0.1:9000 --archive /data/crawls
  weft serve --archive /mnt/published/crawls --read-only
  weft serve --s3 127.0.0.1:9000 --volume /disks/a --volume /disks/b
  weft serve --s3 127.0.0.1:9000 --upstream s3:// --cache /ssd/cache   (a caching gateway to a remote store)
  weft serve --flight 127.0.0.1:8091   (also Arrow Flight SQL; requires weft-sql)
  weft load more.warc.gz               (in another terminal: the running server loads it)
  weft serve --watch /data/crawls      loads new files there automatically
  weft serve --posts                   accepts captures posted from this machine, as OutbackCDX does
  weft serve --policies                runs policies of policies.toml when they are due
  weft serve --web tables/             serves tables of weft export --serving instead of an archive
  weft serve --web s3://bucket/web     the same, from a store

A missing archive is not created unless --create is given (or the command serves
a store and --archive is not given): a mistyped name would give an empty archive.
An archive that cannot be written (a read-only mount), or is opened with
--read-only, is still served; loads are refused.
Serving tables (--web) answer captures (CDX), records, replay, links and rankings. Searches and
whole texts are refused. The server keeps no state, so any number of servers may serve the same
tables. Start it again to serve a newer batch.

On Ctrl-C or SIGTERM the server finishes running requests within 10 seconds; a running load stops
at its next epoch.
Only this machine can connect unless --listen names another address. Without rules everybody who
can connect can read the whole archive; rules (weft rights) control access, by tokens (--tokens) or
by groups that a proxy names.
A request for an unknown host name gets status 421, so that no web page can point its own name at
this server and read the archive; --host sets the server's names (behind a proxy: the name that the
proxy passes on).
docs/store.md describes how to run the store, docs/gateway.md how to run a gateway.";

const FEW_EXAMPLES: &str = "\
Examples:
  weft serve
  weft serve --listen 127.0.0.1:9000 --archive /data/crawls
  weft serve --watch /data/crawls      loads new files there
  weft serve --s3 127.0.0.1:9000 --volume /disks/a --volume /disks/b

Only this machine can connect unless --listen names another address.";

/// Time limit from SIGTERM to the end of the process: service managers and container runtimes kill
/// it after 10 seconds.
const END_MAX: Duration = Duration::from_secs(9);

/// Flags of `weft serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = FEW_EXAMPLES, after_long_help = EXAMPLES, mut_args(only_in_long_help))]
pub(crate) struct Args {
    #[command(flatten)]
    web: WebArgs,

    /// Serve the serving tables in this folder or at this address, without an archive
    #[arg(
        long = "web",
        value_name = "DIR",
        conflicts_with_all = ["create", "volumes", "store_config", "watch", "policies", "flight"]
    )]
    tables: Option<PathBuf>,

    /// Create an empty archive if it does not exist
    #[arg(long, conflicts_with = "read_only")]
    create: bool,

    /// Also serve a store on this volume; once for each disk
    #[arg(
        long = "volume",
        value_name = "DIR[,name=N][,zone=Z][,weight=W]",
        value_parser = parse_volume,
        conflicts_with = "cluster",
        help_heading = "Store"
    )]
    volumes: Vec<VolumeSettings>,

    /// Also serve the store node that a node.toml describes, as one of several machines
    #[arg(
        long,
        value_name = "NODE.TOML",
        conflicts_with_all = ["volumes", "cluster"],
        help_heading = "Store", hide_short_help = true)]
    store_config: Option<PathBuf>,

    /// The cluster to read inputs from, without serving a store.
    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    s3_server: S3ServerArgs,

    #[command(flatten)]
    gateway: GatewayArgs,

    #[command(flatten)]
    cache: CacheArgs,

    /// Load WARC, ARC, WAT, WET and WACZ files below this directory as they appear or grow, and
    /// keep the catalogue of its files up to date; may be repeated
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "read_only",
        help_heading = "Loading"
    )]
    watch: Vec<PathBuf>,

    /// Label for the inputs that --watch loads
    #[arg(long, value_name = "NAME", requires = "watch", help_heading = "Loading")]
    collection: Option<String>,

    /// Run due policies of the archive's policies.toml every minute, like `weft files policy run`
    #[arg(long, conflicts_with = "read_only", help_heading = "Files")]
    policies: bool,

    /// Do not offer SQL, even if the program weft-sql is installed
    #[arg(long, conflicts_with = "flight", help_heading = "SQL", hide_short_help = true)]
    no_sql: bool,

    /// Also serve Arrow Flight SQL (ADBC, JDBC) at this address
    #[arg(long, value_name = "HOST:PORT", help_heading = "SQL", hide_short_help = true)]
    flight: Option<String>,
}

impl Args {
    /// Returns the store to serve, if one was requested.
    fn place(&self) -> Option<ConnectSettings> {
        match &self.store_config {
            Some(file) => Some(ConnectSettings::Node(file.clone())),
            None if self.volumes.is_empty() => None,
            None => Some(ConnectSettings::Volumes(self.volumes.clone())),
        }
    }
}

/// Runs `weft serve`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    check_s3_has_store(args)?;
    if let Some(place) = &args.tables {
        return tables::run(place, args, context);
    }
    let (archive, cache) = open(args, context)?;
    // Register before anything listens: from here on a Ctrl-C shuts down cleanly.
    let stop = Stop::listen()?;
    let keys = context.archive.join(KEYS_FILE);
    let new_files = match args.watch.as_slice() {
        [] => None,
        dirs => Some(NewFiles::begin(
            dirs,
            args.collection.as_deref(),
            &archive,
            context,
        )?),
    };
    let policies = if args.policies {
        Some(Policies::begin(
            args.place().or_else(|| args.cluster.given()),
            context,
        )?)
    } else {
        None
    };
    let node = match args.place() {
        Some(place) => Some(StoreNode::start(&place, &args.s3_server, keys.clone())?),
        None => None,
    };
    let gateway = Gateway::start(&args.gateway, &args.s3_server, keys, &cache)?;
    let served = OtherServices {
        store: node.as_ref().map(StoreNode::storage),
        gateway: gateway.as_ref().map(Gateway::counts),
        cache: Some(cache),
    };
    let server = start(&archive, served, args, context);
    let server = match server {
        Ok(server) => server,
        // Already running: shut them down cleanly, so that their running requests finish.
        Err(error) => {
            node.into_iter().for_each(StoreNode::end);
            gateway.into_iter().for_each(Gateway::end);
            return Err(error);
        }
    };
    announce(&server, node.as_ref(), gateway.as_ref(), args, context)?;
    let new_files = new_files.map(NewFiles::start).transpose()?;
    let policies = policies.map(|policies| policies.start(&stop)).transpose()?;
    stop.wait();
    progress_line("stopping (press Ctrl-C again to stop at once)");
    Stop::end_within(END_MAX, 0)?;
    // Shut everything down in parallel: each part waits for its own requests.
    std::thread::scope(|scope| {
        scope.spawn(|| node.into_iter().for_each(StoreNode::end));
        scope.spawn(|| gateway.into_iter().for_each(Gateway::end));
        scope.spawn(|| new_files.into_iter().for_each(new_files::RunningWatch::end));
        scope.spawn(|| policies.into_iter().for_each(policies::RunningPolicies::end));
        server.end();
    });
    Ok(Outcome::Done)
}

fn check_s3_has_store(args: &Args) -> Result<(), WrongUse> {
    if args.s3_server.s3.is_some() && args.place().is_none() && !args.gateway.is_given() {
        return Err(WrongUse(
            "--s3 requires a store: --volume DIR (once per disk) or --store-config, or --upstream for a \
             remote store"
                .into(),
        ));
    }
    Ok(())
}

/// Opens the archive, and the cache for all readers of this process.
fn open(args: &Args, context: &mut Context) -> anyhow::Result<(Archive, Cache)> {
    let mut settings = OpenSettings::default();
    let serves_a_store = args.place().is_some() || args.gateway.is_given();
    let keeps_a_store = serves_a_store && !context.archive_given;
    settings.create = args.create || keeps_a_store && !context.read_only;
    settings.own = true;
    if let Some(place) = args.place().or_else(|| args.cluster.given()) {
        context.remote_inputs.use_store(place);
    }
    // Report mistakes in the settings before an archive is created.
    let cache_settings = args.cache.settings(context)?;
    let archive = ask::open_with(context, settings).map_err(with_create_advice)?;
    // The directory of the cache may be inside the archive's.
    let cache = Cache::open(&cache_settings, CACHE_PROGRAM).context("open the cache")?;
    context.remote_inputs.set_cache(cache.clone());
    Ok((archive, cache))
}

/// Starts the web server, with the SQL program if it is available.
fn start(
    archive: &Archive,
    services: OtherServices,
    args: &Args,
    context: &Context,
) -> anyhow::Result<WebServer> {
    let sql = if args.no_sql {
        None
    } else {
        SqlProgram::prepare(context, services.store.is_some(), args.flight.as_deref())?
    };
    if args.flight.is_some() && sql.is_none() {
        return Err(NotFound(format!(
            "--flight requires the program {PROGRAM}: {HOW_TO_GET_IT}"
        ))
        .into());
    }
    let server = WebServer::start(archive, services, sql, &[args.web.settings()])?;
    if args.flight.is_some()
        && let Err(error) = server.start_sql()
    {
        server.end();
        return Err(error);
    }
    Ok(server)
}

/// Adds advice to the error for a missing archive, which the user may want to create.
fn with_create_advice(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(OpenError::Missing { .. }) => {
            NotFound(format!("{error}; weft serve --create creates an empty one")).into()
        }
        _ => error,
    }
}

/// Prints one line with the address, which programs that start a server can parse, and one about
/// the store.
fn announce(
    server: &WebServer,
    node: Option<&StoreNode>,
    gateway: Option<&Gateway>,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<()> {
    let archive = context.archive.display().to_string();
    if context.json {
        let address = server.address().to_string();
        let store = node.map(|node| node.running().address().to_string());
        let s3 = node.and_then(StoreNode::s3_server).map(S3Server::to_json);
        let s3 = s3.or_else(|| gateway.map(Gateway::to_json));
        context.out.json(&serde_json::json!({
            "archive": archive,
            "address": address,
            "url": server.url(),
            "replay": server.replay_url(),
            "store": store,
            "s3": s3,
            "watch": args.watch.iter().map(|dir| inputs::path_text(dir)).collect::<Vec<_>>(),
        }))?;
    } else {
        let url = context.out.style.address(&server.url());
        writeln!(context.out, "{archive} is served at {url}")?;
        if let Some(replay) = server.replay_url() {
            let replay = context.out.style.address(&replay);
            writeln!(context.out, "archived pages are replayed at {replay}")?;
        }
        if let Some(node) = node {
            writeln!(context.out, "{}", node.announcement())?;
        }
        if let Some(gateway) = gateway {
            writeln!(context.out, "{}", gateway.announcement())?;
        }
        for dir in &args.watch {
            let dir = clean(&inputs::path_text(dir));
            writeln!(context.out, "crawl files that appear in {dir} are loaded")?;
        }
    }
    context.out.flush()?;
    Ok(())
}
