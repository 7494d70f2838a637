//! Fingerprints of views: one number per view, equal in two archives if and only if their rows are
//! equal.
//!
//! A [`Fingerprint`] is the sum of the hashes of its rows (128 bits, XXH3). The order of the rows
//! does not matter, so no sort is needed, and counts of two places can be compared without holding
//! their rows. The hashes guard against damage and errors, not against a deliberate collision.

use extract::{Capture, Link};
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use crate::cell::Cell;
use crate::views::capture_row;
use crate::views::version_row::VersionRow;
use extract::IndexLine;

/// The number of rows of a view, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// Rows.
    pub rows: u64,
    /// Sum of their hashes, modulo 2^128.
    pub hash: u128,
}

impl Fingerprint {
    /// Adds a row.
    pub(crate) fn add(&mut self, hash: u128) {
        self.rows += 1;
        self.mix(hash);
    }

    /// Adds another hash of a row that is already counted.
    pub(crate) fn mix(&mut self, hash: u128) {
        self.hash = self.hash.wrapping_add(hash);
    }

    /// Adds a row `times` times.
    pub(crate) fn add_times(&mut self, hash: u128, times: u64) {
        self.rows = self.rows.wrapping_add(times);
        self.mix(hash.wrapping_mul(u128::from(times)));
    }

    /// Adds all rows of another fingerprint.
    pub(crate) fn add_all(&mut self, other: Fingerprint) {
        self.rows += other.rows;
        self.mix(other.hash);
    }
}

/// Fingerprints of the views of some captures, from a snapshot (see [`crate::IndexCheck`]) or
/// recomputed from records ([`crate::Recount`]). The other views follow from these, see there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprints {
    /// Captures with all properties that dumps show.
    pub captures: Fingerprint,
    /// URL keys that have a capture.
    pub captured: Fingerprint,
    /// Current versions with all properties that dumps show, and their texts.
    pub versions: Fingerprint,
    /// URL keys of current versions that are pages.
    pub pages: Fingerprint,
    /// Links.
    pub links: Fingerprint,
    /// Index lines.
    pub index_lines: Fingerprint,
}

/// Hashes rows, column by column.
#[derive(Default)]
pub(crate) struct RowHasher {
    columns: Vec<u8>,
}

impl RowHasher {
    fn row(&mut self, key_hash: u128) -> &mut RowHasher {
        self.columns.clear();
        self.columns.extend_from_slice(&key_hash.to_le_bytes());
        self
    }

    /// Adds the length first, so that the borders between texts count too.
    fn text(&mut self, text: &str) -> &mut RowHasher {
        self.number(text.len() as u64);
        self.columns.extend_from_slice(text.as_bytes());
        self
    }

