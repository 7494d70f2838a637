//! Columns of a table, in Parquet and in Delta.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::{Value, json};

/// Compression level of zstd: the fastest of the usual ones, because loads wait for it. Other
/// levels were not measured.
const ZSTD_LEVEL: i32 = 1;

/// Rows per page, so that a look-up by key decodes few.
const PAGE_ROWS_MAX: usize = 4_096;

/// False positive rate of Bloom filters.
const BLOOM_FALSE_POSITIVES: f64 = 0.01;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 32 bits.
    Int,
    /// 64 bits.
    Long,
    /// True or false.
    Bool,
    /// Microseconds since 1970-01-01T00:00:00Z.
    Time,
    /// Milliseconds since 1970-01-01T00:00:00Z: in files of a [`RowStream`](crate::RowStream), because Delta has
    /// microseconds only.
    TimeMs,
}

/// How the values of a text column are encoded in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Few values, often repeated.
    Few,
    /// Sorted: each value shares its beginning with the previous one.
    Sorted,
    /// Anything else.
    Many,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether its value may be missing.
    pub is_nullable: bool,
    pub(crate) coding: Coding,
    /// Whether rows are looked up by it, so that a Bloom filter is useful.
    pub(crate) is_looked_up: bool,
    /// Whether the log has its least and greatest value in each file.
    pub(crate) has_bounds: bool,
}

impl Field {
    /// Returns a column that has a value in every row.
    pub const fn new(name: &'static str, kind: Kind) -> Field {
        Field {
            name,
            kind,
            is_nullable: false,
            coding: Coding::Few,
            is_looked_up: false,
            has_bounds: false,
        }
    }

    /// Returns the column with null allowed.
    pub const fn nullable(mut self) -> Field {
        self.is_nullable = true;
        self
    }

    pub(crate) const fn many(mut self) -> Field {
        self.coding = Coding::Many;
        self
    }

    pub(crate) const fn sorted(mut self) -> Field {
        self.coding = Coding::Sorted;
        self
    }

    pub(crate) const fn looked_up(mut self) -> Field {
        self.is_looked_up = true;
        self
    }

    pub(crate) const fn bounds(mut self) -> Field {
        self.has_bounds = true;
        self
    }

    fn parquet(&self) -> Result<Type, ParquetError> {
        let (physical, logical) = match self.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Int => (Physical::INT32, None),
            Kind::Long => (Physical::INT64, None),
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Time => {
                let unit = TimeUnit::MICROS;
                (Physical::INT64, Some(LogicalType::timestamp(true, unit)))
            }
            Kind::TimeMs => {
                let unit = TimeUnit::MILLIS;
                (Physical::INT64, Some(LogicalType::timestamp(true, unit)))
            }
        };
        let repetition = if self.is_nullable {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        Type::primitive_type_builder(self.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }

    fn delta(&self) -> Value {
        let kind = match self.kind {
            Kind::Text => "string",
            Kind::Int => "integer",
            Kind::Long => "long",
            Kind::Bool => "boolean",
            Kind::Time | Kind::TimeMs => "timestamp",
        };
        json!({"name": self.name, "type": kind, "nullable": self.is_nullable, "metadata": {}})
    }
}

/// Returns the schema of Parquet files with these columns.
pub(crate) fn parquet_schema(fields: &[Field]) -> Result<Arc<Type>, ParquetError> {
    let columns: Result<Vec<_>, _> = fields.iter().map(|field| field.parquet().map(Arc::new)).collect();
    let schema = Type::group_type_builder("row").with_fields(columns?).build()?;
    Ok(Arc::new(schema))
}

/// Returns the schema as in the log's `metaData.schemaString`.
pub(crate) fn delta_schema(fields: &[Field]) -> String {
    let columns: Vec<Value> = fields.iter().map(Field::delta).collect();
    json!({"type": "struct", "fields": columns}).to_string()
}

/// Returns the settings for writing files with these columns.
pub(crate) fn common_properties() -> Result<WriterPropertiesBuilder, ParquetError> {
    Ok(WriterProperties::builder()
        // Version 2 of the format changes the header of pages, which saves nothing here, and some
        // readers lack it.
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("weft ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?)))
}

/// The properties of files of a table with these columns.
pub(crate) fn properties(fields: &[Field]) -> Result<WriterProperties, ParquetError> {
    let mut properties = common_properties()?
        .set_data_page_row_count_limit(PAGE_ROWS_MAX)
        // Bounds are useless for columns whose values are unordered.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_bloom_filter_fpp(BLOOM_FALSE_POSITIVES)
        .set_bloom_filter_enabled(false);
    for field in fields {
        let column = || ColumnPath::from(field.name);
        if field.kind == Kind::Text && field.coding != Coding::Few {
            let encoding = match field.coding {
                Coding::Sorted => Encoding::DELTA_BYTE_ARRAY,
                _ => Encoding::PLAIN,
            };
            properties = properties
                .set_column_dictionary_enabled(column(), false)
                .set_column_encoding(column(), encoding);
        }
        if field.is_looked_up {
            properties = properties.set_column_bloom_filter_enabled(column(), true);
        }
        if field.has_bounds {
            // Bounds of each page too, so that a look-up reads only pages that may have its key.
            properties = properties.set_column_statistics_enabled(column(), EnabledStatistics::Page);
        }
    }
    Ok(properties.build())
}
