//! `weft-sql`: SQL over an archive, on the command line, at a prompt and as a server. Also verifies
//! views against the facts and maintains the facts. `weft sql` runs it.
//!
//! This crate is only the program; [`sql`] executes statements. Exit codes: 0 done; 1 done with
//! differences, or not done; 2 wrong use, including an invalid statement.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use format::terminal::Style;

use self::wrong_use::WrongUse;

mod answer;
mod cli;
mod export;
mod maintain;
mod output;
mod output_format;
mod prompt;
mod serve;
mod table;
mod verify;
mod wrong_use;

// The allocator of `weft`, which suits the index.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // If the stream is closed, the message is lost.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    start_logs(cli.global.verbose);
    match run(cli) {
        Ok(code) => code,
        Err(error) => print_error(&error),
    }
}

fn run(cli: cli::Cli) -> anyhow::Result<ExitCode> {
    if let (Some(_), Some(statement)) = (&cli.command, &cli.query.statement) {
        let text = format!("a command cannot be combined with a statement, got {statement:?}");
        return Err(WrongUse(text).into());
    }
    let (json, read_only) = (cli.global.json, cli.global.read_only);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let database = || cli.global.database();
    let code = match cli.command {
        None if cli.query.is_interactive() => runtime.block_on(prompt::run(&database()?, &cli.query, json)),
        None => runtime.block_on(answer::run(&database()?, &cli.query, json)),
        Some(cli::Command::Verify) => runtime.block_on(verify::run(&database()?, json)),
        Some(cli::Command::Serve(args)) => runtime.block_on(serve::run(database()?, &args, json, read_only)),
        // This command has no archive.
        Some(cli::Command::Export(args)) => runtime.block_on(export::run(&args, &cli.global.settings())),
        Some(cli::Command::Maintain(args)) => runtime.block_on(maintain::run(&database()?, &args, json)),
    };
    // An abandoned dump may still run in a thread; it need not be waited for.
    runtime.shutdown_background();
    code
}

/// Prints an error and returns its exit code.
fn print_error(error: &anyhow::Error) -> ExitCode {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    // A reader that has closed its end (`weft sql ... | head`) is not an error.
    if error.chain().any(is_closed) {
        return ExitCode::SUCCESS;
    }
    let text = format::terminal::clean_lines(&format!("{error:#}"));
    let _ = writeln!(std::io::stderr(), "{} {text}", Style::of_stderr().bad("error:"));
    let is_wrong_use = error.downcast_ref::<WrongUse>().is_some()
        || error
            .downcast_ref::<sql::SqlError>()
            .is_some_and(sql::SqlError::is_of_statement);
    ExitCode::from(if is_wrong_use { 2 } else { 1 })
}

fn start_logs(verbose: u8) {
    let level = match verbose {
        0 => "error",
        1 => "info",
        _ => "debug",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(verbose > 1)
        .init();
}
