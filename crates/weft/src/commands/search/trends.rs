//! `weft search --trends`: counts matches per year, and all page versions of that year.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write};
use std::path::Path;

use ::export::{ExportError, ExportFormat, List, ListWriter, TrendYear, trend_years};
use archive::question::{TREND_QUERIES_MAX, TrendRow, Trends};

use super::export;
use crate::ask;
use crate::context::Context;
use crate::outcome::{Outcome, WrongUse};
use crate::part_file::{PartFile, is_standard_output, refuse_existing};
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{count, counted};

/// Prints a table for each query, or writes all of them as one table.
pub(super) fn run(
    queries: Vec<String>,
    export: &export::Args,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if queries.len() > TREND_QUERIES_MAX {
        let too_many = format!("at most {TREND_QUERIES_MAX} queries can be compared");
        return Err(WrongUse(too_many).into());
    }
    if let Some(format) = export.export {
        return write(Trends { queries }, format, export.output.as_deref(), context);
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

fn write(
    question: Trends,
    format: ExportFormat,
    output: Option<&Path>,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if !ExportFormat::TABLES.contains(&format) {
        let wrong = format!("--trends cannot be written as {format}: expected jsonl, csv or parquet");
        return Err(WrongUse(wrong).into());
    }
    let output = output.filter(|path| !is_standard_output(path));
    if output.is_none() && !format.is_text() && std::io::stdout().is_terminal() {
        let binary = format!("{format} is binary and cannot go to a terminal: name a file with -o FILE");
        return Err(WrongUse(binary).into());
    }
    if let Some(path) = output {
        refuse_existing(path)?;
    }
    let answer = ask::open(context)?.ask(question)?;
    for note in answer.body.rows.iter().flat_map(|row| &row.notes) {
        eprintln!("note: {}", clean(&note.text));
    }
    let rows: Vec<TrendYear<'_>> = answer.body.rows.iter().flat_map(trend_years).collect();
    let write_to = |out: &mut dyn Write| -> Result<u64, ExportError> {
        let mut writer = ListWriter::begin(List::Trends, format, out)?;
        writer.rows(&rows, out)?;
        writer.end(out)
    };
    let Some(path) = output else {
        write_to(&mut context.out)?;
        return Ok(Outcome::Done);
    };
    let (part, mut file) = PartFile::begin(path)?;
    let written = write_to(&mut file)?;
    file.sync_all()?;
    part.finish()?;
    let written = counted(written, "row", "rows");
    writeln!(context.out, "{written} written to {}", path.display())?;
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
