//! View `links`: the links of every current version.
//!
//! Definition: one row per (source key, target key) for each key whose current version has links. A
//! source is stored as one row with all its links, sorted by target and front-coded. So a page that
//! is crawled again is compared by merging two lists, and unchanged links cost nothing more.
//!
//! The row begins with the number of its source, see [`crate::views::sources`]:
//!
//! | bytes | content |
//! |---|---|
//! | 1 | version: 1 |
//! | varint, varint | the source's number: epoch, place |
//!
//! The rest is a [`link_set`], which may be packed, see [`crate::packed`].

use std::borrow::Cow;
use std::sync::Arc;

use extract::Link;

use crate::codec::{Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::packed::{self, Dictionary, Packer};
use crate::tables::Table;
use crate::views::link_set;
use crate::views::sources::{self, Numbering, SourceId};
use crate::views::version_change::VersionChange;
use crate::write::Write;

/// First byte of a stored row, followed by the number of its source.
const HEAD_VERSION: u8 = 1;

/// A link that a source gained or lost, or whose anchor text changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkChange {
    pub(crate) target_key: String,
    /// Index of the source among the version changes.
    pub(crate) source: u32,
    /// Old anchor text, if the link existed before.
    pub(crate) before: Option<String>,
    /// New anchor text, if the link exists now.
    pub(crate) after: Option<String>,
}

impl LinkChange {
    pub(crate) fn is_added(&self) -> bool {
        self.before.is_none()
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.after.is_none()
    }
}

/// Changes of the links of replaced versions.
pub(crate) struct LinkChanges {
    /// The epoch that assigned numbers to sources that had no links before.
    pub(crate) epoch: Epoch,
    /// Changed links, sorted by target and source.
    pub(crate) changes: Vec<LinkChange>,
    /// The number of each version change that is the source of any of these.
    pub(crate) sources: Vec<SourceId>,
}

/// Compares old and new links of every replaced version, and writes the new rows in epoch `epoch`.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    epoch: Epoch,
    versions: &mut [VersionChange],
) -> Result<LinkChanges, SnapshotError> {
    let (mut changes, mut rows) = (Vec::new(), Vec::new());
    let mut sources = vec![SourceId::default(); versions.len()];
    let (mut numbering, mut gone) = (Numbering::of(epoch), Vec::new());
    for (source, version) in (0u32..).zip(versions.iter_mut()) {
        let Some(links) = version.links.take() else {
            continue;
        };
        let key = version.url_key.as_bytes();
        let stored = match version.links_before {
            0 => None,
            _ => cut.get(Table::Links, key)?,
        };
        let before = stored.as_deref().map(|row| unpack(cut, key, row)).transpose()?;
        let after = link_set::encode(&links);
        let id = match &before {
            None if links.is_empty() => continue,
            // Crawled again with the same links: nothing changes.
            Some((_, before)) if **before == *after => continue,
            Some((id, _)) => *id,
            None => numbering.assign(write, &version.url_key),
        };
        sources[source as usize] = id;
        if links.is_empty() {
            write.remove(Table::Links, key);
            gone.push(id);
        } else {
            rows.push((source, after));
        }
        let old = match &before {
            Some((_, row)) => cut.decode(Table::Links, key, link_set::decode_anchors(row))?,
            None => Vec::new(),
        };
        diff(source, old, links, &mut changes);
    }
    numbering.finish(write);
    sources::remove_numbers(cut, write, gone)?;
    put(cut, write, versions, &sources, rows);
    // By target, so that `uris` reads and writes each row once, in key order.
    changes.sort_unstable_by(|a, b| {
        (a.target_key.as_bytes(), a.source).cmp(&(b.target_key.as_bytes(), b.source))
    });
    Ok(LinkChanges {
        epoch,
        changes,
        sources,
    })
}

/// Merges two lists sorted by target; the old one has targets and anchor texts.
fn diff(source: u32, old: Vec<(String, String)>, new: Vec<Link>, changes: &mut Vec<LinkChange>) {
    let change = |target_key, before, after| LinkChange {
        target_key,
        source,
        before,
        after,
    };
    let mut old = old.into_iter().peekable();
    for link in new {
        while let Some((gone, anchor)) = old.next_if(|(key, _)| key.as_bytes() < link.url_key.as_bytes()) {
            changes.push(change(gone, Some(anchor), None));
        }
        let before = old
            .next_if(|(key, _)| *key == link.url_key)
            .map(|(_, anchor)| anchor);
        if before.as_ref() != Some(&link.anchor) {
            changes.push(change(link.url_key, before, Some(link.anchor)));
        }
    }
    changes.extend(old.map(|(gone, anchor)| change(gone, Some(anchor), None)));
}

