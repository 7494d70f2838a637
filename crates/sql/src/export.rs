//! Reads tables of facts that a cluster wrote ([docs/scale.md](../../../docs/scale.md)) as the
//! lines from which an archive is built.
//!
//! The tables are read once, sorted by input and offset, and merged. Memory holds one capture and
//! sort buffers, which spill to temporary files. The ledger of the tables, one row per input, is in
//! memory completely.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use archive::{FactInput, ImportLine, QuarantineEntry};
use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use deltalake_core::DeltaTable;
use extract::{Capture, Link, LinkKind, LinkScope};
use facts::{CAPTURE_COLUMNS, Cells, Table};
use futures_util::StreamExt as _;

use crate::exact_filters::ExactFilters;
use crate::facts_folder::FactsFolder;
use crate::memory::{Sharing, runtime};
use crate::{Settings, SqlError};

/// Table property that records which links the tables contain.
const LINKS_PROPERTY: &str = "weft.links";

const LINKS: &str = "\
SELECT input_id, warc_record_offset, target_surtkey, target_url, anchor, nofollow, kind
FROM links
ORDER BY input_id, warc_record_offset";

const TEXTS: &str =
    "SELECT input_id, warc_record_offset, text FROM texts ORDER BY input_id, warc_record_offset";

const QUARANTINE: &str = "\
SELECT input_id, \"offset\", \"length\", reason, detail FROM quarantine ORDER BY input_id, \"offset\"";

const LEDGER: &str = "SELECT input, location, digest, size, state, records FROM ledger";

/// Writes the tables in the folder `base` (a path, or `s3://bucket/name`) as lines, beginning with
/// the line about the tables. Joins and sorts take at most the memory of `settings`, plus temporary
/// files.
///
/// # Errors
/// [`SqlError`] if there are no such tables or one is unreadable, and any error of `write`.
pub async fn export(
    base: &str,
    settings: &Settings,
    write: &mut (dyn FnMut(&ImportLine) -> Result<(), SqlError> + Send),
) -> Result<(), SqlError> {
    let tables = Tables::open(FactsFolder::new(base, &settings.remote())?, settings).await?;
    let (mut inputs, inputs_failed) = tables.ledger().await?;
    let mut captures = tables.rows(&tables.statement_of_captures().await?).await?;
    let mut links = tables.rows(LINKS).await?;
    let mut texts = if tables.has_texts {
        Some(tables.rows(TEXTS).await?)
    } else {
        None
    };
    let mut quarantine = tables.rows(QUARANTINE).await?;
    write(&ImportLine::Tables {
        links: tables.links,
        texts: tables.has_texts,
        captures: tables.captures,
        inputs_failed,
    })?;
    let mut last = None;
    while let Some(position) = captures.position().await? {
        if last != Some(position.0) {
            last = Some(position.0);
            // Inputs without captures.
            while let Some(before) = inputs.first_entry()
                && *before.key() < position.0
            {
                let (id, input) = before.remove_entry();
                write(&read_input(input, id, &mut quarantine).await?)?;
            }
            let Some(mut input) = inputs.remove(&position.0) else {
                return Err(wrong(
                    base,
                    format!("captures has input {}, but ledger does not", position.0),
                ));
            };
            input.collection = captures.text("collection")?;
            write(&read_input(input, position.0, &mut quarantine).await?)?;
        }
        let mut capture = facts::capture_of(&captures)?;
        read_links(base, &mut capture, position, &mut links).await?;
        if let Some(texts) = &mut texts {
            read_text(&mut capture, position, texts).await?;
        }
        write(&ImportLine::Capture(Box::new(capture)))?;
        captures.advance();
    }
    for (id, input) in inputs {
        write(&read_input(input, id, &mut quarantine).await?)?;
    }
    write(&ImportLine::End)
}

/// Returns the line about an input. Inputs must come in the order of their numbers.
async fn read_input(mut input: FactInput, id: i64, quarantine: &mut Rows) -> Result<ImportLine, SqlError> {
    while let Some(of) = quarantine.position().await? {
        if of.0 > id {
            break;
        }
        if of.0 == id {
            input.quarantined.push(QuarantineEntry {
                offset: of.1,
                length: quarantine.number("length")?,
                reason: quarantine.text("reason")?,
                detail: quarantine.text("detail")?,
            });
        }
        quarantine.advance();
    }
    Ok(ImportLine::Input(input))
}

/// Reads the links of the capture at `position`. `links` must be in the order of the captures.
async fn read_links(
    base: &str,
    capture: &mut Capture,
    position: (i64, u64),
    links: &mut Rows,
) -> Result<(), SqlError> {
    while let Some(of) = links.position().await? {
        if of > position {
            break;
        }
        if of < position {
            return Err(wrong(
                base,
                format!(
                    "links has a link of input {} at {}, but captures has no capture there",
                    of.0, of.1
                ),
            ));
        }
        add_link(capture, links)?;
        links.advance();
    }
    Ok(())
}

