//! `weft store layout recover`: makes a new layout for volumes that have all lost theirs.

use std::io::Write;

use cluster::{ConnectSettings, NodeSettings, recover_layouts};

use crate::context::Context;
use crate::exit::{Outcome, WrongUse};
use crate::threads;

/// Runs `weft store layout recover`. No other process may have the volumes open.
pub(super) fn run(place: &ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let settings = match place {
        ConnectSettings::Volumes(volumes) => NodeSettings::of_volumes(volumes.clone()),
        ConnectSettings::Node(file) => NodeSettings::read(file)?,
        ConnectSettings::Cluster { .. } => {
            return Err(WrongUse(
                "recover works on the volumes of this machine: --volume DIR, or --config".into(),
            )
            .into());
        }
    };
    let runtime = threads::start("store")?;
    let layouts = runtime.block_on(recover_layouts(&settings))?;
    if context.json {
        context.out.json(&layouts)?;
        return Ok(Outcome::Done);
    }
    writeln!(
        context.out,
        "layout {} is new, with a new place for everything. Until repair has passed over all volumes they count as \
         being rebuilt: reads ask all of them, and what is not found is not known to be absent. weft store repair does it now, \
         a running weft serve by itself",
        layouts.current.number
    )?;
    Ok(Outcome::Done)
}
