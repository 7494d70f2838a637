//! `weft store status`: nodes, volumes and background workers, as the Store page shows them.

use std::io::Write;

use server::storage::{StoreReport, gather};
use store::node::ConnectSettings;

use super::session::{Begin, with_store};
use crate::context::Context;
use crate::exit::Outcome;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, duration_ms};

const EXAMPLES: &str = "\
Examples:
  weft store status
  weft store status --cluster cluster.toml --secret-file secret
  weft store status --json | jq '.volumes[] | select(.state != \"in service\")'

Exit code 1 where a node does not answer, or a volume does not take part.";

/// Flags of `weft store status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

/// Runs `weft store status`.
pub(super) fn run(_: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    with_store(place, Begin::Refused, async |session| {
        let report = gather(session.store().cluster()).await;
        if context.json {
            context.out.json(&report)?;
        } else {
            print(&report, context)?;
        }
        Ok(if report.troubles().is_empty() {
            Outcome::Done
        } else {
            Outcome::Losses
        })
    })
}

fn print(report: &StoreReport, context: &mut Context) -> anyhow::Result<()> {
    let moving = match report.layouts_older.first() {
        Some(older) => format!(", data still moving from layout {older}"),
        None => String::new(),
    };
    writeln!(
        context.out,
        "layout {}: {} of every object{moving}\n",
        count(report.layout),
        counted(u64::from(report.replicas), "copy", "copies")
    )?;
    volumes(report).print(&mut context.out)?;
    writeln!(context.out)?;
    nodes(report).print(&mut context.out)?;
    let workers = workers(report);
    if report.nodes.iter().any(|node| !node.workers.is_empty()) {
        writeln!(context.out)?;
        workers.print(&mut context.out)?;
    }
    for trouble in report.troubles() {
        writeln!(
            context.out,
            "{} {}",
            context.out.style.bad("look here:"),
            clean(&trouble)
        )?;
    }
    Ok(())
}

fn volumes(report: &StoreReport) -> Table {
    let mut table = Table::new(&[
        ("volume", Column::Left),
        ("zone", Column::Left),
        ("state", Column::Left),
        ("weight", Column::Right),
        ("share", Column::Right),
        ("replicas", Column::Right),
        ("content", Column::Right),
        ("bad", Column::Right),
        ("free", Column::Right),
        ("directory", Column::Flexible),
    ]);
    for volume in &report.volumes {
        table.row([
            volume.id.clone(),
            volume.zone.clone(),
            volume.state.clone(),
            volume.weight.to_string(),
            format!("{:.1} %", volume.share * 100.0),
            count(volume.replicas),
            bytes(volume.replica_bytes),
            count(volume.bad),
            bytes(volume.free_bytes),
            volume.path.clone(),
        ]);
    }
    table
}

fn nodes(report: &StoreReport) -> Table {
    let mut table = Table::new(&[
        ("node", Column::Left),
        ("zone", Column::Left),
        ("address", Column::Left),
        ("state", Column::Left),
        ("layout", Column::Right),
        ("running for", Column::Right),
        ("problem", Column::Flexible),
    ]);
    for node in &report.nodes {
        let answers = |text: String| if node.reachable { text } else { "-".to_owned() };
        table.row([
            node.id.clone(),
            node.zone.clone(),
            node.address.clone(),
            if node.reachable { "answers" } else { "unreachable" }.to_owned(),
            answers(node.layout.to_string()),
            answers(duration_ms(report.time_ms.saturating_sub(node.started_ms))),
            node.problem.clone(),
        ]);
    }
    table
}

fn workers(report: &StoreReport) -> Table {
    let mut table = Table::new(&[
        ("worker", Column::Left),
        ("node", Column::Left),
        ("state", Column::Left),
        ("this pass", Column::Right),
        ("read", Column::Right),
        ("found", Column::Right),
        ("put right", Column::Right),
        ("last pass", Column::Right),
        ("last failure", Column::Flexible),
    ]);
    for node in &report.nodes {
        for worker in &node.workers {
            let pass = match worker.total {
                Some(total) if total > 0 => format!("{} of {}", count(worker.done), count(total)),
                _ => count(worker.done),
            };
            let ago = |ms| format!("{} ago", duration_ms(report.time_ms.saturating_sub(ms)));
            table.row([
                worker.name.clone(),
                node.id.clone(),
                worker.state.clone(),
                pass,
                bytes(worker.bytes),
                count(worker.found),
                count(worker.repaired),
                worker.last_pass_ms.map_or("-".to_owned(), ago),
                worker.last_error.clone(),
            ]);
        }
    }
    table
}