/// Reads the text of the page at `position`. `texts` must be in the order of the captures.
async fn read_text(capture: &mut Capture, position: (i64, u64), texts: &mut Rows) -> Result<(), SqlError> {
    while let Some(of) = texts.position().await? {
        if of > position {
            break;
        }
        if of == position
            && let Some(page) = &mut capture.page
        {
            page.text = texts.text("text")?;
        }
        texts.advance();
    }
    Ok(())
}

fn add_link(capture: &mut Capture, rows: &Rows) -> Result<(), SqlError> {
    let kind = rows.text("kind")?;
    let link = Link {
        url_key: rows.text("target_surtkey")?,
        url: rows.text("target_url")?,
        anchor: rows.text("anchor")?,
        nofollow: rows.boolean("nofollow")?,
        kind: LinkKind::named(&kind).ok_or_else(|| rows.unknown("kind", &kind))?,
    };
    match &mut capture.page {
        Some(page) if link.kind != LinkKind::Location => page.links.push(link),
        _ => capture.redirect = Some(link),
    }
    Ok(())
}

fn wrong(base: &str, what: String) -> SqlError {
    SqlError::Execution(format!("{base}: {what}; is a job still writing?"))
}

/// The tables in one folder.
struct Tables {
    folder: FactsFolder,
    context: SessionContext,
    links: LinkScope,
    captures: u64,
    has_texts: bool,
}

impl Tables {
    async fn open(folder: FactsFolder, settings: &Settings) -> Result<Tables, SqlError> {
        let context = SessionContext::new_with_config_rt(
            crate::database::session_config(settings.threads),
            runtime(settings.memory_size_bytes, Sharing::Free)?,
        );
        let mut tables = Tables {
            folder,
            context,
            links: LinkScope::All,
            captures: 0,
            has_texts: false,
        };
        for name in ["captures", "links", "quarantine", "ledger"] {
            let delta = tables.register(name).await?.ok_or_else(|| {
                SqlError::Execution(format!(
                    "{} has no table {name}; expected fact tables written by weft_archive.spark \
                     (docs/scale.md)",
                    tables.folder.address()
                ))
            })?;
            if name == "captures" {
                tables.links = tables.links_of(&delta)?;
            }
        }
        tables.has_texts = tables.register("texts").await?.is_some();
        let mut count = tables.rows("SELECT count(*) AS captures FROM captures").await?;
        count.is_at_row().await?;
        tables.captures = count.number("captures")?;
        Ok(tables)
    }

    async fn register(&self, name: &'static str) -> Result<Option<DeltaTable>, SqlError> {
        let failed = SqlError::facts(name);
        let Some(delta) = self.folder.open(name).await? else {
            return Ok(None);
        };
        delta
            .update_datafusion_session(&self.context.state())
            .map_err(&failed)?;
        let scan = delta.table_provider().await?;
        self.context.register_table(name, Arc::new(ExactFilters(scan)))?;
        Ok(Some(delta))
    }

    fn links_of(&self, captures: &DeltaTable) -> Result<LinkScope, SqlError> {
        let snapshot = captures.snapshot().map_err(SqlError::facts("captures"))?;
        let kept = snapshot
            .metadata()
            .configuration()
            .get(LINKS_PROPERTY)
            .map(String::as_str);
        match kept {
            Some("all") => Ok(LinkScope::All),
            Some("external") => Ok(LinkScope::External),
            found => Err(SqlError::Execution(format!(
                "{}: captures has {LINKS_PROPERTY} = {found:?}, expected all or external, as in fact \
                 tables written by weft_archive.spark (docs/scale.md)",
                self.folder.address()
            ))),
        }
    }

    /// Returns the statement, without the columns that tables of an older program lack.
    async fn statement_of_captures(&self) -> Result<String, SqlError> {
        let schema = self.context.table_provider("captures").await?.schema();
        let is_optional = |name: &str| {
            let mut fields = Table::Captures.fields().iter();
            fields.any(|field| field.name == name && field.is_nullable)
        };
        let has = |name: &&str| schema.column_with_name(name).is_some() || !is_optional(name);
        let columns: Vec<&str> = CAPTURE_COLUMNS.into_iter().filter(has).collect();
        Ok(format!(
            "SELECT input_id, {}, collection FROM captures ORDER BY input_id, warc_record_offset",
            columns.join(", ")
        ))
    }

    async fn rows(&self, statement: &str) -> Result<Rows, SqlError> {
        let frame = self.context.sql(statement).await?;
        Ok(Rows {
            stream: frame.execute_stream().await?,
            batch: None,
            row: 0,
        })
    }

