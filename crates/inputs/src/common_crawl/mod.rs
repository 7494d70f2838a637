//! Fetches parts of Common Crawl's crawls: finds the records with requested URLs in the URL index,
//! and reads the records.
//!
//! A crawl is some hundred thousand files of about a gigabyte on a web server. Its index (ZipNum)
//! has one line per capture in the order of URL keys, in compressed blocks of 3,000 lines, and an
//! index of the first line of each block. All are read by ranges: a binary search in the latter,
//! the blocks that may contain requested URLs, then each record.
//!
//! Files are opened by a function of the caller, so this crate does not know about connections.
//!
//! Invariants:
//! - records are copied byte for byte in their stored form;
//! - memory is bounded by a block and by the records read at once;
//! - data is not trusted: an invalid line or record is an error that names its position.

mod block;
mod cluster;
mod crawl;
mod filter;
mod records;

use std::io;
use std::sync::Arc;

use warc::Input;

pub use block::{Line, lines};
pub use cluster::{Block, blocks};
pub use crawl::{Crawl, CrawlNameError, Kind};
pub use filter::{FilterReport, filter};
pub use records::{FetchReport, fetch};

/// Opens the file at an address.
pub type Open<'a> = dyn Fn(&str) -> io::Result<Arc<dyn Input>> + Sync + 'a;

/// Why a part of a crawl could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// A file cannot be read.
    #[error("read {address} at {offset}: {source}")]
    Read {
        /// Address of the file.
        address: String,
        /// Offset in bytes.
        offset: u64,
        /// The error of the source, which says what to do next.
        source: io::Error,
    },
    /// A file of the index has invalid content.
    #[error("{address} at {offset}: found {found}, expected {expected}; is it the index of a crawl?")]
    Index {
        /// Address of the file.
        address: String,
        /// Offset in bytes.
        offset: u64,
        /// The content found.
        found: String,
        /// The expected content.
        expected: &'static str,
    },
    /// There is no record at the position in the index.
    #[error("{address} at {offset}: the index lists a gzip member of {length} bytes, but none begins there")]
    NoRecord {
        /// Address of the file.
        address: String,
        /// Offset in bytes.
        offset: u64,
        /// Length in the index in bytes.
        length: u64,
    },
    /// A file of records cannot be read.
    #[error(transparent)]
    Records(#[from] warc::ReadError),
    /// The output cannot be written.
    #[error("write the output: {0}")]
    Output(#[source] io::Error),
    /// The caller stopped the operation.
    #[error("stopped")]
    Stopped,
}

/// Reads exactly `length` bytes.
fn read_exact(input: &dyn Input, address: &str, offset: u64, length: usize) -> Result<Vec<u8>, CrawlError> {
    let failed = |source| CrawlError::Read {
        address: address.to_owned(),
        offset,
        source,
    };
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        let at = offset.saturating_add(filled as u64);
        match input.read_at(&mut bytes[filled..], at).map_err(failed)? {
            0 => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
            read => filled += read,
        }
    }
    Ok(bytes)
}
