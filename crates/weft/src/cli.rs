//! The command line (a stable interface): one subcommand for each task.

use clap::Parser;

use crate::commands::Command;
use crate::context::GlobalArgs;

const EXAMPLES: &str = "\
Examples:
  weft load crawls/*.warc.gz           read files into ./weft-archive
  weft status                          what the archive contains
  weft search 'root zone' site:iana.org
  weft inlinks http://www.iana.org/    which pages link there
  weft serve                           all of this in a browser

Exit codes: 0 success; 1 losses or differences, not found, or failure; 2 usage error.
Results go to standard output, messages to standard error.";

/// Turns web-archive files (WARC, ARC, WAT, WET) into a live, searchable web.
#[derive(Debug, Parser)]
#[command(name = "weft", version, about, after_help = EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        let mut commands: Vec<clap::Command> = Cli::command().get_subcommands().cloned().collect();
        while let Some(command) = commands.pop() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                help.contains("Example"),
                "{} --help has no example",
                command.get_name()
            );
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
