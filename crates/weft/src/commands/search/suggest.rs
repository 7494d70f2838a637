//! `weft search --suggest`: completes the last word of a text.

use std::io::Write as _;

use archive::question::Suggest;

use crate::ask;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::shell_word;
use crate::table::{Column, Table};
use crate::units::count;

/// Prints completions.
pub(super) fn run(text: String, limit: usize, context: &mut Context) -> anyhow::Result<Outcome> {
    let question = Suggest {
        text: text.clone(),
        limit,
    };
    let Some(answer) = ask::ask_or_print(context, question)? else {
        return Ok(Outcome::Done);
    };
    let mut table = Table::new(&[("pages", Column::Right), ("completed", Column::Flexible)]);
    for row in &answer.body.rows {
        table.row([count(row.pages), row.text.clone()]);
    }
    table.print(&mut context.out)?;
    // The answer does not say whether more words follow.
    if answer.body.rows.len() >= limit {
        let all = format!(
            "all:  weft search --suggest {} --limit 10000{}",
            shell_word(&text),
            context.archive_flag()
        );
        let all = context.out.style.dim(&all);
        writeln!(context.out, "{all}")?;
    }
    Ok(Outcome::Done)
}
