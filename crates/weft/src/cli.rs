//! The command line (a stable interface): one subcommand for each task.

use clap::Parser;

use crate::commands::Command;
use crate::context::GlobalArgs;
use crate::help::COMMON_USE;

/// Turns web-archive files (WARC, ARC, WAT, WET) into a live, searchable web.
#[derive(Debug, Parser)]
#[command(name = "weft", version, about, after_help = COMMON_USE, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[cfg(test)]
mod tests {
    use crate::help::command_line;

    #[test]
    fn the_command_line_is_well_formed() {
        command_line().debug_assert();
    }
}
