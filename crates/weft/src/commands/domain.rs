//! `weft domain`: shows one registered domain.

use std::io::Write;

use archive::question::{Domain, DomainBody};

use crate::ask;
use crate::commands::top;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::{clean, shell_word};
use crate::table::{Column, Table};
use crate::units::count;

const EXAMPLES: &str = "\
Examples:
  weft domain iana.org
  weft domain archive.org --json";

/// Flags of `weft domain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registered domain, such as example.co.uk
    name: String,
}

/// Runs `weft domain`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let Some(answer) = ask::ask_or_print(context, Domain { name: args.name })? else {
        return Ok(Outcome::Done);
    };
    print(&answer.body, context)?;
    Ok(Outcome::Done)
}

fn print(domain: &DomainBody, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let name = out.style.bold(&clean(&domain.domain));
    writeln!(out, "{name}")?;
    writeln!(
        out,
        "URIs {}   pages {}   in-links from other domains {}",
        count(domain.uris),
        count(domain.pages),
        count(domain.inlinks_external)
    )?;
    if !domain.top.is_empty() {
        writeln!(out)?;
        top::table(&domain.top).print(out)?;
    }
    if !domain.linking_domains.is_empty() {
        writeln!(out)?;
        let mut table = Table::new(&[("links", Column::Right), ("from domain", Column::Flexible)]);
        for row in &domain.linking_domains {
            table.row([count(row.links), row.domain.clone()]);
        }
        table.print(out)?;
        if !domain.linking_domains_complete {
            let note = "(at most 50 domains, counted from the in-links of the URLs above; all links: weft \
                        graph -o graph.csv)";
            let note = out.style.dim(note);
            writeln!(out, "{note}")?;
        }
    }
    if (domain.top.len() as u64) < domain.uris {
        let all = format!(
            "{} of {} URIs; all: weft top {} --all{}",
            count(domain.top.len() as u64),
            count(domain.uris),
            shell_word(&domain.domain),
            context.archive_flag()
        );
        let all = context.out.style.dim(&all);
        writeln!(context.out, "{all}")?;
    }
    Ok(())
}
