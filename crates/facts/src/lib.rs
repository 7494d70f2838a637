//! Facts: every capture and every link as a row of an open table, in Delta Lake's format, for any
//! engine that reads it.
//!
//! There are three tables below one place ([`FileStore`](system::FileStore)): `captures`, `links` and, on request,
//! `texts`. Each is a directory of immutable Parquet files and a log that says which of them are
//! live (`docs/facts.md`). Rows are appended epoch by epoch: [`Facts::stage`] writes the data files
//! before the epoch commits, the epoch commits the [`Note`] with their names, and
//! [`Facts::publish`] makes them visible. Opening the archive publishes the last note again, which
//! is idempotent. So a row exists if and only if its epoch does.
//!
//! [`serving`] has other tables: sorted ones, which answer look-ups.
//!
//! Not here: epochs, views, SQL. Only commits of the log are written ("Delta Transaction Log
//! Protocol", reader version 1 and writer version 2). Checkpoints, compaction and vacuum are left
//! to engines made for them.
//!
//! An epoch is appended in two steps, so that it has its rows if and only if it is committed:
//!
//! ```
//! use std::sync::Arc;
//!
//! use facts::{Fact, Facts, LocalFileStore, Settings, Source};
//!
//! # let dir = tempfile::tempdir()?;
//! let store = Arc::new(LocalFileStore::new(dir.path()));
//! let facts = Facts::new(store, "1f0c-archive".to_owned(), &Settings::default());
//! let capture = extract::Capture {
//!     url: "http://example.com/".to_owned(),
//!     url_key: "com,example)/".to_owned(),
//!     ..extract::Capture::default()
//! };
//! let source = Source { id: 1, name: "a.warc.gz", digest: "sha256:00", collection: "" };
//! // Writes data files that no reader sees; the note is committed with the epoch.
//! let note = facts.stage(1, &[Fact { source, capture: &capture }])?;
//! facts.publish(&note)?;
//! assert!(facts.is_published(&note)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod check;
mod crash;
mod data_file;
mod delta;
mod error;
mod facts;
mod field;
mod id;
mod local;
mod note;
mod per_table;
#[cfg(any(test, feature = "reader"))]
mod reader;
mod row_stream;
mod rows;
pub mod serving;
mod table_rows;
mod tables;

pub use check::{DAMAGE_ADVICE, FileDamage, damages};
pub use crash::CRASH_POINTS;
pub use error::FactsError;
pub use facts::{Facts, FactsTable, Purged};
pub use field::{Field, Kind};
pub use id::new_id;
pub use local::LocalFileStore;
pub use note::{Note, TakenBack};
pub use per_table::PerTable;
#[cfg(any(test, feature = "reader"))]
pub use reader::{ReadRow, ReadTableError, TableFault, read_table, table_as_text};
pub use row_stream::{RowStream, RowStreamError};
pub use rows::{Column, Row, Values};
pub use table_rows::TableRows;
pub use tables::{CAPTURE_COLUMNS, Cells, Fact, Settings, Source, Table, capture_of, input_id_of};
