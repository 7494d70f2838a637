//! Captures that only the name of their input keeps from being current.
//!
//! The order of versions ends with the name of the input, and a name can change: a file that was
//! still being written continues under another name. Then another capture of the same time, source
//! and digest may become current, so all of them are stored here completely. This needs two inputs
//! with the same capture, such as a crawl and its repacked copy, and is rare.
//!
//! Invariant: if a key's version has `has_ties`, the table has every eligible capture of the
//! version's fetch time that has an equal in another input, and perhaps some that have none. Rows
//! of other keys are not read.

use extract::{Capture, CaptureKind, Page};

use crate::codec::Corrupt;
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::capture_key::key_prefix;
use crate::views::capture_row::mark;
use crate::views::order::{is_eligible, rank_of, source_rank};
use crate::views::version_row::VersionRow;
use crate::views::{captures, links, texts};
use crate::write::Write;

/// Stores the captures that tie at `fetch_time_ms`, the time of the new version. Returns whether
/// there are any.
pub(crate) fn keep(
    cut: &Cut,
    write: &mut Write<'_>,
    before: Option<&VersionRow>,
    group: &[(InputId, Capture)],
    fetch_time_ms: i64,
) -> Result<bool, SnapshotError> {
    let stays = before.filter(|row| row.fetch_time_ms == fetch_time_ms);
    if let Some(row) = before
        && row.has_ties
        && stays.is_none()
    {
        remove(cut, write, &group[0].1.url_key)?;
    }
    let new = || {
        group
            .iter()
            .filter(|(_, c)| c.fetch_time_ms == fetch_time_ms && is_eligible(c))
    };
    let had_ties = stays.is_some_and(|row| row.has_ties);
    if !had_ties && !ties(stays, new()) {
        return Ok(false);
    }
    if let Some(row) = stays
        && !had_ties
    {
        for (input, capture) in restore(cut, &group[0].1.url_key, row)? {
            put(write, input, &capture);
        }
    }
    for (input, capture) in new() {
        put(write, *input, capture);
    }
    Ok(true)
}

/// Stores the ties among the captures of a key that is decided again, all of one fetch time, and
/// removes other rows of the key. Returns whether there are any ties.
pub(crate) fn keep_anew(
    cut: &Cut,
    write: &mut Write<'_>,
    url_key: &str,
    group: &[&(InputId, Capture)],
) -> Result<bool, SnapshotError> {
    let has_ties = ties(None, group.iter().copied());
    let stays = |key: &[u8]| {
        let is_row = |(input, capture): &&(InputId, Capture)| row_key(url_key, *input, capture.offset) == key;
        has_ties && group.iter().any(is_row)
    };
    for key in keys_of(cut, url_key)? {
        if !stays(&key) {
            write.remove(Table::Ties, key);
        }
    }
    if has_ties {
        for (input, capture) in group {
            put(write, *input, capture);
        }
    }
    Ok(has_ties)
}

/// Returns whether two of these captures, all of one fetch time, are equal in everything that is
/// compared before the name of the input.
fn ties<'a>(stays: Option<&VersionRow>, new: impl Iterator<Item = &'a (InputId, Capture)>) -> bool {
    let mut seen: Vec<(u8, &str, InputId)> = Vec::new();
    if let Some(row) = stays {
        seen.push((source_rank(row.kind, row.is_damaged), &row.digest, row.input));
        seen.extend(row.text.iter().map(|text| {
            let rank = source_rank(text.kind, text.is_damaged);
            (rank, text.digest.as_str(), text.input)
        }));
    }
    for (input, capture) in new {
        let (rank, digest) = (rank_of(capture), capture.digest.as_str());
        if seen
            .iter()
            .any(|&(r, d, i)| (r, d) == (rank, digest) && i != *input)
        {
            return true;
        }
        seen.push((rank, digest, *input));
    }
    false
}

/// Returns the captures that a version and its text came from, as far as views show them.
fn restore(cut: &Cut, url_key: &str, row: &VersionRow) -> Result<Vec<(InputId, Capture)>, SnapshotError> {
    let mut version = restore_version(cut, url_key, row)?;
    let Some(origin) = &row.text else {
        return Ok(vec![(row.input, version)]);
    };
    let text = texts::read(cut, url_key)?.unwrap_or_default();
    if (origin.input, origin.offset) == (row.input, row.offset) {
        if let Some(page) = version.content_mut() {
            page.text = text;
            page.text_truncated = origin.truncated;
        }
        return Ok(vec![(row.input, version)]);
    }
    // This capture is never current, because it ranks below the version, so only its text matters.
    let source = Capture {
        mime: captures::text_mime(cut, url_key, row, origin)?,
        digest: origin.digest.clone(),
        offset: origin.offset,
        kind: origin.kind,
        status: 200,
        redirect: None,
        original: None,
        truncated: mark(origin.is_damaged),
        page: Some(Page {
            text,
            text_truncated: origin.truncated,
            language: origin.language.clone(),
            ..Page::default()
        }),
        document: None,
        ..version.clone()
    };
    Ok(vec![(row.input, version), (origin.input, source)])
}

