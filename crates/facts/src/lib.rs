//! Facts: every capture and every link as a row of an open table, in Delta Lake's format, for any engine that reads it.
//!
//! Three tables below one place ([`Place`]): `captures`, `links` and, on request, `texts`. Each is a folder of
//! immutable Parquet files and a log that says which of them count (`docs/facts.md`). Rows are appended epoch by epoch:
//! [`Facts::stage`] writes the data files before the epoch commits, the epoch keeps the [`Note`] of what was
//! written, and [`Facts::publish`] makes it visible. Whoever opens the archive publishes the last note again, which
//! changes nothing if it was published: a row is there if and only if its epoch is.
//!
//! Not here: epochs, views, SQL. Only what appending takes is written here (the log's commits, in the format's
//! specification "Delta Transaction Log Protocol", reader version 1 and writer version 2); checkpoints, compaction and
//! vacuum are the work of engines made for it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod check;
mod crash;
mod data_file;
mod delta;
mod error;
mod facts;
mod field;
mod local;
mod note;
mod place;
#[cfg(any(test, feature = "reader"))]
mod reader;
mod row_stream;
mod rows;
mod table_rows;
mod tables;

pub use check::{DAMAGE_ADVICE, FileDamage, damages};
pub use crash::CRASH_POINTS;
pub use error::FactsError;
pub use facts::{Facts, Purged, Settings, TableSum, new_id};
pub use field::{Field, Kind};
pub use local::LocalPlace;
pub use note::{Note, TakenBack};
pub use place::Place;
#[cfg(any(test, feature = "reader"))]
pub use reader::{ReadRow, read_table, table_as_text};
pub use row_stream::{RowStream, RowStreamError};
pub use rows::{Column, Row, Values};
pub use table_rows::TableRows;
pub use tables::{Fact, Source, Table, input_id_of};
