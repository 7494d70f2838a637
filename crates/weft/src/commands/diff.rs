//! `weft diff`: compares two versions of a page.

use std::io::Write;

use archive::question::{Diff, DiffBody, DiffChange, DiffVersion};

use crate::ask;
use crate::context::Context;
use crate::flag_values::date;
use crate::outcome::Outcome;
use crate::stdout::Out;
use crate::style::{clean, clean_lines};
use crate::units::{counted, time};

const EXAMPLES: &str = "\
Examples:
  weft diff http://www.iana.org/                       compare the current version with the previous one
  weft diff iana.org --from 2010 --to 2012-06          compare the versions at the end of 2010 and of June 2012
  weft search '\"root zone\" site:iana.org from:2008'    find when a phrase appeared, and how long it stayed

Removed words are in [-...-], new ones in {+...+}; coloured on a terminal.";

/// Flags of `weft diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URL or URL key
    url: String,
    /// Old version, by time [default: the one before the new version]
    #[arg(long, value_name = "TIME", value_parser = date())]
    from: Option<String>,
    /// New version, by time [default: the newest]
    #[arg(long, value_name = "TIME", value_parser = date())]
    to: Option<String>,
}

/// Runs `weft diff`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let question = Diff {
        url: args.url,
        from: args.from,
        to: args.to,
    };
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    print(&answer.body, &mut context.out)?;
    Ok(Outcome::Done)
}

fn print(diff: &DiffBody, out: &mut Out) -> std::io::Result<()> {
    version("-", &diff.from, out)?;
    version("+", &diff.to, out)?;
    let words = format!(
        "{} removed, {} new",
        counted(diff.words_gone, "word", "words"),
        diff.words_new
    );
    writeln!(out, "{}\n", out.style.dim(&words))?;
    let style = out.style;
    for part in &diff.parts {
        let text = clean_lines(&part.text);
        match part.change {
            DiffChange::Same => write!(out, "{text}")?,
            DiffChange::Gone => write!(out, "{}", style.warn(&format!("[-{text}-]")))?,
            DiffChange::New => write!(out, "{}", style.bold(&format!("{{+{text}+}}")))?,
        }
    }
    writeln!(out)
}

fn version(sign: &str, version: &DiffVersion, out: &mut Out) -> std::io::Result<()> {
    let until = version.until.as_deref().map_or_else(|| "now".to_owned(), time);
    let line = format!(
        "{sign} {} to {until}  {}",
        time(&version.since),
        clean(&version.title)
    );
    writeln!(out, "{}", out.style.bold(line.trim_end()))
}
