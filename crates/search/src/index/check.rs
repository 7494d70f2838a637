//! Checks that the index is intact and has a document for each page and each past version.

use std::path::Path;

use tantivy::columnar::{StrColumn, Streamer};
use tantivy::{Index, SegmentReader, TantivyError};

use crate::documents::bucket_log;
use crate::documents::schema;
use crate::index::SearchIndex;
use crate::index::view::View;
use crate::index::writer::CommitPayload;
use crate::panics::catch_panics;

/// Number of attempts before a file is reported as damaged. A merge may have just removed the file,
/// which is not damage.
const TRIES: usize = 3;

impl SearchIndex {
    /// Compares every file with its checksum, and then the documents with `pages`. The pages must
    /// be sorted bytewise by key and belong to the covered epoch; each says which documents its key
    /// must have. Returns a description of each problem found, or an empty list.
    ///
    /// # Errors
    /// The first error that `pages` yields.
    pub fn check<E>(
        &self,
        pages: impl Iterator<Item = Result<ExpectedDocuments, E>>,
    ) -> Result<Vec<String>, E> {
        let mut wrong = damaged_files(self.dir());
        // Documents in damaged files cannot be told apart from others.
        if wrong.is_empty() {
            match catch_panics(|| compare(&self.view(), pages)) {
                Ok(difference) => wrong.extend(difference),
                Err(Failure::Index(error)) => wrong.push(error.to_string()),
                Err(Failure::Pages(error)) => return Err(error),
            }
        }
        Ok(wrong)
    }
}

/// The documents that the index must have for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedDocuments {
    /// The URL key.
    pub url_key: String,
    /// Whether the key is a page now.
    pub current: bool,
    /// Start times of its past versions, in ascending order.
    pub past: Vec<i64>,
}

impl ExpectedDocuments {
    fn identities(&self) -> Vec<String> {
        let current = self.current.then(|| schema::key_text(&self.url_key).into_owned());
        let past = self
            .past
            .iter()
            .map(|since_ms| schema::past_identity(&self.url_key, *since_ms));
        current.into_iter().chain(past).collect()
    }
}

/// Which of the two sides could not be read.
enum Failure<E> {
    Index(tantivy::TantivyError),
    Pages(E),
}

impl<E> From<tantivy::TantivyError> for Failure<E> {
    fn from(error: tantivy::TantivyError) -> Failure<E> {
        Failure::Index(error)
    }
}

fn damaged_files(dir: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        // Opened for each attempt: an open index does not know of files written since.
        let read = || {
            let index = Index::open_in_dir(dir)?;
            let log = bucket_log::read(dir, CommitPayload::read(&index)?.buckets, |_, _| {});
            Ok::<_, TantivyError>((index.validate_checksum()?, log))
        };
        wrong = match catch_panics(read) {
            Ok((damaged, log)) => damaged
                .iter()
                .map(|file| format!("{} is damaged: its checksum does not match", file.display()))
                .chain(log.err().map(|error| error.to_string()))
                .collect(),
            Err(error) => vec![error.to_string()],
        };
        if wrong.is_empty() {
            break;
        }
    }
    wrong.sort_unstable();
    wrong
}

/// Returns the first difference between the keys of the documents and of the pages.
fn compare<E>(
    view: &View,
    pages: impl Iterator<Item = Result<ExpectedDocuments, E>>,
) -> Result<Option<String>, Failure<E>> {
    let mut identities = pages.flat_map(|held| match held {
        Ok(held) => held.identities().into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    });
    let segments = view.searcher.segment_readers();
    let mut columns = Vec::with_capacity(segments.len());
    for segment in segments {
        // A segment without documents has no column.
        columns.extend(
            segment
                .fast_fields()
                .str(schema::KEY)?
                .map(|column| (segment, column)),
        );
    }
    let mut keys = columns
        .iter()
        .map(|(segment, column)| KeyCursor::open(segment, column))
        .collect::<tantivy::Result<Vec<_>>>()?;
    loop {
        let document = next_document(&mut keys);
        let page = identities.next().transpose().map_err(Failure::Pages)?;
        let shown = |identity: &[u8]| match schema::key_of_past(identity) {
            Some(key) => format!("{} (a past version)", String::from_utf8_lossy(key)),
            None => String::from_utf8_lossy(identity).into_owned(),
        };
        return Ok(Some(match (document, page) {
            (None, None) => return Ok(None),
            (Some((key, 1)), Some(page)) if key == page.as_bytes() => continue,
            (Some((key, documents)), _) if documents > 1 => {
                format!("{documents} documents for {}, expected at most one", shown(&key))
            }
            (Some((key, _)), page) if page.as_ref().is_none_or(|page| key.as_slice() < page.as_bytes()) => {
                format!("a document for {}, which is not a page", shown(&key))
            }
            (_, page) => format!(
                "no document for the page {}",
                shown(page.unwrap_or_default().as_bytes())
            ),
        }));
    }
}

/// The sorted keys of one segment.
struct KeyCursor<'a> {
    keys: Streamer<'a>,
    /// Number of live documents by the ordinal of the key, counted up to 255.
    documents: Vec<u8>,
    /// Whether `keys` is positioned at a key; false after the last one.
    is_at_key: bool,
}

impl<'a> KeyCursor<'a> {
    fn open(segment: &SegmentReader, column: &'a StrColumn) -> tantivy::Result<KeyCursor<'a>> {
        let mut documents = vec![0_u8; column.num_terms()];
        for document in segment.doc_ids_alive() {
            let ordinal = column.ords().first(document);
            if let Some(count) = ordinal.and_then(|ordinal| documents.get_mut(ordinal as usize)) {
                *count = count.saturating_add(1);
            }
        }
        let mut keys = column.dictionary().stream()?;
        let is_at_key = keys.advance();
        Ok(KeyCursor {
            keys,
            documents,
            is_at_key,
        })
    }

    /// Returns the number of live documents with the current key.
    fn documents(&self) -> u64 {
        let count = self.documents.get(self.keys.term_ord() as usize);
        count.copied().map_or(0, u64::from)
    }
}

/// Returns the next key with live documents, and their number. A replaced page has deleted
/// documents in other segments, which are skipped.
fn next_document(segments: &mut [KeyCursor<'_>]) -> Option<(Vec<u8>, u64)> {
    loop {
        let keys = segments.iter().filter(|keys| keys.is_at_key);
        let key = keys.map(|keys| keys.keys.key().to_vec()).min()?;
        let mut documents = 0;
        for keys in segments.iter_mut() {
            if keys.is_at_key && keys.keys.key() == key {
                documents += keys.documents();
                keys.is_at_key = keys.keys.advance();
            }
        }
        if documents > 0 {
            return Some((key, documents));
        }
    }
}
