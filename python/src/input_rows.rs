//! The rows of one input in batches.
//!
//! Invariant: memory holds at most the rows of one batch per table, plus the largest capture.

use std::collections::VecDeque;
use std::sync::Arc;

use archive::{Counts, OneInput, Part, Parts};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use extract::LinkScope;
use facts::{Fact, Source, Table, TableRows};
use warc::{Defect, ReadError, Span};

/// Rows of a full batch, enough to make the cost per row small.
const BATCH_ROWS: usize = 8 << 10;

/// Text bytes of a full batch.
const BATCH_TEXT_BYTES: usize = 8 << 20;

/// Kinds of rows that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Rows of a table of facts.
    Facts(Table),
    /// Unusable parts.
    Quarantine,
}

impl Rows {
    /// Finds a kind by its name.
    pub(crate) fn named(name: &str) -> Option<Rows> {
        let table = Table::ALL.into_iter().find(|table| table.name() == name);
        match name {
            "quarantine" => Some(Rows::Quarantine),
            _ => table.map(Rows::Facts),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Rows::Facts(table) => table.name(),
            Rows::Quarantine => "quarantine",
        }
    }

    pub(crate) fn schema(self) -> SchemaRef {
        match self {
            Rows::Facts(table) => crate::arrow::schema(table),
            Rows::Quarantine => quarantine_schema(),
        }
    }
}

/// The reason why reading an input ended early.
#[derive(Debug)]
pub(crate) enum RowsError {
    Read(ReadError),
    Arrow(ArrowError),
}

impl std::fmt::Display for RowsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RowsError::Read(error) => error.fmt(f),
            RowsError::Arrow(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RowsError {}

/// Columns that describe the input of a row.
#[derive(Debug, Clone)]
pub(crate) struct RowOrigin {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) collection: String,
    pub(crate) epoch: u64,
}

/// An input that is being read.
pub(crate) struct InputRows {
    from: RowOrigin,
    parts: Parts,
    tables: Vec<TableRows>,
    quarantined: Option<Vec<(Span, Defect)>>,
    full: VecDeque<(Rows, RecordBatch)>,
    is_at_end: bool,
}

impl InputRows {
    pub(crate) fn new(
        input: &OneInput,
        from: RowOrigin,
        links: LinkScope,
        asked: &[Rows],
    ) -> Result<InputRows, ReadError> {
        let table = |rows: &Rows| match rows {
            Rows::Facts(table) => Some(TableRows::new(*table)),
            Rows::Quarantine => None,
        };
        Ok(InputRows {
            from,
            parts: input.parts(links)?,
            tables: asked.iter().filter_map(table).collect(),
            quarantined: asked.contains(&Rows::Quarantine).then(Vec::new),
            full: VecDeque::new(),
            is_at_end: false,
        })
    }

    /// Returns the next batch of any of the tables; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Rows, RecordBatch)>, RowsError> {
        while self.full.is_empty() && !self.is_at_end {
            match self.parts.next().map_err(RowsError::Read)? {
                Some(part) => self.add(part).map_err(RowsError::Arrow)?,
                None => {
                    self.is_at_end = true;
                    self.close(|_| true).map_err(RowsError::Arrow)?;
                }
            }
        }
        Ok(self.full.pop_front())
    }

    fn add(&mut self, part: Part) -> Result<(), ArrowError> {
        match part {
            Part::Capture(capture) => {
                let RowOrigin {
                    id,
                    name,
                    digest,
                    collection,
                    epoch,
                } = &self.from;
                let source = Source {
                    id: *id,
                    name,
                    digest,
                    collection,
                };
                let fact = Fact {
                    source,
                    capture: &capture,
                };
                for table in &mut self.tables {
                    table.add(&fact, *epoch);
                }
            }
            Part::Quarantined(span, defect) => {
                if let Some(quarantined) = &mut self.quarantined {
                    quarantined.push((span, defect));
                }
            }
        }
        self.close(|table| table.len() >= BATCH_ROWS || table.text_bytes() >= BATCH_TEXT_BYTES)
    }

    /// Makes batches of the matching tables. Quarantine rows are batched only by their own number,
    /// or at the end.
    fn close(&mut self, is_meant: impl Fn(&TableRows) -> bool) -> Result<(), ArrowError> {
        for table in &mut self.tables {
            if !table.is_empty() && is_meant(table) {
                let of = table.table();
                let rows = std::mem::replace(table, TableRows::new(of));
                self.full.push_back((Rows::Facts(of), crate::arrow::batch(rows)?));
            }
        }
        if let Some(quarantined) = &mut self.quarantined
            && !quarantined.is_empty()
            && (self.is_at_end || quarantined.len() >= BATCH_ROWS)
        {
            let rows = std::mem::take(quarantined);
            self.full
                .push_back((Rows::Quarantine, quarantine_batch(&self.from, &rows)?));
        }
        Ok(())
    }

    pub(crate) fn counts(&self) -> Counts {
        self.parts.counts()
    }

    pub(crate) fn failure(&self) -> Option<&'static str> {
        self.parts.failure()
    }
}

fn quarantine_schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let long = |name| Field::new(name, DataType::Int64, false);
    Arc::new(Schema::new(vec![
        text("input"),
        long("offset"),
        long("length"),
        text("reason"),
        text("detail"),
        long("input_id"),
        long("epoch"),
    ]))
}

fn quarantine_batch(from: &RowOrigin, rows: &[(Span, Defect)]) -> Result<RecordBatch, ArrowError> {
    let texts = |text: &dyn Fn(&(Span, Defect)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(text)))
    };
    let longs = |long: &dyn Fn(&(Span, Defect)) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            rows.iter().map(|row| long(row) as i64),
        ))
    };
    let columns = vec![
        texts(&|_| from.name.clone()),
        longs(&|(span, _)| span.offset),
        longs(&|(span, _)| span.length),
        texts(&|(_, defect)| defect.reason.to_owned()),
        texts(&|(_, defect)| defect.detail.clone()),
        longs(&|_| from.id as u64),
        longs(&|_| from.epoch),
    ];
    RecordBatch::try_new(quarantine_schema(), columns)
}
