//! Exports an archive, or a part of it, for other tools: as an index (CDXJ, CDX, ZipNum), as a WARC
//! file, or as a package (WACZ).
//!
//! Captures are read in batches, in the order of URL keys and then times, as visible to the client.
//! Memory is bounded by the captures of one URL, or by those that were selected one by one.

mod hashing_writer;
mod index;
mod pages;
mod related;
mod requests;
mod selection;
mod sorted_lines;
mod sorted_rows;
mod wacz;
mod warc_file;
mod zipnum;

use archive::question::{CdxBody, CdxQuestion, RecordBody};
use cdx::{CdxRow, MatchType};

use crate::results::{AskFn, ExportError};

pub use index::{IndexForm, write_index, write_zipnum};
pub use selection::CaptureSelection;
pub(crate) use sorted_rows::SortedRows;
pub(crate) use wacz::Package;
pub use wacz::write_wacz;
pub use warc_file::write_warc;

/// Number of captures requested at a time.
const ROWS_AT_ONCE: usize = 1000;

/// Longest time between a version of a page and its attachments, in milliseconds. Crawlers write them
/// within minutes.
const ATTACHED_MS_MAX: u64 = 3_600_000;

/// The captures to export.
#[derive(Debug, Clone)]
pub enum Subset {
    /// Captures of some URLs and inputs.
    Part {
        /// Only captures of URLs with this prefix; of all URLs if absent.
        url_prefix: Option<String>,
        /// Only captures of inputs with this label; of all inputs if absent.
        collection: Option<String>,
    },
    /// Captures that were selected one by one.
    Chosen(CaptureSelection),
}

impl Subset {
    /// Returns a description for people who find the file.
    fn described(&self) -> String {
        let (url_prefix, collection) = match self {
            Subset::Chosen(chosen) => return chosen.described().to_owned(),
            Subset::Part {
                url_prefix,
                collection,
            } => (url_prefix, collection),
        };
        let urls = match url_prefix {
            Some(prefix) => format!("captures of URLs that begin with {prefix}"),
            None => "all captures".to_owned(),
        };
        match collection {
            Some(collection) => format!("{urls} in the collection {collection}"),
            None => urls,
        }
    }

    /// Returns whether the subset may lack the record that a revisit repeats, so that it must be
    /// written with the revisit.
    fn leaves_out(&self, original: &RecordBody, revisit: &CdxRow) -> bool {
        let original = &original.capture;
        match self {
            Subset::Chosen(chosen) => !chosen.has(original),
            Subset::Part {
                url_prefix,
                collection,
            } => {
                let is_elsewhere = url_prefix.is_some() && original.url_key != revisit.url_key;
                let is_of_another = |collection: &String| *collection != original.collection;
                is_elsewhere || collection.as_ref().is_some_and(is_of_another)
            }
        }
    }

    /// Returns whether an attachment of an exported page belongs to the subset. `times_ms` are the
    /// times of the exported captures of the page.
    fn has_attachment(&self, attachment: &CdxRow, times_ms: &[i64]) -> bool {
        match self {
            // Other versions of the page are not exported, and neither are their attachments.
            Subset::Chosen(_) => format::date::ms_of_iso(&attachment.fetch_time)
                .is_some_and(|at| times_ms.iter().any(|time| time.abs_diff(at) <= ATTACHED_MS_MAX)),
            Subset::Part { collection, .. } => {
                let is_of = |collection: &String| *collection == attachment.collection;
                collection.as_ref().is_none_or(is_of)
            }
        }
    }

    /// Calls `each` for every capture with a record. Returns the number of captures without one.
    /// `progress` gets the number of captures so far, and returns whether to continue.
    fn for_each(
        &self,
        ask: &AskFn<'_>,
        base_names: bool,
        progress: &mut dyn FnMut(u64) -> bool,
        each: &mut dyn FnMut(CdxRow) -> Result<(), ExportError>,
    ) -> Result<u64, ExportError> {
        let (url_prefix, collection) = match self {
            Subset::Chosen(chosen) => return chosen.for_each(base_names, progress, each).map(|()| 0),
            Subset::Part {
                url_prefix,
                collection,
            } => (url_prefix, collection),
        };
        let mut question = CdxQuestion {
            everything: url_prefix.is_none(),
            url: url_prefix.clone().unwrap_or_default(),
            match_type: MatchType::Prefix,
            collection: collection.clone(),
            limit: ROWS_AT_ONCE,
            base_names,
            ..CdxQuestion::default()
        };
        let (mut done, mut index_only) = (0, 0);
        loop {
            let CdxBody { rows, next, .. } = ask(question.clone().into())?.to::<CdxQuestion>()?.body;
            for row in rows {
                if row.index_only {
                    index_only += 1;
                    continue;
                }
                each(row)?;
                done += 1;
            }
            if !progress(done) {
                return Err(ExportError::Stopped(done));
            }
            if next.is_none() {
                return Ok(index_only);
            }
            question.after = next;
        }
    }
}
