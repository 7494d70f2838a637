//! `weft rights import`: imports the access rules of pywb.

use std::io::Write;
use std::path::PathBuf;

use ::rights::import;
use anyhow::Context as _;

use super::{change, file, said};
use crate::context::Context;
use crate::exit::Outcome;
use crate::style::clean;
use crate::units::counted;

const EXAMPLES: &str = "\
Examples:
  weft rights import access.aclj --dry-run     what would be added
  weft rights import access.aclj

In a pywb the longest rule counts, here deny wins: the rules that are added say the same, with what longer rules allow left out of
shorter ones. Users become groups. 'block' and 'exclude' both hide. Set the default first (weft rights default): it is what
pywb's default_access says.";

/// Flags of `weft rights import`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// File to import (.aclj)
    file: PathBuf,
    /// Show the rules without changing anything
    #[arg(long)]
    dry_run: bool,
}

/// Runs `weft rights import`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let name = args.file.display();
    let text = std::fs::read_to_string(&args.file).with_context(|| format!("read {name}"))?;
    let default = file(context)?
        .rules()?
        .map(|rules| rules.default)
        .unwrap_or_default();
    let imported = import(&text, default).with_context(|| format!("import {name}"))?;
    if !args.dry_run {
        change(context, |rules| {
            rules.rules.extend(imported.rules.iter().cloned());
            Ok(())
        })?;
    }
    if context.json {
        context.out.json(&imported.rules)?;
        return Ok(Outcome::Done);
    }
    let rules = counted(imported.rules.len() as u64, "rule", "rules");
    let what = if args.dry_run { "would be added" } else { "added" };
    writeln!(context.out, "{rules} {what}")?;
    for rule in &imported.rules {
        writeln!(context.out, "  {}", clean(&said::rule(rule)))?;
    }
    if imported.excluded > 0 {
        let lines = counted(imported.excluded as u64, "line says", "lines say");
        writeln!(
            context.out,
            "{lines} exclude: here that is the same as block, the captures are in no answer"
        )?;
    }
    Ok(Outcome::Done)
}