/// Restores the capture of a version, without its text.
fn restore_version(cut: &Cut, url_key: &str, row: &VersionRow) -> Result<Capture, SnapshotError> {
    let mut links = links::read(cut, url_key, |_| true)?;
    let is_redirect = (300..400).contains(&row.status);
    let stored = match row.kind {
        CaptureKind::Revisit => captures::at(cut, url_key, &row.position())?.map(|stored| stored.capture),
        _ => None,
    };
    let (mime, status) = match &stored {
        // A revisit's row of `captures` has its own values; the version has those of its original.
        Some(stored) => (stored.mime.clone(), stored.status),
        None => (row.mime.clone(), row.status),
    };
    let mut version = Capture {
        url_key: url_key.to_owned(),
        url: row.url.clone(),
        fetch_time_ms: row.fetch_time_ms,
        mime,
        status,
        refers_to: stored.as_ref().and_then(|stored| stored.refers_to.clone()),
        original: stored.and_then(|stored| stored.original),
        digest: row.digest.clone(),
        offset: row.offset,
        length: 0,
        kind: row.kind,
        redirect: if is_redirect { links.pop() } else { None },
        truncated: mark(row.is_damaged),
        // A current version lacks nothing, and no view shows the rest.
        ..Capture::default()
    };
    let content = Page {
        title: row.title.clone(),
        language: row.language.clone(),
        canonical: row.canonical.clone(),
        robots: row.robots.clone(),
        links,
        links_dropped: row.links_dropped,
        ..Page::default()
    };
    if row.is_page {
        version.page = Some(content);
    } else if row.is_document {
        version.document = Some(Box::new(content));
    }
    Ok(version)
}

fn put(write: &mut Write<'_>, input: InputId, capture: &Capture) {
    // Serialising plain structs and strings cannot fail.
    let value = serde_json::to_vec(capture).unwrap_or_default();
    write.put(
        Table::Ties,
        row_key(&capture.url_key, input, capture.offset),
        value,
    );
}

fn remove(cut: &Cut, write: &mut Write<'_>, url_key: &str) -> Result<(), SnapshotError> {
    for key in keys_of(cut, url_key)? {
        write.remove(Table::Ties, key);
    }
    Ok(())
}

/// Returns the keys of the rows of a URL key. Rows of a longer URL key that contains a NUL have the
/// same prefix, but are longer.
fn keys_of(cut: &Cut, url_key: &str) -> Result<Vec<Vec<u8>>, SnapshotError> {
    let prefix = key_prefix(url_key);
    let mut keys = Vec::new();
    for row in cut.prefix(Table::Ties, &prefix) {
        let (key, _) = row?;
        if key.len() == prefix.len() + 12 {
            keys.push(key.to_vec());
        }
    }
    Ok(keys)
}

fn row_key(url_key: &str, input: InputId, offset: u64) -> Vec<u8> {
    let mut key = key_prefix(url_key);
    key.extend_from_slice(&input.0.to_be_bytes());
    key.extend_from_slice(&offset.to_be_bytes());
    key
}

/// Returns all stored captures of the keys that `input` has a capture among, sorted by key.
pub(crate) fn of_input(cut: &Cut, input: InputId) -> Result<Vec<(InputId, Capture)>, SnapshotError> {
    let mut found = Vec::new();
    let mut of_key: Vec<(InputId, Capture)> = Vec::new();
    let mut take = |of_key: &mut Vec<(InputId, Capture)>| {
        if of_key.iter().any(|(i, _)| *i == input) {
            found.append(of_key);
        }
        of_key.clear();
    };
    for row in cut.iter(Table::Ties) {
        let (key, value) = row?;
        let tie = cut.decode(Table::Ties, &key, decode(&key, &value))?;
        // All captures of a key or none, because the choice between them needs every one.
        if of_key.first().is_some_and(|(_, c)| c.url_key != tie.1.url_key) {
            take(&mut of_key);
        }
        of_key.push(tie);
    }
    take(&mut of_key);
    Ok(found)
}

fn decode(key: &[u8], value: &[u8]) -> Result<(InputId, Capture), Corrupt> {
    let at = key.len().checked_sub(12).ok_or(Corrupt("key is too short"))?;
    let input = key[at..].first_chunk::<4>().ok_or(Corrupt("key is too short"))?;
    let capture = serde_json::from_slice(value).map_err(|_| Corrupt("capture is malformed"))?;
    Ok((InputId(u32::from_be_bytes(*input)), capture))
}
