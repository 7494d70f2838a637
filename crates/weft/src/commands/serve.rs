//! `weft serve`: owns the archive, answers browsers over HTTP and other commands over the socket.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};

use archive::OpenSettings;

use crate::ask;
use crate::context::Context;
use crate::exit::Outcome;
use crate::out::progress_line;
use crate::serving::Serving;
use crate::stop::Stop;

const EXAMPLES: &str = "\
Examples:
  weft serve
  weft serve --listen 127.0.0.1:9000 --archive /data/crawls
  weft load more.warc.gz               (elsewhere, while it runs: the server loads it)

Ctrl-C ends it after the requests under way; a load under way stops at its next epoch.
Only this machine can connect unless --listen names another address; there is no access control.";

/// Flags of `weft serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address to listen on; port 0 takes any free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    listen: SocketAddr,
}

pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected HOST:PORT, such as 127.0.0.1:8080";
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| format!("{error}; {expected}"))?;
    addresses.next().ok_or_else(|| expected.to_owned())
}

/// Runs `weft serve`. An archive that does not exist yet is created empty.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    let archive = ask::open_with(context, settings)?;
    let stop = Stop::listen()?;
    let serving = Serving::start(&archive, &[args.listen])?;
    announce(&serving, context)?;
    stop.wait();
    progress_line("stopping (Ctrl-C again stops at once)");
    serving.end();
    Ok(Outcome::Done)
}

/// One line that says where, so that programs which start a server can read it.
fn announce(serving: &Serving, context: &mut Context) -> anyhow::Result<()> {
    let archive = context.archive.display().to_string();
    if context.json {
        let address = serving.address().to_string();
        context
            .out
            .json(&serde_json::json!({ "archive": archive, "address": address, "url": serving.url() }))?;
    } else {
        let url = context.out.style.address(&serving.url());
        writeln!(context.out, "{archive} is served at {url}")?;
    }
    context.out.flush()?;
    Ok(())
}
