//! One module for each command: its flags, and how its answer looks as text.

use crate::cli::Command;
use crate::context::Context;
use crate::exit::Outcome;

pub(crate) mod cdx;
pub(crate) mod demo;
pub(crate) mod domain;
pub(crate) mod dump;
pub(crate) mod forget;
pub(crate) mod inspect;
pub(crate) mod links;
pub(crate) mod load;
pub(crate) mod pack;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod synth;
pub(crate) mod top;
pub(crate) mod verify;

/// Runs a command.
pub(crate) fn run(command: Command, context: &mut Context) -> anyhow::Result<Outcome> {
    match command {
        Command::Load(args) => load::run(args, context),
        Command::Inspect(args) => inspect::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Forget(args) => forget::run(&args, context),
        Command::Dump(args) => dump::run(&args, context),
        Command::Page(args) => page::run(args, context),
        Command::Inlinks(args) => links::run_inlinks(args, context),
        Command::Outlinks(args) => links::run_outlinks(args, context),
        Command::Domain(args) => domain::run(args, context),
        Command::Top(args) => top::run(args, context),
        Command::Cdx(args) => cdx::run(args, context),
        Command::Search(args) => search::run(args, context),
        Command::Record(args) => record::run(args, context),
        Command::Verify(args) => verify::run(&args, context),
        Command::Serve(args) => serve::run(&args, context),
        Command::Store(args) => store::run(*args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Synth(args) => synth::run(&args, context),
        Command::Pack(args) => pack::run(&args, context),
    }
}
