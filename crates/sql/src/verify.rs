//! Compares the live views with their definitions over the facts, at one epoch.

use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use archive::Cut;
use archive::question::{Check, DamageRow, DumpFormat, DumpRange, View};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::error::thread_error;
use crate::{Database, QuerySettings, SqlError, text, view_statement};

/// Number of pieces of [`PIECE_BYTES`] of a dump that are buffered for comparison.
const PIECES_WAITING_MAX: usize = 4;
const PIECE_BYTES: usize = 1 << 18;

/// Maximum length of a displayed row.
const SHOWN_BYTES_MAX: usize = 400;

/// The result of a verification.
#[derive(Debug, Serialize)]
pub struct VerifyReport {
    /// The verified epoch.
    pub epoch: u64,
    /// One result per view.
    pub views: Vec<ViewReport>,
    /// Damaged parts of the archive, and disagreements of the search index with the pages.
    pub damages: Vec<DamageRow>,
    /// Parts that were not checked, with reasons.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// Returns whether everything was checked and is correct.
    pub fn is_clean(&self) -> bool {
        let views = self.views.iter().all(|view| view.difference.is_none());
        views && self.damages.is_empty() && self.notes.is_empty()
    }
}

/// The result for one view.
#[derive(Debug, Serialize)]
pub struct ViewReport {
    /// Its name.
    pub view: &'static str,
    /// Number of rows of the live view.
    pub rows: u64,
    /// Number of rows of its definition over the facts.
    pub rows_expected: u64,
    /// The first differing row.
    pub difference: Option<Difference>,
}

/// A difference between a view and its definition.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Row number, counted from 1.
    pub row: u64,
    /// The row of the definition, if there is one.
    pub expected: Option<String>,
    /// The row of the view, if there is one.
    pub found: Option<String>,
}

