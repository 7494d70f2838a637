//! `weft store serve`: runs a store node without an archive.

use std::io::Write;
use std::path::PathBuf;

use cluster::ConnectSettings;

use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::s3_server::{KEYS_FILE, S3Server, S3ServerArgs};
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::store_node::StoreNode;

const EXAMPLES: &str = "\
Examples:
  weft store serve --config node.toml                  a node of a cluster
  weft store serve --volume /disks/a --volume /disks/b a store on this machine only
  weft store serve --config node.toml --s3 0.0.0.0:9000 --s3-tls-cert cert.pem --s3-tls-key key.pem

On Ctrl-C or SIGTERM the server finishes running requests. docs/store/cluster.md has complete
node.toml and cluster.toml files.";

/// Flags of `weft store serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    s3_server: S3ServerArgs,
}

/// Runs `weft store serve`.
pub(super) fn run(args: &Args, place: &ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let stop = Stop::listen()?;
    let keys = keys_file(args, place)?;
    let node = StoreNode::start(place, &args.s3_server, keys)?;
    announce(&node, context)?;
    stop.wait();
    progress_line("stopping (press Ctrl-C again to stop at once)");
    node.end();
    Ok(Outcome::Done)
}

/// Returns the path of the keys file: next to the node.toml. Without one there is no default,
/// because a volume's disk may be replaced.
fn keys_file(args: &Args, place: &ConnectSettings) -> Result<PathBuf, WrongUse> {
    match place {
        ConnectSettings::Node(file) => Ok(file.with_file_name(KEYS_FILE)),
        _ if args.s3_server.s3.is_some() && args.s3_server.s3_keys.is_none() => Err(WrongUse(
            "--s3 requires --s3-keys FILE, the file for its keys".into(),
        )),
        _ => Ok(PathBuf::from(KEYS_FILE)),
    }
}

/// Prints a line with the address, which programs that start a node can parse.
fn announce(node: &StoreNode, context: &mut Context) -> anyhow::Result<()> {
    let running = node.running();
    if context.json {
        let store = running.store();
        context.out.json(&serde_json::json!({
            "node": store.cluster().me(),
            "address": running.address().to_string(),
            "layout": store.cluster().topology().layouts.current.number,
            "unplaced": running.unplaced(),
            "s3": node.s3_server().map(S3Server::to_json),
        }))?;
    } else {
        writeln!(context.out, "{}", node.announcement())?;
    }
    context.out.flush()?;
    Ok(())
}
