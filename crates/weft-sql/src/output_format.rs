//! Output formats of rows.

use std::io::{self, Write};
use std::sync::Arc;

use sql::arrow::array::RecordBatch;
use sql::arrow::compute::cast;
use sql::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use sql::arrow::error::ArrowError;
use sql::arrow::ipc::writer::StreamWriter;
use sql::arrow::json::writer::JsonArray;
use sql::arrow::json::{Writer as JsonWriter, WriterBuilder};
use sql::arrow::{csv, json};
use sql::parquet::arrow::ArrowWriter;
use sql::parquet::basic::{Compression, ZstdLevel};
use sql::parquet::file::properties::WriterProperties;

use crate::table::Table;

/// Output format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, for reading
    Table,
    /// Comma-separated values with a header
    Csv,
    /// One JSON object: the epoch and the rows
    Json,
    /// One JSON object per row
    Jsonl,
    /// A Parquet file
    Parquet,
    /// An Arrow IPC stream
    Arrow,
}

impl Format {
    /// Returns whether the format is unsuitable for a terminal.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Format::Parquet | Format::Arrow)
    }
}

/// Writes batches in one of the formats.
pub(crate) enum Writer<W: Write + Send> {
    Table(Table<W>),
    /// With the schema, for the header of an answer without rows.
    Csv(csv::Writer<W>, SchemaRef),
    Json(JsonWriter<W, JsonArray>),
    Jsonl(json::LineDelimitedWriter<W>),
    Parquet(ArrowWriter<W>),
    Arrow(StreamWriter<W>),
}

/// Converts the error of a format's writer.
fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    let error = error.into();
    // The kind of the underlying I/O error shows whether the reader has closed its end.
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(at) = cause {
        if let Some(io) = at.downcast_ref::<io::Error>() {
            return io::Error::new(io.kind(), error.to_string());
        }
        cause = at.source();
    }
    io::Error::other(error)
}

/// Returns the schema with string views replaced by plain strings, which every Arrow reader
/// supports.
pub(crate) fn with_plain_texts(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Utf8View => Field::clone(field).with_data_type(DataType::Utf8),
        _ => Field::clone(field),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Returns the rows with string views replaced by plain strings.
pub(crate) fn plain_texts(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = with_plain_texts(&batch.schema());
    let casts = batch.columns().iter().zip(schema.fields());
    let columns = casts.map(|(column, field)| cast(column, field.data_type()));
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<_, _>>()?)
}

impl<W: Write + Send> Writer<W> {
    pub(crate) fn new(format: Format, mut out: W, schema: &SchemaRef, epoch: u64) -> io::Result<Writer<W>> {
        Ok(match format {
            Format::Table => Writer::Table(Table::new(out, schema)),
            Format::Csv => {
                let writer = csv::WriterBuilder::new().with_header(true).build(out);
                Writer::Csv(writer, schema.clone())
            }
            Format::Json => {
                write!(out, "{{\"epoch\":{epoch},\"rows\":")?;
                Writer::Json(WriterBuilder::new().with_explicit_nulls(true).build(out))
            }
            Format::Jsonl => Writer::Jsonl(WriterBuilder::new().with_explicit_nulls(true).build(out)),
            Format::Parquet => {
                let level = ZstdLevel::try_new(3).map_err(failed)?;
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(level))
                    .build();
                Writer::Parquet(ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(failed)?)
            }
            Format::Arrow => {
                Writer::Arrow(StreamWriter::try_new(out, &with_plain_texts(schema)).map_err(failed)?)
            }
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match self {
            Writer::Table(table) => table.write(batch),
            Writer::Csv(writer, _) => writer.write(batch).map_err(failed),
            Writer::Json(writer) => writer.write(batch).map_err(failed),
            Writer::Jsonl(writer) => writer.write(batch).map_err(failed),
            Writer::Parquet(writer) => writer.write(batch).map_err(failed),
            Writer::Arrow(writer) => {
                let batch = plain_texts(batch).map_err(failed)?;
                writer.write(&batch).map_err(failed)
            }
        }
    }

    /// Writes the end of the output after the last row.
    pub(crate) fn finish(self) -> io::Result<()> {
        let mut out = match self {
            Writer::Table(table) => return table.finish(),
            Writer::Csv(mut writer, schema) => {
                // Writes the header, unless rows came after it.
                writer.write(&RecordBatch::new_empty(schema)).map_err(failed)?;
                writer.into_inner()
            }
            Writer::Json(mut writer) => {
                writer.finish().map_err(failed)?;
                let mut out = writer.into_inner();
                out.write_all(b"}\n")?;
                out
            }
            Writer::Jsonl(mut writer) => {
                writer.finish().map_err(failed)?;
                writer.into_inner()
            }
            Writer::Parquet(writer) => writer.into_inner().map_err(failed)?,
            Writer::Arrow(mut writer) => {
                writer.finish().map_err(failed)?;
                writer.into_inner().map_err(failed)?
            }
        };
        out.flush()
    }
}
