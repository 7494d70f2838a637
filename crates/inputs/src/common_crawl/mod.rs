//! Parts of Common Crawl's crawls: which records of a crawl have URLs that are wanted, by its URL index, and the records themselves.
//!
//! A crawl is some hundred thousand files of a gigabyte or so on a web server. Its index (ZipNum) has one line a capture in the order
//! of URL keys, in compressed blocks of 3,000 lines, and an index of the first line of each block. All of it is read by ranges: a
//! binary search in the latter, the blocks that may have what is wanted, then each record by itself.
//!
//! Files are opened by a function of the caller, so that nothing here knows of connections.
//!
//! Invariants:
//! - records are passed on byte for byte as they are stored;
//! - memory is bounded by a block and by the records read at once, whatever the files hold;
//! - what is read is not trusted: a line or record that cannot be one is an error that names where it stands.

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
pub use filter::{Filtered, filter};
pub use records::{Fetched, fetch};

/// Opens the file at an address.
pub type Open<'a> = dyn Fn(&str) -> io::Result<Arc<dyn Input>> + Sync + 'a;

/// Why a part of a crawl cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// A file cannot be read.
    #[error("read {address} at {offset}: {source}")]
    Read {
        /// Its address.
        address: String,
        /// Where in it, in bytes.
        offset: u64,
        /// The error of the source, which says what to do next.
        source: io::Error,
    },
    /// A file of the index does not hold what an index holds.
    #[error("{address} at {offset}: {found}, and {expected} was expected; is it the index of a crawl?")]
    Index {
        /// Its address.
        address: String,
        /// Where in it, in bytes.
        offset: u64,
        /// What stands there.
        found: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// There is no record where the index says that there is one.
    #[error("{address} at {offset}: no gzip member of {length} bytes begins there, as the index says")]
    NoRecord {
        /// The file's address.
        address: String,
        /// Where, in bytes.
        offset: u64,
        /// How long the index says that it is, in bytes.
        length: u64,
    },
    /// A file of records cannot be understood.
    #[error(transparent)]
    Records(#[from] warc::ReadError),
    /// What was fetched cannot be written.
    #[error("write what was fetched: {0}")]
    Output(#[source] io::Error),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Reads bytes that must be there.
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
