//! Anchors of a URI with many anchors, in rows that begin with its number, big-endian:
//!
//! | key | value |
//! |---|---|
//! | number (8), 0, hash of the text (8) | varint: hosts; the text |
//! | number (8), 1, hash of the text (8), host (4) | varint: pages |
//!
//! So an added or removed link costs at most two small rows, however many anchors there are.

use std::collections::BTreeMap;

use super::{AnchorCount, AnchorCounts, AnchorDeltas, Host, weightiest};
use crate::bucket::anchor_weight;
use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::rows::AnchorRow;
use crate::tables::Table;
use crate::write::Write;

const TEXT: u8 = 0;
const HOST: u8 = 1;

/// Writes the anchors of a URI that were in the URI's own row until now.
pub(crate) fn put_all(write: &mut Write<'_>, number: u64, anchor_counts: &AnchorCounts) {
    for (key, value) in of(number, anchor_counts) {
        write.put(Table::Anchors, key, value);
    }
}

/// Returns the rows of a URI's anchors, sorted by key.
pub(crate) fn of(number: u64, anchor_counts: &AnchorCounts) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut rows, mut hosts) = (BTreeMap::new(), BTreeMap::<&str, u64>::new());
    for ((text, host), pages) in anchor_counts {
        *hosts.entry(text).or_default() += 1;
        rows.insert(host_key(number, hash(text), *host), host_row(*pages));
    }
    for (text, hosts) in hosts {
        rows.insert(text_key(number, hash(text)), text_row(text, hosts));
    }
    rows
}

/// Applies changes to anchors. Returns the texts whose number of hosts changed.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    number: u64,
    deltas: AnchorDeltas,
) -> Result<BTreeMap<Vec<u8>, Recount>, SnapshotError> {
    let mut recounts: BTreeMap<Vec<u8>, (String, i64)> = BTreeMap::new();
    for ((text, host), by) in deltas {
        let hash = hash(&text);
        let key = host_key(number, hash, host);
        let before = match cut.get(Table::Anchors, &key)? {
            Some(row) => cut.decode(Table::Anchors, &key, Reader::new(&row).varint())?,
            None => 0,
        };
        let now = before.saturating_add_signed(by);
        let hosts = i64::from(now > 0) - i64::from(before > 0);
        if now > 0 {
            write.put(Table::Anchors, key, host_row(now));
        } else if before > 0 {
            write.remove(Table::Anchors, key);
        }
        if hosts != 0 {
            recounts.entry(text_key(number, hash)).or_insert((text, 0)).1 += hosts;
        }
    }
    let mut recounted = BTreeMap::new();
    for (key, (text, by)) in recounts {
        let before = match cut.get(Table::Anchors, &key)? {
            Some(row) => cut.decode(Table::Anchors, &key, decode_text(&row))?.hosts,
            None => 0,
        };
        let hosts = before.saturating_add_signed(by);
        if hosts > 0 {
            write.put(Table::Anchors, key.clone(), text_row(&text, hosts));
        } else if before > 0 {
            write.remove(Table::Anchors, key.clone());
        }
        let now = AnchorRow { text, hosts };
        recounted.insert(key, Recount { before, now });
    }
    Ok(recounted)
}

/// A text whose number of hosts changed in an epoch.
pub(crate) struct Recount {
    before: u64,
    now: AnchorRow,
}

impl Recount {
    fn changes_weight(&self) -> bool {
        anchor_weight(self.before) != self.now.weight()
    }
}

