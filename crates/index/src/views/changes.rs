//! The pages that each epoch changed, for search to catch up.
//!
//! There is one row per epoch, for the last [`EPOCHS_KEPT`] epochs. A reader that is further behind
//! gets every key that has a version.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | 1: the rest is packed; 2: it is not |
//! | n | a zstd frame of the rest, if packed: |
//! | for each change: 1 | 0 delete, 1 upsert, 2 bucket, 3 past versions alone, 4 anchors |
//! | varint, varint, n | URL key, front-coded |
//! | 1, if a bucket | the bucket |

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::epoch::PageChange;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::tables::Table;
use crate::views::version_row;
use crate::write::Write;

const PACKED: u8 = 1;
const PLAIN: u8 = 2;

/// Compression level: sorted keys share so much that a higher level gains little.
const LEVEL: i32 = 1;

/// Rows kept; at 5,000 pages per epoch some 100 MiB on disk.
const EPOCHS_KEPT: u64 = 1024;

/// Writes the changes of an epoch, sorted by URL key, and removes the oldest row.
pub(crate) fn apply(write: &mut Write<'_>, epoch: Epoch, changes: &[PageChange]) {
    debug_assert!(
        changes.is_sorted_by(|a, b| a.url_key() < b.url_key()),
        "epoch {}: a page is listed twice or out of order",
        epoch.0
    );
    if !changes.is_empty() {
        write.put(Table::Changes, epoch.0.to_be_bytes(), encode(changes));
    }
    if let Some(old) = epoch.0.checked_sub(EPOCHS_KEPT) {
        write.remove(Table::Changes, old.to_be_bytes());
    }
}

/// Returns the changes of all epochs after `since` up to `until`, oldest first; `now` is the epoch
/// of the cut.
pub(crate) fn read(
    cut: &Cut,
    since: Epoch,
    until: Epoch,
    now: Epoch,
) -> Box<dyn Iterator<Item = Result<PageChange, SnapshotError>> + '_> {
    // A reader that starts at the beginning, or is too far behind, gets each page once, not once
    // for each epoch that changed it.
    if since.0 == 0 && until == now || now.0.saturating_sub(since.0) >= EPOCHS_KEPT {
        return Box::new(cut.iter(Table::Versions).map(|row| {
            let (key, value) = row?;
            let change = codec::to_text(&key).and_then(|url_key| {
                let has_content = version_row::decode(&url_key, &value)?.has_content();
                Ok(if has_content {
                    PageChange::Upsert(url_key)
                } else {
                    PageChange::Delete(url_key)
                })
            });
            cut.decode(Table::Versions, &key, change)
        }));
    }
    let (from, to) = ((since.0 + 1).to_be_bytes(), (until.0 + 1).to_be_bytes());
    let rows = cut.range(Table::Changes, &from, &to);
    Box::new(rows.flat_map(|row| {
        let decoded = row.and_then(|(key, value)| cut.decode(Table::Changes, &key, decode(&value)));
        match decoded {
            Ok(changes) => changes.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(e) => vec![Err(e)],
        }
    }))
}

/// Returns a row without the keys that no longer have a version, if search has already read the
/// row's epoch (`covered`). `None` if no change is left.
pub(crate) fn without_gone(
    cut: &Cut,
    key: &[u8],
    row: &[u8],
    covered: Epoch,
) -> Result<Option<Vec<u8>>, SnapshotError> {
    let epoch = key.first_chunk::<8>().ok_or(Corrupt("key is too short"));
    let epoch = cut.decode(Table::Changes, key, epoch)?;
    if u64::from_be_bytes(*epoch) > covered.0 {
        return Ok(Some(row.to_vec()));
    }
    let mut changes = cut.decode(Table::Changes, key, decode(row))?;
    let mut failure = None;
    changes.retain(
        |change| match cut.contains(Table::Versions, change.url_key().as_bytes()) {
            Ok(is_there) => is_there,
            Err(error) => {
                failure = Some(error);
                true
            }
        },
    );
    match failure {
        Some(error) => Err(error),
        None => Ok((!changes.is_empty()).then(|| encode(&changes))),
    }
}

fn encode(changes: &[PageChange]) -> Vec<u8> {
    let (mut out, mut previous) = (Vec::new(), "");
    for change in changes {
        let (code, bucket) = match change {
            PageChange::Delete(_) => (0, None),
            PageChange::Upsert(_) => (1, None),
            PageChange::Bucket(_, bucket) => (2, Some(*bucket)),
            PageChange::Past(_) => (3, None),
            PageChange::Anchors(_) => (4, None),
        };
        let url_key = change.url_key();
        out.push(code);
        codec::put_front_coded(&mut out, previous.as_bytes(), url_key.as_bytes());
        out.extend(bucket);
        previous = url_key;
    }
    match zstd::bulk::compress(&out, LEVEL) {
        Ok(packed) => [&[PACKED], packed.as_slice()].concat(),
        // Without memory for compression, the row is stored uncompressed.
        Err(_) => [&[PLAIN], out.as_slice()].concat(),
    }
}

fn decode(row: &[u8]) -> Result<Vec<PageChange>, Corrupt> {
    let unpacked;
    let plain = match row.split_first() {
        Some((&PLAIN, plain)) => plain,
        Some((&PACKED, packed)) => {
            unpacked = zstd::decode_all(packed).map_err(|_| Corrupt("row cannot be unpacked"))?;
            &unpacked
        }
        _ => return Err(Corrupt("unknown row version")),
    };
    if plain.is_empty() {
        return Err(Corrupt("row without changes"));
    }
    let mut r = Reader::new(plain);
    let mut changes = Vec::new();
    let mut key = Vec::new();
    while !r.is_empty() {
        let code = r.u8()?;
        r.front_coded(&mut key)?;
        let url_key = codec::to_text(&key)?;
        changes.push(match code {
            0 => PageChange::Delete(url_key),
            1 => PageChange::Upsert(url_key),
            2 => PageChange::Bucket(url_key, r.u8()?),
            3 => PageChange::Past(url_key),
            4 => PageChange::Anchors(url_key),
            _ => return Err(Corrupt("unknown page change")),
        });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let changes = vec![
            PageChange::Upsert("a".into()),
            PageChange::Bucket("aa".into(), 7),
            PageChange::Delete("ab".into()),
            PageChange::Past("ac".into()),
            PageChange::Anchors("ad".into()),
        ];
        let row = encode(&changes);
        assert_eq!(decode(&row), Ok(changes.clone()));
        for end in 0..row.len() {
            assert!(decode(&row[..end]).is_err());
        }
        let plain = [&[PLAIN], zstd::decode_all(&row[1..]).unwrap().as_slice()].concat();
        assert_eq!(decode(&plain), Ok(changes));
    }
}
