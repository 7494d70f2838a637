//! `weft rebuild`: rebuilds views or search from their sources.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::anyhow;
use archive::question::{Answer, Rebuild, Rebuilding, RebuiltBody};
use archive::{Archive, AskError, OpenSettings};
use indicatif::{ProgressBar, ProgressStyle};

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::units::{count, counted};

const EXAMPLES: &str = "\
Examples:
  weft rebuild top                 rebuild the rankings from the counts of URIs
  weft rebuild uris domains top    whichever of these weft sql verify found wrong
  weft rebuild search              rebuild the search index from pages and their texts

Every row is compared with its sources, and missing, wrong or surplus rows are
repaired in one step. Until then queries are answered from the old rows; loads wait.
A killed rebuild continues when the archive is opened next (a rebuild of search is
discarded instead).

The views captures, pages, links, ledger and quarantine are the sources of the
others: what is missing in them can only be found in the inputs. weft verify
compares them; if it finds a difference, load the inputs into a new archive.";

/// Time between two progress queries.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The one target that is not a view.
const SEARCH: &str = "search";

/// Flags of `weft rebuild`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Views to rebuild (uris, inlinks, domains, top), or search
    #[arg(value_name = "VIEW", required = true)]
    views: Vec<String>,
}

/// Runs `weft rebuild`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open_with(context, OpenSettings::default())?;
    let (search, views): (Vec<String>, Vec<String>) = args.views.into_iter().partition(|view| view == SEARCH);
    let question = Rebuild {
        views,
        search: !search.is_empty(),
    };
    let answer = wait(&archive, question, context)?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        print(&answer.body, context)?;
    }
    Ok(Outcome::Done)
}

/// Requests the rebuild. Shows progress on standard error if that is a terminal.
fn wait(archive: &Archive, question: Rebuild, context: &Context) -> anyhow::Result<Answer<RebuiltBody>> {
    let bar = if context.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        shown_bar()
    };
    let (sender, receiver) = sync_channel::<Result<Answer<RebuiltBody>, AskError>>(1);
    let asking = archive.clone();
    std::thread::Builder::new()
        .name("rebuild".into())
        .spawn(move || {
            // If showing progress failed, the receiver is gone.
            let _ = sender.send(asking.ask(question));
        })?;
    let outcome = loop {
        match receiver.recv_timeout(LOOK_INTERVAL) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Timeout) => {
                let at = archive.ask(Rebuilding {})?.body;
                if !at.part.is_empty() {
                    bar.set_message(format!("{}: {} rows", at.part, count(at.rows)));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(anyhow!("the rebuild panicked")),
        }
    };
    bar.finish_and_clear();
    Ok(outcome?)
}

fn shown_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(LOOK_INTERVAL);
    bar
}

fn print(rebuilt: &RebuiltBody, context: &mut Context) -> anyhow::Result<()> {
    for part in &rebuilt.parts {
        let done = match part.part.as_str() {
            SEARCH => format!("{} rebuilt", counted(part.rows, "document", "documents")),
            _ => format!(
                "{} compared, {} repaired",
                counted(part.rows, "row", "rows"),
                count(part.mended)
            ),
        };
        writeln!(context.out, "{:<10} {done}", part.part)?;
    }
    let of_views = || rebuilt.parts.iter().filter(|part| part.part != SEARCH);
    if of_views().next().is_some() {
        let rows = of_views().map(|part| part.rows).sum();
        let closing = match of_views().map(|part| part.mended).sum() {
            0 => "nothing was wrong".to_owned(),
            mended => format!("{} repaired in epoch {}", count(mended), rebuilt.rebuilt_epoch),
        };
        writeln!(
            context.out,
            "{} compared: {closing}",
            counted(rows, "row", "rows")
        )?;
    }
    if rebuilt.search_is_behind {
        writeln!(
            context.out,
            "many in-link counts changed, which search ranks by: run weft rebuild search"
        )?;
    }
    Ok(())
}
