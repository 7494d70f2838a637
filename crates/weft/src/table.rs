//! Aligned text tables.
//!
//! Columns are as wide as their widest cell. If the terminal is too narrow, the one *flexible*
//! column is truncated with an ellipsis. Output to a file or a pipe is never truncated.

use std::io::{self, Write};

use crate::stdout::Out;
use crate::style::{clean, columns, cut};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// Text that may be truncated; at most one column has this kind.
    Flexible,
}

/// A table under construction.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    kinds: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Minimum width of the flexible column, in columns, even on a narrower terminal.
const FLEXIBLE_COLUMNS_MIN: usize = 16;

impl Table {
    /// Makes a table with these columns.
    pub(crate) fn new(heads: &[(&'static str, Column)]) -> Table {
        Table {
            heads: heads.iter().map(|(head, _)| *head).collect(),
            kinds: heads.iter().map(|(_, kind)| *kind).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Cells are sanitised for printing; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// Prints the header and rows, or nothing if there are no rows.
    pub(crate) fn print(&self, out: &mut Out) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let widths = self.widths(out.width);
        let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        let line = self.line(&heads, &widths);
        let line = out.style.dim(&line);
        writeln!(out, "{line}")?;
        for row in &self.rows {
            writeln!(out, "{}", self.line(row, &widths))?;
        }
        Ok(())
    }

    fn widths(&self, terminal: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| columns(head)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(cell));
            }
        }
        let Some(terminal) = terminal else { return widths };
        if let Some(flexible) = self.kinds.iter().position(|kind| *kind == Column::Flexible) {
            let others: usize = widths.iter().sum::<usize>() - widths[flexible] + 2 * (widths.len() - 1);
            let room = terminal.saturating_sub(others).max(FLEXIBLE_COLUMNS_MIN);
            widths[flexible] = widths[flexible].min(room);
        }
        widths
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (i, ((cell, width), kind)) in cells.iter().zip(widths).zip(&self.kinds).enumerate() {
            if i > 0 {
                line.push_str("  ");
            }
            let cell = cut(cell, *width);
            let pad = " ".repeat(width - columns(&cell).min(*width));
            match kind {
                Column::Right => line.extend([pad.as_str(), &cell]),
                _ => line.extend([cell.as_str(), &pad]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(table: &Table, terminal: Option<usize>) -> String {
        let widths = table.widths(terminal);
        table
            .rows
            .iter()
            .map(|row| table.line(row, &widths) + "\n")
            .collect()
    }

    #[test]
    fn columns_align_and_only_the_flexible_one_is_cut() {
        let mut table = Table::new(&[
            ("n", Column::Right),
            ("url", Column::Flexible),
            ("what", Column::Left),
        ]);
        table.row(["7".into(), "http://example.com/a/long/path".into(), "page".into()]);
        table.row(["1,000".into(), "http://x/".into(), "-".into()]);
        assert_eq!(
            text(&table, None),
            "    7  http://example.com/a/long/path  page\n1,000  http://x/                       -\n"
        );
        assert_eq!(
            text(&table, Some(30)),
            "    7  http://example.c…  page\n1,000  http://x/          -\n"
        );
    }

    #[test]
    fn hostile_cells_stay_in_their_row() {
        let mut table = Table::new(&[("a", Column::Left)]);
        table.row(["x\n\x1b[2Jy".into()]);
        assert_eq!(text(&table, None), "x  [2Jy\n");
    }
}
