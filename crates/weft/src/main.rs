//! `weft`: turns web-archive files into a live, searchable web.
//!
//! This crate is the program and nothing more: flags, start-up, terminal output. What a command shows
//! comes from [`archive`] as an answer; `--json` prints that answer as it is, else it becomes text here.
//!
//! Exit codes (the only three): 0 done; 1 done with losses or differences, or not done at all;
//! 2 wrong use.

use std::process::ExitCode;

mod ask;
mod cli;
mod commands;
mod context;
mod exit;
mod face;
mod keeping;
mod list;
mod logs;
mod out;
mod place;
mod serving;
mod sources;
mod stop;
mod style;
mod table;
mod units;
mod web;

// Loading makes and frees millions of small rows on several threads, which this allocator is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli: cli::Cli = match exit::parsed() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    logs::start(cli.verbose);
    let mut context = context::Context::new(&cli);
    let result = commands::run(cli.command, &mut context);
    context.places.close();
    exit::report(result, &mut context)
}
