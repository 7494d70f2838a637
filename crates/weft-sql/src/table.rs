//! Aligned tables of rows.

use std::io::{self, Write};

use format::terminal::{Style, clean, columns, cut};
use sql::arrow::array::RecordBatch;
use sql::arrow::datatypes::{DataType, SchemaRef};
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};

/// Number of rows that determine the column widths; later cells are truncated to fit.
const SAMPLE_ROWS: usize = 1000;

/// Maximum column width on a terminal, since long URLs and texts would crowd out the other columns.
const WIDTH_MAX: usize = 60;

/// A table that is written as its rows arrive.
pub(crate) struct Table<W> {
    out: W,
    style: Style,
    names: Vec<String>,
    is_number: Vec<bool>,
    /// Rows buffered until the widths are known.
    waiting: Vec<Vec<String>>,
    widths: Vec<usize>,
    width_max: usize,
}

impl<W: Write> Table<W> {
    pub(crate) fn new(out: W, schema: &SchemaRef) -> Table<W> {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
        Table {
            out,
            style: Style::new(is_terminal),
            names: schema.fields().iter().map(|field| clean(field.name())).collect(),
            is_number: schema
                .fields()
                .iter()
                .map(|field| is_number(field.data_type()))
                .collect(),
            waiting: Vec::new(),
            widths: Vec::new(),
            width_max: if is_terminal { WIDTH_MAX } else { usize::MAX },
        }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let options = FormatOptions::new().with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S"));
        let formatters = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<Vec<_>, _>>()
            .map_err(io::Error::other)?;
        for row in 0..batch.num_rows() {
            // Untrusted text must not contain terminal control sequences.
            let cells = formatters
                .iter()
                .map(|formatter| clean(&formatter.value(row).to_string()));
            let cells: Vec<String> = cells.collect();
            if self.widths.is_empty() {
                self.waiting.push(cells);
                if self.waiting.len() >= SAMPLE_ROWS {
                    self.write_waiting()?;
                }
            } else {
                self.write_row(&cells)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.widths.is_empty() {
            self.write_waiting()?;
        }
        self.out.flush()
    }

    /// Determines the widths, and writes the header and the buffered rows.
    fn write_waiting(&mut self) -> io::Result<()> {
        let widest = |place: usize| {
            let cells = self.waiting.iter().map(|row| columns(&row[place]));
            let width = cells.max().unwrap_or_default().min(self.width_max);
            width.max(columns(&self.names[place]))
        };
        self.widths = (0..self.names.len()).map(widest).collect();
        let head = self.line(&self.names.clone());
        writeln!(self.out, "{}", self.style.dim(head.trim_end()))?;
        for row in std::mem::take(&mut self.waiting) {
            self.write_row(&row)?;
        }
        Ok(())
    }

    fn write_row(&mut self, cells: &[String]) -> io::Result<()> {
        let line = self.line(cells);
        writeln!(self.out, "{}", line.trim_end())
    }

    fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                line.push_str("  ");
            }
            let width = self.widths[place];
            let cell = if self.width_max == usize::MAX {
                cell.clone()
            } else {
                cut(cell, width)
            };
            let padding = " ".repeat(width.saturating_sub(columns(&cell)));
            if self.is_number[place] {
                line.extend([padding, cell])
            } else {
                line.extend([cell, padding])
            }
        }
        line
    }
}

fn is_number(r#type: &DataType) -> bool {
    r#type.is_numeric()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::expect;
    use sql::arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn rows_stand_side_by_side_and_cannot_drive_the_terminal() {
        let batch = RecordBatch::try_from_iter([
            (
                "url",
                Arc::new(StringArray::from(vec![Some("http://a/\x1b[31m"), None])) as ArrayRef,
            ),
            ("inlinks", Arc::new(Int64Array::from(vec![1, 20]))),
        ])
        .unwrap();
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, &batch.schema());
        table.width_max = usize::MAX;
        table.write(&batch).unwrap();
        table.finish().unwrap();
        expect![[r#"
            url             inlinks
            http://a/ [31m        1
                                 20
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }
}
