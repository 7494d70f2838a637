//! Past versions: the versions of a page before its current one, which
//! [`history`](crate::views::history) defines.
//!
//! Invariant: `past_texts` has every different text of a key's eligible pages and documents once,
//! except that of the current version, which is in `texts`.

use std::collections::BTreeSet;

use extract::CaptureKind;

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ledger::Names;
use crate::tables::Table;
use crate::views::capture_key::CapturePosition;
use crate::views::capture_row::{StoredCapture, TextHash, text_hash};
use crate::views::history::{PastChange, history};
use crate::views::order::is_eligible;
use crate::views::past_links::{self, LazyPacker};
use crate::views::version_change::PastUpdate;
use crate::views::version_row::VersionRow;
use crate::views::{captures, texts};
use crate::write::Write;

/// Stores the texts and links of versions that became past, and returns the changes.
pub(crate) fn apply(
    update: &PastUpdate<'_>,
    cut: &Cut,
    write: &mut Write<'_>,
    names: Names<'_>,
    (compressor, packer): (&mut texts::Compressor, &mut LazyPacker),
) -> Result<PastChange, SnapshotError> {
    let url_key = update.url_key;
    let before = captures::of_key(cut, url_key)?;
    let before: Vec<&StoredCapture> = before.iter().collect();
    let after = rows_after(update, &before);
    let (had, has) = (texts_of(&before, update.before), texts_of(&after, update.now));
    for hash in has.difference(&had) {
        match text_of(update, cut, &before, *hash)? {
            Some(text) => put_text(write, compressor, url_key, *hash, &text),
            None => tracing::debug!(url_key, "the text of a past version is not available"),
        }
    }
    for hash in had.difference(&has) {
        write.remove(Table::PastTexts, text_key(url_key, *hash));
    }
    past_links::apply(update, (&before, &after), cut, write, packer)?;
    let time = |row: Option<&VersionRow>| row.map(|row| row.fetch_time_ms);
    let was = history(&before, time(update.before), &names);
    let is = history(&after, time(update.now), &names);
    let gone = was
        .past
        .iter()
        .filter(|past| !is.past.iter().any(|now| now.since_ms == past.since_ms));
    let put = is.past.iter().filter(|past| !was.past.contains(past));
    Ok(PastChange {
        since_ms: is.since_ms,
        count: is.count(),
        is_other: (is.since_ms, is.count()) != (was.since_ms, was.count()),
        gone: gone.map(|past| past.since_ms).collect(),
        put: put.cloned().collect(),
    })
}

fn rows_after<'r>(update: &'r PastUpdate<'_>, before: &[&'r StoredCapture]) -> Vec<&'r StoredCapture> {
    let mut rows = before.to_vec();
    // A revisit may have arrived with the content of another capture, which its stored row did not
    // have.
    let turned = |row: &&StoredCapture| {
        let is_it = |added: &StoredCapture| {
            added.capture.kind == CaptureKind::Revisit && added.position() == row.position()
        };
        update.added.iter().any(is_it)
    };
    rows.retain(|row| row.capture.kind != CaptureKind::Revisit || !turned(row));
    rows.extend(&update.added);
    rows.sort_by_key(|row| row.position());
    // Captures that were read again are present already, with all their data.
    rows.dedup_by_key(|row| row.position());
    rows.retain(|row| !update.removed.contains(&row.position()));
    rows
}

/// Returns the text with this hash: a new one, or that of the previous version.
fn text_of(
    update: &PastUpdate<'_>,
    cut: &Cut,
    before: &[&StoredCapture],
    hash: TextHash,
) -> Result<Option<String>, SnapshotError> {
    let contents = update.group.iter().filter_map(|(_, capture)| capture.content());
    for content in contents.filter(|content| !content.text.is_empty()) {
        if text_hash(&content.text) == hash {
            return Ok(Some(content.text.clone()));
        }
    }
    match current_text(before, update.before) {
        Some(current) if current == hash => texts::read(cut, update.url_key),
        _ => Ok(None),
    }
}

/// Returns the texts that `past_texts` has of a key with these captures and this version.
pub(crate) fn texts_of(rows: &[&StoredCapture], version: Option<&VersionRow>) -> BTreeSet<TextHash> {
    let eligible = rows.iter().filter(|row| is_eligible(&row.capture));
    let mut texts: BTreeSet<TextHash> = eligible.filter_map(|row| row.text).collect();
    if let Some(current) = current_text(rows, version) {
        texts.remove(&current);
    }
    texts
}

/// Returns the text of a version, by the capture that it comes from.
fn current_text(rows: &[&StoredCapture], version: Option<&VersionRow>) -> Option<TextHash> {
    let version = version?;
    let text = version.text.as_ref()?;
    let origin = CapturePosition {
        fetch_time_ms: version.fetch_time_ms,
        input: text.input,
        offset: text.offset,
    };
    rows.iter().find(|row| row.position() == origin)?.text
}

pub(crate) fn text_key(url_key: &str, hash: TextHash) -> Vec<u8> {
    [url_key.as_bytes(), &[0], &hash].concat()
}

fn put_text(
    write: &mut Write<'_>,
    compressor: &mut texts::Compressor,
    url_key: &str,
    hash: TextHash,
    text: &str,
) {
    write.put(
        Table::PastTexts,
        text_key(url_key, hash),
        compressor.compress(text),
    );
}

/// Returns a text of a past version of a key.
pub(crate) fn read_text(cut: &Cut, url_key: &str, hash: TextHash) -> Result<Option<String>, SnapshotError> {
    let key = text_key(url_key, hash);
    let Some(value) = cut.get(Table::PastTexts, &key)? else {
        return Ok(None);
    };
    cut.decode(Table::PastTexts, &key, texts::decode(&value))
        .map(Some)
}
