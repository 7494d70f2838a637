//! The command line.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use sql::{Database, QuerySettings, RemoteSettings, Settings};

use crate::output_format::Format;
use crate::serve::ServeArgs;
use crate::wrong_use::WrongUse;

const EXAMPLES: &str = "\
Examples:
  weft sql                                       a prompt: history, completion, .help
  weft sql 'select * from pages order by inlinks desc limit 5'
  weft sql \"select count(*) from captures where url_host_tld = 'org'\"
  weft sql \"select url, title from search('root zone')\"
  weft sql --format csv -o tlds.csv 'select url_host_tld, count(*) from captures group by 1'
  weft sql \"select directory, count(*) from file_names where path like '/data/%' group by 1\"
  weft sql --at-epoch 12 'select count(*) from pages'
  weft sql verify                                compare every live view with its definition over the facts
  weft sql maintain                              merge small files of the facts
  weft sql serve                                 HTTP, a page, Arrow Flight SQL

Tables: captures, links, texts (facts); pages, inlinks, uris, domains, top, ledger, quarantine
(live); files, file_names, file_usage (the catalogue of files, made by weft files scan).
Functions: url_key(url), host(url), domain(url); as tables search('query'), inlinks('url').
docs/sql.md has their columns, and sample queries.

Exit codes: 0 success; 1 differences or failure; 2 usage error, including invalid statements.";

/// Runs SQL over an archive: its facts and its live views as tables of one epoch. Statements
/// change nothing.
#[derive(Debug, Parser)]
#[command(name = "weft-sql", version, about, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_precedence_over_arg = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,

    #[command(flatten)]
    pub(crate) query: QueryArgs,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Global flags. `weft sql` puts those that it was given before the user's, which override them.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Directory of the archive [default: ./weft-archive]
    #[arg(
        long,
        global = true,
        env = "WEFT_ARCHIVE",
        value_name = "DIR",
        hide_env_values = true,
        overrides_with = "archive"
    )]
    archive: Option<PathBuf>,

    /// Read the facts at this address (DIR, s3://BUCKET/NAME) instead of the archive's own: a
    /// store's S3 server, or a copy
    #[arg(
        long,
        global = true,
        env = "WEFT_SQL_FACTS",
        value_name = "ADDRESS",
        hide_env_values = true
    )]
    facts: Option<String>,

    /// Memory for rows; larger results spill to temporary files [default: 1 GiB]
    #[arg(long, global = true, env = "WEFT_SQL_MEMORY", value_name = "BYTES", value_parser = format::number::parse_bytes, hide_env_values = true)]
    memory: Option<u64>,

    /// Threads per statement [default: number of cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// Print JSON
    #[arg(long, global = true, overrides_with = "json")]
    pub(crate) json: bool,

    /// Write nothing in the archive's directory, not even recovery when opening it
    #[arg(long, global = true, overrides_with = "read_only")]
    pub(crate) read_only: bool,

    /// Log more to standard error (-vv: debug); RUST_LOG takes precedence
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// A statement and the destination of its rows.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Statement to run; without it and --file, starts a prompt (or reads standard input, if that
    /// is not a terminal)
    #[arg(value_name = "STATEMENT")]
    pub(crate) statement: Option<String>,

    /// Read the statement from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "statement")]
    pub(crate) file: Option<PathBuf>,

    /// Output format of the rows
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,

    /// Write the rows to a file; an existing one is not overwritten, - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Show the archive as of this epoch, as far back as the history of its facts goes
    #[arg(long, value_name = "N")]
    pub(crate) at_epoch: Option<u64>,

    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time_limit: Option<u64>,
}

impl QueryArgs {
    pub(crate) fn settings(&self) -> QuerySettings {
        let mut settings = QuerySettings::default();
        settings.at_epoch = self.at_epoch;
        settings.time_max = self.time_limit.map(Duration::from_secs);
        settings
    }

    /// Returns whether statements are typed at a prompt.
    pub(crate) fn is_interactive(&self) -> bool {
        self.statement.is_none() && self.file.is_none() && std::io::stdin().is_terminal()
    }

    /// Returns the output format; `json` overrides it.
    pub(crate) fn format(&self, json: bool) -> Format {
        if json { Format::Json } else { self.format }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare every live view with its definition over the facts
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify,
    /// Serve statements over HTTP and Arrow Flight SQL, with a page for browsers
    Serve(Box<ServeArgs>),
    /// Compact small files of the facts, and remove old ones
    Maintain(MaintainArgs),
    /// Print tables of facts that Spark wrote as lines, for `weft load --from-facts`
    Export(ExportArgs),
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  weft sql verify
  weft sql verify --archive /srv/web --memory 4G

Each view is compared, row by row, with the result of its definition (views/*.sql) over the facts
at the same epoch; index and search index are also checked. `weft verify` reads the inputs again
instead.
Exit code 1 if anything differs.";

/// Compacts small files of the facts, writes checkpoints, and removes old files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weft sql maintain                    keep old files for 7 days, for readers of earlier versions
  weft sql maintain --keep-hours 0     also remove data left by takedowns

Loads can run at the same time.")]
pub(crate) struct MaintainArgs {
    /// Keep files that versions within this time need; also limits how far back --at-epoch reaches
    #[arg(long, value_name = "HOURS", default_value_t = 168)]
    pub(crate) keep_hours: u64,
}

/// Prints tables of facts that Spark wrote as lines, for `weft load --from-facts`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weft load --from-facts /mnt/facts            runs this program
  weft load --from-facts s3://bucket/facts     the same from a store (AWS_ACCESS_KEY_ID etc.)
  weft-sql export /mnt/facts | head -3         a line about the tables, then inputs with their captures, as JSON

The folder must be written by `python -m weft_archive.spark load` (docs/scale.md). It is read once,
sorted by input and offset, within the memory limit (--memory) and with temporary files.")]
pub(crate) struct ExportArgs {
    /// Folder of the tables, or s3://BUCKET/NAME
    #[arg(value_name = "ADDRESS")]
    pub(crate) tables: String,
}

impl Global {
    /// Opens the archive as a database.
    pub(crate) fn database(&self) -> anyhow::Result<Database> {
        let dir = self.dir();
        if dir.is_file() {
            return Err(WrongUse(format!("{} is a file; an archive is a directory", dir.display())).into());
        }
        Ok(Database::new(&dir, &self.settings())?)
    }

    fn dir(&self) -> PathBuf {
        self.archive
            .clone()
            .unwrap_or_else(|| PathBuf::from("./weft-archive"))
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.cache = Some(self.dir().join(cache::SETTINGS_FILE));
        settings.memory_size_bytes = self.memory;
        settings.threads = self.threads;
        settings.read_only = self.read_only;
        settings.facts.clone_from(&self.facts);
        settings.remote = RemoteSettings::from_variables(|name| std::env::var(name).ok());
        settings
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            assert!(
                help.unwrap_or_default().contains("Example"),
                "{}",
                command.get_name()
            );
        }
    }
}
