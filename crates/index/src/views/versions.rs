//! View `versions`: the current version of every URL key that has one.
//!
//! Definition: the greatest by [`Order`] of a key's captures that may be current ([`is_eligible`]).
//! Its text is that of the greatest such capture with the same fetch time that has text (a WAT has
//! links and no text, the WET of the same capture has text and no links).
//!
//! The row keeps the order of the capture that the text came from, so that the better of two texts
//! wins whatever the order of loading. When a version with a later time replaces it, the text is
//! replaced too.

use extract::{Capture, CaptureKind, Link};

use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::ledger::Names;
use crate::tables::Table;
use crate::views::capture_key::CapturePosition;
use crate::views::capture_row::StoredCapture;
use crate::views::history::PastChange;
use crate::views::link_set::take_links;
use crate::views::order::{Order, content_of, is_eligible};
use crate::views::past_links::LazyPacker;
use crate::views::version_change::{PastUpdate, Redecide, VersionChange};
use crate::views::version_row::{self, TextOrigin, VersionRow};
use crate::views::{captures, past, texts, ties};
use crate::write::Write;

/// Decides the versions of all keys with new captures (sorted by key).
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    names: Names<'_>,
    mut captures: Vec<(InputId, Capture)>,
) -> Result<Vec<VersionChange>, SnapshotError> {
    let mut changes = Vec::with_capacity(captures.len());
    let mut step = Step {
        cut,
        write,
        names,
        compressor: texts::Compressor::new(),
        packer: LazyPacker::default(),
    };
    for group in captures.chunk_by_mut(|(_, a), (_, b)| a.url_key == b.url_key) {
        let url_key = group[0].1.url_key.clone();
        let before = read(cut, &url_key)?;
        changes.push(step.decide(url_key, before, group)?);
    }
    Ok(changes)
}

/// Decides the versions of keys (sorted) with removed captures; from the given captures alone, if
/// `Redecide` has any.
pub(crate) fn redecide_keys(
    cut: &Cut,
    write: &mut Write<'_>,
    names: Names<'_>,
    keys: Vec<(Redecide, Vec<CapturePosition>)>,
) -> Result<Vec<VersionChange>, SnapshotError> {
    let mut step = Step {
        cut,
        write,
        names,
        compressor: texts::Compressor::new(),
        packer: LazyPacker::default(),
    };
    keys.into_iter()
        .map(|(key, removed)| step.redecide(key, &removed))
        .collect()
}

/// Returns the current version of a key.
pub(crate) fn read(cut: &Cut, url_key: &str) -> Result<Option<VersionRow>, SnapshotError> {
    let row = cut.get(Table::Versions, url_key.as_bytes())?;
    row.map(|value| {
        cut.decode(
            Table::Versions,
            url_key.as_bytes(),
            version_row::decode(url_key, &value),
        )
    })
    .transpose()
}

/// Returns the new captures of a key in stored form. `None` if all captures of the key are of one
/// moment, as for most keys: then nothing is past, and no text has to be kept.
fn added(before: Option<&VersionRow>, group: &[(InputId, Capture)]) -> Option<Vec<StoredCapture>> {
    let is_one_moment = |group: &[(InputId, Capture)]| {
        group
            .windows(2)
            .all(|pair| pair[0].1.fetch_time_ms == pair[1].1.fetch_time_ms)
    };
    // Addresses that differ in case may be different pages.
    let is_one_url =
        |group: &[(InputId, Capture)]| group.windows(2).all(|pair| pair[0].1.url == pair[1].1.url);
    let has_text =
        |(_, capture): &&(InputId, Capture)| capture.content().is_some_and(|page| !page.text.is_empty());
    let has_links = |(_, capture): &(InputId, Capture)| {
        capture.redirect.is_some() || capture.page.as_ref().is_some_and(|page| !page.links.is_empty())
    };
    // The only text of a moment is that of its version, whichever capture is current. Only links of
    // the current capture are in `links`; those of other captures must be kept.
    if before.is_none()
        && is_one_moment(group)
        && is_one_url(group)
        && group.iter().filter(has_text).nth(1).is_none()
        && (group.len() == 1 || !group.iter().any(has_links))
    {
        return None;
    }
    Some(stored(group))
}

/// Returns captures in stored form.
fn stored(group: &[(InputId, Capture)]) -> Vec<StoredCapture> {
    let stored = group
        .iter()
        .map(|(input, capture)| StoredCapture::of(*input, capture));
    stored.collect()
}

struct Step<'s, 'w> {
    cut: &'s Cut,
    write: &'s mut Write<'w>,
    names: Names<'s>,
    compressor: texts::Compressor,
    packer: LazyPacker,
}

