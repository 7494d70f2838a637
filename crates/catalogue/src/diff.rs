//! Comparison of the current entries of a directory with those in the catalogue, both in order of
//! name.

use crate::attributes::{Attributes, Entry, FileId, Kind};
use crate::changes::{ChangeKind, NameChange};
use crate::error::CatalogueError;
use crate::format::Format;
use crate::pack::{self, ENTRIES, ENTRIES_MAX};
use crate::rows::{Group, ScanCounts};
use crate::usage::Usage;

/// Differences in one directory, or in a part of a large one.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Packs to write or remove.
    pub(crate) packs: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Differences of sums, without files that have several names.
    pub(crate) groups: Vec<(Group, Usage)>,
    /// Names of files with several names, and their current attributes.
    pub(crate) linked: Vec<(FileId, Box<[u8]>, Option<Attributes>)>,
    /// Directories no longer found here under this name.
    pub(crate) lost: Vec<(FileId, Box<[u8]>)>,
    pub(crate) changes: Vec<NameChange>,
    pub(crate) counts: ScanCounts,
}

impl Difference {
    /// Returns the approximate number of bytes to write.
    pub(crate) fn bytes(&self) -> usize {
        let packs: usize = self
            .packs
            .iter()
            .map(|(key, pack)| key.len() + pack.as_ref().map_or(0, Vec::len))
            .sum();
        packs + self.linked.len() * 200 + self.changes.len() * 100
    }

    fn count(&mut self, file: &Attributes, sign: i64) {
        let group = Group::of(file);
        // Linear search: a directory has few groups.
        let at = self
            .groups
            .iter()
            .position(|row| row.0 == group)
            .unwrap_or_else(|| {
                self.groups.push((group, Usage::default()));
                self.groups.len() - 1
            });
        self.groups[at].1.count(file, sign);
    }

    /// Compares the entries of a name before and now, and records the difference.
    pub(crate) fn name(&mut self, before: Option<&Entry>, now: Option<&Entry>, keeps_changes: bool) {
        let Some(name) = now.or(before).map(|entry| &entry.name) else {
            return;
        };
        let what = match (before, now) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(before), Some(now)) if before.attributes != now.attributes => ChangeKind::Changed,
            _ => return,
        };
        // A format found by reading an unchanged file is not a change.
        let is_change = match (before, now) {
            (Some(before), Some(now)) => {
                before.attributes.without_format() != now.attributes.without_format()
            }
            _ => true,
        };
        match what {
            ChangeKind::Added => self.counts.added += 1,
            ChangeKind::Removed => self.counts.removed += 1,
            ChangeKind::Changed | ChangeKind::Renamed => self.counts.changed += u64::from(is_change),
        }
        let linked = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.attributes.is_linked());
        if let Some(before) = before {
            let file = &before.attributes;
            match linked(Some(before)) {
                // If the name still refers to the same file, its attributes are updated below.
                true if linked(now) && now.is_some_and(|now| now.attributes.id == file.id) => {}
                true => self.linked.push((file.id, name.clone(), None)),
                false => self.count(file, -1),
            }
            let is_there = now.is_some_and(|now| now.attributes.id == file.id);
            if file.kind == Kind::Directory && !is_there {
                self.lost.push((file.id, name.clone()));
            }
        }
        if let Some(now) = now {
            if linked(Some(now)) {
                self.linked
                    .push((now.attributes.id, name.clone(), Some(now.attributes.clone())))
            } else {
                self.count(&now.attributes, 1)
            }
        }
        // Reading a file only changes its access time; this is not reported.
        let is_news = match (before, now) {
            (Some(before), Some(now)) => {
                let accessed_s = before.attributes.accessed_s;
                Attributes {
                    accessed_s,
                    ..now.attributes.without_format()
                } != before.attributes.without_format()
            }
            _ => true,
        };
        if keeps_changes && is_news {
            self.changes.push(NameChange::new(what, name, before, now));
        }
    }
}

/// The catalogued packs of a directory, in order of key.
pub(crate) type OldPacks<'a> = &'a mut dyn Iterator<Item = Result<(Vec<u8>, Vec<u8>), CatalogueError>>;

/// The current entries of a directory, in order of name.
pub(crate) type NewEntries<'a> = &'a mut dyn Iterator<Item = Result<Entry, CatalogueError>>;

/// Reads the first bytes of files, if a scan asks for it.
pub(crate) trait Sniffer {
    /// Returns whether the first bytes of a file must be read.
    fn wants(&self, file: &Attributes) -> bool;

    /// Returns the format by content and name; `None` if the file cannot be read or has been
    /// replaced.
    fn sniff(&mut self, entry: &Entry) -> Option<Format>;
}

