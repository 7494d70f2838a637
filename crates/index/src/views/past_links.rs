//! Links of past versions.
//!
//! Definition: `past_links` has every different link set of the captures of a key that may be
//! current, once, under its name, encoded as in `links`. The links of the current version are only
//! in `links`. `past_inlinks` has a row for each target and source if one of the source's past sets
//! links to the target and its current version does not. The sources that ever linked to a key are
//! those of these rows, and those that link to it now.
//!
//! So a page that is captured again with the same links costs nothing more. A page whose links
//! partly changed costs its set, and rows for the removed links.
//!
//! Keys of `past_links`: source key, `\0`, name. Keys of `past_inlinks`: the first 16 bytes of the
//! BLAKE3 hash of the target key (two long keys would exceed the engine's limit), source key.

use std::collections::BTreeSet;

use extract::Link;

use crate::cut::{Cut, after_prefix};
use crate::error::SnapshotError;
use crate::packed::{self, Packer};
use crate::tables::Table;
use crate::views::capture_row::StoredCapture;
use crate::views::history::{Collections, content_order, is_of_one_moment};
use crate::views::link_set::{self, LinksName};
use crate::views::links;
use crate::views::order::is_eligible;
use crate::views::version_change::PastUpdate;
use crate::views::version_row::VersionRow;
use crate::write::Write;

const TARGET_BYTES: usize = 16;

/// Packs link sets with the archive's dictionary; created on first use.
#[derive(Default)]
pub(crate) struct LazyPacker(Option<Packer>);

impl LazyPacker {
    fn pack(&mut self, cut: &Cut, row: &[u8]) -> Vec<u8> {
        let dictionary = cut.link_dictionary().map(AsRef::as_ref);
        let packer = self.0.get_or_insert_with(|| Packer::new(dictionary));
        let mut out = Vec::new();
        packer.pack(row, &mut out);
        out
    }
}

/// The captures of a key, and its current version.
pub(crate) type Of<'a> = (&'a [&'a StoredCapture], Option<&'a VersionRow>);

/// Target keys.
type Targets = BTreeSet<String>;

/// Stores the links of versions that became past, and removes sets that no capture has any longer.
/// `before` and `after` are the captures of the key.
pub(crate) fn apply(
    update: &PastUpdate<'_>,
    (before, after): (&[&StoredCapture], &[&StoredCapture]),
    cut: &Cut,
    write: &mut Write<'_>,
    packer: &mut LazyPacker,
) -> Result<(), SnapshotError> {
    let url_key = update.url_key;
    let (before, after) = ((before, update.before), (after, update.now));
    let (had, has) = (names_of(before), names_of(after));
    if had.is_empty() && has.is_empty() {
        return Ok(());
    }
    let (was, is) = (current_name(before), current_name(after));
    if had == has && (update.links.is_none() || (is.is_some() && was == is)) {
        return Ok(());
    }
    let row_before = match update.before {
        Some(version) if version.links > 0 => links::read_encoded(cut, url_key)?,
        _ => None,
    };
    let mut added = Targets::new();
    for &name in has.difference(&had) {
        let row = match &row_before {
            Some(row) if was == Some(name) => Some(row.clone()),
            _ => new_set(update, name),
        };
        let Some(row) = row else {
            tracing::debug!(url_key, "the links of a past version are not available");
            continue;
        };
        let key = set_key(url_key, name);
        added.extend(cut.decode(Table::PastLinks, &key, targets_of(&row))?);
        write.put(Table::PastLinks, key, packer.pack(cut, &row));
    }
    for &name in had.difference(&has) {
        write.remove(Table::PastLinks, set_key(url_key, name));
    }
    let targets_before = match &row_before {
        Some(row) => cut.decode(Table::Links, url_key.as_bytes(), targets_of(row))?,
        None => Targets::new(),
    };
    let targets_now = match update.links {
        Some(links) => links.iter().map(|link| link.url_key.clone()).collect(),
        None => targets_before.clone(),
    };
    // Every stored set stays or becomes current, and the set that was current stays or becomes
    // stored: no link is lost, and no other sets need to be read.
    let loses_nothing = had.difference(&has).all(|gone| is == Some(*gone))
        && (update.links.is_none()
            || targets_before.is_empty()
            || was.is_some_and(|was| has.contains(&was) || is == Some(was)));
    if loses_nothing {
        let targets = (&targets_before, &targets_now);
        return add_rows(cut, write, url_key, &added, targets, !had.is_empty());
    }
    let kept = kept_targets(cut, url_key, has.intersection(&had))?;
    let now = &(&kept | &added) - &targets_now;
    let before = &kept_targets(cut, url_key, had.iter())? - &targets_before;
    for target in &now - &before {
        write.put(Table::PastInlinks, row_key(&target, url_key), []);
    }
    for target in &before - &now {
        write.remove(Table::PastInlinks, row_key(&target, url_key));
    }
    Ok(())
}

/// Adds rows for targets that only past versions link to now. Removes rows of targets that the
/// current version links to again.
fn add_rows(
    cut: &Cut,
    write: &mut Write<'_>,
    url_key: &str,
    added: &Targets,
    (before, now): (&Targets, &Targets),
    has_rows: bool,
) -> Result<(), SnapshotError> {
    for target in added.difference(now) {
        let key = row_key(target, url_key);
        if !(has_rows && cut.contains(Table::PastInlinks, &key)?) {
            write.put(Table::PastInlinks, key, []);
        }
    }
    for target in now.difference(before).filter(|_| has_rows) {
        let key = row_key(target, url_key);
        if cut.contains(Table::PastInlinks, &key)? {
            write.remove(Table::PastInlinks, key);
        }
    }
    Ok(())
}

