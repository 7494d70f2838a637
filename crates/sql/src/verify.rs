//! Compares the live views with what their definitions make of the facts, at one epoch.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use archive::Cut;
use archive::question::{Check, DamageRow, DumpFormat, DumpRange, View};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::database::panicked;
use crate::{Database, QuerySettings, SqlError, text, view_statement};

/// Bytes of a dump that wait to be compared, in pieces of [`PIECE_BYTES`].
const PIECES_WAITING_MAX: usize = 4;
const PIECE_BYTES: usize = 1 << 18;

/// Longest row that is shown.
const SHOWN_BYTES_MAX: usize = 400;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Verified {
    /// The epoch that was looked at.
    pub epoch: u64,
    /// One for each view.
    pub views: Vec<VerifiedView>,
    /// Parts of the archive that are damaged in themselves, or of which the search index does not agree with the pages.
    pub damages: Vec<DamageRow>,
    /// What was not looked at, and why.
    pub notes: Vec<String>,
}

impl Verified {
    /// Whether everything is as it must be, and was looked at.
    pub fn is_clean(&self) -> bool {
        let views = self.views.iter().all(|view| view.difference.is_none());
        views && self.damages.is_empty() && self.notes.is_empty()
    }
}

/// A view beside its definition.
#[derive(Debug, Serialize)]
pub struct VerifiedView {
    /// Its name.
    pub view: &'static str,
    /// Rows of the live view.
    pub rows: u64,
    /// Rows of its definition over the facts.
    pub rows_expected: u64,
    /// The first row that is another.
    pub difference: Option<Difference>,
}

/// Where a view is not what its definition says.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Which row, from 1.
    pub row: u64,
    /// The row of the definition, if there is one.
    pub expected: Option<String>,
    /// The row of the view, if there is one.
    pub found: Option<String>,
}

/// Compares all views. `progress` is called with each view before it is compared.
///
/// # Errors
/// [`SqlError`]: something cannot be read.
pub async fn verify(database: &Database, progress: &mut dyn FnMut(View)) -> Result<Verified, SqlError> {
    let cut = database.cut().await?;
    let mut verified = Verified {
        epoch: cut.epoch(),
        views: Vec::new(),
        damages: Vec::new(),
        notes: Vec::new(),
    };
    if let Err(why) = database.facts(cut.archive())? {
        return Err(SqlError::NoFacts(format!(
            "{why}, so there is nothing to compare its views with; weft verify reads its inputs again instead"
        )));
    }
    let defined = View::ALL
        .into_iter()
        .filter_map(|view| Some((view, view_statement(view)?)));
    for (view, statement) in defined {
        progress(view);
        verified
            .views
            .push(compare(database, &cut, view, statement).await?);
    }
    let archive = cut.archive().clone();
    let checked = ambient::blocking(move || archive.ask(Check {}));
    let checked = checked.await.map_err(panicked)??;
    verified.damages = checked.body.damages;
    verified.notes = checked.body.notes;
    Ok(verified)
}

