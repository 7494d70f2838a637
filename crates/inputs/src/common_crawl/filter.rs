//! Filters WAT and WET files. The index does not have the positions of their records, so the files
//! are read completely.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use urlkey::KeyRange;
use warc::{Entry, Input, Reader, ReaderSettings};

use super::block::Line;
use super::crawl::{Kind, sibling_path};
use super::{CrawlError, read_exact};

/// The result of filtering a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilterReport {
    /// Number of records in the file.
    pub read: u64,
    /// Number of records kept.
    pub records: u64,
    /// Bytes of the kept records.
    pub bytes: u64,
}

/// Writes the records of a file whose URLs have keys in `ranges`. Calls `should_continue` after each record
/// of the file, and stops if it returns `false`.
///
/// # Errors
/// [`CrawlError`]; some records may have been written already.
pub fn filter(
    input: Arc<dyn Input>,
    address: &str,
    ranges: &[KeyRange],
    out: &mut dyn Write,
    should_continue: &mut dyn FnMut(FilterReport) -> bool,
) -> Result<FilterReport, CrawlError> {
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = 0;
    let mut reader = Reader::from_input(Box::new(Arc::clone(&input)), address, settings)?;
    let mut filtered = FilterReport::default();
    while let Some(entry) = reader.next_entry()? {
        let Entry::Record(record) = entry else { continue };
        filtered.read += 1;
        let key = record.target().and_then(|url| urlkey::url_key(url).ok());
        if key.is_some_and(|key| ranges.iter().any(|range| range.contains(&key))) {
            let length = usize::try_from(record.span.length).unwrap_or(usize::MAX);
            let bytes = read_exact(&*input, address, record.span.offset, length)?;
            out.write_all(&bytes).map_err(CrawlError::Output)?;
            filtered.records += 1;
            filtered.bytes += record.span.length;
        }
        reader.recycle(record);
        if !should_continue(filtered) {
            return Err(CrawlError::Stopped);
        }
    }
    Ok(filtered)
}

impl Kind {
    /// Returns the paths of the files with records of this kind for captures. Captures without such
    /// a file (robots.txt, failures) are left out.
    pub fn paths(self, lines: &[Line]) -> BTreeSet<String> {
        lines
            .iter()
            .filter_map(|line| sibling_path(&line.path, self))
            .collect()
    }
}
