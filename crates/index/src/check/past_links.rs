//! Compares the links of past versions with the captures and with `past_inlinks`.

use super::damage::Damage;
use super::derived::{Expected, difference, scratch};
use super::groups::each_key;
use crate::cut::{Cut, Rows};
use crate::error::DumpError;
use crate::packed;
use crate::snapshot::Snapshot;
use crate::sort::Sorter;
use crate::tables::Table;
use crate::views::capture_row::StoredCapture;
use crate::views::link_set;
use crate::views::{links, past_links, versions};

/// Compares `past_links` with captures and versions, where each set must be stored under its own
/// name. Compares `past_inlinks` with `past_links` and `links`.
pub(super) fn past_links(snapshot: &Snapshot) -> Result<Option<Damage>, DumpError> {
    let cut = snapshot.cut();
    let mut kept = cut.iter(Table::PastLinks);
    let mut sorter = Sorter::new(snapshot.dir());
    let damage = each_key(cut, &mut |group| {
        sets_of(cut, group, &mut kept, &mut |row| {
            sorter.push(row).map_err(|source| scratch(snapshot, source))
        })
    })?;
    if damage.is_some() {
        return Ok(damage);
    }
    if let Some((key, _)) = kept.next().transpose()? {
        let key = key.escape_ascii();
        return Ok(difference(Table::PastLinks, format!("{key} has no capture")));
    }
    let mut expected = Expected::of(snapshot, sorter)?;
    for row in cut.iter(Table::PastInlinks) {
        let (key, _) = row?;
        if !expected.take(&key)? {
            let found = format!("{} is not a target of past versions only", key.escape_ascii());
            return Ok(difference(Table::PastInlinks, found));
        }
    }
    Ok(expected.next.and_then(|key| {
        let missing = format!("{} is missing", key.escape_ascii());
        difference(Table::PastInlinks, missing)
    }))
}

/// Compares the link sets of the captures of one key, which are read from `kept`. Passes the rows
/// derived from them to `follows`.
fn sets_of(
    cut: &Cut,
    group: &[StoredCapture],
    kept: &mut Rows,
    follows: &mut dyn FnMut(&[u8]) -> Result<(), DumpError>,
) -> Result<Option<Damage>, DumpError> {
    // With only one capture, the links of the page are the current ones.
    let [first, _, ..] = group else { return Ok(None) };
    let url_key = &first.capture.url_key;
    let version = versions::read(cut, url_key)?;
    let names = past_links::names_of((&group.iter().collect::<Vec<_>>(), version.as_ref()));
    if names.is_empty() {
        return Ok(None);
    }
    let mut targets = std::collections::BTreeSet::new();
    for name in names {
        let expected = past_links::set_key(url_key, name);
        let found = kept.next().transpose()?;
        let Some((key, value)) = found.filter(|(key, _)| **key == *expected) else {
            let missing = format!("links of {url_key} are missing or differ");
            return Ok(difference(Table::PastLinks, missing));
        };
        let dictionary = cut.link_dictionary().map(AsRef::as_ref);
        let row = packed::unpack(dictionary, &value);
        let row = cut.decode(Table::PastLinks, &key, row)?;
        if link_set::name_of_row(&row) != name {
            let other = format!("links of {url_key} are others than their name says");
            return Ok(difference(Table::PastLinks, other));
        }
        let led = link_set::decode_anchors(&row);
        targets.extend(
            cut.decode(Table::PastLinks, &key, led)?
                .into_iter()
                .map(|(target, _)| target),
        );
    }
    for link in links::read(cut, url_key, |_| true)? {
        targets.remove(&link.url_key);
    }
    targets
        .iter()
        .try_for_each(|target| follows(&past_links::row_key(target, url_key)))?;
    Ok(None)
}
