//! `weft inlinks --by`: counts links by anchor text, domain, page, URL linked to, or month.

use std::collections::HashMap;
use std::io::Write;

use archive::Archive;
use archive::question::{Answer, Inlinks, LinkCountRow, LinkCounts, LinkCountsBody, LinkGrouping};
use export::{List, ListWriter};

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::paging::ListPaging;
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
    let Answer { epoch, mut body } = count_all(archive, links, by)?;
    let groups = body.rows.len();
    if !paging.is_whole() {
        body.rows.truncate(paging.rows_at_once());
    }
    if let Some(format) = format {
        paging.table.to_output(&mut context.out, |out| {
            let mut writer = ListWriter::begin(List::LinkCounts, format, out)?;
            writer.rows(&body.rows, out)?;
            writer.end(out)?;
            Ok(())
        })?;
        return Ok(Outcome::Done);
    }
    if let Some(Answer { body, .. }) = ask::print_if_json(Answer { epoch, body }, context)? {
        print(&body, by, groups, epoch, context)?;
        if body.rows.len() < groups {
            let all = context.out.style.dim(&format!("all:  {command} --all"));
            writeln!(context.out, "{all}")?;
        }
    }
    Ok(Outcome::Done)
}

/// Adds the counts of all parts of the list.
fn count_all(archive: &Archive, links: Inlinks, by: LinkGrouping) -> anyhow::Result<Answer<LinkCountsBody>> {
    let stop = Stop::listen()?;
    let mut question = LinkCounts { links, by };
    let mut groups: HashMap<String, LinkCountRow> = HashMap::new();
    let mut links = 0;
    loop {
        let Answer { epoch, body } = archive.ask(question.clone())?;
        links += body.links;
        for row in body.rows {
            let group = groups.entry(row.value.clone()).or_insert_with(|| LinkCountRow {
                value: row.value.clone(),
                ..LinkCountRow::default()
            });
            group.add(&row);
        }
        if body.next.is_none() {
            let mut rows: Vec<LinkCountRow> = groups.into_values().collect();
            LinkCountRow::sort(&mut rows);
            return Ok(Answer {
                epoch,
                body: LinkCountsBody {
                    rows,
                    links,
                    next: None,
                },
            });
        }
        anyhow::ensure!(
            !stop.is_requested(),
            "stopped after {}",
            counted(links, "link", "links")
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
    let (links, groups) = (counted(body.links, "link", "links"), count(groups as u64));
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
