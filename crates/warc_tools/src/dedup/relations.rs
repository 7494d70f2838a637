//! Relations between records of the inputs because of which a response is kept.
//!
//! - A revisit already refers to it, by id or by URL and date. A search for the payload of that
//!   revisit would otherwise find a record without payload. A revisit whose URL and date match no
//!   record of the inputs is resolved by its digest, so all records with that digest are kept as
//!   well.
//! - It answers a request with another method than GET. Such an answer is never the version of a
//!   page, so a page that refers to it would have no content. A request and its answer are related
//!   if either names the other, or if they share URL and date, wherever the request is.

use std::collections::HashSet;
use std::path::PathBuf;

use warc::{DeclaredDigest, Entry, Kind, Reader, ReaderSettings, Record};

use crate::Progress;
use crate::error::WriteError;
use crate::short_digest;
use crate::source::Original;

/// Bytes of a block that are read: enough for the method of a request.
const BLOCK_BYTES: u64 = 8;

/// What the records of the inputs say about each other.
#[derive(Debug, Default)]
pub struct Relations {
    /// Ids, and URLs with dates, that revisits refer to.
    referred: HashSet<[u8; 16]>,
    /// Digests of revisits whose URL and date match no record of the inputs.
    digests: HashSet<DeclaredDigest>,
    /// Ids, and URLs with dates, of requests other than GET, and the ids that these name.
    requests: HashSet<[u8; 16]>,
}

/// Reads the relations of the inputs. `each` is called with the bytes of all inputs read so far,
/// and stops the work by returning false.
///
/// # Errors
/// [`WriteError::Read`], [`WriteError::Stopped`]. Damage is not an error.
pub fn relations(inputs: &[PathBuf], each: &mut Progress<'_>) -> Result<Relations, WriteError> {
    let mut relations = Relations::default();
    let mut places = HashSet::new();
    let mut revisits = Vec::new();
    let mut before = 0;
    for input in inputs {
        let original = Original::open(input)?;
        let mut settings = ReaderSettings::default();
        settings.body_bytes_max = BLOCK_BYTES;
        let mut reader = Reader::from_input(Box::new(original.file()?), &original.name(), settings)?;
        while let Some(entry) = reader.next_entry()? {
            if let Entry::Record(record) = entry {
                relations.add(&record);
                match record.kind {
                    Kind::Revisit => {
                        revisits.extend(declared(&record).map(|digest| (referred(&record), digest)))
                    }
                    Kind::Response | Kind::Resource => drop(places.insert(by_place(&record))),
                    _ => {}
                }
                reader.recycle(record);
            }
            if !each(before + reader.position()) {
                return Err(WriteError::Stopped);
            }
        }
        before += reader.size();
    }
    let is_found = |place: Option<[u8; 16]>| place.is_some_and(|place| places.contains(&place));
    let by_digest = revisits.into_iter().filter(|(place, _)| !is_found(*place));
    relations.digests = by_digest.map(|(_, digest)| digest).collect();
    Ok(relations)
}

/// Returns the URL and date that a revisit refers to.
fn referred(revisit: &Record) -> Option<[u8; 16]> {
    let field = |name: &str| revisit.headers.get(name);
    Some(key(&[
        field("WARC-Refers-To-Target-URI")?,
        field("WARC-Refers-To-Date")?,
    ]))
}

fn declared(record: &Record) -> Option<DeclaredDigest> {
    DeclaredDigest::parse(record.headers.get("WARC-Payload-Digest")?)
}

impl Relations {
    fn add(&mut self, record: &Record) {
        let field = |name: &str| record.headers.get(name);
        match record.kind {
            Kind::Revisit => {
                self.referred
                    .extend(field("WARC-Refers-To").map(|id| key(&[bare(id)])));
                self.referred.extend(referred(record));
            }
            Kind::Request if !is_get(&record.body) => {
                self.requests.extend([by_id(record), by_place(record)]);
                self.requests.extend(concurrent(record));
            }
            _ => {}
        }
    }

    /// Returns whether a revisit refers to a record: by its id, by its URL and date, or by its
    /// digest. `digest` computes the digest of a record that declares none.
    pub(super) fn is_referred(&self, record: &Record, digest: impl FnOnce() -> String) -> bool {
        let has_digest = || {
            let own = declared(record).or_else(|| DeclaredDigest::parse(&digest()));
            own.is_some_and(|own| self.digests.contains(&own))
        };
        self.referred.contains(&by_id(record))
            || self.referred.contains(&by_place(record))
            || !self.digests.is_empty() && has_digest()
    }

    /// Returns whether a record may answer a request with another method than GET.
    pub(super) fn answers_other_method(&self, record: &Record) -> bool {
        !self.requests.is_empty()
            && [by_id(record), by_place(record)]
                .into_iter()
                .chain(concurrent(record))
                .any(|key| self.requests.contains(&key))
    }
}

/// Returns whether the block of a request begins with GET, ignoring case. A block without a method
/// counts as GET, because its method is unknown.
fn is_get(block: &[u8]) -> bool {
    let end = block.iter().position(u8::is_ascii_whitespace);
    let method = &block[..end.unwrap_or(block.len())];
    method.is_empty() || method.eq_ignore_ascii_case(b"GET")
}

fn by_id(record: &Record) -> [u8; 16] {
    key(&[bare(record.headers.get("WARC-Record-ID").unwrap_or_default())])
}

fn by_place(record: &Record) -> [u8; 16] {
    let field = |name: &str| record.headers.get(name).unwrap_or_default();
    key(&[field("WARC-Target-URI"), field("WARC-Date")])
}

/// Returns the ids that a record names as part of the same exchange.
fn concurrent(record: &Record) -> impl Iterator<Item = [u8; 16]> + '_ {
    let named = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("WARC-Concurrent-To");
    record
        .headers
        .iter()
        .filter(named)
        .map(|(_, id)| key(&[bare(id)]))
}

/// Removes blanks and angle brackets around an id; some writers leave the brackets out.
fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('<').trim_end_matches('>')
}

fn key(parts: &[&str]) -> [u8; 16] {
    short_digest(&parts.join("\n"))
}