/// The directory to compare, and options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compare {
    pub(crate) dir: FileId,
    /// Whether all names were read, so that names found only in the catalogue are gone.
    pub(crate) is_whole: bool,
    pub(crate) keeps_changes: bool,
}

/// Maximum number of entries compared at a time: there may be millions of new entries between two
/// packs.
const SLICE: usize = 8 * ENTRIES_MAX;

/// Size at which a difference is passed on.
const DIFFERENCE_BYTES: usize = 1 << 20;

impl Compare {
    /// Compares the directory and passes at least one difference to `sink`, in parts of bounded
    /// size. Returns the number of entries in the directory.
    pub(crate) fn run<E: From<CatalogueError>>(
        self,
        content: &mut dyn Sniffer,
        old: OldPacks<'_>,
        new: NewEntries<'_>,
        sink: &mut dyn FnMut(Difference) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut new = new.peekable();
        let mut old = old.peekable();
        let mut part = Difference::default();
        let mut kept = 0;
        // Names before the first pack belong to a pack with the empty name.
        let first = match old.peek() {
            Some(Ok((key, _))) if pack::first_name(key).is_empty() => None,
            _ => Some((pack::key(self.dir, b""), None)),
        };
        let mut next = first.map(Ok);
        loop {
            let pack = match next.take() {
                Some(pack) => pack,
                None => match old.next() {
                    Some(pack) => pack.map(|(key, pack)| (key, Some(pack))),
                    None => break,
                },
            };
            let (key, before) = pack?;
            let end = match old.peek() {
                Some(Ok((key, _))) => Some(pack::first_name(key).to_vec()),
                _ => None,
            };
            kept += self.pack(content, (key, before), end.as_deref(), &mut new, &mut part, sink)?;
        }
        sink(part)?;
        Ok(kept)
    }

    /// Compares one pack with the entries whose names come before `end`, a few thousand at a time.
    fn pack<E: From<CatalogueError>>(
        self,
        content: &mut dyn Sniffer,
        (mut key, before): (Vec<u8>, Option<Vec<u8>>),
        end: Option<&[u8]>,
        new: &mut std::iter::Peekable<NewEntries<'_>>,
        part: &mut Difference,
        sink: &mut dyn FnMut(Difference) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut old: Option<Vec<Entry>> = None;
        let mut kept = 0;
        loop {
            let mut now = next_slice(new, end)?;
            part.counts.entries += now.len() as u64;
            // First name of the rest of this pack.
            let rest = match new.peek() {
                Some(Ok(entry)) if now.len() == SLICE && end.is_none_or(|end| *entry.name < *end) => {
                    Some(entry.name.clone())
                }
                _ => None,
            };
            let is_first = old.is_none();
            let is_all = is_first && rest.is_none() && self.is_whole && now.len() <= ENTRIES_MAX;
            let is_as_before =
                |now: &[Entry]| is_all && before.as_ref().is_some_and(|bytes| pack::encode(now) == *bytes);
            let is_wanted = now.iter().any(|entry| content.wants(&entry.attributes));
            if !is_wanted && is_as_before(&now) {
                return Ok(now.len() as u64);
            }
            let mut these = match old.take() {
                Some(rest) => rest,
                None => before
                    .as_deref()
                    .map(pack::decode)
                    .transpose()
                    .map_err(CatalogueError::from)?
                    .unwrap_or_default(),
            };
            if let Some(rest) = &rest {
                old = Some(these.split_off(these.partition_point(|entry| entry.name < *rest)));
            }
            // Unchanged, except for formats found by content, which the walk does not provide.
            if detect_formats(&these, &mut now, content) && is_as_before(&now) {
                return Ok(now.len() as u64);
            }
            let now = self.merge(these, now, part);
            kept += now.len() as u64;
            if now.is_empty() && is_first && before.is_some() {
                part.packs.push((key.clone(), None));
            }
            self.push_packs(&key, &now, part);
            if part.bytes() >= DIFFERENCE_BYTES {
                sink(std::mem::take(part))?;
            }
            match rest {
                Some(rest) => key = pack::key(self.dir, &rest),
                None => return Ok(kept),
            }
        }
    }

    /// Adds the packs of these entries to the difference, the first one under `key`.
    fn push_packs(self, key: &[u8], now: &[Entry], part: &mut Difference) {
        let length = if now.len() > ENTRIES_MAX {
            ENTRIES
        } else {
            ENTRIES_MAX
        };
        for (index, entries) in now.chunks(length).enumerate() {
            let key = if index == 0 {
                key.to_vec()
            } else {
                pack::key(self.dir, &entries[0].name)
            };
            part.packs.push((key, Some(pack::encode(entries))));
        }
    }

