//! Takedowns: what was taken out of the archive and stays out, and the register of them.
//!
//! Invariants:
//!  - the register says who, when, why and how many, and never what: of URLs, prefixes and labels it keeps hashes under a
//!    random key of the archive;
//!  - a row of table `taken_down` stands for each capture that is kept out, by input and offset: its takedown is in force, or
//!    is undone and the capture was not read again since;
//!  - register, rows and what leaves move in one batch.

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

/// What is to be taken down, in clear. Never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Captures of a URL key.
    Url(String),
    /// Captures of all URL keys that begin so.
    Prefix(String),
    /// All of these inputs.
    Inputs(Vec<InputId>),
    /// Captures of all inputs with this label.
    Collection(String),
    /// Captures fetched before this time, in milliseconds since 1970.
    Before(i64),
}

/// A selector as the register keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum KeptSelector {
    /// One URL key.
    Url {
        /// Keyed hash of it.
        hash: String,
    },
    /// URL keys that begin so.
    Prefix {
        /// Length of the beginning.
        bytes: u32,
        /// Keyed hash of it.
        hash: String,
    },
    /// Inputs, whatever is in them.
    Inputs {
        /// Their numbers in the ledger.
        ids: Vec<u32>,
        /// Keyed hashes of their digests.
        hashes: Vec<String>,
    },
    /// A label.
    Collection {
        /// Keyed hash of it.
        hash: String,
    },
    /// What was fetched before a time.
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
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whose process asked for it.
    pub who: String,
    /// Why, as that person wrote it.
    pub reason: String,
    /// What it selects.
    pub rule: KeptSelector,
    /// Captures that left with it; later ones are counted by the ledger.
    pub captures: u64,
    /// Pages that were gone after it.
    pub pages: u64,
    /// Inputs that these captures were in.
    pub inputs: u64,
    /// When and by whom it was undone, if it was.
    pub undone: Option<Undone>,
}

/// The end of a takedown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Whose process asked for it.
    pub who: String,
}

/// A capture that is kept out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOut {
    /// Its place in its input.
    pub offset: u64,
    /// Bytes of its record as stored.
    pub length: u64,
    /// Method of its request, which its record does not tell; empty if unknown.
    pub method: String,
    /// The takedown.
    pub takedown: u32,
}

/// Version 1 has no method. The oldest version that says it all is written.
const ROW_VERSION: u8 = 2;

pub(crate) fn kept_out_key(input: InputId, offset: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&ledger::entry_key(input));
    key[4..].copy_from_slice(&offset.to_be_bytes());
    key
}

pub(crate) fn encode_kept_out(takedown: u32, length: u64, method: &str) -> Vec<u8> {
    let mut out = vec![if method.is_empty() { 1 } else { ROW_VERSION }];
    codec::put_varint(&mut out, takedown.into());
    codec::put_varint(&mut out, length);
    if !method.is_empty() {
        codec::put_bytes(&mut out, method.as_bytes());
    }
    out
}

fn decode_kept_out(key: &[u8], value: &[u8]) -> Result<(InputId, KeptOut), Corrupt> {
    let short = Corrupt("key too short");
    let input = key.first_chunk::<4>().ok_or(short)?;
    let offset = key
        .get(4..)
        .and_then(|rest| rest.first_chunk::<8>())
        .ok_or(short)?;
    let mut r = Reader::new(value);
    let version = r.u8()?;
    if !(1..=ROW_VERSION).contains(&version) {
        return Err(Corrupt("unknown row version"));
    }
    let kept_out = KeptOut {
        takedown: r.varint_u32()?,
        length: r.varint()?,
        method: if version > 1 { r.str()? } else { "" }.to_owned(),
        offset: u64::from_be_bytes(*offset),
    };
    Ok((InputId(u32::from_be_bytes(*input)), kept_out))
}

/// The captures of an input that are kept out, from an offset on.
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

/// All captures that are kept out.
pub(crate) fn all_kept_out(
    cut: &Cut,
) -> impl Iterator<Item = Result<(InputId, KeptOut), SnapshotError>> + '_ {
    cut.iter(Table::TakenDown).map(move |row| decoded(cut, row?))
}

/// The takedown that keeps a capture out, if one does.
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
