//! SQL over an archive.
//!
//! A [`Database`] executes statements. The tables of a statement are the archive's facts
//! (`captures`, `links`, `texts`: Delta Lake tables) and its live views (`pages`, `inlinks`,
//! `uris`, `domains`, `top`, `ledger`, `quarantine`: from the archive's owner), all of one epoch,
//! which the answer names. `ccindex` shows the captures in Common Crawl's columns. The catalogue of
//! files (`files`, `file_names`, `file_usage`) has no epochs.
//!
//! Invariants:
//! - No statement writes anything or reads anything outside the archive.
//! - The live views belong to a cut that is held for the statement. The facts are read at the table
//!   versions of the same epoch.
//!
//! `views/*.sql` define the live views over the facts ([`view_statement`]); [`verify`] compares the
//! two. This is the only crate that depends on DataFusion.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ccindex;
mod database;
mod dialect;
mod error;
mod exact_filters;
mod export;
mod fact_tables;
mod facts_folder;
mod file_catalogue;
mod file_columns;
mod file_conditions;
mod file_exec;
mod file_tables;
mod file_usage;
mod functions;
mod handle;
mod histogram;
mod keys;
mod languages;
mod leaf_exec;
mod live_exec;
mod live_tables;
mod maintain;
mod memory;
mod parameters;
mod parse;
mod presto;
mod questions;
mod rows;
mod settings;
mod stopping;
mod subqueries;
mod table_functions;
mod tables;
mod text;
pub mod verify;
mod views;

pub use database::{Answer, Database, StatementShape};
pub use datafusion::arrow;
pub use datafusion::parquet;
pub use error::SqlError;
pub use export::export;
pub use file_tables::FileTable;
pub use maintain::{MaintainReport, maintain};
pub use questions::{QUESTIONS, SampleQuestion};
pub use remote::Settings as RemoteSettings;
pub use settings::{QuerySettings, Settings};
pub use stopping::Stop;
pub use tables::{LiveTable, TABLES, TableInfo};
pub use views::view_statement;