    /// Returns the inputs of the tables by number, and the number of failed ones.
    async fn ledger(&self) -> Result<(BTreeMap<i64, FactInput>, u64), SqlError> {
        let mut rows = self.rows(LEDGER).await?;
        let (mut inputs, mut there, mut failed) = (BTreeMap::new(), HashSet::new(), HashSet::new());
        while rows.is_at_row().await? {
            let state = rows.text("state")?;
            let name = rows.text("input")?;
            match state.as_str() {
                "done" => {
                    let digest = rows.text("digest")?;
                    there.insert(name.clone());
                    let input = FactInput {
                        name,
                        location: rows.text("location")?,
                        size: rows.number("size")?,
                        collection: String::new(),
                        records: rows.number("records")?,
                        quarantined: Vec::new(),
                        digest: digest.clone(),
                    };
                    inputs.insert(facts::input_id_of(&digest), input);
                }
                // The same content exists under another name.
                "known" => drop(there.insert(name)),
                "failed" => drop(failed.insert(name)),
                // A collection of Solr has a batch.
                "fed" => {}
                other => return Err(rows.unknown("state", other)),
            }
            rows.advance();
        }
        // An input that was retried successfully is not failed.
        let failed = failed.difference(&there).count() as u64;
        Ok((inputs, failed))
    }
}

/// Rows of an answer, one at a time.
struct Rows {
    stream: SendableRecordBatchStream,
    /// Columns converted to texts, integers and booleans; `None` before the first row and after the
    /// last.
    batch: Option<RecordBatch>,
    row: usize,
}

impl Rows {
    /// Returns input and offset of the row, its first two columns; `None` after the last row.
    async fn position(&mut self) -> Result<Option<(i64, u64)>, SqlError> {
        if !self.is_at_row().await? {
            return Ok(None);
        }
        let batch = self.batch()?;
        let input = signed(batch.column(0), self.row).unwrap_or_default();
        Ok(Some((input, unsigned(signed(batch.column(1), self.row))?)))
    }

    /// Fetches the next batch if the current one is exhausted. Returns `false` after the last row.
    async fn is_at_row(&mut self) -> Result<bool, SqlError> {
        while self
            .batch
            .as_ref()
            .is_none_or(|batch| self.row >= batch.num_rows())
        {
            self.batch = match self.stream.next().await {
                None => None,
                Some(batch) => Some(plain(&batch?)?),
            };
            self.row = 0;
            if self.batch.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn advance(&mut self) {
        self.row += 1;
    }

    fn batch(&self) -> Result<&RecordBatch, SqlError> {
        let batch = self.batch.as_ref();
        batch.ok_or_else(|| SqlError::Execution("the row is missing".into()))
    }

    /// Returns a column; `None` if the table lacks it.
    fn column(&self, name: &str) -> Result<Option<&ArrayRef>, SqlError> {
        Ok(self.batch()?.column_by_name(name))
    }
}

impl Cells for Rows {
    type Error = SqlError;

    fn text(&self, column: &str) -> Result<String, SqlError> {
        let texts = self.column(column)?.map(|column| column.as_string_view());
        let texts = texts.filter(|texts| texts.is_valid(self.row));
        Ok(texts.map_or_else(String::new, |texts| texts.value(self.row).to_owned()))
    }

    fn number(&self, column: &str) -> Result<u64, SqlError> {
        unsigned(self.time_ms(column)?)
    }

    fn time_ms(&self, column: &str) -> Result<Option<i64>, SqlError> {
        Ok(self.column(column)?.and_then(|column| signed(column, self.row)))
    }

    fn boolean(&self, column: &str) -> Result<bool, SqlError> {
        let values = self.column(column)?.map(|column| column.as_boolean());
        Ok(values.is_some_and(|values| values.is_valid(self.row) && values.value(self.row)))
    }

    fn unknown(&self, column: &str, word: &str) -> SqlError {
        SqlError::Execution(format!(
            "the tables have an unknown {column} {word:?}; they may be from a newer version"
        ))
    }
}

/// Returns an integer or a time.
fn signed(column: &ArrayRef, row: usize) -> Option<i64> {
    let numbers = column.as_primitive::<Int64Type>();
    numbers.is_valid(row).then(|| numbers.value(row))
}

fn unsigned(number: Option<i64>) -> Result<u64, SqlError> {
    let number = number.unwrap_or_default();
    u64::try_from(number).map_err(|_| SqlError::Execution(format!("found {number}, expected at least 0")))
}

/// Converts rows to three types: texts, integers, booleans. Times become milliseconds since 1970.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, SqlError> {
    let columns = batch.columns().iter().zip(batch.schema_ref().fields());
    let columns = columns.map(|(column, field)| {
        let column = match column.data_type() {
            DataType::Boolean => Ok(column.clone()),
            DataType::Timestamp(_, zone) => {
                let of_ms = cast(column, &DataType::Timestamp(TimeUnit::Millisecond, zone.clone()));
                of_ms.and_then(|times| cast(&times, &DataType::Int64))
            }
            r#type if r#type.is_integer() => cast(column, &DataType::Int64),
            _ => cast(column, &DataType::Utf8View),
        };
        column.map(|column| (field.name().clone(), column))
    });
    let columns: Vec<(String, ArrayRef)> = columns.collect::<Result<_, _>>().map_err(failed)?;
    RecordBatch::try_from_iter(columns).map_err(failed)
}

fn failed(error: datafusion::arrow::error::ArrowError) -> SqlError {
    SqlError::Execution(error.to_string())
}
