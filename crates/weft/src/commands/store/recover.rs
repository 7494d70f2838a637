//! `weft store layout recover`: makes a new layout for volumes that have all lost theirs.

use std::io::Write;

use cluster::{ConnectSettings, NodeSettings, recover_layouts};

use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::threads;

/// Runs `weft store layout recover`. No other process may have the volumes open.
pub(super) fn run(place: &ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let settings = match place {
        ConnectSettings::Volumes(volumes) => NodeSettings::of_volumes(volumes.clone()),
        ConnectSettings::Node(file) => NodeSettings::read(file)?,
        ConnectSettings::Cluster { .. } => {
            return Err(WrongUse(
                "recover requires the volumes of this machine: --volume DIR, or --config".into(),
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
        "created layout {}, which places all data again. Until repair has processed all volumes they count \
         as being rebuilt: reads ask all of them, and an object that is not found is not known to be \
         absent. weft store repair does this now; a running weft serve does it by itself",
        layouts.current.number
    )?;
    Ok(Outcome::Done)
}
