//! `weft serve --web`: answers browsers from serving tables, without an archive.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use archive::ServedTables;
use inputs::{is_address, path_text};

use super::{Args, END_MAX};
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::style::clean;
use crate::web_server::WebServer;

/// Serves until Ctrl-C or SIGTERM.
pub(super) fn run(place: &Path, args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.gateway.is_given() {
        let both = "--web serves tables: run the gateway of a store in another process";
        return Err(WrongUse(both.to_owned()).into());
    }
    let mut text = path_text(place);
    if !is_address(&text) {
        let absolute = std::path::absolute(place).with_context(|| format!("find {}", clean(&text)))?;
        text = path_text(&absolute);
    }
    let tables = ServedTables::open(&text, context.remote_inputs.sources())?;
    // Registered before anything listens, as for an archive.
    let stop = Stop::listen()?;
    let server = WebServer::start_tables(&tables, args.web.settings())?;
    announce(&server, &text, tables.batch(), context)?;
    stop.wait();
    progress_line("stopping (press Ctrl-C again to stop at once)");
    Stop::end_within(END_MAX, 0)?;
    server.end();
    Ok(Outcome::Done)
}

fn announce(server: &WebServer, place: &str, batch: u64, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        context.out.json(&serde_json::json!({
            "web": place,
            "batch": batch,
            "address": server.address().to_string(),
            "url": server.url(),
            "replay": server.replay_url(),
        }))?;
    } else {
        let url = context.out.style.address(&server.url());
        writeln!(context.out, "{} (batch {batch}) is served at {url}", clean(place))?;
        if let Some(replay) = server.replay_url() {
            let replay = context.out.style.address(&replay);
            writeln!(context.out, "archived pages are replayed at {replay}")?;
        }
    }
    context.out.flush()?;
    Ok(())
}
