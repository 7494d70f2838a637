//! `weft replay-check`: lists which parts of an archived page are present or missing, and how far
//! in time they are from the page.

use std::collections::BTreeMap;
use std::io::Write;

use server::{CheckedPage, CheckedPart, FoundPart, check_page};

use crate::ask;
use crate::context::Context;
use crate::flag_values::moment;
use crate::outcome::Outcome;
use crate::stop::Stop;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{counted, duration_ms};

const EXAMPLES: &str = "\
Examples:
  weft replay-check http://www.iana.org/
  weft replay-check http://www.iana.org/ --at 2014-01-26 --all
  weft replay-check http://www.iana.org/ --json | jq '.parts[] | select(.found == null).url'

Parts are the resources a browser loads to show the page: images, styles, scripts
and frames, and what styles and frames load. Alternatives (image sizes, font
formats, images of a style) are counted separately; requests made by scripts are
not seen. Exit code 1: parts are missing.";

/// Flags of `weft replay-check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URL of the page
    url: String,
    /// Capture nearest to this time [default: the current version]
    #[arg(long, value_name = "TIME", value_parser = moment())]
    at: Option<String>,
    /// List present parts too
    #[arg(long)]
    all: bool,
}

/// Runs `weft replay-check`.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let archive = ask::open(context)?;
    let stop = Stop::listen()?;
    let page = check_page(&archive, &args.url, args.at.as_deref(), &mut |_| {
        !stop.is_requested()
    })?;
    anyhow::ensure!(!stop.is_requested(), "stopped before all parts were checked");
    if context.json {
        context.out.json(&page)?
    } else {
        print(&page, args.all, context)?
    }
    Ok(match page.missing().next() {
        None => Outcome::Done,
        Some(_) => Outcome::Losses,
    })
}

fn print(page: &CheckedPage, all: bool, context: &mut Context) -> anyhow::Result<()> {
    let missing = page.missing().count();
    let found = page.parts.len() - missing;
    let cut = if page.is_cut {
        ", and there are more parts than are checked"
    } else {
        ""
    };
    writeln!(context.out, "{} at {}", clean(&page.url), page.timestamp)?;
    let percent = (page.completeness * 100.0).floor();
    let verdict = format!(
        "{percent} % complete: {found} of {} found{cut}",
        counted(page.parts.len() as u64, "part", "parts")
    );
    writeln!(context.out, "{}", context.out.style.bold(&verdict))?;
    print_kinds(page, context)?;
    let away = |part: &&CheckedPart| {
        part.found
            .as_ref()
            .map_or(0, |found| found.seconds_away.unsigned_abs())
    };
    if let Some(part) = page.parts.iter().max_by_key(away).filter(|part| away(part) > 0) {
        let far = duration_ms(away(&part).saturating_mul(1000));
        writeln!(context.out, "  farthest in time: {far}, {}", clean(&part.url))?;
    }
    let shown: Vec<&CheckedPart> = page
        .parts
        .iter()
        .filter(|part| all || part.found.is_none())
        .collect();
    if !shown.is_empty() {
        writeln!(context.out)?;
        part_table(&shown).print(&mut context.out)?;
    }
    Ok(())
}

/// Prints how many parts of each kind, and how many alternatives, are found.
fn print_kinds(page: &CheckedPage, context: &mut Context) -> anyhow::Result<()> {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for part in &page.parts {
        let (of_kind, found) = kinds.entry(part.kind).or_default();
        *of_kind += 1;
        *found += usize::from(part.found.is_some());
    }
    for (kind, (of_kind, found)) in kinds {
        writeln!(context.out, "  {kind:<7} {found} of {of_kind}")?;
    }
    let alternatives = page.alternatives_found + page.alternatives_missing;
    if alternatives > 0 {
        writeln!(
            context.out,
            "  of {alternatives} alternatives, {} found",
            page.alternatives_found
        )?;
    }
    Ok(())
}

fn part_table(shown: &[&CheckedPart]) -> Table {
    let mut table = Table::new(&[
        ("part", Column::Left),
        ("captured", Column::Left),
        ("status", Column::Right),
        ("URL", Column::Flexible),
        ("in", Column::Flexible),
    ]);
    for part in shown {
        let (captured, status) = match &part.found {
            None => ("missing".to_owned(), "-".to_owned()),
            Some(found) => (
                found.timestamp.clone() + &differences(found),
                found.status.to_string(),
            ),
        };
        table.row([
            part.kind.to_owned(),
            captured,
            status,
            part.url.clone(),
            part.referrer.clone(),
        ]);
    }
    table
}

/// Returns in which ways a capture is not exactly what the page requests.
fn differences(found: &FoundPart) -> String {
    let answers = found.method.as_ref().map(|method| format!("answer to {method}"));
    let part = found.part.as_ref().map(|bytes| format!("part: {bytes}"));
    let differences = [found.fuzzy.clone(), answers, part];
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    match differences.as_slice() {
        [] => String::new(),
        differences => format!(" ({})", differences.join(", ")),
    }
}
