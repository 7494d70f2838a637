//! What every command is given: where the archive is and how to speak.

use std::path::PathBuf;

use crate::cli::Cli;
use crate::out::Out;
use crate::sources::Places;
use crate::style::Style;

/// What every command is given.
pub(crate) struct Context {
    /// The archive's directory, as the user wrote it.
    pub(crate) archive: PathBuf,
    /// Whether `archive` was given (flag or environment) rather than the default.
    pub(crate) archive_given: bool,
    /// Open the archive without a change to it.
    pub(crate) read_only: bool,
    /// Print answers as JSON.
    pub(crate) json: bool,
    /// How often `-v` was given.
    pub(crate) verbose: u8,
    /// Where inputs are read from.
    pub(crate) places: Places,
    /// Standard output.
    pub(crate) out: Out,
    /// Colours of standard error.
    pub(crate) err_style: Style,
}

impl Context {
    /// The context of a command line.
    pub(crate) fn new(cli: &Cli) -> Context {
        Context {
            archive: cli
                .archive
                .clone()
                .unwrap_or_else(|| PathBuf::from("./weft-archive")),
            archive_given: cli.archive.is_some(),
            read_only: cli.read_only,
            json: cli.json,
            verbose: cli.verbose,
            places: Places::new(),
            out: Out::stdout(),
            err_style: Style::of_stderr(),
        }
    }

    /// How a follow-up command names this archive: nothing where it is the default.
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
