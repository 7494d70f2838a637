//! The table of stages, which shows how loading spends its time (`weft status --stages`, `weft load
//! -v`).

use std::io::Write;

use archive::question::StageRow;

use crate::context::Context;
use crate::table::{Column, Table};
use crate::units::count;

/// Prints one row per stage.
pub(crate) fn print_stages(stages: &[StageRow], context: &mut Context) -> anyhow::Result<()> {
    if stages.is_empty() {
        writeln!(
            context.out,
            "the process that owns the archive has not loaded anything yet (weft load -v prints the stages \
             of its load)"
        )?;
        return Ok(());
    }
    let mut table = Table::new(&[
        ("stage", Column::Left),
        ("threads", Column::Right),
        ("waiting", Column::Right),
        ("running", Column::Right),
        ("done", Column::Right),
        ("total", Column::Right),
        ("ms/item", Column::Right),
        ("batched", Column::Right),
        ("batch", Column::Right),
    ]);
    for row in stages {
        table.row([
            row.stage.clone(),
            row.threads.to_string(),
            count(row.waiting),
            count(row.running),
            count(row.done),
            count(row.total),
            format!("{:.3}", row.ms_per_item),
            format!("{:.0} %", row.batched_share * 100.0),
            format!("{:.1}", row.batch_mean),
        ]);
    }
    table.print(&mut context.out)?;
    Ok(())
}
