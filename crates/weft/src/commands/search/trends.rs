//! `weft search --trends`: counts matches per year, and all page versions of that year.

use std::collections::BTreeMap;
use std::io::Write;

use archive::question::{TREND_QUERIES_MAX, TrendRow, Trends};

use crate::ask;
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{count, counted};

/// Prints a table for each query.
pub(super) fn run(queries: Vec<String>, context: &mut Context) -> anyhow::Result<Outcome> {
    if queries.len() > TREND_QUERIES_MAX {
        let too_many = format!("at most {TREND_QUERIES_MAX} queries can be compared");
        return Err(WrongUse(too_many).into());
    }
    let Some(answer) = ask::ask_or_print(context, Trends { queries })? else {
        return Ok(Outcome::Done);
    };
    let out = &mut context.out;
    for (number, row) in answer.body.rows.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let name = out.style.bold(&clean(&row.query));
        writeln!(out, "{name}: {}", counted(row.total, "version", "versions"))?;
        super::notes(&row.notes, out)?;
        table(row).print(out)?;
    }
    Ok(Outcome::Done)
}

fn table(row: &TrendRow) -> Table {
    let mut table = Table::new(&[
        ("year", Column::Right),
        ("matches", Column::Right),
        ("of", Column::Right),
        ("in 1,000", Column::Right),
    ]);
    let years: BTreeMap<_, _> = row.years.iter().map(|year| (year.year, year)).collect();
    for year in years.values().filter(|year| year.documents > 0) {
        let share = year.count as f64 * 1000.0 / year.documents as f64;
        table.row([
            year.year.to_string(),
            count(year.count),
            count(year.documents),
            format!("{share:.1}"),
        ]);
    }
    table
}