impl Step<'_, '_> {
    /// Decides one key: from its old version and its new captures to its new version.
    fn decide(
        &mut self,
        url_key: String,
        before: Option<VersionRow>,
        group: &mut [(InputId, Capture)],
    ) -> Result<VersionChange, SnapshotError> {
        let was_page = before.as_ref().is_some_and(|row| row.is_page);
        let had_content = before.as_ref().is_some_and(VersionRow::has_content);
        let mut change = VersionChange {
            links: None,
            links_before: before.as_ref().map_or(0, |row| row.links),
            was_page,
            is_page: was_page,
            had_content,
            has_content: had_content,
            content_changed: false,
            maybe_first_capture: before.is_none(),
            is_uncaptured: false,
            content: None,
            past: PastChange::default(),
            url_key,
        };
        let Some(best) = self.best(group, is_eligible) else {
            return Ok(change);
        };
        let (input, capture) = &mut group[best];
        let order = Order::of(capture, self.names.get(*input));
        let replaces = before.as_ref().is_none_or(|row| order > row.order(self.names));
        let fetch_time_ms = match &before {
            Some(row) if !replaces => row.fetch_time_ms,
            _ => capture.fetch_time_ms,
        };
        let added = added(before.as_ref(), group);
        let has_ties = ties::keep(self.cut, self.write, before.as_ref(), group, fetch_time_ms)?;
        let mut row = match &before {
            Some(row) if !replaces => row.clone(),
            _ => {
                let (input, capture) = &mut group[best];
                let (links, dropped) = take_links(capture);
                let row = VersionRow::of(*input, capture, links.len() as u32, dropped);
                change.links = Some(links);
                row
            }
        };
        row.has_ties = has_ties;
        row.text = before
            .as_ref()
            .filter(|old| old.fetch_time_ms == fetch_time_ms)
            .and_then(|old| old.text.clone());
        let text = self.move_text(&change.url_key, before.as_ref(), &mut row, group);
        let is_changed = replaces || text.is_some();
        if before.as_ref() != Some(&row) {
            let bytes = version_row::encode(&change.url_key, &row);
            self.write.put(Table::Versions, change.url_key.as_str(), bytes);
        }
        let (key, links) = (&change.url_key, change.links.as_deref());
        let past = self.past(key, (before.as_ref(), Some(&row)), (group, added), links, &[])?;
        if is_changed {
            change.turns_to(row.clone(), text);
        }
        change.follows(past, Some(&row));
        self.with_original(change, group)
    }

    /// Decides one key without its old version, whose row, links and text are replaced or removed.
    fn redecide(
        &mut self,
        key: Redecide,
        removed: &[CapturePosition],
    ) -> Result<VersionChange, SnapshotError> {
        let Redecide {
            url_key,
            captures: group,
            captured,
            is_addition,
        } = key;
        let before = read(self.cut, &url_key)?;
        let Some(mut group) = group else {
            return self.stay(url_key, before, removed);
        };
        let was_page = before.as_ref().is_some_and(|row| row.is_page);
        let had_content = before.as_ref().is_some_and(VersionRow::has_content);
        // A key without a version may still have removed captures: those that were unreadable when
        // it lost its version.
        let added = Some(stored(&group));
        let best = self.best(&group, is_eligible);
        let time_ms = best.map(|best| group[best].1.fetch_time_ms);
        let of_version = |(_, c): &&(InputId, Capture)| Some(c.fetch_time_ms) == time_ms && is_eligible(c);
        let of_version: Vec<_> = group.iter().filter(of_version).collect();
        let has_ties = ties::keep_anew(self.cut, self.write, &url_key, &of_version)?;
        let mut change = VersionChange {
            links: Some(Vec::new()),
            links_before: before.as_ref().map_or(0, |row| row.links),
            was_page,
            is_page: false,
            had_content,
            has_content: false,
            content_changed: had_content,
            maybe_first_capture: is_addition && before.is_none(),
            is_uncaptured: !captured,
            content: None,
            past: PastChange::default(),
            url_key,
        };
        let Some(best) = best else {
            let (key, links) = (&change.url_key, change.links.as_deref());
            let past = self.past(key, (before.as_ref(), None), (&group, added), links, removed)?;
            change.follows(past, None);
            if before.as_ref().is_some_and(|row| row.text.is_some()) {
                texts::remove(self.write, &change.url_key);
            }
            if before.is_some() {
                self.write.remove(Table::Versions, change.url_key.as_str());
            }
            return Ok(change);
        };
        let (input, capture) = &mut group[best];
        let (links, dropped) = take_links(capture);
        let mut row = VersionRow::of(*input, capture, links.len() as u32, dropped);
        row.has_ties = has_ties;
        let text = self.move_text(&change.url_key, before.as_ref(), &mut row, &mut group);
        change.links = Some(links);
        let bytes = version_row::encode(&change.url_key, &row);
        self.write.put(Table::Versions, change.url_key.as_str(), bytes);
        let past = self.past(
            &change.url_key,
            (before.as_ref(), Some(&row)),
            (&group, added),
            change.links.as_deref(),
            removed,
        )?;
        change.turns_to(row.clone(), text);
        change.follows(past, Some(&row));
        self.with_original(change, &group)
    }

