//! `weft domain`: shows one registered domain, or lists all.

use std::io::Write;

use archive::question::{Answer, Domain, DomainBody, DomainOrder, Domains, DomainsBody};

use crate::ask;
use crate::commands::top;
use crate::context::Context;
use crate::flag_values::choice;
use crate::outcome::Outcome;
use crate::paging::{self, ListPage, ListPaging};
use crate::style::{clean, shell_word};
use crate::table::{Column, Table};
use crate::units::count;

const EXAMPLES: &str = "\
Examples:
  weft domain iana.org
  weft domain archive.org --json
  weft domain                              all domains, by name
  weft domain --order pages --limit 10     the ten with the most pages
  weft domain --format csv > domains.csv";

/// Flags of `weft domain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Registered domain, such as example.co.uk [default: list all domains]
    #[arg(conflicts_with_all = ["order", "limit", "after", "all", "format"])]
    name: Option<String>,
    /// Order of the list
    #[arg(long, default_value = "name", value_parser = choice(ORDERS))]
    order: DomainOrder,
    #[command(flatten)]
    paging: ListPaging,
}

const ORDERS: [(&str, DomainOrder); 3] = [
    ("name", DomainOrder::Name),
    ("pages", DomainOrder::Pages),
    ("inlinks", DomainOrder::Inlinks),
];

/// Runs `weft domain`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let Some(name) = args.name else {
        return list(&args.paging, args.order, context);
    };
    let Some(answer) = ask::ask_or_print(context, Domain { name })? else {
        return Ok(Outcome::Done);
    };
    print(&answer.body, context)?;
    Ok(Outcome::Done)
}

/// Lists domains.
fn list(paging: &ListPaging, order: DomainOrder, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let question = |after, limit| Domains { order, after, limit };
    if paging.write_table(&archive, question, &mut context.out)? {
        return Ok(Outcome::Done);
    }
    let answer = paging.ask(&archive, question)?;
    let Some(Answer { body, .. }) = ask::print_if_json(answer, context)? else {
        return Ok(Outcome::Done);
    };
    let mut table = Table::new(&[
        ("domain", Column::Flexible),
        ("URIs", Column::Right),
        ("pages", Column::Right),
        ("external", Column::Right),
    ]);
    for row in &body.rows {
        table.row([
            row.domain.clone(),
            count(row.uris),
            count(row.pages),
            count(row.inlinks_external),
        ]);
    }
    table.print(&mut context.out)?;
    let order = match order {
        DomainOrder::Name => "",
        DomainOrder::Pages => " --order pages",
        DomainOrder::Inlinks => " --order inlinks",
    };
    let again = format!("weft domain{order}{}", context.archive_flag());
    let all = format!("{again} --all");
    paging::more(&mut context.out, &all, &again, body.next.as_deref())?;
    Ok(Outcome::Done)
}

impl ListPage for DomainsBody {
    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }

    fn append(&mut self, page: DomainsBody) {
        self.rows.extend(page.rows);
        self.next = page.next;
    }
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
        let note = if domain.linking_domains_complete {
            "(all domains that link here)"
        } else {
            "(at most 50 domains, counted from the in-links of the URLs above; all links: weft \
             graph -o graph.csv)"
        };
        let note = out.style.dim(note);
        writeln!(out, "{note}")?;
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
