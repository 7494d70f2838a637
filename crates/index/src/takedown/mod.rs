//! Takedowns: captures removed from the archive that must stay out, and their register.
//!
//! Invariants:
//! - The register says who, when, why and how many, but never what: for URLs, prefixes and labels
//!   it holds hashes under a random key of the archive.
//! - Table `taken_down` has a row for each capture that is kept out, by input and offset. Its
//!   takedown is in force, or was undone and the capture has not been read again since.
//! - Register, rows and removals change in one batch.

mod register;
mod rules;

use serde::{Deserialize, Serialize};

pub(crate) use register::Register;
pub use rules::TakedownRules;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::ledger;
use crate::tables::Table;

/// What to take down, as plain text. Never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Captures of a URL key.
    Url(String),
    /// Captures of all URL keys with this prefix.
    Prefix(String),
    /// Everything in these inputs.
    Inputs(Vec<InputId>),
    /// Captures of all inputs with this label.
    Collection(String),
    /// Captures fetched before this time, in milliseconds since 1970.
    Before(i64),
}

/// A selector as stored in the register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum KeptSelector {
    /// One URL key.
    Url {
        /// Keyed hash of the URL key.
        hash: String,
    },
    /// URL keys with this prefix.
    Prefix {
        /// Length of the prefix.
        bytes: u32,
        /// Keyed hash of the prefix.
        hash: String,
    },
    /// Inputs, whatever they hold.
    Inputs {
        /// Their numbers in the ledger.
        ids: Vec<u32>,
        /// Keyed hashes of their digests.
        hashes: Vec<String>,
    },
    /// A label.
    Collection {
        /// Keyed hash of the label.
        hash: String,
    },
    /// Captures fetched before a time.
    Before {
        /// Milliseconds since 1970.
        before_ms: i64,
    },
}

/// One row of the register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takedown {
    /// Its number, from 1.
    pub id: u32,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// User whose process requested it.
    pub who: String,
    /// Reason, as that person wrote it.
    pub reason: String,
    /// The selector.
    pub rule: KeptSelector,
    /// Captures that it removed; the ledger counts later ones.
    pub captures: u64,
    /// Pages that it removed.
    pub pages: u64,
    /// Inputs that these captures were in.
    pub inputs: u64,
    /// When and by whom it was undone, if it was.
    pub undone: Option<TakedownEnd>,
}

/// The end of a takedown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakedownEnd {
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// User whose process requested it.
    pub who: String,
}

/// A capture that is kept out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOut {
    /// Its offset in its input.
    pub offset: u64,
    /// Length of its stored record in bytes.
    pub length: u64,
    /// Request method, which the record itself does not have; empty if unknown.
    pub method: String,
    /// Number of the takedown.
    pub takedown: u32,
}

const ROW_VERSION: u8 = 1;

pub(crate) fn kept_out_key(input: InputId, offset: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&ledger::entry_key(input));
    key[4..].copy_from_slice(&offset.to_be_bytes());
    key
}

pub(crate) fn encode_kept_out(takedown: u32, length: u64, method: &str) -> Vec<u8> {
    let mut out = vec![ROW_VERSION];
    codec::put_varint(&mut out, takedown.into());
    codec::put_varint(&mut out, length);
    codec::put_bytes(&mut out, method.as_bytes());
    out
}

fn decode_kept_out(key: &[u8], value: &[u8]) -> Result<(InputId, KeptOut), Corrupt> {
    let short = Corrupt("key is too short");
    let input = key.first_chunk::<4>().ok_or(short)?;
    let offset = key
        .get(4..)
        .and_then(|rest| rest.first_chunk::<8>())
        .ok_or(short)?;
    let mut r = Reader::versioned(value, ROW_VERSION)?;
    let kept_out = KeptOut {
        takedown: r.varint_u32()?,
        length: r.varint()?,
        method: r.str()?.to_owned(),
        offset: u64::from_be_bytes(*offset),
    };
    Ok((InputId(u32::from_be_bytes(*input)), kept_out))
}

/// Returns the kept-out captures of an input from an offset on.
pub(crate) fn kept_out_of(
    cut: &Cut,
    input: InputId,
    from_offset: u64,
) -> impl Iterator<Item = Result<KeptOut, SnapshotError>> + '_ {
    let from = kept_out_key(input, from_offset);
    // The next input's rows begin where this one's end.
    let to = kept_out_key(InputId(input.0.saturating_add(1)), 0);
    let rows = cut.range(Table::TakenDown, &from, &to);
    rows.map(move |row| decoded(cut, row?).map(|(_, kept_out)| kept_out))
}

/// Returns all kept-out captures.
pub(crate) fn all_kept_out(
    cut: &Cut,
) -> impl Iterator<Item = Result<(InputId, KeptOut), SnapshotError>> + '_ {
    cut.iter(Table::TakenDown).map(move |row| decoded(cut, row?))
}

/// Returns the takedown that keeps a capture out, if any.
pub(crate) fn kept_out_by(cut: &Cut, key: &[u8; 12]) -> Result<Option<u32>, SnapshotError> {
    let Some(value) = cut.get(Table::TakenDown, key)? else {
        return Ok(None);
    };
    let (_, row) = cut.decode(Table::TakenDown, key, decode_kept_out(key, &value))?;
    Ok(Some(row.takedown))
}

fn decoded(cut: &Cut, (key, value): crate::cut::Row) -> Result<(InputId, KeptOut), SnapshotError> {
    cut.decode(Table::TakenDown, &key, decode_kept_out(&key, &value))
}
