//! `weft demo`: loads and serves an archive of a web site that is in the program.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::question::LoadRequest;
use archive::{Archive, OpenSettings};
use format::date::{digits, iso};
use generate::demo::{self, Web};
use inputs::LoadInput;
use server::{REPLAY_DOMAIN, ReplaySettings, ServerSettings};

use listen::ListenAddress;

use crate::ask;
use crate::commands::load;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::sql_program::SqlProgram;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::style::shell_word;
use crate::units::day;
use crate::web_server::{OtherServices, WebServer};

mod check;

const EXAMPLES: &str = "\
Examples:
  weft demo                 load the demo, serve it, and print what to try
  weft demo --exit          the same, then check the answers and exit

The site is the documentation of Weft, captured at three dates, with a blog and
pages of other sites that link to it. It is in the program: nothing is downloaded.
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
    let (web, changed) = write_inputs(&cache)?;
    if own_folder && changed {
        // The pages of an earlier version of the demo do not belong in this one.
        drop(archive);
        std::fs::remove_dir_all(&context.archive).context("remove the previous demo")?;
        archive = open_owned(context)?;
    }
    let loaded = load::run_request(&archive, &request(&web), &stop, context)?;
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

/// Writes the WARCs of the demo. Returns their description, and whether they differ from those of
/// the last demo.
fn write_inputs(cache: &Path) -> anyhow::Result<(Web, bool)> {
    let fresh = cache.join("new");
    std::fs::create_dir_all(&fresh).with_context(|| format!("create {}", fresh.display()))?;
    let mut web = demo::write(&fresh)?;
    let mut changed = false;
    for path in &mut web.files {
        let known = cache.join(path.file_name().context("the name of a WARC")?);
        // If the bytes are equal, the archive of the last demo is reused.
        changed |= std::fs::read(&known).ok() != Some(std::fs::read(&*path)?);
        // Rename last: a demo that is stopped while writing leaves the earlier files intact.
        std::fs::rename(&*path, &known).with_context(|| format!("write {}", known.display()))?;
        *path = known;
    }
    Ok((web, changed))
}

fn request(web: &Web) -> LoadRequest {
    let input = |path: &PathBuf| LoadInput {
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        path: path.display().to_string(),
    };
    LoadRequest {
        inputs: web.files.iter().map(input).collect(),
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
            embed_on: Vec::new(),
            domain: Some(REPLAY_DOMAIN.to_owned()),
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

/// Prints what the archive has, and four things to try.
fn print_invitation(web: &Web, server: &WebServer, context: &mut Context) -> anyhow::Result<()> {
    let url = server.url();
    let archive = shell_word(&context.archive.display().to_string());
    // Print the path by which the program was started: after `make demo` it is not on the shell's
    // `PATH`.
    let weft = shell_word(&std::env::args().next().unwrap_or_else(|| "weft".into()));
    let days: Vec<String> = web.crawled_ms.iter().map(|ms| day(&iso(*ms))).collect();
    let (page, query) = (query_value(&web.page_url), query_value(&web.query));
    let out = &mut context.out;
    let address = out.style.bold(&out.style.address(&url));
    writeln!(
        out,
        "\n{} pages, captured on {}: the documentation of Weft as a web site, a blog,\n\
         and pages of other sites that link to it.\n\n\
         Open {address} in a browser. Four things to try:\n",
        web.pages,
        days.join(", ")
    )?;
    writeln!(out, "1. Search the pages:")?;
    writeln!(out, "   {url}search?q={query}")?;
    writeln!(out, "2. See who links to a page, and with which words:")?;
    writeln!(out, "   {url}page/inlinks?url={page}")?;
    writeln!(
        out,
        "3. See this page as it was at each date, and what changed last:"
    )?;
    for ms in &web.crawled_ms {
        writeln!(out, "   {url}replay/{}/{}", digits(*ms), web.page_url)?;
    }
    writeln!(out, "   {url}page/diff?url={page}")?;
    writeln!(out, "4. Ask on the command line, in another terminal:")?;
    writeln!(
        out,
        "   {weft} diff {} --archive {archive}\n",
        shell_word(&web.page_url)
    )?;
    writeln!(out, "Press Ctrl-C to stop.")?;
    out.flush()?;
    Ok(())
}

/// Escapes `text` for a value in a query string.
fn query_value(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::query_value;

    #[test]
    fn values_of_queries_are_encoded() {
        assert_eq!(
            query_value("https://a.b/c?d=é f"),
            "https://a.b/c%3Fd%3D%C3%A9%20f"
        );
    }
}
