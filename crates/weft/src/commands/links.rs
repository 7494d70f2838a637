//! `weft inlinks` and `weft outlinks`: list the links to or from a URL.

use std::io::Write;

use archive::question::{Answer, Inlinks, LinkFilter, LinkGrouping, LinkRow, LinksBody, MatchType, Outlinks};
use cdx::url_pattern;

use super::link_counts;
use crate::ask;
use crate::context::Context;
use crate::flag_values::{date, one_of, refuse_reversed};
use crate::outcome::{Outcome, WrongUse};
use crate::paging::{self, ListPage, ListPaging, url_or_key};
use crate::style::shell_word;
use crate::table::{Column, Table};
use crate::units::{count, counted, time};

const INLINKS_EXAMPLES: &str = "\
Examples:
  weft inlinks http://www.archive.org/
  weft inlinks archive.org --all --json
  weft inlinks archive.org --format csv > in.csv   all links, for a spreadsheet
  weft inlinks '*.archive.org' --external --by domain   which other domains link to a domain
  weft inlinks 'archive.org/web/*' --by anchor     with which words, for all URLs of a folder
  weft inlinks '*.archive.org' --from-domain iana.org --from 2014
  weft inlinks archive.org --at 2008-05    links as they were at the end of May 2008
  weft inlinks archive.org --ever          links of all versions, with first and last times

By default the links of the newest version of each page are counted. With --at
and --ever, first and last are the times of the first and last capture of the
page with this link (`now`: the newest version has it); between captures it is
unknown. A list has 20 rows unless --limit, --all or --format is given, also
with --json, where `next` is the cursor of the next page. --by counts all links,
or those that the conditions select, and lists the groups in the same way;
`total` is their number.";

/// Flags of `weft inlinks`.
#[derive(Debug, clap::Args)]
#[command(after_help = INLINKS_EXAMPLES)]
pub(crate) struct InlinksArgs {
    /// Target URL, or its key; http://x/a* matches every URL with this prefix, *.x.org a domain
    url: String,
    /// How the URL is matched [default: exact]
    #[arg(long, value_name = "TYPE", value_parser = one_of(MATCH_TYPES, MatchType::name), hide_short_help = true)]
    match_type: Option<MatchType>,
    /// Only links from other registered domains
    #[arg(long)]
    external: bool,
    /// Only links from pages of this domain and its subdomains
    #[arg(long, value_name = "DOMAIN")]
    from_domain: Option<String>,
    /// Only links whose anchor text contains TEXT, in any case
    #[arg(long, value_name = "TEXT")]
    anchor: Option<String>,
    /// Only links from pages captured at this time or later
    #[arg(long, value_name = "TIME", value_parser = date(), hide_short_help = true)]
    from: Option<String>,
    /// Only links from pages captured at this time or earlier; 2014 means to the end of 2014
    #[arg(long, value_name = "TIME", value_parser = date(), hide_short_help = true)]
    to: Option<String>,
    /// Count the links by this instead of listing them
    #[arg(long, value_name = "GROUP", value_parser = one_of(LinkGrouping::ALL, LinkGrouping::name))]
    by: Option<LinkGrouping>,
    /// Links from the page versions that were current at the end of this time; to one URL only
    #[arg(long, value_name = "TIME", value_parser = date(), conflicts_with = "ever")]
    at: Option<String>,
    /// Links from all versions of the pages; to one URL only
    #[arg(long)]
    ever: bool,
    #[command(flatten)]
    paging: ListPaging,
}

const MATCH_TYPES: [MatchType; 4] = [
    MatchType::Exact,
    MatchType::Prefix,
    MatchType::Host,
    MatchType::Domain,
];

impl InlinksArgs {
    /// Returns the question for the links, without a cursor and a limit.
    fn question(&self) -> Result<Inlinks, WrongUse> {
        let pattern = url_pattern(&self.url, self.match_type);
        let (url, match_type) = pattern.map_err(|error| WrongUse(error.to_string()))?;
        // The archive refuses it too, but only after a table has begun.
        if match_type != MatchType::Exact && (self.ever || self.at.is_some()) {
            let wrong = "--at and --ever list links to one URL only, not to a prefix, host or domain";
            return Err(WrongUse(wrong.to_owned()));
        }
        Ok(Inlinks {
            url: url.to_owned(),
            match_type,
            filter: LinkFilter {
                external: self.external,
                from_domain: self.from_domain.clone(),
                anchor: self.anchor.clone(),
                from: self.from.clone(),
                to: self.to.clone(),
            },
            at: self.at.clone(),
            ever: self.ever,
            ..Inlinks::default()
        })
    }

    /// Returns the command with its URL and conditions.
    fn command(&self, question: &Inlinks, context: &Context) -> String {
        let command = question.command(&self.url, self.match_type);
        format!("{command}{}", context.archive_flag())
    }
}

const OUTLINKS_EXAMPLES: &str = "\
Examples:
  weft outlinks http://www.iana.org/
  weft outlinks http://www.iana.org/ --all --json
  weft outlinks http://www.iana.org/ --format csv > out.csv    all links

The links of the newest version of the page are listed.";

