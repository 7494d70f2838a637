//! `weft top`: ranks URLs (by in-links from other domains, then all in-links, then key).

use std::io::Write;

use archive::Archive;
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
  weft top iana.org --limit 100
  weft top --captured --all
  weft top --format csv > ranking.csv      all URLs; the column captured says which were captured

URLs are ranked by in-links from other domains, then by all in-links. A URL that is only linked to
has the title (not captured); --captured leaves these out.";

/// Flags of `weft top`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only URLs of this registered domain
    domain: Option<String>,
    /// Only URLs with a capture; their ranks do not change
    #[arg(long, conflicts_with = "format")]
    captured: bool,
    #[command(flatten)]
    paging: ListPaging,
}

/// Runs `weft top`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let ranked = |after, limit| question(&args, after, limit);
    if args.paging.write_table(&archive, ranked, &mut context.out)? {
        return Ok(Outcome::Done);
    }
    let answer = if args.captured {
        captured(&archive, &args)?
    } else {
        args.paging.ask(&archive, ranked)?
    };
    let Some(answer) = ask::print_if_json(answer, context)? else {
        return Ok(Outcome::Done);
    };
    print(&answer, &args, context)?;
    Ok(Outcome::Done)
}

fn question(args: &Args, after: Option<String>, limit: usize) -> Top {
    Top {
        domain: args.domain.clone(),
        after,
        limit,
    }
}

/// Returns the captured URLs of the page that the flags select, or of the whole list.
fn captured(archive: &Archive, args: &Args) -> anyhow::Result<Answer<TopBody>> {
    let wanted = if args.paging.all {
        usize::MAX
    } else {
        args.paging.rows_at_once()
    };
    let mut after = args.paging.page.after.clone();
    let mut rows: Vec<TopRow> = Vec::new();
    loop {
        let mut answer = archive.ask(question(args, after.clone(), RANKED_AT_ONCE))?;
        let end = captured_end(&answer.body.rows, wanted - rows.len());
        if end < answer.body.rows.len() {
            // A cursor follows the last row of an answer, so the answer must end with the last row
            // wanted.
            answer = archive.ask(question(args, after, end))?;
        }
        let TopBody { rows: ranked, next } = answer.body;
        rows.extend(ranked.into_iter().filter(|row| row.captured));
        if rows.len() >= wanted || next.is_none() {
            let epoch = answer.epoch;
            return Ok(Answer {
                epoch,
                body: TopBody { rows, next },
            });
        }
        after = next;
    }
}

/// URLs per request when only captured ones are listed.
const RANKED_AT_ONCE: usize = 1000;

/// Returns the number of rows up to the one that is captured for the `count`th time, or of all rows
/// if fewer are captured.
fn captured_end(rows: &[TopRow], count: usize) -> usize {
    let mut captured = rows.iter().enumerate().filter(|(_, row)| row.captured);
    captured.nth(count - 1).map_or(rows.len(), |(at, _)| at + 1)
}

impl ListPage for TopBody {
    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }

    fn append(&mut self, page: TopBody) {
        self.rows.extend(page.rows);
        self.next = page.next;
    }
}

fn print(answer: &Answer<TopBody>, args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let TopBody { rows, next } = &answer.body;
    let domain = args.domain.as_deref();
    if rows.is_empty() {
        writeln!(
            context.out,
            "no {} pages{}",
            if args.captured { "captured" } else { "ranked" },
            domain.map(|name| format!(" of {name}")).unwrap_or_default()
        )?;
    }
    table(rows).print(&mut context.out)?;
    let domain = domain
        .map(|name| format!(" {}", shell_word(name)))
        .unwrap_or_default();
    let captured = if args.captured { " --captured" } else { "" };
    let again = format!("weft top{domain}{captured}{}", context.archive_flag());
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
