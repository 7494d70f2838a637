//! `weft serve`: owns the archive, answers browsers over HTTP and other commands over the socket; with volumes, keeps a
//! store beside it.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use archive::{OpenError, OpenSettings};
use store::node::{ConnectSettings, VolumeSettings};

use crate::ask;
use crate::context::Context;
use crate::exit::{NotFound, Outcome, WrongUse};
use crate::face::{Face, FaceArgs, KEYS_FILE};
use crate::keeping::Keeping;
use crate::out::progress_line;
use crate::place::{ClusterArgs, parse_volume};
use crate::serving::Serving;
use crate::stop::Stop;
use crate::web::WebArgs;

const EXAMPLES: &str = "\
Examples:
  weft serve
  weft serve --listen 127.0.0.1:9000 --archive /data/crawls
  weft serve --archive /mnt/published/crawls --read-only
  weft serve --s3 127.0.0.1:9000 --volume /disks/a --volume /disks/b
  weft load more.warc.gz               (elsewhere, while it runs: the server loads it)

An archive that is not there is not made unless --create says so (or the command
keeps a store and no --archive is given): a mistyped name would be an empty one.
One that cannot be written to (a read-only mount), or is opened with --read-only,
is served all the same; loads are refused then.

Ctrl-C or SIGTERM ends it after the requests under way, within 10 seconds; a load under way stops at its next epoch.
Only this machine can connect unless --listen names another address; the pages have no access control.
A request for a name that the server does not go by gets status 421, so that no web page can point its own name here
and read the archive; --host tells it its names (behind a proxy: the name that the proxy passes on).
docs/store.md says how to run the store.";

/// From SIGTERM to the end of the process: service managers and container runtimes kill after 10 seconds.
const END_MAX: Duration = Duration::from_secs(9);

/// Flags of `weft serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    web: WebArgs,

    /// Make an empty archive where there is none
    #[arg(long, conflicts_with = "read_only")]
    create: bool,

    /// Keep a store on this volume as well; once for each disk
    #[arg(
        long = "volume",
        value_name = "DIR[,name=N][,zone=Z][,weight=W]",
        value_parser = parse_volume,
        conflicts_with = "cluster",
        help_heading = "Store"
    )]
    volumes: Vec<VolumeSettings>,

    /// Be the node of the store that a node.toml describes, one of several machines
    #[arg(
        long,
        value_name = "NODE.TOML",
        conflicts_with_all = ["volumes", "cluster"],
        help_heading = "Store"
    )]
    store_config: Option<PathBuf>,

    /// Keeps no store, but reads inputs of one.
    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    face: FaceArgs,
}

pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected HOST:PORT, such as 127.0.0.1:8080";
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| format!("{error}; {expected}"))?;
    addresses.next().ok_or_else(|| expected.to_owned())
}

impl Args {
    /// The store to keep, if one was asked for.
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
    if args.face.s3.is_some() && args.place().is_none() {
        return Err(WrongUse(
            "--s3 needs a store: --volume DIR, once for each disk, or --store-config".into(),
        )
        .into());
    }
    let mut settings = OpenSettings::default();
    let keeps_a_store = args.place().is_some() && !context.archive_given;
    settings.create = args.create || keeps_a_store && !context.read_only;
    settings.own = true;
    if let Some(place) = args.place().or_else(|| args.cluster.given()) {
        context.places.use_store(place);
    }
    let archive = ask::open_with(context, settings).map_err(told_to_create)?;
    let stop = Stop::listen()?;
    let keys = context.archive.join(KEYS_FILE);
    let keeping = match args.place() {
        Some(place) => Some(Keeping::start(&place, &args.face, keys)?),
        None => None,
    };
    let storage = keeping.as_ref().map(Keeping::storage);
    let serving = Serving::start(&archive, storage, &[args.web.settings()]);
    let serving = match serving {
        Ok(serving) => serving,
        Err(error) => {
            keeping.into_iter().for_each(Keeping::end);
            return Err(error);
        }
    };
    announce(&serving, keeping.as_ref(), context)?;
    stop.wait();
    progress_line("stopping (Ctrl-C again stops at once)");
    Stop::end_within(END_MAX, 0)?;
    // At the same time: each waits for requests of its own.
    std::thread::scope(|scope| {
        scope.spawn(|| keeping.into_iter().for_each(Keeping::end));
        serving.end();
    });
    Ok(Outcome::Done)
}

/// An archive that is not there is perhaps meant to be made.
fn told_to_create(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(OpenError::Missing { .. }) => {
            NotFound(format!("{error}; weft serve --create makes an empty one")).into()
        }
        _ => error,
    }
}

/// A line that says where, so that programs which start a server can read it, and one about the store.
fn announce(serving: &Serving, keeping: Option<&Keeping>, context: &mut Context) -> anyhow::Result<()> {
    let archive = context.archive.display().to_string();
    if context.json {
        let address = serving.address().to_string();
        let store = keeping.map(|keeping| keeping.node().address().to_string());
        let s3 = keeping.and_then(Keeping::face).map(Face::to_json);
        context.out.json(&serde_json::json!({
            "archive": archive,
            "address": address,
            "url": serving.url(),
            "store": store,
            "s3": s3,
        }))?;
    } else {
        let url = context.out.style.address(&serving.url());
        writeln!(context.out, "{archive} is served at {url}")?;
        if let Some(keeping) = keeping {
            writeln!(context.out, "{}", keeping.said())?;
        }
    }
    context.out.flush()?;
    Ok(())
}
