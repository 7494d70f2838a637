//! The compared part of the inputs: each up to where it was loaded, except inputs with
//! unknown records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use archive::question::{Details, Dump, InputState, LedgerRow, View};
use serde::Serialize;

/// An input that no longer yields the records that were loaded.
#[derive(Debug, Clone, Serialize)]
pub(super) struct UnknownInput {
    pub(super) input: String,
    pub(super) why: String,
}

impl UnknownInput {
    pub(super) fn of(row: &LedgerRow, why: String) -> UnknownInput {
        UnknownInput {
            input: row.input.clone(),
            why,
        }
    }
}

/// How much of an input is in the views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// The part before `bytes_done` of its row.
    Beginning,
    /// Nothing: it was not read, or could not be.
    Nothing,
}

impl Extent {
    /// Returns the extent recorded in the ledger.
    pub(super) fn of(row: &LedgerRow) -> Extent {
        match row.state {
            InputState::Done => Extent::Whole,
            InputState::TakenDown => Extent::Nothing,
            _ if row.bytes_done == 0 => Extent::Nothing,
            InputState::Pending | InputState::Loading => Extent::Beginning,
            _ if row.bytes_done < row.size => Extent::Beginning,
            // It failed because of its content, so it would fail again.
            _ => Extent::Whole,
        }
    }
}

/// Selects the rows and fields of a dump to compare. Inputs are identified by their names as
/// written in dumps.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Inputs read in part. A copy of that part has other values in some fields, which are not
    /// compared.
    beginnings: HashSet<Vec<u8>>,
    /// Digests of inputs without any loaded part.
    nothing: HashSet<Vec<u8>>,
    /// Inputs with unknown records.
    unknown: HashSet<Vec<u8>>,
}

impl Scope {
    pub(super) fn of(rows: &[LedgerRow], unknown: &[UnknownInput]) -> Scope {
        let mut scope = Scope::default();
        for row in rows {
            match Extent::of(row) {
                Extent::Whole => {}
                Extent::Beginning => {
                    scope.beginnings.insert(escape_name(&row.input));
                }
                Extent::Nothing => {
                    scope.nothing.insert(escape_name(&row.digest));
                }
            }
        }
        scope.unknown = unknown.iter().map(|input| escape_name(&input.input)).collect();
        scope
    }

    /// Returns the reason if a view cannot be compared because its rows are derived from all inputs
    /// together.
    pub(super) fn refuses(&self, compared: Comparand) -> Option<String> {
        let of_one_input = compared.input_column().is_some();
        (!of_one_input && !self.unknown.is_empty())
            .then(|| "it is derived from all inputs, and some of them could not be compared".to_owned())
    }

    /// Returns the row in its compared form, or `None` if it is not compared.
    pub(super) fn row<'r>(&self, compared: Comparand, row: &'r [u8]) -> Option<Cow<'r, [u8]>> {
        let Some(column) = compared.input_column() else {
            return Some(row.into());
        };
        let line = row.strip_suffix(b"\n").unwrap_or(row);
        let columns: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        let input = match column {
            Column::First => columns.first(),
            Column::BeforeLast => columns.iter().nth_back(1),
            Column::Last => columns.last(),
        };
        let input = input.copied().unwrap_or_default();
        if self.unknown.contains(input) {
            return None;
        }
        if compared != Comparand::Rows(Dump::View(View::Ledger)) {
            return Some(row.into());
        }
        if columns
            .get(1)
            .is_some_and(|digest| self.nothing.contains(*digest))
        {
            return None;
        }
        if self.beginnings.contains(input) {
            // Drop digest, size and state, which concern the whole file.
            let kept: Vec<&[u8]> = columns
                .iter()
                .take(1)
                .chain(columns.iter().skip(4))
                .copied()
                .collect();
            return Some([&kept.join(&b'\t'), b"\n".as_slice()].concat().into());
        }
        Some(row.into())
    }
}

/// The column of a row that names its input.
enum Column {
    First,
    BeforeLast,
    Last,
}

/// A unit of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub(super) enum Comparand {
    /// The rows of a dump.
    Rows(Dump),
    /// The totals that `weft status` shows.
    Totals,
}

impl Comparand {
    fn input_column(self) -> Option<Column> {
        match self {
            Comparand::Rows(Dump::View(View::Ledger | View::Quarantine)) => Some(Column::First),
            Comparand::Rows(Dump::View(View::Captures)) => Some(Column::BeforeLast),
            Comparand::Rows(Dump::Details(Details::Kinds | Details::IndexLines)) => Some(Column::Last),
            Comparand::Rows(_) | Comparand::Totals => None,
        }
    }
}

impl From<Comparand> for &'static str {
    fn from(compared: Comparand) -> &'static str {
        match compared {
            Comparand::Rows(rows) => rows.name(),
            Comparand::Totals => "totals",
        }
    }
}

impl fmt::Display for Comparand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad((*self).into())
    }
}

/// Returns a name in its escaped form in dumps.
fn escape_name(name: &str) -> Vec<u8> {
    let name = name.replace('\\', "\\\\").replace('\t', "\\t");
    name.replace('\n', "\\n").replace('\r', "\\r").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_unknown_inputs_and_columns_of_whole_files_are_left_out() {
        let row = |input: &str, state: &str, bytes_done| LedgerRow {
            input: input.into(),
            digest: format!("sha256:{input}"),
            size: 9,
            state: state.parse().expect("a state"),
            bytes_done,
            ..LedgerRow::default()
        };
        let rows = [
            row("a", "done", 9),
            row("b", "loading", 4),
            row("c", "pending", 0),
            row("d\t", "done", 9),
            row("e", "failed(x)", 0),
        ];
        let unknown = super::UnknownInput {
            input: "d\t".into(),
            why: String::new(),
        };
        let scope = Scope::of(&rows, &[unknown]);
        let rows_of = |name: &str| Comparand::Rows(name.parse().expect("a view"));
        let check = |view: &str, row: &str, expected: Option<&str>| {
            let found = scope.row(rows_of(view), row.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{row}");
        };
        let whole = "a\tsha256:a\t9\tdone\t1\t1\t0\t9\n";
        check("ledger", whole, Some(whole));
        check(
            "ledger",
            "b\tsha256:b\t9\tloading\t1\t1\t0\t4\n",
            Some("b\t1\t1\t0\t4\n"),
        );
        check("ledger", "c\tsha256:c\t9\tpending\t0\t0\t0\t0\n", None);
        check("ledger", "d\\t\tsha256:d\t9\tdone\t1\t1\t0\t9\n", None);
        check("ledger", "e\tsha256:e\t9\tfailed(x)\t0\t0\t0\t0\n", None);
        check("captures", "k\tt\tu\tm\t200\td\t1\t0\td\\t\tGET\n", None);
        check(
            "captures",
            "k\tt\tu\tm\t200\td\t1\t0\tb\tGET\n",
            Some("k\tt\tu\tm\t200\td\t1\t0\tb\tGET\n"),
        );
        assert!(scope.refuses(rows_of("links")).is_some() && scope.refuses(rows_of("captures")).is_none());
    }
}
