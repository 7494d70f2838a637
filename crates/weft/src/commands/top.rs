//! `weft top`: ranks URLs (by in-links from other domains, then all in-links, then key).

use std::io::Write;

use archive::question::{Answer, Top, TopBody, TopRow};

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::paging::{self, ListPage, ListPaging, url_or_key};
use crate::style::shell_word;
use crate::table::{Column, Table};
use crate::units::count;

const EXAMPLES: &str = "\
Examples:
  weft top
  weft top iana.org --limit 100";

/// Flags of `weft top`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only URLs of this registered domain
    domain: Option<String>,
    #[command(flatten)]
    paging: ListPaging,
}

/// Runs `weft top`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let answer = args.paging.ask(&ask::open(context)?, |after, limit| Top {
        domain: args.domain.clone(),
        after,
        limit,
    })?;
    let Some(answer) = ask::print_if_json(answer, context)? else {
        return Ok(Outcome::Done);
    };
    print(&answer, args.domain.as_deref(), context)?;
    Ok(Outcome::Done)
}

impl ListPage for TopBody {
    fn take_next(&mut self) -> Option<String> {
        self.next.take()
    }

    fn append(&mut self, page: TopBody) {
        self.rows.extend(page.rows);
        self.next = page.next;
    }
}

fn print(answer: &Answer<TopBody>, domain: Option<&str>, context: &mut Context) -> anyhow::Result<()> {
    let TopBody { rows, next } = &answer.body;
    if rows.is_empty() {
        writeln!(
            context.out,
            "no ranked pages{}",
            domain.map(|name| format!(" of {name}")).unwrap_or_default()
        )?;
    }
    table(rows).print(&mut context.out)?;
    let domain = domain
        .map(|name| format!(" {}", shell_word(name)))
        .unwrap_or_default();
    let again = format!("weft top{domain}{}", context.archive_flag());
    let all = format!("{again} --all");
    paging::more(&mut context.out, &all, &again, next.as_deref())?;
    Ok(())
}

/// Formats ranked URLs as a table; `weft domain` uses it too.
pub(crate) fn table(rows: &[TopRow]) -> Table {
    let mut table = Table::new(&[
        ("rank", Column::Right),
        ("external", Column::Right),
        ("in-links", Column::Right),
        ("url", Column::Flexible),
        ("title", Column::Left),
    ]);
    for row in rows {
        table.row([
            count(row.rank),
            count(row.inlinks_external),
            count(row.inlinks),
            url_or_key(&row.url, &row.url_key).to_owned(),
            title(row),
        ]);
    }
    table
}

fn title(row: &TopRow) -> String {
    match (row.captured, row.title.is_empty()) {
        (false, _) => "(not captured)".to_owned(),
        (true, true) => "-".to_owned(),
        (true, false) => crate::style::cut(&row.title, 40),
    }
}
