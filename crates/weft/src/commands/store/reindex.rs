//! `weft store reindex`: rebuilds the listing index of volumes from their files.
//!
//! No other process may have the volumes open: the index is deleted and built again.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, bail};
use cluster::{ConnectSettings, NodeSettings, VolumeSettings};
use serde::Serialize;
use store::VolumeId;
use volume::{DiskSettings, DiskVolume, FixityLog};

use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::count;

const EXAMPLES: &str = "\
Examples:
  weft store reindex --volume /disks/a
  weft store reindex --config node.toml

The files are the store; the index only lists them. Stop the process that serves the volumes first.
Marks of bad replicas are lost with the old index; the next scrub sets them again.";

/// Flags of `weft store reindex`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

/// A reindexed volume as printed by `--json`.
#[derive(Serialize)]
struct ReindexLine<'a> {
    volume: &'a VolumeId,
    path: &'a Path,
    replicas: u64,
    outdated: u64,
    strays: u64,
}

/// Runs `weft store reindex`.
pub(super) fn run(_: &Args, place: &ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let volumes: Vec<VolumeSettings> = match place {
        ConnectSettings::Volumes(volumes) => volumes.clone(),
        ConnectSettings::Node(file) => NodeSettings::read(file)?.volumes,
        ConnectSettings::Cluster { .. } => {
            return Err(WrongUse(
                "reindex requires the volumes of this machine: --volume DIR, or --config".into(),
            )
            .into());
        }
    };
    for volume in &volumes {
        reindex(&volume.path, context).with_context(|| format!("reindex {}", volume.path.display()))?;
    }
    Ok(Outcome::Done)
}

fn reindex(path: &Path, context: &mut Context) -> anyhow::Result<()> {
    let Some(id) = DiskVolume::id_in(path)? else {
        bail!("this is not a volume of a store");
    };
    let settings = DiskSettings::new(path, id.clone(), FixityLog::new());
    let (_, found) = DiskVolume::reindex(settings)?;
    if context.json {
        context.out.json(&ReindexLine {
            volume: &id,
            path,
            replicas: found.indexed,
            outdated: found.outdated,
            strays: found.strays,
        })?;
        return Ok(());
    }
    writeln!(
        context.out,
        "{} ({}): {} replicas and tombstones indexed, {} older versions removed, {} stray files ignored",
        clean(&id.to_string()),
        clean(&path.display().to_string()),
        count(found.indexed),
        count(found.outdated),
        count(found.strays)
    )?;
    Ok(())
}
