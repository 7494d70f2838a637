//! The context of every command: where the archive is and how to print.

use std::path::PathBuf;

use access::Groups;
use clap::ArgAction;
use clap::builder::TypedValueParser;

use crate::flag_values::value;
use crate::remote_inputs::RemoteInputs;
use crate::stdout::Out;
use crate::style::Style;
use crate::units;

/// Heading of the flags of every command, which separates them from a command's own.
pub(crate) const GLOBAL_HEADING: &str = "Options of every command";

/// Flags that every command accepts.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub(crate) struct GlobalArgs {
    /// Directory of the archive [default: ./weft-archive]
    ///
    /// The default of weft demo is weft/demo/archive in the user's cache folder.
    #[arg(
        long,
        global = true,
        env = "WEFT_ARCHIVE",
        value_name = "DIR",
        hide_env_values = true
    )]
    archive: Option<PathBuf>,

    /// Write nothing in the archive's directory
    ///
    /// This holds even if the process could write there.
    #[arg(long, global = true)]
    read_only: bool,

    /// Memory of an archive opened here [default: 1 GiB]
    ///
    /// It applies if this process opens the archive, not if another process serves it.
    #[arg(
        long,
        global = true,
        env = "WEFT_MEMORY",
        value_name = "BYTES",
        value_parser = memory(),
        hide_env_values = true,
        hide_short_help = true
    )]
    memory: Option<u64>,

    /// Order search results also by meaning, by word vectors
    ///
    /// A file model.safetensors with tokenizer.json in its folder, as model2vec and wordllama have. It
    /// applies if this process opens the archive, not if another process serves it.
    #[arg(
        long,
        global = true,
        env = "WEFT_VECTORS",
        value_name = "FILE",
        hide_env_values = true,
        hide_short_help = true
    )]
    vectors: Option<PathBuf>,

    /// Query as a member of these groups: what may they see?
    ///
    /// Groups are separated by commas; '' is the public. Answers contain what access rules leave
    /// visible to them.
    #[arg(long = "as", id = "as", global = true, value_name = "GROUPS", value_parser = parse_groups)]
    groups: Option<Groups>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,

    /// Log more to standard error (-vv: debug)
    ///
    /// RUST_LOG takes precedence.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The context of every command.
pub(crate) struct Context {
    /// The archive's directory, as the user typed it.
    pub(crate) archive: PathBuf,
    /// Whether `archive` was given (flag or environment) rather than the default.
    pub(crate) archive_given: bool,
    /// Opens the archive without changing it.
    pub(crate) read_only: bool,
    /// Limit on the memory of an archive opened by this process.
    pub(crate) memory_size_bytes: Option<u64>,
    /// Table of word vectors for search in an archive opened by this process.
    pub(crate) vectors: Option<PathBuf>,
    /// The groups to query as; `None` for the owner, who sees everything.
    pub(crate) groups: Option<Groups>,
    /// Prints answers as JSON.
    pub(crate) json: bool,
    /// How often `-v` was given.
    pub(crate) verbose: u8,
    /// Builds the whole command line, for completions and the manual. Commands do not depend on
    /// each other.
    pub(crate) command_line: fn() -> clap::Command,
    /// The sources of inputs.
    pub(crate) remote_inputs: RemoteInputs,
    /// Standard output.
    pub(crate) out: Out,
    /// Colours of standard error.
    pub(crate) err_style: Style,
}

fn parse_groups(text: &str) -> Result<Groups, std::convert::Infallible> {
    Ok(Groups::listed(text))
}

fn memory() -> impl TypedValueParser<Value = u64> {
    let least = archive::MEMORY_SIZE_BYTES_MIN;
    let takes = format!("a size of at least {}", units::bytes(least));
    value(takes, "512M or 2G", move |text| {
        units::parse_bytes(text).ok().filter(|bytes| *bytes >= least)
    })
}

impl Context {
    /// Makes the context of a command line.
    pub(crate) fn new(args: GlobalArgs, command_line: fn() -> clap::Command) -> Context {
        let archive_given = args.archive.is_some();
        let archive = args.archive.unwrap_or_else(|| PathBuf::from("./weft-archive"));
        Context {
            remote_inputs: RemoteInputs::new(&archive, args.read_only),
            archive_given,
            archive,
            read_only: args.read_only,
            memory_size_bytes: args.memory,
            vectors: args.vectors,
            groups: args.groups,
            json: args.json,
            verbose: args.verbose,
            command_line,
            out: Out::stdout(),
            err_style: Style::of_stderr(),
        }
    }

    /// Returns the `--archive` flag for suggested follow-up commands; empty if they need none.
    pub(crate) fn archive_flag(&self) -> String {
        if !self.archive_given || std::env::var_os("WEFT_ARCHIVE").is_some_and(|dir| dir == *self.archive) {
            return String::new();
        }
        format!(
            " --archive {}",
            crate::style::shell_word(&self.archive.display().to_string())
        )
    }
}
