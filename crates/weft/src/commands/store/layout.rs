//! `weft store layout`: shows the layout, plans a change to it, and applies one.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use cluster::{ClusterFile, ConnectSettings, NodeSettings, apply_layout, wanted_roles};
use placement::{Layout, Layouts, Plan, Roles, Sizes, VolumeRole, figures, plan};
use serde::Serialize;
use store::VolumeId;

use super::recover;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::store_args::{StoreArgs, place};
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft store layout show
  weft store layout plan cluster.toml     what this file would move, without moving it
  weft store layout apply cluster.toml    apply it; data moves in the background
  weft store layout plan --volume /disks/a --volume /disks/b --volume /disks/new
  weft store layout figures               how even placement is, and how little data moves

A weight of 0 drains a volume. A volume that is left out is retired: its name is never used again.
Retiring a volume that was not drained, and lowering the number of copies, require --yes.";

const SHOW_EXAMPLES: &str = "\
Examples:
  weft store layout show
  weft store layout show --json | jq .shares";

const PLAN_EXAMPLES: &str = "\
Examples:
  weft store layout plan cluster.toml --config node.toml      what the changed file would move
  weft store layout plan --volume /disks/a --volume /disks/b --volume /disks/new
  weft store layout plan --volume /disks/a --volume /disks/c --volume /disks/b,weight=0     before draining a volume

Nothing is changed or moved.";

const APPLY_EXAMPLES: &str = "\
Examples:
  weft store layout apply cluster.toml --config node.toml     apply it; data moves in the background
  weft store layout apply --volume /disks/a --volume /disks/c --volume /disks/b,weight=0    drain a volume
  weft store layout apply --volume /disks/a --volume /disks/c     retire it once it is empty

A volume that is left out is retired: its name is never used again. Retiring a volume that was not
drained, and lowering the number of copies, require --yes. Data moves while a process serves the
store; weft store repair moves it now.";

const FIGURES_EXAMPLES: &str = "\
Examples:
  weft store layout figures

Computes tables for simulated clusters; requires no store.";

/// Flags of `weft store layout`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show the layout in force: volumes, weights, shares
    #[command(after_help = SHOW_EXAMPLES)]
    Show,
    /// Show what a change would move
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(Change),
    /// Apply a change
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(Apply),
    /// Make a new layout for previously used volumes that have all lost theirs
    #[command(after_help = EXAMPLES)]
    Recover,
    /// Measure placement: balance, and movement when volumes and zones are added and removed
    #[command(after_help = FIGURES_EXAMPLES)]
    Figures,
}

#[derive(Debug, clap::Args)]
struct Change {
    /// Cluster file [default: the volumes of --volume, or the cluster file of --config or
    /// --cluster]
    #[arg(value_name = "CLUSTER.TOML")]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Apply {
    #[command(flatten)]
    change: Change,
    /// Confirm retiring volumes that were not drained, or keeping fewer copies
    #[arg(long)]
    yes: bool,
}

/// Runs `weft store layout`.
pub(super) fn run(args: &Args, place_args: &StoreArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    if let Command::Figures = args.command {
        return print_figures(context);
    }
    let place = place(place_args)?;
    if let Command::Recover = args.command {
        return recover::run(&place, context);
    }
    let change = match &args.command {
        Command::Plan(change) | Command::Apply(Apply { change, .. }) => Some(roles_of(change, &place)?),
        Command::Show | Command::Recover | Command::Figures => None,
    };
    let apply = match &args.command {
        Command::Apply(apply) => Some(apply.yes),
        _ => None,
    };
    let begin = if apply.is_some() {
        StoreMode::AddVolumes
    } else {
        StoreMode::Existing
    };
    with_store(place, begin, async |session| match change {
        None => show(&session.topology().layouts, context),
        Some(roles) => match apply {
            Some(yes) => apply_roles(session, roles, yes, context).await,
            None => print_moves(session, roles, context).await,
        },
    })
}