/// Returns the set of a new capture with this name.
fn new_set(update: &PastUpdate<'_>, name: LinksName) -> Option<Vec<u8>> {
    let captures = update.group.iter().map(|(_, capture)| capture);
    captures
        .filter_map(link_set::row_of)
        .find(|row| link_set::name_of_row(row) == name)
}

/// Returns the targets of stored sets.
fn kept_targets<'n>(
    cut: &Cut,
    url_key: &str,
    names: impl Iterator<Item = &'n LinksName>,
) -> Result<Targets, SnapshotError> {
    let mut targets = Targets::new();
    for name in names {
        let key = set_key(url_key, *name);
        if let Some(value) = cut.get(Table::PastLinks, &key)? {
            targets.extend(cut.decode(Table::PastLinks, &key, unpacked_targets(cut, &value))?);
        }
    }
    Ok(targets)
}

fn targets_of(row: &[u8]) -> Result<Targets, crate::codec::Corrupt> {
    let said = link_set::decode_anchors(row)?;
    Ok(said.into_iter().map(|(target, _)| target).collect())
}

/// Targets of a row of `past_links`.
pub(crate) fn unpacked_targets(cut: &Cut, value: &[u8]) -> Result<Targets, crate::codec::Corrupt> {
    let dictionary = cut.link_dictionary().map(AsRef::as_ref);
    targets_of(&packed::unpack(dictionary, value)?)
}

/// Returns the names of the sets that `past_links` has of a key with these captures and this
/// version.
pub(crate) fn names_of(of: Of<'_>) -> BTreeSet<LinksName> {
    let eligible = of.0.iter().filter(|row| is_eligible(&row.capture));
    let mut names: BTreeSet<LinksName> = eligible.filter_map(|row| row.links).collect();
    if let Some(current) = current_name(of) {
        names.remove(&current);
    }
    names
}

/// Returns the name of the links of the version.
pub(crate) fn current_name((rows, version): Of<'_>) -> Option<LinksName> {
    let current = version?.position();
    rows.iter().find(|row| row.position() == current)?.links
}

/// Returns the capture that counts at each moment of a key, oldest first. At the moment of the
/// current version, this is that version, if it is among the rows.
pub(crate) fn moments<'r>(
    rows: &'r [StoredCapture],
    version: Option<&VersionRow>,
    names: &dyn Collections,
) -> Vec<&'r StoredCapture> {
    let Some(current) = version.map(VersionRow::position) else {
        return Vec::new();
    };
    let eligible: Vec<&StoredCapture> = rows
        .iter()
        .filter(|row| is_eligible(&row.capture) && row.capture.fetch_time_ms <= current.fetch_time_ms)
        .collect();
    let was = |moment: &[&'r StoredCapture]| {
        let is_current = moment.iter().find(|row| row.position() == current);
        let greatest =
            |a: &&&StoredCapture, b: &&&StoredCapture| content_order(a, names).cmp(&content_order(b, names));
        is_current.or_else(|| moment.iter().max_by(greatest)).copied()
    };
    eligible.chunk_by(is_of_one_moment).filter_map(was).collect()
}

/// Returns the link to a target in a past link set of a source.
pub(crate) fn read(
    cut: &Cut,
    source_key: &str,
    name: LinksName,
    target_key: &str,
) -> Result<Option<Link>, SnapshotError> {
    let key = set_key(source_key, name);
    let Some(value) = cut.get(Table::PastLinks, &key)? else {
        return Ok(None);
    };
    let dictionary = cut.link_dictionary().map(AsRef::as_ref);
    let links = packed::unpack(dictionary, &value)
        .and_then(|row| link_set::decode(&row, |target| target == target_key.as_bytes()));
    Ok(cut.decode(Table::PastLinks, &key, links)?.pop())
}

/// Returns a past link set of a source; `None` if no set has that name.
pub(crate) fn read_set(
    cut: &Cut,
    source_key: &str,
    name: LinksName,
) -> Result<Option<Vec<Link>>, SnapshotError> {
    let key = set_key(source_key, name);
    let Some(value) = cut.get(Table::PastLinks, &key)? else {
        return Ok(None);
    };
    let dictionary = cut.link_dictionary().map(AsRef::as_ref);
    let links = packed::unpack(dictionary, &value).and_then(|row| link_set::decode(&row, |_| true));
    cut.decode(Table::PastLinks, &key, links).map(Some)
}

/// Returns the keys of the sources of which only past versions link to a target, sorted: those
/// after `after`.
pub(crate) fn sources(
    cut: &Cut,
    target_key: &str,
    after: Option<&str>,
) -> impl Iterator<Item = Result<String, SnapshotError>> {
    let prefix = row_key(target_key, "");
    let mut from = row_key(target_key, after.unwrap_or_default());
    if after.is_some() {
        from.push(0);
    }
    let rows = match after_prefix(&prefix) {
        Some(to) => cut.range(Table::PastInlinks, &from, &to),
        None => cut.from(Table::PastInlinks, &from),
    };
    rows.map(|row| {
        let (key, _) = row?;
        cut.decode(
            Table::PastInlinks,
            &key,
            crate::codec::to_text(&key[TARGET_BYTES..]),
        )
    })
}

pub(crate) fn set_key(source_key: &str, name: LinksName) -> Vec<u8> {
    [source_key.as_bytes(), &[0], &name].concat()
}

pub(crate) fn row_key(target_key: &str, source_key: &str) -> Vec<u8> {
    let hash = blake3::hash(target_key.as_bytes());
    [&hash.as_bytes()[..TARGET_BYTES], source_key.as_bytes()].concat()
}
