//! `weft demo`: loads and serves an archive of real pages with real links within seconds.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use generate::demo::{self, Web};
use inputs::LoadInput;
use server::{ReplaySettings, ServerSettings};

use listen::ListenAddress;

use crate::ask;
use crate::commands::load;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::sql_program::SqlProgram;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::style::shell_word;
use crate::web_server::{OtherServices, WebServer};

mod check;

const EXAMPLES: &str = "\
Examples:
  weft demo                 load the demo, serve it, and print what to try
  weft demo --exit          the same, then check the answers and exit

The pages are the READMEs and manifests of the Rust crates that Weft was built
from, found where Cargo keeps its sources, or a generated web if there are none.
The archive is in the user's cache folder unless --archive is given.";

/// Flags of `weft demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Check a few answers, then exit; the exit code is 0 if all are right
    #[arg(long)]
    exit: bool,
    /// Address to listen on [default: 127.0.0.1:8080, or the next free port]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<ListenAddress>,
}

/// Ports to try in order.
const PORTS: std::ops::Range<u16> = 8080..8100;

/// Runs `weft demo`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let stop = Stop::listen()?;
    let cache = cache_folder()?;
    std::fs::create_dir_all(&cache).with_context(|| format!("create {}", cache.display()))?;
    let own_folder = !context.archive_given;
    if own_folder {
        context.archive = cache.join("archive");
        context.archive_given = true;
    }
    let mut archive = open_owned(context)?;
    let input = cache.join("demo.warc.gz");
    let (web, changed) = write_input(&input)?;
    if own_folder && changed {
        // The pages of an earlier version of the demo do not belong in this one.
        drop(archive);
        std::fs::remove_dir_all(&context.archive).context("remove the previous demo")?;
        archive = open_owned(context)?;
    }
    let loaded = load::run_request(&archive, &request(&input), &stop, context)?;
    if stop.is_requested() {
        return Ok(Outcome::Losses);
    }
    let sql = SqlProgram::prepare(context, false, None)?;
    let server = WebServer::start(
        &archive,
        OtherServices::default(),
        sql,
        &addresses(args.listen.as_ref().map(|listen| listen.address)),
    )?;
    let shown = show(&web, &server, args, &stop, context);
    server.end();
    Ok(shown?.max(loaded))
}

/// Returns `weft/demo` in the user's cache folder.
fn cache_folder() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    let cache = cache.context("find the user's cache folder; set XDG_CACHE_HOME")?;
    Ok(cache.join("weft/demo"))
}

fn open_owned(context: &Context) -> anyhow::Result<Archive> {
    let mut settings = OpenSettings::default();
    settings.create = true;
    settings.own = true;
    ask::open_with(context, settings)
}

/// Writes the WARC of the demo. Returns its description, and whether it differs from that of the
/// last demo.
fn write_input(input: &Path) -> anyhow::Result<(Web, bool)> {
    let fresh = input.with_file_name("new.warc.gz");
    let (web, line) = match demo::write_crates(&fresh)? {
        Some(web) => {
            let line = format!(
                "{} pages about the Rust crates that Weft was built from",
                web.pages
            );
            (web, line)
        }
        None => {
            let line =
                "no crate sources found below Cargo's home: showing a generated web instead".to_owned();
            (demo::write_synth(&fresh)?, line)
        }
    };
    progress_line(&line);
    // If the bytes are equal, the archive of the last demo is reused.
    let changed = std::fs::read(input).ok() != Some(std::fs::read(&fresh)?);
    // Rename last: a demo that is stopped while writing leaves the earlier file intact.
    std::fs::rename(&fresh, input).with_context(|| format!("write {}", input.display()))?;
    Ok((web, changed))
}

fn request(input: &Path) -> LoadRequest {
    let name = input.display().to_string();
    LoadRequest {
        inputs: vec![LoadInput {
            name: "demo.warc.gz".into(),
            path: name,
        }],
        ..LoadRequest::default()
    }
}

/// Returns settings for the given address, or for the default ports followed by any free one.
fn addresses(listen: Option<SocketAddr>) -> Vec<ServerSettings> {
    let settings = |listen| ServerSettings {
        listen,
        replay: Some(ReplaySettings {
            listen: SocketAddr::new(listen.ip(), 0),
            any_port: true,
            url: None,
            scripts: true,
        }),
        ..ServerSettings::default()
    };
    match listen {
        Some(address) => vec![settings(address)],
        None => PORTS
            .chain([0])
            .map(|port| settings(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
            .collect(),
    }
}

fn show(
    web: &Web,
    server: &WebServer,
    args: &Args,
    stop: &Stop,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if args.exit {
        let failed = check::check(web, server, &context.archive, &mut context.out)?;
        return Ok(if failed == 0 {
            Outcome::Done
        } else {
            Outcome::Losses
        });
    }
    print_invitation(web, server, context)?;
    stop.wait();
    progress_line("stopping (press Ctrl-C again to stop at once)");
    Ok(Outcome::Done)
}

/// Prints suggestions to try.
fn print_invitation(web: &Web, server: &WebServer, context: &mut Context) -> anyhow::Result<()> {
    let url = server.url();
    let (page, query) = (shell_word(&web.url), shell_word(&web.query));
    let archive = shell_word(&context.archive.display().to_string());
    // Print the path by which the program was started: after `make demo` it is not on the shell's
    // `PATH`.
    let weft = shell_word(&std::env::args().next().unwrap_or_else(|| "weft".into()));
    let out = &mut context.out;
    let address = out.style.bold(&out.style.address(&url));
    writeln!(
        out,
        "\nOpen {address} in a browser, or try in another terminal:\n"
    )?;
    writeln!(
        out,
        "  {url}replay/{}   (an archived page with its images and styles)\n",
        web.url
    )?;
    writeln!(out, "  export WEFT_ARCHIVE={archive}")?;
    writeln!(out, "  {weft} search {query}")?;
    writeln!(out, "  {weft} inlinks {page}")?;
    writeln!(out, "  {weft} top")?;
    writeln!(out, "  curl '{url}cdx?url={}'\n", web.url)?;
    writeln!(out, "Press Ctrl-C to stop.")?;
    out.flush()?;
    Ok(())
}
