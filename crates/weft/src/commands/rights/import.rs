//! `weft rights import`: imports the access rules of pywb.

use std::io::Write;
use std::path::PathBuf;

use ::access::import;
use anyhow::Context as _;

use super::{change, file, rule_text};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::units::counted;

const EXAMPLES: &str = "\
Examples:
  weft rights import access.aclj --dry-run     what would be added
  weft rights import access.aclj

In pywb the longest matching rule applies; here deny wins. The added rules have the same effect:
what longer rules allow is excluded from shorter ones. Users become groups. 'block' and 'exclude'
both hide. Set the default first (weft rights default) to the value of pywb's default_access.";

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
        writeln!(context.out, "  {}", clean(&rule_text::rule_text(rule)))?;
    }
    if imported.excluded > 0 {
        let lines = counted(imported.excluded as u64, "line has", "lines have");
        writeln!(
            context.out,
            "{lines} exclude: this is treated like block, and the captures are hidden from all answers"
        )?;
    }
    Ok(Outcome::Done)
}