/// Compares all views. `progress` is called with each view before its comparison.
///
/// # Errors
/// [`SqlError`] if anything is unreadable.
pub async fn verify(database: &Database, progress: &mut dyn FnMut(View)) -> Result<VerifyReport, SqlError> {
    let cut = database.cut().await?;
    let mut verified = VerifyReport {
        epoch: cut.epoch(),
        views: Vec::new(),
        damages: Vec::new(),
        notes: Vec::new(),
    };
    if let Err(why) = database.facts(cut.archive())? {
        return Err(SqlError::NoFacts(format!(
            "{why}, so its views cannot be compared with them; use weft verify, which reads the inputs again"
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
    let checked = system::blocking(move || archive.ask(Check {}));
    let checked = checked.await.map_err(thread_error)??;
    verified.damages = checked.body.damages;
    verified.notes = checked.body.notes;
    Ok(verified)
}

/// Compares a view with its definition: first as multisets of rows, which needs no sorting, then
/// row by row only if these differ.
async fn compare(
    database: &Database,
    cut: &Arc<Cut>,
    view: View,
    statement: &str,
) -> Result<ViewReport, SqlError> {
    let found = {
        let cut = cut.clone();
        system::blocking(move || {
            let mut rows = LiveRows::new(view);
            cut.dump(view, DumpRange::default(), DumpFormat::Tsv, &mut rows)?;
            Ok::<LiveRows, SqlError>(rows)
        })
    };
    let in_any_order = statement
        .rsplit_once("\nORDER BY ")
        .map_or(statement, |(rows, _)| rows);
    let expected = match rows_of(database, cut, in_any_order, &by_hashing()).await {
        // One side of a join exceeds the memory.
        Err(SqlError::NoMemory(_)) => rows_of(database, cut, in_any_order, &by_sorting()).await,
        expected => expected,
    };
    // Await this in any case: the task holds the cut.
    let found = found.await.map_err(thread_error)?;
    let (expected, found) = (expected?, found?);
    if found.is_in_order && found.set == expected {
        return Ok(ViewReport {
            view: view.name(),
            rows: found.set.rows,
            rows_expected: expected.rows,
            difference: None,
        });
    }
    let compared = compare_in_order(database, cut, view, statement).await?;
    match compared.difference {
        Some(_) => Ok(compared),
        None => Err(SqlError::Execution(format!(
            "{}: two reads of the same epoch differ; the memory or a disk of this machine may be failing",
            view.name()
        ))),
    }
}

/// Hash joins, which keep one side in memory: the definitions put the smaller one first.
fn by_hashing() -> QuerySettings {
    QuerySettings {
        joins_as_written: true,
        ..QuerySettings::default()
    }
}

/// Sort-merge joins, which spill to temporary files.
fn by_sorting() -> QuerySettings {
    QuerySettings {
        sorts_for_joins: true,
        ..QuerySettings::default()
    }
}

async fn rows_of(
    database: &Database,
    cut: &Arc<Cut>,
    statement: &str,
    settings: &QuerySettings,
) -> Result<RowSet, SqlError> {
    let mut answer = database.query_cut(cut, statement, settings).await?;
    let mut set = RowSet::default();
    let mut rows = Vec::new();
    while let Some(batch) = answer.next().await {
        rows.clear();
        text::append_rows(&batch?, &mut rows).map_err(|error| SqlError::Execution(error.to_string()))?;
        lines(&rows).for_each(|row| set.add(row));
    }
    Ok(set)
}

/// A multiset of rows, represented by two sums of hashes. Different sets collide with a probability
/// of 2^-128.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct RowSet {
    rows: u64,
    sums: [u64; 2],
}

impl RowSet {
    fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        for (place, sum) in self.sums.iter_mut().enumerate() {
            let mut hasher = DefaultHasher::new();
            hasher.write_usize(place);
            hasher.write(row);
            *sum = sum.wrapping_add(hasher.finish());
        }
    }
}

/// Collects the rows of a live view during its dump.
struct LiveRows {
    view: View,
    set: RowSet,
    /// Whether all rows so far are in order.
    is_in_order: bool,
    last: Vec<u8>,
    /// An incomplete row.
    begun: Vec<u8>,
}

impl LiveRows {
    fn new(view: View) -> LiveRows {
        LiveRows {
            view,
            set: RowSet::default(),
            is_in_order: true,
            last: Vec::new(),
            begun: Vec::new(),
        }
    }

    fn add(&mut self, row: &[u8]) {
        self.set.add(row);
        self.is_in_order &= self.set.rows == 1 || may_follow(self.view, &self.last, row);
        self.last.clear();
        self.last.extend_from_slice(row);
    }
}

impl Write for LiveRows {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        for part in lines(data) {
            if self.begun.is_empty() && part.ends_with(b"\n") {
                self.add(part);
                continue;
            }
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let row = std::mem::take(&mut self.begun);
                self.add(&row);
            }
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a row of a dump may follow another, by key or by rank.
fn may_follow(view: View, before: &[u8], row: &[u8]) -> bool {
    let mut cells = [before, row].map(|row| row.trim_ascii_end().split(|&byte| byte == b'\t'));
    let [before, row] = &mut cells;
    if view != View::Top {
        return before.next() <= row.next();
    }
    let mut counts = || {
        [&mut *before, &mut *row].map(|row| {
            let cell = row.next().and_then(|cell| std::str::from_utf8(cell).ok());
            cell.and_then(|count| count.parse::<u64>().ok())
        })
    };
    for _ in 0..2 {
        let [before, row] = counts();
        if before != row {
            return before > row;
        }
    }
    before.next() <= row.next()
}

async fn compare_in_order(
    database: &Database,
    cut: &Arc<Cut>,
    view: View,
    statement: &str,
) -> Result<ViewReport, SqlError> {
    let mut rows = database.query_cut(cut, statement, &by_sorting()).await?;
    let (pieces, mut dumped) = mpsc::channel(PIECES_WAITING_MAX);
    let of_dump = cut.clone();
    let dumping = system::blocking(move || {
        let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Pieces { pieces });
        let rows = of_dump.dump(view, DumpRange::default(), DumpFormat::Tsv, &mut out)?;
        out.flush()
            .map_err(|error| SqlError::Execution(error.to_string()))?;
        Ok::<u64, SqlError>(rows)
    });
    let mut comparing = DumpComparison::default();
    let mut expected = Vec::new();
    while let Some(batch) = rows.next().await {
        expected.clear();
        text::append_rows(&batch?, &mut expected).map_err(|error| SqlError::Execution(error.to_string()))?;
        for line in lines(&expected) {
            // Wait for the live view's next line.
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
    dumping.await.map_err(thread_error)??;
    Ok(ViewReport {
        view: view.name(),
        rows: comparing.found_rows,
        rows_expected: comparing.expected_rows,
        difference: comparing.difference,
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}

/// A writer that forwards a dump in pieces.
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

/// Compares the dump of a view with the rows of its definition.
#[derive(Default)]
struct DumpComparison {
    /// The part of the dump that has arrived; from `at` on it has not been compared.
    arrived: Vec<u8>,
    at: usize,
    found_rows: u64,
    expected_rows: u64,
    difference: Option<Difference>,
}

impl DumpComparison {
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
                expected: Some(display_line(expected)),
                found: found.map(display_line),
            });
        }
    }

    /// Takes the lines after the last row of the definition.
    fn drop_lines(&mut self) {
        while let Some(line) = self.line() {
            if self.difference.is_none() {
                self.difference = Some(Difference {
                    row: self.found_rows,
                    expected: None,
                    found: Some(display_line(&self.arrived[line])),
                });
            }
        }
    }
}

fn display_line(line: &[u8]) -> String {
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
            let mut comparing = DumpComparison::default();
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
            let DumpComparison {
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
    fn sets_of_rows_count_rows_and_forget_their_order() {
        let set = |rows: &[&str]| {
            let mut set = RowSet::default();
            rows.iter().for_each(|row| set.add(row.as_bytes()));
            set
        };
        assert_eq!(set(&["a\n", "b\n"]), set(&["b\n", "a\n"]));
        assert_ne!(set(&["a\n", "b\n"]), set(&["a\n"]));
        assert_ne!(set(&["a\n", "a\n"]), set(&["b\n", "b\n"]));
        assert_ne!(set(&["a\n", "a\n", "b\n"]), set(&["a\n", "b\n", "b\n"]));
    }

    /// Checks a dump in pieces of every size.
    #[track_caller]
    fn check_order(view: View, dump: &str, is_in_order: bool) {
        for size in 1..=dump.len() {
            let mut rows = LiveRows::new(view);
            for piece in dump.as_bytes().chunks(size) {
                rows.write_all(piece).unwrap();
            }
            assert_eq!(rows.set.rows, dump.lines().count() as u64);
            assert_eq!(rows.is_in_order, is_in_order, "{dump:?} by {size}");
        }
    }

    #[test]
    fn rows_of_a_live_view_stand_in_order() {
        check_order(View::Uris, "a\t9\nab\t1\nb\t0\n", true);
        check_order(View::Uris, "b\t1\na\t0\n", false);
        check_order(View::Links, "a\tz\na\tb\n", true);
        check_order(View::Top, "10\t1\tz\n9\t30\ta\n9\t4\ta\n9\t4\tb\n", true);
        check_order(View::Top, "9\t1\ta\n10\t1\tb\n", false);
        check_order(View::Top, "9\t1\tb\n9\t1\ta\n", false);
        check_order(View::Top, "9\t1\tb\n9\t2\tc\n", false);
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