    /// Updates one key whose version stays, while other captures are removed.
    fn stay(
        &mut self,
        url_key: String,
        row: Option<VersionRow>,
        removed: &[CapturePosition],
    ) -> Result<VersionChange, SnapshotError> {
        let is_page = row.as_ref().is_some_and(|row| row.is_page);
        let has_content = row.as_ref().is_some_and(VersionRow::has_content);
        let mut change = VersionChange {
            links: None,
            links_before: row.as_ref().map_or(0, |row| row.links),
            was_page: is_page,
            is_page,
            had_content: has_content,
            has_content,
            content_changed: false,
            maybe_first_capture: false,
            is_uncaptured: false,
            content: None,
            past: PastChange::default(),
            url_key,
        };
        let past = self.past(
            &change.url_key,
            (row.as_ref(), row.as_ref()),
            (&[], Some(Vec::new())),
            None,
            removed,
        )?;
        change.follows(past, row.as_ref());
        self.with_original(change, &[])
    }

    /// Completes the change with the media type of the capture that the text comes from, if that is
    /// another capture, new or stored.
    fn with_original(
        &self,
        mut change: VersionChange,
        group: &[(InputId, Capture)],
    ) -> Result<VersionChange, SnapshotError> {
        if let Some(content) = &mut change.content
            && content.row.kind == CaptureKind::Revisit
        {
            let position = content.row.position();
            let is_it = |(input, capture): &&(InputId, Capture)| {
                (*input, capture.offset) == (position.input, position.offset)
            };
            content.original = match group.iter().find(is_it) {
                Some((_, capture)) => capture.original.clone(),
                None => captures::at(self.cut, &change.url_key, &position)?
                    .and_then(|stored| stored.capture.original),
            };
        }
        if let Some(content) = &mut change.content
            && let Some(text) = content.row.text_of_another()
        {
            let is_origin = |(input, capture): &&(InputId, Capture)| {
                (*input, capture.offset) == (text.input, text.offset)
            };
            content.text_mime = match group.iter().find(is_origin) {
                Some((_, capture)) => capture.shown_mime().to_owned(),
                None => captures::text_mime(self.cut, &change.url_key, &content.row, text)?,
            };
        }
        Ok(change)
    }

    /// Updates the past versions of a key.
    fn past(
        &mut self,
        url_key: &str,
        (before, now): (Option<&VersionRow>, Option<&VersionRow>),
        (group, added): (&[(InputId, Capture)], Option<Vec<StoredCapture>>),
        links: Option<&[Link]>,
        removed: &[CapturePosition],
    ) -> Result<PastChange, SnapshotError> {
        let Some(added) = added else {
            let since_ms = group.first().map_or(0, |(_, capture)| capture.fetch_time_ms);
            return Ok(PastChange::of_one_moment(since_ms));
        };
        let update = PastUpdate {
            url_key,
            before,
            now,
            group,
            added,
            links,
            removed,
        };
        let packers = (&mut self.compressor, &mut self.packer);
        past::apply(&update, self.cut, self.write, self.names, packers)
    }

    /// Returns the greatest capture that satisfies `wanted`.
    fn best(&self, group: &[(InputId, Capture)], wanted: impl Fn(&Capture) -> bool) -> Option<usize> {
        (0..group.len())
            .filter(|&i| wanted(&group[i].1))
            .max_by_key(|&i| Order::of(&group[i].1, self.names.get(group[i].0)))
    }

    /// Stores the text of the best new capture if it is better than the row's. Removes the text of
    /// a replaced version. Returns the new text, if any.
    fn move_text(
        &mut self,
        url_key: &str,
        before: Option<&VersionRow>,
        row: &mut VersionRow,
        group: &mut [(InputId, Capture)],
    ) -> Option<String> {
        let fetch_time_ms = row.fetch_time_ms;
        let best = self.best(group, |capture| {
            capture.fetch_time_ms == fetch_time_ms
                && is_eligible(capture)
                && content_of(capture).is_some_and(|page| !page.text.is_empty())
        });
        let better = best.filter(|&i| {
            let (input, capture) = &group[i];
            row.text_order(self.names) < Some(Order::of(capture, self.names.get(*input)))
        });
        if let Some((input, capture)) = better.map(|i| &mut group[i])
            && let (kind, digest, offset) = (capture.kind, capture.digest.clone(), capture.offset)
            && let is_damaged = capture.is_damaged()
            && let Some(page) = capture.content_mut()
        {
            row.text = Some(TextOrigin {
                kind,
                digest,
                input: *input,
                offset,
                language: page.language.clone(),
                truncated: page.text_truncated,
                is_damaged,
            });
            texts::put(self.write, &mut self.compressor, url_key, &page.text);
            // Moved, not copied: the text of a capture is not read after this.
            return Some(std::mem::take(&mut page.text));
        }
        if row.text.is_none() && before.is_some_and(|row| row.text.is_some()) {
            texts::remove(self.write, url_key);
        }
        None
    }
}