/// Returns the requested roles.
fn roles_of(change: &Change, place: &ConnectSettings) -> anyhow::Result<Roles> {
    let file = match (&change.file, place) {
        (Some(file), _) | (None, ConnectSettings::Cluster { file, .. }) => file,
        (None, ConnectSettings::Volumes(volumes)) => {
            return Ok(wanted_roles(&NodeSettings::of_volumes(volumes.clone()))?);
        }
        (None, ConnectSettings::Node(file)) => return Ok(wanted_roles(&NodeSettings::read(file)?)?),
    };
    Ok(ClusterFile::read(file)?.roles())
}

/// A layout with its shares, as printed by `--json`.
#[derive(Serialize)]
struct LayoutBody<'a> {
    layouts: &'a Layouts,
    shares: BTreeMap<VolumeId, f64>,
}

fn show(layouts: &Layouts, context: &mut Context) -> anyhow::Result<Outcome> {
    let shares = shares(&layouts.current);
    if context.json {
        context.out.json(&LayoutBody { layouts, shares })?;
        return Ok(Outcome::Done);
    }
    let Layout { number, seed, roles } = &layouts.current;
    let out = &mut context.out;
    writeln!(
        out,
        "layout {number}, seed {seed}, {} of every object{}",
        counted(u64::from(roles.copies()), "copy", "copies"),
        match roles.replicas {
            asked if asked > roles.copies() =>
                format!(" ({asked} configured: too few volumes have a weight)"),
            _ => String::new(),
        }
    )?;
    for older in &layouts.older {
        writeln!(out, "data may still be placed by layout {}", older.number)?;
    }
    writeln!(out)?;
    let mut table = Table::new(&[
        ("volume", Column::Left),
        ("zone", Column::Left),
        ("node", Column::Left),
        ("address", Column::Left),
        ("weight", Column::Right),
        ("share", Column::Right),
    ]);
    for volume in &roles.volumes {
        let node = roles.nodes.iter().find(|node| node.id == volume.node);
        let share = shares.get(&volume.id).copied().unwrap_or(0.0);
        table.row([
            volume.id.to_string(),
            volume.zone.clone(),
            volume.node.to_string(),
            node.map(|node| node.address.clone()).unwrap_or_default(),
            volume.weight.to_string(),
            format!("{:.2} %", share * 100.0),
        ]);
    }
    table.print(out)?;
    if !roles.retired.is_empty() {
        let retired: Vec<String> = roles.retired.iter().map(ToString::to_string).collect();
        writeln!(out, "\nretired: {}", retired.join(", "))?;
    }
    Ok(Outcome::Done)
}

/// Returns each volume's share of all copies.
fn shares(layout: &Layout) -> BTreeMap<VolumeId, f64> {
    let copies = placement::Placement::compute(layout).copies();
    let all: u32 = copies.values().sum();
    let share = |copies: u32| f64::from(copies) / f64::from(all.max(1));
    copies
        .into_iter()
        .map(|(id, copies)| (id, share(copies)))
        .collect()
}

async fn print_moves(session: &Session, roles: Roles, context: &mut Context) -> anyhow::Result<Outcome> {
    let layouts = &session.topology().layouts;
    let next = layouts.next(roles).map_err(|error| WrongUse(error.to_string()))?;
    let plan = plan(
        &layouts.current,
        &next.current,
        Sizes::Volumes(&sizes(session).await),
    );
    if context.json {
        context.out.json(&plan)?;
    } else {
        print_plan(&plan, context)?;
    }
    Ok(Outcome::Done)
}

/// Returns the bytes on every volume that answers.
async fn sizes(session: &Session) -> BTreeMap<VolumeId, u64> {
    let topology = session.topology();
    let mut sizes = BTreeMap::new();
    for (id, volume) in &topology.volumes {
        if let Ok(status) = volume.status().await {
            sizes.insert(id.clone(), status.replica_bytes);
        }
    }
    sizes
}

