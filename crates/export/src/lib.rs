//! What leaves an archive: files for other tools, made through the questions that any client can
//! ask.
//!
//! - [`Subset`] writes captures as WARC, WACZ, CDX, CDXJ or ZipNum; [`ResultExport`] writes results of a
//!   search.
//! - [`write_serving`] writes sorted tables that answer look-ups without the archive.
//! - [`GraphBuilder`] adds links up to a graph of domains or hosts.
//! - [`Redaction`] copies an input without what was taken down; bags ([`BagReport`]) and
//!   [`check_fixity`] are for preservation.
//!
//! Everything here asks an [`Archive`](archive::Archive) as its clients do, so that rights and
//! takedowns hold. No part of the archive depends on this crate.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bag;
mod crash;
mod csv_text;
mod fixity;
mod graph;
mod list;
mod redact;
mod results;
mod serving;
mod stored;
mod subset;

pub use bag::{BagError, BagReport, NamedFile, write_bag};
#[doc(hidden)]
pub use crash::CRASH_POINTS;
pub use fixity::{FixityCheck, FixityCsv, FixityOutcome, check_fixity};
pub use graph::{Graph, GraphBuilder, GraphError, GraphFormat, GraphSelection, GraphTotals, Node};
pub use list::{LinkCountSum, List, ListExport, ListWriter, TrendYear, trend_years};
pub use redact::{
    CopyMismatch, MemberRules, PackageCounts, PackageError, PackageRedaction, Redaction, RedactionCounts,
    RedactionRules, WriteError,
};
pub use results::{
    AskFn, ExportError, ExportFormat, ExportReport, OmittedRecord, ResultExport, write_results,
};
pub use serving::{ServingExportError, ServingReport, serving_place, write_serving};
pub use stored::{StoredBytes, has_taken_down_capture, stored_range, url_key_at};
pub use subset::{CaptureSelection, IndexForm, Subset, write_index, write_wacz, write_warc, write_zipnum};
