//! `weft store status`: shows whether the store is healthy, then nodes, volumes and background
//! workers as on the Store page.
//!
//! Only counting all replicas can answer the first. So the replicas of all reachable nodes are
//! counted, unless the user skips it with `--quick`.

use std::io::Write;

use cluster::ConnectSettings;
use serde::Serialize;
use server::storage::{StoreReport, VolumeCondition, gather};
use store::upkeep::{Census, census};

use super::pass_progress::PassProgress;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, duration_ms};

const EXAMPLES: &str = "\
Examples:
  weft store status
  weft store status --cluster cluster.toml --secret-file secret
  weft store status --quick          without counting the replicas of every object
  weft store status --json | jq '.troubles[]'

Exit code 1 if something needs attention; each problem is shown with what to do next: a node or
volume does not take part or is full, replicas are bad or missing, objects are lost or in conflict,
repairs failed.";

/// Flags of `weft store status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Skip counting replicas; missing ones are then not reported
    #[arg(long)]
    quick: bool,
}

/// The report as printed by `--json`.
#[derive(Serialize)]
struct Status<'a> {
    troubles: &'a [String],
    #[serde(flatten)]
    report: &'a StoreReport,
}

/// Runs `weft store status`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    with_store(place, StoreMode::Existing, async |session| {
        let mut report = gather(session.store().cluster()).await;
        if !args.quick {
            report.census = Some(count_replicas(session, &report, context).await);
        }
        let troubles = report.troubles();
        if context.json {
            context.out.json(&Status {
                troubles: &troubles,
                report: &report,
            })?;
        } else {
            print(&report, &troubles, context)?;
        }
        Ok(if troubles.is_empty() {
            Outcome::Done
        } else {
            Outcome::Losses
        })
    })
}

/// Runs a census of the responding volumes. Volumes that just failed to answer are not asked again
/// for every partition.
async fn count_replicas(session: &Session, report: &StoreReport, context: &Context) -> Census {
    let topology = session.topology();
    let answers = |id: &str| {
        let mut volumes = report.volumes.iter();
        volumes.any(|volume| volume.id == id && volume.state != VolumeCondition::Unreachable)
    };
    let volumes = topology.volumes.iter().filter(|(id, _)| answers(&id.0));
    let topology = topology.of_volumes(volumes.map(|(id, volume)| (id.clone(), volume.clone())).collect());
    let pass = PassProgress::new("partitions", context);
    census(&topology, &|progress| pass.show(progress)).await
}

fn print(report: &StoreReport, troubles: &[String], context: &mut Context) -> anyhow::Result<()> {
    let moving = match report.layouts_older.first() {
        Some(older) => format!(", data still moving from layout {older}"),
        None => String::new(),
    };
    let objects = match &report.census {
        Some(census) => format!(", {}", counted(census.objects, "object", "objects")),
        None => String::new(),
    };
    verdict(report, troubles, context)?;
    writeln!(
        context.out,
        "\nlayout {}: {} of every object{objects}{moving}\n",
        report.layout,
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
    Ok(())
}

/// Prints the verdict: all is well, or the problems with advice.
fn verdict(report: &StoreReport, troubles: &[String], context: &mut Context) -> anyhow::Result<()> {
    for trouble in troubles {
        let look = context.out.style.bad("attention:");
        writeln!(context.out, "{look} {}", clean(trouble))?;
    }
    if troubles.is_empty() {
        let verdict = match report.census {
            Some(_) => "all is well",
            None => "nodes and volumes are well; replicas were not counted",
        };
        writeln!(context.out, "{}", context.out.style.bold(verdict))?;
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
            volume.state.to_string(),
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
        ("repaired", Column::Right),
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
                worker.state.to_string(),
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
