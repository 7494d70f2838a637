//! Where the forms of words are in the segments of a snapshot: lookups in dictionaries, kept for
//! later searches, and the columns that every search reads, opened once.
//!
//! A word is looked up with several forms and stems in up to three fields of each segment. A
//! segment never changes, and deletions do not change its lists, so a lookup is valid for every
//! snapshot of the index. Columns hold the segment's files open, so they belong to one snapshot.

use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rustc_hash::FxHashMap;
use tantivy::columnar::StrColumn;
use tantivy::index::SegmentId;
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, SegmentReader};

use crate::documents::schema::{self, TextFields};
use crate::scoring::forms::{FormDocs, FormLists, Forms};

/// Memory for lookups, in bytes.
const KEPT_BYTES: u64 = 8 << 20;

/// Estimated memory of the forms of a word and their entry.
const ENTRY_BYTES: u64 = 400;

/// Estimated memory of a list.
const LIST_BYTES: u64 = 100;

/// Identifies a lookup.
type Name = (SegmentId, TextFields, Arc<Forms>);

#[derive(Clone)]
struct ByBytes;

impl Weighter<Name, Arc<FormLists>> for ByBytes {
    fn weight(&self, _: &Name, lists: &Arc<FormLists>) -> u64 {
        ENTRY_BYTES + LIST_BYTES * lists.count() as u64
    }
}

/// The lists of words in the segments of a snapshot.
pub(crate) struct Lists {
    found: Arc<Cache<Name, Arc<FormLists>, ByBytes>>,
    columns: FxHashMap<SegmentId, SegmentColumns>,
}

/// Columns of a segment.
#[derive(Clone)]
struct SegmentColumns {
    keys: Option<StrColumn>,
    languages: Option<StrColumn>,
}

impl SegmentColumns {
    fn open(reader: &SegmentReader) -> tantivy::Result<SegmentColumns> {
        let fast = reader.fast_fields();
        Ok(SegmentColumns {
            keys: fast.str(schema::KEY)?,
            languages: fast.str(schema::LANGUAGE)?,
        })
    }
}

impl Lists {
    /// Opens the columns of a snapshot. `before` are the lists of an earlier one.
    pub(crate) fn new(searcher: &Searcher, before: Option<&Lists>) -> tantivy::Result<Lists> {
        let cache = || {
            let count = (KEPT_BYTES / ENTRY_BYTES) as usize;
            Arc::new(Cache::with_weighter(count, KEPT_BYTES, ByBytes))
        };
        let mut columns = FxHashMap::default();
        for reader in searcher.segment_readers() {
            let id = reader.segment_id();
            let known = before.and_then(|lists| lists.columns.get(&id));
            let opened = match known {
                Some(known) => known.clone(),
                None => SegmentColumns::open(reader)?,
            };
            columns.insert(id, opened);
        }
        Ok(Lists {
            found: before.map_or_else(cache, |lists| Arc::clone(&lists.found)),
            columns,
        })
    }

    /// Returns the column of the languages of documents.
    pub(crate) fn languages(&self, reader: &SegmentReader) -> tantivy::Result<Option<StrColumn>> {
        Ok(match self.columns.get(&reader.segment_id()) {
            Some(columns) => columns.languages.clone(),
            None => SegmentColumns::open(reader)?.languages,
        })
    }

    /// Returns the column of the keys of documents.
    pub(crate) fn keys(&self, reader: &SegmentReader) -> tantivy::Result<Option<StrColumn>> {
        Ok(match self.columns.get(&reader.segment_id()) {
            Some(columns) => columns.keys.clone(),
            None => SegmentColumns::open(reader)?.keys,
        })
    }

    /// Opens the pages of a segment that have any form of a word. Positions are read only if
    /// `option` asks for them.
    pub(crate) fn open(
        &self,
        forms: &Arc<Forms>,
        reader: &SegmentReader,
        text_fields: TextFields,
        option: IndexRecordOption,
    ) -> tantivy::Result<FormDocs> {
        let name = (reader.segment_id(), text_fields, Arc::clone(forms));
        let find = || {
            let languages = self.languages(reader)?;
            forms.find(reader, text_fields, languages.as_ref()).map(Arc::new)
        };
        let lists = self.found.get_or_insert_with(&name, find)?;
        let languages = if lists.is_conditional() {
            self.languages(reader)?
        } else {
            None
        };
        FormDocs::open(lists, reader, languages, option)
    }
}

impl fmt::Debug for Lists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lists").finish_non_exhaustive()
    }
}