async fn compare(
    database: &Database,
    cut: &Arc<Cut>,
    view: View,
    statement: &str,
) -> Result<VerifiedView, SqlError> {
    let settings = QuerySettings {
        sorts_for_joins: true,
        ..QuerySettings::default()
    };
    let mut rows = database.query_cut(cut, statement, &settings).await?;
    let (pieces, mut dumped) = mpsc::channel(PIECES_WAITING_MAX);
    let of_dump = cut.clone();
    let dumping = ambient::blocking(move || {
        let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Pieces { pieces });
        let rows = of_dump.dump(view, DumpRange::default(), DumpFormat::Tsv, &mut out)?;
        out.flush()
            .map_err(|error| SqlError::Execution(error.to_string()))?;
        Ok::<u64, SqlError>(rows)
    });
    let mut comparing = Comparing::default();
    let mut expected = Vec::new();
    while let Some(batch) = rows.next().await {
        expected.clear();
        text::append_rows(&batch?, &mut expected).map_err(|error| SqlError::Execution(error.to_string()))?;
        for line in lines(&expected) {
            // The live view's next line.
            while !comparing.has_line() {
                match dumped.recv().await {
                    Some(piece) => comparing.take(&piece),
                    None => break,
                }
            }
            comparing.expect(line);
        }
    }
    while let Some(piece) = dumped.recv().await {
        comparing.take(&piece);
        comparing.drop_lines();
    }
    comparing.drop_lines();
    dumping.await.map_err(panicked)??;
    Ok(VerifiedView {
        view: view.name(),
        rows: comparing.found_rows,
        rows_expected: comparing.expected_rows,
        difference: comparing.difference,
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}

/// Passes a dump on in pieces.
struct Pieces {
    pieces: mpsc::Sender<Vec<u8>>,
}

impl Write for Pieces {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.pieces
            .blocking_send(data.to_vec())
            .map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The dump of a view on its way past the rows of the definition.
#[derive(Default)]
struct Comparing {
    /// What of the dump has arrived and not been compared, from `at` on.
    arrived: Vec<u8>,
    at: usize,
    found_rows: u64,
    expected_rows: u64,
    difference: Option<Difference>,
}

impl Comparing {
    fn take(&mut self, piece: &[u8]) {
        self.arrived.drain(..self.at);
        self.at = 0;
        self.arrived.extend_from_slice(piece);
    }

    fn has_line(&self) -> bool {
        self.arrived[self.at..].contains(&b'\n')
    }

    /// Takes the next line of the dump.
    fn line(&mut self) -> Option<std::ops::Range<usize>> {
        let rest = &self.arrived[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        let line = self.at..self.at + end + 1;
        self.at = line.end;
        self.found_rows += 1;
        Some(line)
    }

    fn expect(&mut self, expected: &[u8]) {
        self.expected_rows += 1;
        let found = self.line().map(|range| &self.arrived[range]);
        if found != Some(expected) && self.difference.is_none() {
            self.difference = Some(Difference {
                row: self.expected_rows,
                expected: Some(shown(expected)),
                found: found.map(shown),
            });
        }
    }

    /// Takes the lines after the last of the definition.
    fn drop_lines(&mut self) {
        while let Some(line) = self.line() {
            if self.difference.is_none() {
                self.difference = Some(Difference {
                    row: self.found_rows,
                    expected: None,
                    found: Some(shown(&self.arrived[line])),
                });
            }
        }
    }
}

fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
    match line.char_indices().nth(SHOWN_BYTES_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Compares with the dump in pieces of every size.
    fn check(expected_rows: &str, dump: &str, expected: Expect) {
        for size in 1..=dump.len().max(1) {
            let mut comparing = Comparing::default();
            let mut pieces = dump.as_bytes().chunks(size);
            for line in lines(expected_rows.as_bytes()) {
                while !comparing.has_line() {
                    match pieces.next() {
                        Some(piece) => comparing.take(piece),
                        None => break,
                    }
                }
                comparing.expect(line);
            }
            for piece in pieces {
                comparing.take(piece);
                comparing.drop_lines();
            }
            comparing.drop_lines();
            let Comparing {
                found_rows,
                expected_rows,
                difference,
                ..
            } = comparing;
            let difference = difference.map(|d| (d.row, d.expected, d.found));
            expected.assert_eq(&format!("{found_rows} of {expected_rows}: {difference:?}"));
        }
    }

    #[test]
    fn the_first_difference_is_found() {
        check("a\nb\n", "a\nb\n", expect!["2 of 2: None"]);
        check("", "", expect!["0 of 0: None"]);
        check(
            "a\nb\nc\n",
            "a\nx\nc\n",
            expect![[r#"3 of 3: Some((2, Some("b"), Some("x")))"#]],
        );
        check(
            "a\nb\n",
            "a\n",
            expect![[r#"1 of 2: Some((2, Some("b"), None))"#]],
        );
        check(
            "a\n",
            "a\nb\nc\n",
            expect![[r#"3 of 1: Some((2, None, Some("b")))"#]],
        );
    }
}