/// Writes rows with the numbers of their sources. Packs them if the archive has a dictionary, or if
/// there are enough rows to train one.
fn put(
    cut: &Cut,
    write: &mut Write<'_>,
    versions: &[VersionChange],
    sources: &[SourceId],
    rows: Vec<(u32, Vec<u8>)>,
) {
    let mut dictionary = cut.link_dictionary().cloned();
    if dictionary.is_none() {
        dictionary = Dictionary::train(rows.iter().map(|(_, row)| row.as_slice()));
        if let Some(dictionary) = &dictionary {
            write.put_link_dictionary(dictionary.clone());
        }
    }
    let mut packer = Packer::new(dictionary.as_deref());
    for (source, row) in rows {
        let key = versions[source as usize].url_key.as_str();
        let mut stored = head(sources[source as usize]);
        packer.pack(&row, &mut stored);
        write.put(Table::Links, key, stored);
    }
}

/// Encodes the beginning of a stored row.
pub(crate) fn head(source: SourceId) -> Vec<u8> {
    let mut out = vec![HEAD_VERSION];
    source.put(&mut out);
    out
}

/// Splits a stored row into the number of its source and the rest.
pub(crate) fn split_head(stored: &[u8]) -> Result<(SourceId, &[u8]), Corrupt> {
    let mut r = Reader::versioned(stored, HEAD_VERSION)?;
    let source = SourceId::get(&mut r)?;
    Ok((source, r.rest()))
}

/// Returns the number of the source, and the row as a [`link_set`].
fn unpack<'r>(cut: &Cut, key: &[u8], stored: &'r [u8]) -> Result<(SourceId, Cow<'r, [u8]>), SnapshotError> {
    let dictionary = cut.link_dictionary().map(Arc::as_ref);
    let unpacked =
        split_head(stored).and_then(|(source, row)| Ok((source, packed::unpack(dictionary, row)?)));
    cut.decode(Table::Links, key, unpacked)
}

/// Returns the links of a stored row whose target key satisfies `wanted`.
pub(crate) fn read_row(
    cut: &Cut,
    key: &[u8],
    stored: &[u8],
    wanted: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<Link>, SnapshotError> {
    let (_, row) = unpack(cut, key, stored)?;
    cut.decode(Table::Links, key, link_set::decode(&row, wanted))
}

/// Returns the links of one source whose target key satisfies `wanted`, sorted by target.
pub(crate) fn read(
    cut: &Cut,
    source_key: &str,
    wanted: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<Link>, SnapshotError> {
    match cut.get(Table::Links, source_key.as_bytes())? {
        None => Ok(Vec::new()),
        Some(row) => read_row(cut, source_key.as_bytes(), &row, wanted),
    }
}

/// Returns the row of one source as a [`link_set`]; `None` if it has no links.
pub(crate) fn read_encoded(cut: &Cut, source_key: &str) -> Result<Option<Vec<u8>>, SnapshotError> {
    let key = source_key.as_bytes();
    let stored = cut.get(Table::Links, key)?;
    let unpacked = stored.map(|stored| Ok(unpack(cut, key, &stored)?.1.into_owned()));
    unpacked.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::link_set::tests::link;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_difference_leads_from_old_to_new(
            old in proptest::collection::btree_map("[a-c]{1,3}", "[xy]?", 0..9),
            new in proptest::collection::btree_map("[a-c]{1,3}", "[xy]?", 0..9),
        ) {
            let mut changes = Vec::new();
            let links = new.iter().map(|(k, anchor)| link(k, anchor, false)).collect();
            diff(4, old.clone().into_iter().collect(), links, &mut changes);
            let mut now = old.clone();
            for change in &changes {
                prop_assert_eq!(change.source, 4);
                prop_assert_ne!(&change.before, &change.after);
                let before = match &change.after {
                    Some(anchor) => now.insert(change.target_key.clone(), anchor.clone()),
                    None => now.remove(&change.target_key),
                };
                prop_assert_eq!(&before, &change.before);
            }
            prop_assert_eq!(&now, &new);
        }
    }
}
