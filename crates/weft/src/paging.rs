//! Parts shared by all lists: the paging flags and the command that shows the next page.

use std::io::{self, Write};

use crate::stdout::Out;
use crate::style::shell_word;

/// Flags of every list that can be long.
#[derive(Debug, clap::Args)]
pub(crate) struct Paging {
    /// Print at most this many rows
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Continue after this cursor, which the previous page printed
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

/// Prints the command for the next page, if there is one.
pub(crate) fn more(out: &mut Out, command: &str, next: Option<&str>) -> io::Result<()> {
    let Some(next) = next else { return Ok(()) };
    let line = out
        .style
        .dim(&format!("more: {command} --after {}", shell_word(next)));
    writeln!(out, "{line}")
}

/// Returns the URL, or its key if the URL is unknown.
pub(crate) fn url_or_key<'a>(url: &'a str, key: &'a str) -> &'a str {
    if url.is_empty() { key } else { url }
}
