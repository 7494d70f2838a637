//! `weft inlinks` and `weft outlinks`: list the links to or from a URL.

use std::io::Write;

use archive::question::{Answer, Ask, Inlinks, LinkRow, LinksBody, Outlinks};
use export::LinksCsv;

use crate::ask;
use crate::context::Context;
use crate::flag_values::date;
use crate::outcome::Outcome;
use crate::paging::{self, ListPage, ListPaging, url_or_key};
use crate::style::shell_word;
use crate::table::{Column, Table};
use crate::units::{count, counted, time};

const INLINKS_EXAMPLES: &str = "\
Examples:
  weft inlinks http://www.archive.org/
  weft inlinks archive.org --all --json
  weft inlinks archive.org --csv > in.csv  all links, for a spreadsheet
  weft inlinks archive.org --at 2008-05    links as they were at the end of May 2008
  weft inlinks archive.org --ever          links of all versions, with first and last times

By default the links of the newest version of each page are counted. With --at and --ever, first
and last are the times of the first and last capture of the page with this link (`now`: the newest
version has it); between captures it is unknown. A list has 20 links unless --limit or --all is
given, also with --json, where `next` is the cursor of the next page.";

/// Flags of `weft inlinks`.
#[derive(Debug, clap::Args)]
#[command(after_help = INLINKS_EXAMPLES)]
pub(crate) struct InlinksArgs {
    /// Target URL, or its key
    url: String,
    /// Links from the page versions that were current at the end of this time
    #[arg(long, value_name = "TIME", value_parser = date(), conflicts_with = "ever")]
    at: Option<String>,
    /// Links from all versions of the pages
    #[arg(long)]
    ever: bool,
    /// Print all links as CSV with a header line
    #[arg(long, conflicts_with_all = ["limit", "after", "all", "json"])]
    csv: bool,
    #[command(flatten)]
    paging: ListPaging,
}

const OUTLINKS_EXAMPLES: &str = "\
Examples:
  weft outlinks http://www.iana.org/
  weft outlinks http://www.iana.org/ --all --json
  weft outlinks http://www.iana.org/ --csv > out.csv    all links

The links of the newest version of the page are listed.";

/// Flags of `weft outlinks`.
#[derive(Debug, clap::Args)]
#[command(after_help = OUTLINKS_EXAMPLES)]
pub(crate) struct OutlinksArgs {
    /// URL of the page, or its key
    url: String,
    /// Print all links as CSV with a header line
    #[arg(long, conflicts_with_all = ["limit", "after", "all", "json"])]
    csv: bool,
    #[command(flatten)]
    paging: ListPaging,
}

/// The end of a link that the list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Target,
}

/// Runs `weft inlinks`.
pub(crate) fn run_inlinks(args: InlinksArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.csv {
        return csv(context, |after| Inlinks {
            url: args.url.clone(),
            after,
            limit: CSV_ROWS_AT_ONCE,
            at: args.at.clone(),
            ever: args.ever,
        });
    }
    let answer = args.paging.ask(&ask::open(context)?, |after, limit| Inlinks {
        url: args.url.clone(),
        after,
        limit,
        at: args.at.clone(),
        ever: args.ever,
    })?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        match (args.at, args.ever) {
            (None, false) => print(&answer, End::Source, &args.url, context)?,
            (at, _) => print_links_at(&answer, at.as_deref(), &args.url, context)?,
        }
    }
    Ok(Outcome::Done)
}

/// Runs `weft outlinks`.
pub(crate) fn run_outlinks(args: OutlinksArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.csv {
        return csv(context, |after| Outlinks {
            url: args.url.clone(),
            after,
            limit: CSV_ROWS_AT_ONCE,
        });
    }
    let answer = args.paging.ask(&ask::open(context)?, |after, limit| Outlinks {
        url: args.url.clone(),
        after,
        limit,
    })?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        print(&answer, End::Target, &args.url, context)?;
    }
    Ok(Outcome::Done)
}

impl ListPage for LinksBody {
    fn take_next(&mut self) -> Option<String> {
        self.next.take()
    }

    fn append(&mut self, page: LinksBody) {
        self.rows.extend(page.rows);
        self.next = page.next;
    }
}

/// Links per request when all are written.
const CSV_ROWS_AT_ONCE: usize = 10_000;

/// Prints all links, one page of results at a time.
fn csv<Q: Ask<Answer = LinksBody>>(
    context: &mut Context,
    question: impl Fn(Option<String>) -> Q,
) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let mut table = LinksCsv::new(&mut context.out)?;
    let mut after = None;
    loop {
        let part = archive.ask(question(after))?.body;
        for row in &part.rows {
            table.row(row)?;
        }
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    table.finish()?;
    Ok(Outcome::Done)
}

