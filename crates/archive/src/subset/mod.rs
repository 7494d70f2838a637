//! A part of an archive, or all of it, written for other tools: as an index (CDXJ, CDX, ZipNum), as a WARC file, as a
//! package (WACZ).
//!
//! Captures come a thousand at a time, in the order of URL keys and then times, as whoever asks may see them. Memory is
//! bounded by the captures of one URL.

mod hashed;
mod index;
mod wacz;
mod warc_file;
mod zipnum;

use crate::cdx::{CdxRow, MatchType};
use crate::export::{AskBy, ExportError};
use crate::question::{CdxBody, CdxQuestion};

pub use index::IndexForm;

/// Captures asked for at a time.
const ROWS_AT_ONCE: usize = 1000;

/// Which captures are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subset {
    /// Those of URLs that begin so; of all if absent.
    pub url_prefix: Option<String>,
    /// Those of inputs with this label; of all if absent.
    pub collection: Option<String>,
}

impl Subset {
    /// In words, for people who find the file.
    fn described(&self) -> String {
        let urls = match &self.url_prefix {
            Some(prefix) => format!("captures of URLs that begin with {prefix}"),
            None => "all captures".to_owned(),
        };
        match &self.collection {
            Some(collection) => format!("{urls} in the collection {collection}"),
            None => urls,
        }
    }

    /// Calls `each` for every capture. `progress` is told how many there were, and gives whether to go on.
    fn for_each(
        &self,
        ask: &AskBy<'_>,
        base_names: bool,
        progress: &mut dyn FnMut(u64) -> bool,
        each: &mut dyn FnMut(CdxRow) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let mut question = CdxQuestion {
            everything: self.url_prefix.is_none(),
            url: self.url_prefix.clone().unwrap_or_default(),
            match_type: MatchType::Prefix,
            collection: self.collection.clone(),
            limit: ROWS_AT_ONCE,
            base_names,
            ..CdxQuestion::default()
        };
        let mut done = 0;
        loop {
            let CdxBody { rows, next, .. } = ask(question.clone().into())?.to::<CdxQuestion>()?.body;
            for row in rows {
                each(row)?;
                done += 1;
            }
            if !progress(done) {
                return Err(ExportError::Stopped(done));
            }
            if next.is_none() {
                return Ok(());
            }
            question.after = next;
        }
    }
}
