//! `weft search --suggest`: completes the last word of a text.

use archive::question::Suggest;

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table::{Column, Table};
use crate::units::count;

/// Prints completions.
pub(super) fn run(text: String, limit: usize, context: &mut Context) -> anyhow::Result<Outcome> {
    let Some(answer) = ask::ask_or_print(context, Suggest { text, limit })? else {
        return Ok(Outcome::Done);
    };
    let mut table = Table::new(&[("pages", Column::Right), ("completed", Column::Flexible)]);
    for row in &answer.body.rows {
        table.row([count(row.pages), row.text.clone()]);
    }
    table.print(&mut context.out)?;
    Ok(Outcome::Done)
}
