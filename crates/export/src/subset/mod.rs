//! A part of an archive, or all of it, written for other tools: as an index (CDXJ, CDX, ZipNum), as a WARC file, as a
//! package (WACZ).
//!
//! Captures come a thousand at a time, in the order of URL keys and then times, as whoever asks may see them. Memory is
//! bounded by the captures of one URL, or by those that were chosen one by one.

mod chosen;
mod hashed;
mod index;
mod pages;
mod related;
mod requests;
mod sorted_lines;
mod sorted_rows;
mod wacz;
mod warc_file;
mod zipnum;

use crate::results::{AskBy, ExportError};
use archive::question::{CdxBody, CdxQuestion, RecordBody};
use cdx::{CdxRow, MatchType};

pub use chosen::Chosen;
pub use index::{IndexForm, write_index, write_zipnum};
pub use wacz::write_wacz;
pub use warc_file::write_warc;

/// Captures asked for at a time.
const ROWS_AT_ONCE: usize = 1000;

/// Which captures are written.
#[derive(Debug, Clone)]
pub enum Subset {
    /// Those of some URLs and inputs.
    Part {
        /// Those of URLs that begin so; of all if absent.
        url_prefix: Option<String>,
        /// Those of inputs with this label; of all if absent.
        collection: Option<String>,
    },
    /// Those that were chosen one by one.
    Chosen(Chosen),
}

impl Subset {
    /// In words, for people who find the file.
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

    /// Whether the record that a revisit repeats may not come by itself, so that the revisit has to bring it.
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

    /// Calls `each` for every capture with a record; gives how many others there are. `progress` is told how many there were, and
    /// gives whether to go on.
    fn for_each(
        &self,
        ask: &AskBy<'_>,
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