/// Prints links of versions other than the newest: those at the time `at`, or all versions if
/// `None`.
fn print_links_at(
    answer: &Answer<LinksBody>,
    at: Option<&str>,
    url: &str,
    context: &mut Context,
) -> anyhow::Result<()> {
    let LinksBody {
        url_key, rows, next, ..
    } = &answer.body;
    let which = at.map_or_else(|| "all versions".to_owned(), |at| format!("versions at {at}"));
    let (key, epoch) = (crate::style::clean(url_key), count(answer.epoch));
    let pages = counted(rows.len() as u64, "page links", "pages link");
    let more = if next.is_some() { ", and more" } else { "" };
    writeln!(context.out, "{pages} to {key}{more} (epoch {epoch}, {which})")?;
    let mut table = Table::new(&[
        ("from", Column::Flexible),
        ("first", Column::Left),
        (if at.is_some() { "version" } else { "last" }, Column::Left),
        ("now", Column::Left),
        ("kind", Column::Left),
        ("anchor", Column::Left),
        ("title", Column::Left),
    ]);
    for row in rows {
        let version = row.version.clone().unwrap_or_default();
        table.row([
            url_or_key(&row.source_url, &row.source_key).to_owned(),
            time(&version.first_seen),
            time(&version.fetch_time),
            if version.is_current { "now" } else { "" }.to_owned(),
            kind(row).into(),
            crate::style::cut(&row.anchor, ANCHOR_COLUMNS_MAX),
            crate::style::cut(&row.source_title, ANCHOR_COLUMNS_MAX),
        ]);
    }
    table.print(&mut context.out)?;
    let asked = at.map_or_else(|| "--ever".to_owned(), |at| format!("--at {at}"));
    let again = format!(
        "weft inlinks {} {asked}{}",
        shell_word(url),
        context.archive_flag()
    );
    let all = format!("{again} --all");
    paging::more(&mut context.out, &all, &again, next.as_deref())?;
    Ok(())
}

fn print(answer: &Answer<LinksBody>, end: End, url: &str, context: &mut Context) -> anyhow::Result<()> {
    let LinksBody {
        url_key,
        rows,
        total,
        next,
    } = &answer.body;
    let (head, command) = match end {
        End::Source => (
            format!(
                "{} to {url_key}",
                counted(total.unwrap_or(0), "page links", "pages link")
            ),
            "inlinks",
        ),
        End::Target => (
            format!("{} from {url_key}", counted(total.unwrap_or(0), "link", "links")),
            "outlinks",
        ),
    };
    let epoch = count(answer.epoch);
    let head = format!("{} (epoch {epoch}, newest versions)", crate::style::clean(&head));
    writeln!(context.out, "{head}")?;
    table(rows, end).print(&mut context.out)?;
    let again = format!("weft {command} {}{}", shell_word(url), context.archive_flag());
    let all = format!("{again} --all");
    paging::more(&mut context.out, &all, &again, next.as_deref())?;
    Ok(())
}

fn table(rows: &[LinkRow], end: End) -> Table {
    let (address, text) = match end {
        End::Source => ("from", "title"),
        End::Target => ("to", ""),
    };
    let mut heads = vec![
        (address, Column::Flexible),
        ("kind", Column::Left),
        ("anchor", Column::Left),
    ];
    if end == End::Source {
        heads.push((text, Column::Left));
    }
    let mut table = Table::new(&heads);
    for row in rows {
        let anchor = crate::style::cut(&row.anchor, ANCHOR_COLUMNS_MAX);
        match end {
            End::Source => {
                let from = url_or_key(&row.source_url, &row.source_key).to_owned();
                let title = crate::style::cut(&row.source_title, ANCHOR_COLUMNS_MAX);
                table.row([from, kind(row).into(), anchor, title]);
            }
            End::Target => {
                let to = url_or_key(&row.target_url, &row.target_key).to_owned();
                table.row([to, kind(row).into(), anchor]);
            }
        }
    }
    table
}

/// Width of anchors and titles in tables; longer ones are truncated. `--json` has them in full.
const ANCHOR_COLUMNS_MAX: usize = 40;

fn kind(row: &LinkRow) -> &'static str {
    match (row.external, row.nofollow) {
        (true, false) => "external",
        (true, true) => "external nofollow",
        (false, false) => "same domain",
        (false, true) => "same domain nofollow",
    }
}