    /// Records the differences and returns the resulting entries. If not all names were read, these
    /// include the old entries that were not seen.
    fn merge(self, before: Vec<Entry>, now: Vec<Entry>, part: &mut Difference) -> Vec<Entry> {
        let mut all = Vec::with_capacity(now.len());
        let mut before = before.into_iter().peekable();
        let gone = |entry: Entry, all: &mut Vec<Entry>, part: &mut Difference| {
            if self.is_whole {
                part.name(Some(&entry), None, self.keeps_changes)
            } else {
                all.push(entry)
            }
        };
        for entry in now {
            while let Some(old) = before.next_if(|old| old.name < entry.name) {
                gone(old, &mut all, part);
            }
            let old = before.next_if(|old| old.name == entry.name);
            part.name(old.as_ref(), Some(&entry), self.keeps_changes);
            all.push(entry);
        }
        for old in before {
            gone(old, &mut all, part);
        }
        all
    }
}

/// Returns the next entries whose names come before `end`, at most [`SLICE`].
fn next_slice(
    new: &mut std::iter::Peekable<NewEntries<'_>>,
    end: Option<&[u8]>,
) -> Result<Vec<Entry>, CatalogueError> {
    let is_of_pack = |entry: &Result<Entry, CatalogueError>| match (entry, end) {
        (Ok(entry), Some(end)) => *entry.name < *end,
        _ => true,
    };
    let mut now = Vec::new();
    while now.len() < SLICE
        && let Some(entry) = new.next_if(is_of_pack)
    {
        now.push(entry?);
    }
    Ok(now)
}

