//! Web-archive records in and out (WARC 0.17-1.1, ARC 1 and 2), with every byte accounted for.
//!
//! Invariant: the `length`s of all [`Entry`]s of an input add up to the size of the file, and each
//! entry begins where the one before it ended.

mod arc_header;
mod at;
mod block;
mod body;
mod budget;
mod container;
mod date;
mod decoders;
mod digest;
mod draft;
mod encode;
mod entry;
mod error;
mod feed;
mod frame;
mod gzip;
mod head;
mod header;
mod headers;
mod item;
mod lz4;
mod open;
mod open_record;
mod payload;
mod reader;
pub mod reason;
mod record;
mod resume;
mod resync;
mod search;
mod settings;
mod settle;
mod source;
mod transfer;
mod warc_header;
mod writer;
mod zstandard;

pub use at::{RawRecord, raw_at, raw_from, read_at, read_at_with, read_from};
pub use date::{RecordDate, format_date, parse_date};
pub use draft::Draft;
pub use entry::{Defect, Entry, Span};
pub use error::ReadError;
pub use headers::Headers;
pub use open_record::OpenRecord;
pub use payload::{declared_payload_digest, payload, payload_digest};
pub use reader::Reader;
pub use record::{Format, Kind, Record};
pub use settings::ReaderSettings;
pub use source::Input;
pub use transfer::{Dechunker, HTTP_HEADER_BYTES_MAX, http_header_length, says_chunked};
pub use writer::{Compression, Writer};
