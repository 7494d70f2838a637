//! Compares the rows of a dump, as they arrive, with another dump in a file. Both are filtered by a
//! [`Scope`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use serde::Serialize;

use super::scope::{Comparand, Scope};

/// The result of comparing a view.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Comparison {
    pub(super) view: Comparand,
    /// Number of compared rows of the archive.
    pub(super) rows: u64,
    /// The first difference, if any.
    pub(super) difference: Option<Difference>,
    /// The reason why the view could not be compared, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_compared: Option<String>,
}

/// The first difference between two dumps.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    /// Row number, counted from 1.
    pub(super) row: u64,
    /// The recomputed row; `None` if there are no further rows.
    pub(super) expected: Option<String>,
    /// The row of the archive; `None` if there are no further rows.
    pub(super) found: Option<String>,
}

impl Comparison {
    /// Returns the result for a view whose rows all match.
    pub(super) fn same(view: Comparand, rows: u64) -> Comparison {
        Comparison {
            view,
            rows,
            difference: None,
            not_compared: None,
        }
    }

    /// Returns the result for a view that cannot be compared.
    pub(super) fn impossible(view: Comparand, why: String) -> Comparison {
        Comparison {
            view,
            rows: 0,
            difference: None,
            not_compared: Some(why),
        }
    }

    /// Returns whether all rows match.
    pub(super) fn is_same(&self) -> bool {
        self.difference.is_none() && self.not_compared.is_none()
    }
}

/// A writer that compares its input with a file, line by line.
pub(super) struct DumpComparison<'s> {
    scope: &'s Scope,
    expected: BufReader<File>,
    /// The beginning of a row that is still incomplete.
    part: Vec<u8>,
    result: Comparison,
}

impl<'s> DumpComparison<'s> {
    /// Compares with the rest of `expected`.
    pub(super) fn new(view: Comparand, scope: &'s Scope, expected: File) -> DumpComparison<'s> {
        let result = Comparison::same(view, 0);
        DumpComparison {
            scope,
            expected: BufReader::new(expected),
            part: Vec::new(),
            result,
        }
    }

    /// Ends the comparison after all rows have arrived.
    pub(super) fn finish(mut self) -> io::Result<Comparison> {
        if !self.part.is_empty() {
            self.row()?;
        }
        if self.result.is_same()
            && let Some(expected) = self.next_expected()?
        {
            let (row, expected) = (self.result.rows + 1, Some(text(&expected)));
            self.result.difference = Some(Difference {
                row,
                expected,
                found: None,
            });
        }
        Ok(self.result)
    }

    /// Compares the row in `part` and clears it.
    fn row(&mut self) -> io::Result<()> {
        let part = std::mem::take(&mut self.part);
        let Some(found) = self.scope.row(self.result.view, &part) else {
            return Ok(());
        };
        self.result.rows += 1;
        // After a difference rows are only counted, because all later ones may be shifted.
        if self.result.is_same() {
            let expected = self.next_expected()?;
            if expected.as_deref() != Some(&*found) {
                let (row, expected) = (self.result.rows, expected.as_deref().map(text));
                self.result.difference = Some(Difference {
                    row,
                    expected,
                    found: Some(text(&found)),
                });
            }
        }
        Ok(())
    }

    fn next_expected(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            self.expected.read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Ok(None);
            }
            if let Some(row) = self.scope.row(self.result.view, &line) {
                return Ok(Some(row.into_owned()));
            }
        }
    }
}

impl Write for DumpComparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.part.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.row()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn text(row: &[u8]) -> String {
    String::from_utf8_lossy(row).trim_end_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    /// Compares with the found bytes arriving in pieces of every size.
    fn check(expected: &str, found: &str, rows: u64, difference: Option<(u64, Option<&str>, Option<&str>)>) {
        for size in 1..=found.len().max(1) {
            let mut file = tempfile::tempfile().expect("a temporary file");
            file.write_all(expected.as_bytes()).expect("written");
            file.rewind().expect("rewound");
            let scope = Scope::default();
            let mut comparing = DumpComparison::new(Comparand::Totals, &scope, file);
            for piece in found.as_bytes().chunks(size) {
                comparing.write_all(piece).expect("compared");
            }
            let difference = difference.map(|(row, expected, found)| Difference {
                row,
                expected: expected.map(str::to_owned),
                found: found.map(str::to_owned),
            });
            let result = comparing.finish().expect("finished");
            assert_eq!(
                result,
                Comparison {
                    view: Comparand::Totals,
                    rows,
                    difference,
                    not_compared: None
                },
                "{expected:?} {found:?}"
            );
        }
    }

    #[test]
    fn the_first_difference_is_found() {
        check("", "", 0, None);
        check("a\nb\n", "a\nb\n", 2, None);
        check("a\nb\n", "a\nc\nd\n", 3, Some((2, Some("b"), Some("c"))));
        check("a\nb\n", "a\n", 1, Some((2, Some("b"), None)));
        check("a\n", "a\nb\nc\n", 3, Some((2, None, Some("b"))));
        check("a\n", "a", 1, Some((1, Some("a"), Some("a"))));
    }
}
