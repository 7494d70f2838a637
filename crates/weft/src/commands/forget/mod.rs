//! `weft forget`: takes captures down, so that they leave every view and stay out. It also removes
//! inputs that were not read to their end from the ledger.

mod holding_inputs;
mod named_uploads;
mod print;

use std::ffi::OsString;

use archive::question::{
    Forget, LedgerState, Purge, TakeDown, TakedownSelector, Takedowns, TakedownsBody, TakenDownBody,
    UndoTakedown,
};
use archive::{Archive, OpenSettings};

use crate::ask;
use crate::commands::redact::notes_on_uploads;
use crate::commands::status::ledger_rows;
use crate::context::Context;
use crate::flag_values::{limit_time, whole_from};
use crate::outcome::{Outcome, WrongUse};
use holding_inputs::holding_inputs;
use named_uploads::NamedUploads;

const EXAMPLES: &str = "\
Examples:
  weft forget --url http://example.com/page --dry-run    what would be taken down
  weft forget --url http://example.com/page --reason \"request 1234\"
  weft forget --prefix http://example.com/private/
  weft forget --collection test-crawl
  weft forget --before 2009-01-01
  weft forget --input crawls/x.warc.gz                   everything from one input
  weft forget --list                                     list all takedowns
  weft forget --undo 3                                   undo takedown 3; the next weft load restores it
  weft forget --purge                                    erase what is taken down from the archive's files
  weft forget --failed                                   remove failed inputs from the ledger

A takedown removes captures from all views, links, search and the facts in one step, and keeps
them out when the same or other inputs are loaded, until it is undone. The register records who,
when, why and how much, but only a hash of the target: do not repeat it in the reason. Links from
other pages to it remain. The bytes remain in the input files. Inputs that were not read to their
end, or have no captures, are removed from the ledger instead, and count as new when they are
loaded again. Files of the archive may contain removed data until --purge rewrites them, which
takes about as much space again and as long as reading the whole archive. See docs/takedown.md.
A purge does not rewrite uploaded files and other inputs. It names those that contain what is taken
down.
Exit code 1: there is no such input or takedown, a capture that would become current cannot be
read, or there are files that a purge cannot rewrite.";

const FEW_EXAMPLES: &str = "\
Examples:
  weft forget --url http://example.com/page --dry-run    what would be taken down
  weft forget --url http://example.com/page --reason \"request 1234\"
  weft forget --list                                     list all takedowns
  weft forget --undo 3                                   undo takedown 3

A takedown removes captures from all views, links, search and the facts, and keeps them out.";

/// Flags of `weft forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = FEW_EXAMPLES, after_long_help = EXAMPLES, override_usage = "weft forget [OPTIONS] WHICH")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Report what would be removed, and change nothing
    #[arg(long, conflicts_with_all = ["failed", "list", "purge", "undo"])]
    dry_run: bool,
    /// Reason for the register; do not quote the removed content in it
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["failed", "list", "purge", "undo", "dry_run"])]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// All captures of a URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// All captures of URLs that begin with this (a prefix of a URL key also works)
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
    /// Input by its name, location or digest, as shown by weft dump ledger and --json (may be
    /// repeated)
    #[arg(long, value_name = "NAME")]
    input: Vec<OsString>,
    /// All captures of inputs in this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// All captures fetched before this time (2009, 2009-01-31, 20090131101500)
    #[arg(long, value_name = "TIME", value_parser = limit_time())]
    before: Option<String>,
    /// Every input that failed
    #[arg(long)]
    failed: bool,
    /// List the register of takedowns
    #[arg(long)]
    list: bool,
    /// Rewrite the archive's files so that none contains removed data
    #[arg(long)]
    purge: bool,
    /// Undo the takedown with this number
    #[arg(long, value_name = "ID", value_parser = whole_from(1_u32, 3))]
    undo: Option<u32>,
}

impl Which {
    /// Returns the selection to take down; `None` for the other actions.
    fn takes(&self) -> Option<TakedownSelector> {
        if !self.input.is_empty() {
            let names = self.input.iter().map(|name| ask::input_name(name));
            return Some(TakedownSelector::Inputs(names.collect()));
        }
        let url = self.url.clone().map(TakedownSelector::Url);
        url.or_else(|| self.prefix.clone().map(TakedownSelector::Prefix))
            .or_else(|| self.collection.clone().map(TakedownSelector::Collection))
            .or_else(|| self.before.clone().map(TakedownSelector::Before))
    }
}

/// Runs `weft forget`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.which.list {
        return list(context);
    }
    let archive = ask::open_with(context, OpenSettings::default())?;
    if let Some(id) = args.which.undo {
        return undo(&archive, id, context);
    }
    if args.which.purge {
        return purge(&archive, context);
    }
    match args.which.takes() {
        Some(takes) => take_down(&archive, takes, args, context),
        None if args.which.failed => forget_failed(&archive, context),
        None => Err(WrongUse("nothing to forget was named".into()).into()),
    }
}

fn take_down(
    archive: &Archive,
    takes: TakedownSelector,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if let TakedownSelector::Url(url) | TakedownSelector::Prefix(url) = &takes {
        ask::note_www(url);
    }
    let uploads = NamedUploads::of(archive)?;
    let answer = archive.ask(TakeDown {
        takes,
        reason: args.reason.clone().unwrap_or_default(),
        who: system::users::own_name(),
        dry_run: args.dry_run,
        limit: 0,
    })?;
    let outcome = outcome(&answer.body);
    let unnamed = if answer.body.dry_run || answer.body.forgotten.inputs.is_empty() {
        Outcome::Done
    } else {
        uploads.remove_unnamed(archive)?
    };
    if let Some(answer) = ask::print_if_json(answer, context)? {
        print::taken_down(&answer.body, context)?;
    }
    Ok(outcome.max(unnamed))
}

fn outcome(body: &TakenDownBody) -> Outcome {
    if body.unreadable.is_empty() {
        Outcome::Done
    } else {
        Outcome::Losses
    }
}

fn forget_failed(archive: &Archive, context: &mut Context) -> anyhow::Result<Outcome> {
    let failed = ledger_rows(archive, Some(LedgerState::Failed))?;
    let inputs = failed.into_iter().map(|row| row.location).collect();
    let uploads = NamedUploads::of(archive)?;
    let answer = archive.ask(Forget { inputs })?;
    let outcome = uploads.remove_unnamed(archive)?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        print::forgotten(&answer.body, context)?;
    }
    Ok(outcome)
}

fn undo(archive: &Archive, id: u32, context: &mut Context) -> anyhow::Result<Outcome> {
    let answer = archive.ask(UndoTakedown {
        id,
        who: system::users::own_name(),
    })?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        print::undone(&answer.body, context)?;
    }
    Ok(Outcome::Done)
}

fn purge(archive: &Archive, context: &mut Context) -> anyhow::Result<Outcome> {
    let mut answer = archive.ask(Purge {})?;
    answer.body.notes.extend(notes_on_uploads(archive)?);
    answer.body.inputs = holding_inputs(archive, &context.archive)?;
    let outcome = if answer.body.notes.is_empty() {
        Outcome::Done
    } else {
        Outcome::Losses
    };
    if let Some(answer) = ask::print_if_json(answer, context)? {
        print::purged(&answer.body, context)?;
    }
    Ok(outcome)
}

fn list(context: &mut Context) -> anyhow::Result<Outcome> {
    let Some(answer) = ask::ask_or_print(context, Takedowns {})? else {
        return Ok(Outcome::Done);
    };
    let TakedownsBody { rows, .. } = &answer.body;
    print::register(rows, context)?;
    Ok(Outcome::Done)
}
