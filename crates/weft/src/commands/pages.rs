//! `weft pages`: lists the pages that packages declare.

use std::io::Write;

use archive::question::{ListedPageRow, ListedPages, ListedPagesBody};
use export::{List, ListWriter};

use crate::ask;
use crate::context::Context;
use crate::outcome::{NotFound, Outcome};
use crate::paging::{self, ListPage, ListPaging};
use crate::style::{clean, cut, shell_word};
use crate::table::{Column, Table};
use crate::units::time;

const EXAMPLES: &str = "\
Examples:
  weft pages
  weft pages --input crawl.wacz --all
  weft pages --format csv > pages.csv
  weft pages --collection autumn --json | jq -r '.rows[] | select(.seed).url'

Lists the pages named in packages (WACZ), in pages/pages.jsonl, pages/extraPages.jsonl and other
files of that form: the targets of a crawl, among everything it captured. They are read from the
packages. Each is shown with its capture in the package, at most an hour from the listed time.
Exit code 1: a package, a list or a line cannot be used (it is named), or no package that the flags
select lists pages.";

/// Maximum width of a title, in columns.
const TITLE_COLUMNS_MAX: usize = 40;

/// Flags of `weft pages`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only pages of the package with this name, or with this last part of its name
    #[arg(long, value_name = "PACKAGE")]
    input: Option<String>,
    /// Only pages of packages in this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// With --json: print all fields of each page
    #[arg(long)]
    whole: bool,
    #[command(flatten)]
    paging: ListPaging,
}

/// Runs `weft pages`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let next_page = next_page_command(&args, context);
    let question = |after, limit| ListedPages {
        input: args.input.clone(),
        collection: args.collection.clone(),
        whole: args.whole,
        after,
        limit,
    };
    // Before the packages are read.
    let format = args.paging.table.checked()?;
    let answer = args.paging.ask(&ask::open(context)?, question)?;
    for problem in &answer.body.problems {
        eprintln!("{}", clean(&problem.to_string()));
    }
    let is_absent = answer.body.rows.is_empty() && answer.body.problems.is_empty();
    let selection = selection(&args).filter(|_| is_absent && args.paging.page.after.is_none());
    if let Some(selection) = &selection
        && !context.json
    {
        return Err(NotFound(format!("no package (WACZ) {selection} lists pages")).into());
    }
    let outcome = if answer.body.problems.is_empty() && selection.is_none() {
        Outcome::Done
    } else {
        Outcome::Losses
    };
    if let Some(format) = format {
        args.paging.table.to_output(&mut context.out, |out| {
            let mut writer = ListWriter::begin(List::ListedPages, format, out)?;
            writer.rows(&answer.body.rows, out)?;
            writer.end(out)?;
            Ok(())
        })?;
    } else if let Some(answer) = ask::print_if_json(answer, context)? {
        print(&answer.body, &next_page, context)?;
    }
    Ok(outcome)
}

impl ListPage for ListedPagesBody {
    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }

    fn append(&mut self, page: ListedPagesBody) {
        self.rows.extend(page.rows);
        self.problems.extend(page.problems);
        self.next = page.next;
    }
}

/// Describes the packages that the flags select; `None` for all.
fn selection(args: &Args) -> Option<String> {
    match (&args.input, &args.collection) {
        (None, None) => None,
        (Some(input), None) => Some(format!("named {input:?}")),
        (None, Some(collection)) => Some(format!("in collection {collection:?}")),
        (Some(input), Some(collection)) => Some(format!("named {input:?} in collection {collection:?}")),
    }
}

/// Returns the command that continues the list.
fn next_page_command(args: &Args, context: &Context) -> String {
    let flag = |name: &str, value: &Option<String>| match value {
        Some(value) => format!(" --{name} {}", shell_word(value)),
        None => String::new(),
    };
    let (input, collection) = (flag("input", &args.input), flag("collection", &args.collection));
    format!("weft pages{input}{collection}{}", context.archive_flag())
}

fn print(body: &ListedPagesBody, next_page: &str, context: &mut Context) -> anyhow::Result<()> {
    if body.rows.is_empty() && body.next.is_none() {
        writeln!(context.out, "no package has a list of pages")?;
    }
    let mut table = Table::new(&[
        ("time", Column::Left),
        ("url", Column::Flexible),
        ("title", Column::Left),
        ("capture", Column::Left),
        ("list", Column::Left),
    ]);
    for row in &body.rows {
        table.row([
            time(&row.fetch_time),
            row.url.clone(),
            title(row),
            captured(row),
            format!("{}#{}", row.package, row.list),
        ]);
    }
    table.print(&mut context.out)?;
    let all = format!("{next_page} --all");
    paging::more(&mut context.out, &all, next_page, body.next.as_deref())?;
    Ok(())
}

fn title(row: &ListedPageRow) -> String {
    if row.title.is_empty() {
        "-".to_owned()
    } else {
        cut(&row.title, TITLE_COLUMNS_MAX)
    }
}

fn captured(row: &ListedPageRow) -> String {
    match (&row.capture, &row.nearest) {
        (Some(capture), _) => capture.timestamp.clone(),
        (None, Some(nearest)) => format!("none at that time, nearest {}", time(nearest)),
        (None, None) => "none".to_owned(),
    }
}