/// Sets the formats found by content: copies those of unchanged files and reads other files. Both
/// slices are in order of name. Returns whether any format was copied or wanted.
fn detect_formats(before: &[Entry], now: &mut [Entry], content: &mut dyn Sniffer) -> bool {
    let mut before = before.iter().peekable();
    let mut is_any = false;
    for entry in now {
        while before.next_if(|old| old.name < entry.name).is_some() {}
        let old = before.next_if(|old| old.name == entry.name);
        if old.is_some_and(|old| entry.attributes.keep_content(&old.attributes)) {
            is_any = true;
        }
        if content.wants(&entry.attributes) {
            is_any = true;
            if let Some(format) = content.sniff(entry) {
                (entry.attributes.format, entry.attributes.is_sniffed) = (format, true);
            }
        }
    }
    is_any
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const DIR: FileId = FileId {
        volume: 1,
        inode: 2,
        born_ns: 3,
    };

    type Model = BTreeMap<Vec<u8>, u64>;

    fn entries(model: &Model) -> Vec<Entry> {
        let entry = |(name, &size_bytes): (&Vec<u8>, &u64)| Entry {
            name: name.clone().into(),
            attributes: Attributes {
                size_bytes,
                links: 1,
                ..Attributes::default()
            },
        };
        model.iter().map(entry).collect()
    }

    /// Reads files of odd length, if enabled.
    struct OddSizes {
        is_on: bool,
        count: u64,
    }

    impl Sniffer for OddSizes {
        fn wants(&self, file: &Attributes) -> bool {
            self.is_on && file.size_bytes % 2 == 1 && !file.is_sniffed
        }

        fn sniff(&mut self, _: &Entry) -> Option<Format> {
            self.count += 1;
            Format::named("pdf")
        }
    }

    fn check(packs: &mut BTreeMap<Vec<u8>, Vec<u8>>, model: &Model, is_whole: bool) -> (Usage, ScanCounts) {
        let off = &mut OddSizes {
            is_on: false,
            count: 0,
        };
        let (usage, counts, _) = check_looking(packs, model, is_whole, off);
        (usage, counts)
    }

    /// Applies a comparison to the packs. Returns its counts and the number of packs it wrote.
    fn check_looking(
        packs: &mut BTreeMap<Vec<u8>, Vec<u8>>,
        model: &Model,
        is_whole: bool,
        looks: &mut OddSizes,
    ) -> (Usage, ScanCounts, usize) {
        let old = packs.clone();
        let mut usage = Usage::default();
        let (mut counts, mut written) = (ScanCounts::default(), 0);
        let compare = Compare {
            dir: DIR,
            is_whole,
            keeps_changes: true,
        };
        let kept = compare
            .run::<CatalogueError>(
                looks,
                &mut old.into_iter().map(Ok),
                &mut entries(model).into_iter().map(Ok),
                &mut |part| {
                    assert_eq!(
                        part.changes.len() as u64,
                        part.counts.added + part.counts.removed + part.counts.changed
                    );
                    written += part.packs.len();
                    for (key, pack) in part.packs {
                        match pack {
                            Some(pack) => packs.insert(key, pack),
                            None => packs.remove(&key),
                        };
                    }
                    for (_, sums) in &part.groups {
                        usage.add(sums, 1);
                    }
                    counts.add(part.counts);
                    Ok(())
                },
            )
            .unwrap();
        let found: Vec<Entry> = packs
            .values()
            .flat_map(|pack| pack::decode(pack).unwrap())
            .collect();
        assert!(found.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(kept, found.len() as u64);
        for (key, pack) in packs.iter() {
            let entries = pack::decode(pack).unwrap();
            assert!((1..=ENTRIES_MAX).contains(&entries.len()));
            assert!(pack::first_name(key) <= &*entries[0].name);
        }
        if is_whole {
            let plain = |entry: &Entry| (entry.name.clone(), entry.attributes.without_format());
            let expected: Vec<_> = entries(model).iter().map(plain).collect();
            assert_eq!(found.iter().map(plain).collect::<Vec<_>>(), expected);
        }
        (usage, counts, written)
    }

    fn name(n: u32) -> Vec<u8> {
        format!("{n:05}").into_bytes()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn packs_follow_what_a_directory_holds(
            steps in prop::collection::vec((0u32..20_000, 0u32..20_000, 0u64..3, any::<bool>()), 1..6),
        ) {
            let mut packs = BTreeMap::new();
            let mut model = Model::new();
            let mut usage = Usage::default();
            for (start, count, size, is_removed) in steps {
                for n in start..start + count {
                    if is_removed { model.remove(&name(n)) } else { model.insert(name(n), size) };
                }
                usage.add(&check(&mut packs, &model, true).0, 1);
                prop_assert_eq!(usage.entries as usize, model.len());
                prop_assert_eq!(usage.size_bytes as u64, model.values().sum::<u64>());
                // A second run finds no change.
                let before = packs.clone();
                let (nothing, counts) = check(&mut packs, &model, true);
                prop_assert!(nothing.is_empty());
                prop_assert_eq!(counts, ScanCounts { entries: model.len() as u64, ..ScanCounts::default() });
                prop_assert_eq!(&packs, &before);
            }
        }

        /// Formats found by content are kept while files are unchanged, even if later scans do not
        /// read content. Packs of unchanged directories are not written.
        #[test]
        fn what_was_found_in_files_is_kept(
            steps in prop::collection::vec((0u32..3000, 1u32..2000, 0u64..4, any::<bool>()), 1..6),
        ) {
            let mut packs = BTreeMap::new();
            let mut model = Model::new();
            // Files whose content was read, with their sizes.
            let mut known = Model::new();
            for (start, count, size, is_on) in steps {
                for n in start..start + count {
                    model.insert(name(n), size);
                }
                known.retain(|name, size| model.get(name) == Some(&*size));
                let odd = || model.iter().filter(|(_, size)| **size % 2 == 1);
                let wanted = odd().filter(|(name, _)| is_on && !known.contains_key(*name)).count() as u64;
                let mut looks = OddSizes { is_on, count: 0 };
                check_looking(&mut packs, &model, true, &mut looks);
                prop_assert_eq!(looks.count, wanted);
                if is_on {
                    known.extend(odd().map(|(name, size)| (name.clone(), *size)));
                }
                let pdf = Format::named("pdf").unwrap();
                for entry in packs.values().flat_map(|pack| pack::decode(pack).unwrap()) {
                    let is_known = known.contains_key(&entry.name.to_vec());
                    prop_assert_eq!(entry.attributes.is_sniffed, is_known);
                    prop_assert_eq!(entry.attributes.format == pdf, is_known);
                }
                for is_on in [false, true] {
                    let mut looks = OddSizes { is_on, count: 0 };
                    let (nothing, counts, written) = check_looking(&mut packs, &model, true, &mut looks);
                    let is_news = is_on && known.len() < odd().count();
                    prop_assert_eq!(counts.changed, 0);
                    prop_assert_eq!(written > 0, is_news);
                    prop_assert!(is_news || nothing.is_empty());
                    prop_assert_eq!(looks.count > 0, is_news);
                    if is_news {
                        known.extend(odd().map(|(name, size)| (name.clone(), *size)));
                    }
                }
            }
        }

        #[test]
        fn what_was_not_read_stays(count in 1u32..1500, seen in prop::collection::btree_map(0u32..3000, 0u64..3, 0..50)) {
            let mut packs = BTreeMap::new();
            let model: Model = (0..count).map(|n| (name(2 * n), 1)).collect();
            check(&mut packs, &model, true);
            let seen: Model = seen.into_iter().map(|(n, size)| (name(n), size)).collect();
            let (_, counts) = check(&mut packs, &seen, false);
            prop_assert_eq!(counts.removed, 0);
            let all: usize = packs.values().map(|pack| pack::decode(pack).unwrap().len()).sum();
            let both = model.keys().chain(seen.keys()).collect::<std::collections::BTreeSet<_>>().len();
            prop_assert_eq!(all, both);
        }
    }
}
