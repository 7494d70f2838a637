//! `weft inlinks --by`: counts links by anchor text, domain, page, URL linked to, or month.

use std::io::Write;

use archive::Archive;
use archive::question::{Answer, Inlinks, LinkCounts, LinkCountsBody, LinkGrouping};
use export::{LinkCountSum, List, ListWriter};

use crate::ask;
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::paging::{self, ListPaging};
use crate::stop::Stop;
use crate::style::{clean, cut};
use crate::table::{Column, Table};
use crate::units::{count, counted, time};

/// Width of values in the table. Other formats have them in full.
const VALUE_COLUMNS_MAX: usize = 80;

/// Counts all links of a question and prints the groups that the paging selects.
pub(super) fn run(
    archive: &Archive,
    links: Inlinks,
    by: LinkGrouping,
    paging: &ListPaging,
    command: &str,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let format = paging.table.checked()?;
    let skipped = groups_before(paging.page.after.as_deref())?;
    let (epoch, sum) = count_all(archive, links, by)?;
    let links = sum.links();
    let mut rows = sum.into_rows();
    let groups = rows.len();
    rows.drain(..skipped.min(groups));
    let shown_max = paging.rows_at_once();
    let is_cut = !paging.is_whole() && rows.len() > shown_max;
    if is_cut {
        rows.truncate(shown_max);
    }
    if let Some(format) = format {
        paging.table.to_output(&mut context.out, |out| {
            let mut writer = ListWriter::begin(List::LinkCounts(by), format, out)?;
            writer.rows(&rows, out)?;
            writer.end(out)?;
            Ok(())
        })?;
        return Ok(Outcome::Done);
    }
    let body = LinkCountsBody {
        rows,
        links,
        total: Some(groups as u64),
        next: is_cut.then(|| (skipped + shown_max).to_string()),
        first_links: Vec::new(),
    };
    if let Some(Answer { body, .. }) = ask::print_if_json(Answer { epoch, body }, context)? {
        print(&body, by, groups, epoch, context)?;
        let all = format!("{command} --all");
        paging::more(&mut context.out, &all, command, body.next.as_deref())?;
    }
    Ok(Outcome::Done)
}

/// Returns the number of groups before a cursor.
fn groups_before(cursor: Option<&str>) -> Result<usize, WrongUse> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor.parse().map_err(|_| {
        let cursor = clean(cursor);
        WrongUse(format!(
            "--after takes the cursor of the page before, found '{cursor}'"
        ))
    })
}

/// Adds the counts of all parts of the list. Returns them with the epoch of the last part.
fn count_all(archive: &Archive, links: Inlinks, by: LinkGrouping) -> anyhow::Result<(u64, LinkCountSum)> {
    let stop = Stop::listen()?;
    let mut question = LinkCounts {
        links,
        by,
        first_links: 0,
    };
    let mut sum = LinkCountSum::default();
    loop {
        let Answer { epoch, body } = archive.ask(question.clone())?;
        sum.add(&body);
        if body.next.is_none() {
            return Ok((epoch, sum));
        }
        anyhow::ensure!(
            !stop.is_requested(),
            "stopped after {}",
            counted(sum.links(), "link", "links")
        );
        question.links.after = body.next;
    }
}

fn print(
    body: &LinkCountsBody,
    by: LinkGrouping,
    groups: usize,
    epoch: u64,
    context: &mut Context,
) -> anyhow::Result<()> {
    let links = counted(body.links, "link", "links");
    let groups = counted(groups as u64, by.name(), &format!("{by}s"));
    let shown = count(body.rows.len() as u64);
    writeln!(
        context.out,
        "{links} by {by}, {shown} of {groups} (epoch {})",
        count(epoch)
    )?;
    let mut table = Table::new(&[
        ("links", Column::Right),
        ("external", Column::Right),
        ("first", Column::Left),
        ("last", Column::Left),
        (by.name(), Column::Flexible),
    ]);
    for row in &body.rows {
        let value = match row.value.as_str() {
            "" => "(no text)".to_owned(),
            value => cut(&clean(value), VALUE_COLUMNS_MAX),
        };
        table.row([
            count(row.links),
            count(row.links_external),
            time(&row.first),
            time(&row.last),
            value,
        ]);
    }
    table.print(&mut context.out)?;
    Ok(())
}
