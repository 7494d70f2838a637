//! Changes of revisits when captures are added or removed.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind};

use super::candidates::{Captures, IsRemoved};
use super::content::read_capture;
use super::rows::{payload_key, reference_keys};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::capture_key::{self, CapturePosition};
use crate::views::capture_row::{self, StoredCapture};
use crate::views::captures;
use crate::views::history::Collections;
use crate::views::order::{content_of, is_eligible};
use crate::views::version_change::Redecide;
use crate::write::Write;

/// Finds the originals of new revisits, and of stored ones that the new captures may be the
/// originals of. Writes the rows of these revisits. Moves the captures of keys that must be decided
/// again out of `new`.
pub(crate) fn add(
    cut: &Cut,
    write: &mut Write<'_>,
    names: &dyn Collections,
    new: &mut Vec<(InputId, Capture)>,
) -> Result<Vec<(Redecide, Vec<CapturePosition>)>, SnapshotError> {
    let mut changed: BTreeMap<Vec<u8>, (InputId, Capture)> = BTreeMap::new();
    let mut payloads = BTreeSet::new();
    {
        let all = Captures::new(cut, names, &|_, _| false, new);
        let mut affected = BTreeSet::new();
        let has_references = cut.iter(Table::References).next().transpose()?.is_some();
        for (input, capture) in new.iter() {
            if capture.kind == CaptureKind::Revisit {
                let key = row_key(*input, capture);
                for reference in reference_keys(capture, &key) {
                    write.put(Table::References, reference, []);
                }
                let now = match all.original(capture)? {
                    Some(original) => all.with_content(capture, &original)?,
                    None => None,
                };
                write.put(
                    Table::Captures,
                    key.as_slice(),
                    capture_row::encode(now.as_ref().unwrap_or(capture)),
                );
                if let Some(now) = now {
                    changed.insert(key, (*input, now));
                }
                continue;
            }
            let may_be = has_references || content_of(capture).is_some();
            if !may_be {
                continue;
            }
            payloads.extend(payload_key(capture));
            if has_references {
                all.find_affected(capture, &mut affected)?;
            }
        }
        for key in affected {
            if let Some((stored, now)) = all.with_new_original(&key)? {
                write.put(Table::Captures, key.as_slice(), capture_row::encode(&now));
                changed.insert(key, (stored.input, now));
            }
        }
    }
    for key in payloads {
        if !cut.contains(Table::Payloads, &key)? {
            write.put(Table::Payloads, key, []);
        }
    }
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    redecided(cut, changed, new)
}

/// Moves the captures of keys with changed revisits out of `new`, and returns them by key with the
/// stored ones that compete with them.
fn redecided(
    cut: &Cut,
    changed: BTreeMap<Vec<u8>, (InputId, Capture)>,
    new: &mut Vec<(InputId, Capture)>,
) -> Result<Vec<(Redecide, Vec<CapturePosition>)>, SnapshotError> {
    let keys: BTreeSet<String> = changed.values().map(|(_, c)| c.url_key.clone()).collect();
    let mut groups: BTreeMap<String, Vec<(InputId, Capture)>> = BTreeMap::new();
    for (input, capture) in new.extract_if(.., |(_, c)| keys.contains(&c.url_key)) {
        let is_changed =
            capture.kind == CaptureKind::Revisit && changed.contains_key(&row_key(input, &capture));
        if !is_changed {
            groups
                .entry(capture.url_key.clone())
                .or_default()
                .push((input, capture));
        }
    }
    for changed in changed.into_values() {
        groups.entry(changed.1.url_key.clone()).or_default().push(changed);
    }
    let keys = groups.into_iter().map(|(url_key, group)| {
        let captures = Some(with_newest(cut, &url_key, group)?);
        let key = Redecide {
            url_key,
            captures,
            captured: true,
            is_addition: true,
        };
        Ok((key, Vec::new()))
    });
    keys.collect()
}

fn row_key(input: InputId, capture: &Capture) -> Vec<u8> {
    capture_key::row_key(&capture.url_key, capture.fetch_time_ms, input, capture.offset)
}

/// Adds stored captures to the new captures of a key: those of the key's latest time with a
/// capture, stored or new, that may be current.
fn with_newest(
    cut: &Cut,
    url_key: &str,
    mut group: Vec<(InputId, Capture)>,
) -> Result<Vec<(InputId, Capture)>, SnapshotError> {
    let known: Vec<(InputId, u64)> = group.iter().map(|(input, c)| (*input, c.offset)).collect();
    let rows = captures::of_key(cut, url_key)?;
    let stay = || {
        rows.iter()
            .filter(|row| is_eligible(&row.capture) && !known.contains(&(row.input, row.capture.offset)))
    };
    let added = group
        .iter()
        .filter(|(_, c)| is_eligible(c))
        .map(|(_, c)| c.fetch_time_ms);
    let newest = stay().map(|row| row.capture.fetch_time_ms).chain(added).max();
    for row in stay().filter(|row| Some(row.capture.fetch_time_ms) == newest) {
        group.push((row.input, read_capture(cut, row)?));
    }
    Ok(group)
}

/// Changes of the revisits that stay when captures are removed.
#[derive(Default)]
pub(crate) struct ChangedRevisits {
    /// Their new state by URL key.
    pub(crate) by_key: BTreeMap<String, Vec<(InputId, Capture)>>,
    /// Rows of `references` and `payloads` to remove.
    pub(crate) reference_rows: Vec<(Table, Vec<u8>)>,
    /// Rows of `captures` that change.
    pub(crate) rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Finds the revisits that get another original, or lose theirs, when captures are removed.
pub(crate) fn remove(
    cut: &Cut,
    names: &dyn Collections,
    is_removed: &IsRemoved<'_>,
    removed: &[StoredCapture],
) -> Result<ChangedRevisits, SnapshotError> {
    let all = Captures::new(cut, names, is_removed, &[]);
    let mut changed = ChangedRevisits::default();
    let mut affected = BTreeSet::new();
    let mut payloads = BTreeSet::new();
    let has_references = cut.iter(Table::References).next().transpose()?.is_some();
    for row in removed {
        let capture = &row.capture;
        if capture.kind == CaptureKind::Revisit {
            let key = row_key(row.input, capture);
            let references = reference_keys(capture, &key).into_iter();
            changed
                .reference_rows
                .extend(references.map(|key| (Table::References, key)));
            continue;
        }
        if let Some(key) = payload_key(capture)
            && all
                .best_with_digest(&capture.digest, capture.fetch_time_ms, &capture.url_key)?
                .is_none()
        {
            payloads.insert(key);
        }
        if has_references {
            all.find_affected(capture, &mut affected)?;
        }
    }
    changed
        .reference_rows
        .extend(payloads.into_iter().map(|key| (Table::Payloads, key)));
    for key in affected {
        if let Some((stored, now)) = all.with_new_original(&key)? {
            changed.rows.push((key, capture_row::encode(&now)));
            let of_key = changed.by_key.entry(stored.capture.url_key).or_default();
            of_key.push((stored.input, now));
        }
    }
    Ok(changed)
}