/// Flags of `weft outlinks`.
#[derive(Debug, clap::Args)]
#[command(after_help = OUTLINKS_EXAMPLES)]
pub(crate) struct OutlinksArgs {
    /// URL of the page, or its key
    url: String,
    #[command(flatten)]
    paging: ListPaging,
}

/// The end of a link that the list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Target,
    /// Both, for links to many URLs.
    Both,
}

impl End {
    /// Returns the end to show of links to the URLs of a match type.
    fn of(match_type: MatchType) -> End {
        match match_type {
            MatchType::Exact => End::Source,
            _ => End::Both,
        }
    }
}

/// Runs `weft inlinks`.
pub(crate) fn run_inlinks(args: InlinksArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    refuse_reversed(args.from.as_deref(), args.to.as_deref())?;
    let question = args.question()?;
    let archive = ask::open(context)?;
    if let Some(by) = args.by {
        let command = format!("{} --by {by}", args.command(&question, context));
        return link_counts::run(&archive, question, by, &args.paging, &command, context);
    }
    let page = |after, limit| Inlinks {
        after,
        limit,
        ..question.clone()
    };
    if args.paging.write_table(&archive, page, &mut context.out)? {
        return Ok(Outcome::Done);
    }
    let answer = args.paging.ask(&archive, page)?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        let command = args.command(&question, context);
        match (&args.at, args.ever) {
            (None, false) => print(&answer, End::of(question.match_type), &command, context)?,
            (at, _) => print_links_at(&answer, at.as_deref(), &command, context)?,
        }
    }
    Ok(Outcome::Done)
}

/// Runs `weft outlinks`.
pub(crate) fn run_outlinks(args: OutlinksArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let question = |after, limit| Outlinks {
        url: args.url.clone(),
        after,
        limit,
    };
    if args.paging.write_table(&archive, question, &mut context.out)? {
        return Ok(Outcome::Done);
    }
    let answer = args.paging.ask(&archive, question)?;
    if let Some(answer) = ask::print_if_json(answer, context)? {
        let command = format!(
            "weft outlinks {}{}",
            shell_word(&args.url),
            context.archive_flag()
        );
        print(&answer, End::Target, &command, context)?;
    }
    Ok(Outcome::Done)
}

impl ListPage for LinksBody {
    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }

    fn take_cut(&mut self) -> bool {
        self.looked_at.take().is_some()
    }

    fn append(&mut self, page: LinksBody) {
        self.rows.extend(page.rows);
        self.next = page.next;
        self.looked_at = page.looked_at;
    }
}

/// Prints links of versions other than the newest: those at the time `at`, or all versions if
/// `None`.
fn print_links_at(
    answer: &Answer<LinksBody>,
    at: Option<&str>,
    command: &str,
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
    let all = format!("{command} --all");
    paging::more(&mut context.out, &all, command, next.as_deref())?;
    Ok(())
}

fn print(answer: &Answer<LinksBody>, end: End, command: &str, context: &mut Context) -> anyhow::Result<()> {
    let LinksBody {
        url_key,
        rows,
        total,
        next,
        ..
    } = &answer.body;
    let more = if total.is_none() && next.is_some() {
        ", and more"
    } else {
        ""
    };
    let total = total.unwrap_or(rows.len() as u64);
    let head = match end {
        End::Both => format!("{}{more} to URLs of {url_key}", counted(total, "link", "links")),
        End::Source => format!(
            "{} to {url_key}{more}",
            counted(total, "page links", "pages link")
        ),
        End::Target => format!("{} from {url_key}", counted(total, "link", "links")),
    };
    let epoch = count(answer.epoch);
    let head = format!("{} (epoch {epoch}, newest versions)", crate::style::clean(&head));
    writeln!(context.out, "{head}")?;
    table(rows, end).print(&mut context.out)?;
    let all = format!("{command} --all");
    paging::more(&mut context.out, &all, command, next.as_deref())?;
    Ok(())
}

fn table(rows: &[LinkRow], end: End) -> Table {
    let shows_source = end != End::Target;
    let shows_target = end != End::Source;
    // One column can be truncated to the terminal.
    let to = if shows_source {
        Column::Left
    } else {
        Column::Flexible
    };
    let heads = [
        (shows_source, ("from", Column::Flexible)),
        (shows_target, ("to", to)),
        (true, ("kind", Column::Left)),
        (true, ("anchor", Column::Left)),
        (shows_source, ("title", Column::Left)),
    ];
    let shown = |(is_shown, head)| if is_shown { Some(head) } else { None };
    let columns: Vec<(&str, Column)> = heads.into_iter().filter_map(shown).collect();
    let mut table = Table::new(&columns);
    for row in rows {
        let cells = [
            (
                shows_source,
                url_or_key(&row.source_url, &row.source_key).to_owned(),
            ),
            (
                shows_target,
                url_or_key(&row.target_url, &row.target_key).to_owned(),
            ),
            (true, kind(row).to_owned()),
            (true, crate::style::cut(&row.anchor, ANCHOR_COLUMNS_MAX)),
            (
                shows_source,
                crate::style::cut(&row.source_title, ANCHOR_COLUMNS_MAX),
            ),
        ];
        table.row(
            cells
                .into_iter()
                .filter(|(is_shown, _)| *is_shown)
                .map(|(_, cell)| cell),
        );
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