/// Returns the texts reported to search, as of the cut and with an epoch's changes. `None` if
/// nothing changed for search, unless `always`.
pub(crate) fn shown(
    cut: &Cut,
    number: u64,
    mut recounted: BTreeMap<Vec<u8>, Recount>,
    always: bool,
) -> Result<Option<Vec<AnchorRow>>, SnapshotError> {
    if !always && !recounted.values().any(Recount::changes_weight) {
        return Ok(None);
    }
    let mut texts = Vec::new();
    for row in cut.prefix(Table::Anchors, &prefix(number, TEXT)) {
        let (key, value) = row?;
        match recounted.remove(&*key) {
            Some(recount) => texts.push(recount.now),
            None => texts.push(cut.decode(Table::Anchors, &key, decode_text(&value))?),
        }
    }
    texts.extend(recounted.into_values().map(|recount| recount.now));
    texts.retain(|anchor| anchor.hosts > 0);
    Ok(Some(weightiest(texts)))
}

/// Returns all rows of a URI's anchors.
pub(crate) fn stored(cut: &Cut, number: u64) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, SnapshotError> {
    let rows = cut.prefix(Table::Anchors, &number.to_be_bytes());
    rows.map(|row| {
        let (key, value) = row?;
        Ok((key.to_vec(), value.to_vec()))
    })
    .collect()
}

/// Returns all anchors of a URI, and the number of their rows.
///
/// # Errors
/// [`SnapshotError`] also if the rows contradict each other.
pub(crate) fn read(cut: &Cut, number: u64) -> Result<(AnchorCounts, u64), SnapshotError> {
    let stored = stored(cut, number)?;
    let (mut anchor_counts, mut texts) = (AnchorCounts::new(), BTreeMap::new());
    for (key, value) in &stored {
        let decoded = read_row(key, value, &mut texts);
        anchor_counts.extend(cut.decode(Table::Anchors, key, decoded)?);
    }
    let agree = of(number, &anchor_counts) == stored;
    let decoded = agree.then_some(()).ok_or(Corrupt("texts and hosts do not match"));
    cut.decode(Table::Anchors, &number.to_be_bytes(), decoded)?;
    Ok((anchor_counts, stored.len() as u64))
}

/// Decodes a row. For the row of a text, adds it to `texts` by hash. For the row of a host, which
/// comes after that of its text, returns its anchor.
fn read_row(
    key: &[u8],
    value: &[u8],
    texts: &mut BTreeMap<Vec<u8>, String>,
) -> Result<Option<AnchorCount>, Corrupt> {
    let mut r = Reader::new(key);
    r.take(8)?;
    match r.u8()? {
        TEXT => {
            texts.insert(r.rest().to_vec(), decode_text(value)?.text);
            Ok(None)
        }
        HOST => {
            let text = texts.get(r.take(8)?).ok_or(Corrupt("host without a text"))?;
            let host = r
                .rest()
                .try_into()
                .map_err(|_| Corrupt("host has the wrong length"))?;
            let pages = Reader::new(value).varint()?;
            Ok(Some(((text.clone(), u32::from_be_bytes(host)), pages)))
        }
        _ => Err(Corrupt("unknown kind of row")),
    }
}

fn hash(text: &str) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    [a, b, c, d, e, f, g, h]
}

fn prefix(number: u64, kind: u8) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[kind]].concat()
}

fn text_key(number: u64, hash: [u8; 8]) -> Vec<u8> {
    [&prefix(number, TEXT)[..], &hash].concat()
}

fn host_key(number: u64, hash: [u8; 8], host: Host) -> Vec<u8> {
    [&prefix(number, HOST)[..], &hash, &host.to_be_bytes()].concat()
}

fn host_row(pages: u64) -> Vec<u8> {
    let mut row = Vec::new();
    codec::put_varint(&mut row, pages);
    row
}

fn text_row(text: &str, hosts: u64) -> Vec<u8> {
    let mut row = host_row(hosts);
    row.extend_from_slice(text.as_bytes());
    row
}

fn decode_text(row: &[u8]) -> Result<AnchorRow, Corrupt> {
    let mut r = Reader::new(row);
    let hosts = r.varint()?;
    Ok(AnchorRow {
        text: codec::to_text(r.rest())?,
        hosts,
    })
}
