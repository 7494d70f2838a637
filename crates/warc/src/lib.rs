//! Reads and writes web-archive records (WARC 0.17 to 1.1, which is ISO 28500; ARC 1 and 2), and
//! accounts for every byte.
//!
//! Invariant: the `length`s of all [`Entry`]s of an input add up to the size of the file, and each
//! entry begins where the one before it ended.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod buffer;
mod container;
mod entry;
mod error;
mod frames;
mod probe;
mod reader;
pub mod reason;
mod record;
mod span;
mod write;

pub use container::file_name::{is_record_file_name, media_type_of_name, record_media_types};
pub use container::stream::Decompressed;
pub use container::zstd::{is_dictionary, train_dictionary};
pub use container::{Compression, Container};
pub use entry::Entry;
pub use error::ReadError;
/// Formats milliseconds since 1970 as `YYYY-MM-DDThh:mm:ssZ`, with milliseconds only if there are any.
pub use format::date::iso_short as format_date;
pub use frames::source::Input;
pub use probe::{begins_like_records, is_record_start};
pub use reader::Reader;
pub use reader::one_record::{RawRecord, raw_at, raw_from, read_at, read_at_with, read_from};
pub use reader::open_record::{BlockDamage, OpenRecord};
pub use reader::settings::ReaderSettings;
pub use reader::stored_record::RecordLayout;
pub use record::date::{RecordDate, parse_date};
pub use record::digest::Declared as DeclaredDigest;
pub use record::headers::Headers;
pub use record::http::{Dechunker, HTTP_HEADER_BYTES_MAX, http_header_length, is_chunked};
pub use record::payload::{payload, payload_digest};
pub use record::{Format, Kind, Record};
pub use span::{Defect, Span};
pub use write::Writer;
pub use write::draft::Draft;
