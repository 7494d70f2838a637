//! `weft`: turns web-archive files into a live, searchable web.
//!
//! This crate contains only flags, startup and terminal output. A command gets its result from
//! [`archive`] as an answer. `--json` prints that answer unchanged; otherwise it is formatted as
//! text here.
//!
//! Exit codes (the only three): 0 done; 1 done with losses or differences, or not done at all; 2
//! wrong use.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::process::ExitCode;

use format::terminal as style;

mod ask;
mod cache_args;
mod cli;
mod commands;
mod context;
mod document_workers;
mod exit;
mod flag_values;
mod gateway;
mod help;
mod logs;
mod outcome;
mod paging;
mod part_file;
mod quarantine_text;
mod remote_inputs;
mod s3_server;
mod sql_program;
mod stage_table;
mod stderr;
mod stdout;
mod stop;
mod store_args;
mod store_node;
mod table;
mod threads;
mod units;
mod web_args;
mod web_server;

// Loading allocates and frees millions of small rows on several threads. This allocator suits that
// and retains less memory than others (ARCHITECTURE.md). Its settings are in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(code) = document_workers::run_as_one() {
        return code;
    }
    let cli: cli::Cli = match exit::parsed(help::command_line()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    logs::start(cli.global.verbose);
    let mut context = context::Context::new(cli.global, help::command_line);
    let result = commands::run(cli.command, &mut context);
    // Close before the report: connections to store nodes must close cleanly even if the command
    // failed.
    context.remote_inputs.close();
    exit::report(result, &mut context)
}