    fn number(&mut self, number: u64) -> &mut RowHasher {
        self.columns.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Distinguishes a missing text from an empty one.
    fn maybe(&mut self, text: Option<&str>) -> &mut RowHasher {
        self.number(u64::from(text.is_some()))
            .text(text.unwrap_or_default())
    }

    /// Hashes the row with a seed per kind, so that rows of different kinds with the same columns
    /// have different hashes.
    fn hash(&self, kind: Kind) -> u128 {
        xxh3_128_with_seed(&self.columns, kind as u64)
    }

    /// Hashes a capture, new or stored.
    pub(crate) fn capture(&mut self, capture: &Capture, input: &str, collection: &str) -> u128 {
        self.row(key_hash(&capture.url_key));
        for (column, cell) in capture_row::columns(capture, input) {
            match (column, cell) {
                // Like an unknown method: both have the same effect.
                ("method", Cell::Text("GET")) => self.text(""),
                (_, Cell::Text(text)) => self.text(text),
                (_, Cell::Number(number)) => self.number(number),
                (_, Cell::Time(ms)) => self.number(ms as u64),
            };
        }
        // Hashes of whole captures do not depend on this column.
        if capture.is_damaged() {
            self.number(1);
        }
        self.number(capture.kind as u64)
            .number(u64::from(capture.redirects_to_itself))
            .number(capture.shortfall as u64)
            .text(collection)
            .hash(Kind::Capture)
    }

    /// Hashes an index line.
    pub(crate) fn index_line(&mut self, line: &IndexLine, input: &str, collection: &str) -> u128 {
        self.row(key_hash(&line.url_key))
            .number(line.fetch_time_ms as u64)
            .text(&line.url)
            .text(&line.mime)
            .number(u64::from(line.status))
            .text(&line.digest)
            .text(&line.filename)
            .number(line.record_offset)
            .number(line.record_length)
            .number(line.offset)
            .number(line.length)
            .maybe(line.alias_of.as_deref())
            .text(input)
            .text(collection)
            .hash(Kind::IndexLine)
    }

    /// Hashes a current version without its language and text, which may come from another capture
    /// of the same time.
    pub(crate) fn version(&mut self, key_hash: u128, row: &VersionRow, input: &str) -> u128 {
        self.row(key_hash)
            .number(row.fetch_time_ms as u64)
            .text(&row.url)
            .number(row.kind as u64)
            .number(u64::from(row.status))
            .text(&row.mime)
            .text(&row.digest)
            .number(u64::from(row.is_page) + 2 * u64::from(row.is_document))
            .text(&row.title)
            .maybe(row.canonical.as_deref())
            .maybe(row.robots.as_deref())
            .number(u64::from(row.links))
            .number(u64::from(row.links_dropped))
            .number(row.offset)
            .text(input)
            .hash(Kind::Version)
    }

    /// Hashes the rest of a current version. `text` is the hash of its text, and whether the text
    /// is truncated.
    pub(crate) fn text_of(&mut self, key_hash: u128, language: &str, text: Option<(u128, bool)>) -> u128 {
        let (hash, truncated) = text.unwrap_or_default();
        self.row(key_hash)
            .text(language)
            .number(u64::from(text.is_some()))
            .number(hash as u64)
            .number((hash >> 64) as u64)
            .number(u64::from(truncated))
            .hash(Kind::Text)
    }

    pub(crate) fn link(&mut self, source_hash: u128, link: &Link) -> u128 {
        self.row(source_hash)
            .text(&link.url_key)
            .text(&link.url)
            .text(&link.anchor)
            .number(u64::from(link.nofollow))
            .hash(Kind::Link)
    }

    /// Hashes a link from one key to another.
    pub(crate) fn pair(&mut self, source_hash: u128, target_hash: u128) -> u128 {
        self.row(source_hash);
        self.columns.extend_from_slice(&target_hash.to_le_bytes());
        self.hash(Kind::Pair)
    }

    /// Hashes a link from a page of a host to a key, with its anchor text.
    pub(crate) fn saying(&mut self, target_hash: u128, host: u32, text: &str) -> u128 {
        self.row(target_hash)
            .number(u64::from(host))
            .text(text)
            .hash(Kind::Saying)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Capture = 1,
    Version,
    Text,
    Link,
    Pair,
    Saying,
    IndexLine,
}

/// Hash of a URL key, or of another row that is a single byte string.
pub(crate) fn key_hash(key: impl AsRef<[u8]>) -> u128 {
    xxh3_128(key.as_ref())
}

/// Hash of a text.
pub(crate) fn text_hash(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

/// Sum of the counts of domains. Adding URI by URI and adding domain by domain give the same sum if
/// every domain has the counts of its URIs: the hash of a domain is added as often as its count
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DomainCounts(u128);

impl DomainCounts {
    pub(crate) fn add(&mut self, domain: DomainHashes, uris: u64, pages: u64, inlinks_external: u64) {
        for (hash, count) in domain.0.into_iter().zip([uris, pages, inlinks_external]) {
            self.0 = self.0.wrapping_add(hash.wrapping_mul(u128::from(count)));
        }
    }
}

/// One hash of a domain for each of its counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DomainHashes([u128; 3]);

impl DomainHashes {
    pub(crate) fn of(domain: &str) -> DomainHashes {
        DomainHashes([1, 2, 3].map(|count| xxh3_128_with_seed(domain.as_bytes(), count)))
    }
}