fn print_plan(plan: &Plan, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    // The number of copies may change with the layout.
    let now = plan.volumes.iter().map(|volume| volume.before.copies).sum();
    writeln!(
        out,
        "from layout {} to {}: {:.2} % of all copies move (at least {:.2} % must), about {}\n",
        plan.from,
        plan.to,
        percent(plan.moved, plan.copies),
        percent(plan.moved_least, plan.copies),
        bytes(plan.moved_bytes)
    )?;
    let mut table = Table::new(&[
        ("volume", Column::Left),
        ("share now", Column::Right),
        ("then", Column::Right),
        ("receives", Column::Right),
        ("drops", Column::Right),
    ]);
    for volume in &plan.volumes {
        table.row([
            volume.volume.to_string(),
            format!("{:.2} %", percent(volume.before.copies, now)),
            format!("{:.2} %", percent(volume.after.copies, plan.copies)),
            bytes(volume.received.bytes),
            bytes(volume.dropped.bytes),
        ]);
    }
    table.print(out)?;
    Ok(())
}

/// Returns `copies` as a percentage of `all`.
fn percent(copies: u32, all: u32) -> f64 {
    100.0 * f64::from(copies) / f64::from(all.max(1))
}

async fn apply_roles(
    session: &Session,
    roles: Roles,
    yes: bool,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let current = session.topology().layouts.current.clone();
    let before = current.number;
    let is_new = |volume: &VolumeRole| !current.roles.volumes.iter().any(|known| known.id == volume.id);
    if let Some(unopened) = session.unopened_volumes().first()
        && roles.volumes.iter().any(is_new)
    {
        let message = format!(
            "the running process does not have {} open: restart it with this volume, then apply the layout",
            unopened.display()
        );
        return Err(WrongUse(message).into());
    }
    let lost = roles_lost(&current.roles, &roles);
    if !yes && !lost.is_empty() {
        let lost = lost.join("; ");
        let message = format!(
            "{lost}. Was a volume forgotten? weft store layout plan shows what would move; --yes applies \
             it anyway"
        );
        return Err(WrongUse(message).into());
    }
    let layouts = apply_layout(session.store().cluster(), roles)
        .await
        .context("apply the layout")?;
    if context.json {
        context.out.json(&layouts)?;
    } else if layouts.current.number == before {
        writeln!(
            context.out,
            "nothing to change: layout {before} already has these roles"
        )?;
    } else {
        let moves = if session.is_served() {
            "data moves in the background (weft store status)"
        } else {
            "no process serves the store: data moves once one does (weft serve), or now with weft store \
             repair"
        };
        writeln!(
            context.out,
            "layout {} is in force; {moves}",
            layouts.current.number
        )?;
    }
    Ok(Outcome::Done)
}

/// Describes what a change would lose irrevocably: volumes that still hold data, and copies.
fn roles_lost(now: &Roles, then: &Roles) -> Vec<String> {
    let stays = |id: &VolumeId| then.volumes.iter().any(|volume| volume.id == *id);
    let undrained = now
        .volumes
        .iter()
        .filter(|volume| volume.weight > 0 && !stays(&volume.id));
    let mut lost: Vec<String> = undrained
        .map(|volume| {
            format!(
                "volume {} would be retired permanently without having been drained (weight 0)",
                volume.id
            )
        })
        .collect();
    // Compare with the configured number: if too few volumes have a weight, older objects still
    // have all those copies.
    if then.copies() < now.replicas {
        lost.push(format!(
            "the number of copies of every object would fall from {} to {}",
            now.replicas,
            then.copies()
        ));
    }
    lost
}

fn print_figures(context: &mut Context) -> anyhow::Result<Outcome> {
    let figures = figures();
    if context.json {
        context.out.json(&figures)?;
    } else {
        for figure in &figures {
            writeln!(context.out, "{figure}")?;
        }
        let held = figures.iter().filter(|figure| figure.holds()).count();
        writeln!(
            context.out,
            "{} of {} hold",
            count(held as u64),
            count(figures.len() as u64)
        )?;
    }
    let all = figures.iter().all(|figure| figure.holds());
    Ok(if all { Outcome::Done } else { Outcome::Losses })
}
