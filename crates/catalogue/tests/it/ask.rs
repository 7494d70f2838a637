//! Query results are compared with those of a full traversal.

use std::collections::BTreeMap;
use std::fs;

use catalogue::{ChangeKind, ChildOrder, FileOrder, Kind, PathEntry, Usage, Visit};

use crate::model::{Mutator, Rig, is_dir};

fn all(rig: &Rig) -> Vec<PathEntry> {
    let mut all = Vec::new();
    let top = rig.catalogue.locate(&rig.path()).unwrap().unwrap();
    let list = |found: &PathEntry| {
        all.push(found.clone());
        Ok::<_, catalogue::CatalogueError>(Visit::Descend)
    };
    rig.catalogue.each(top, list).unwrap();
    all
}

#[test]
fn the_first_of_many_are_those_of_a_look_at_all() {
    for seed in 0..5 {
        println!("seed {seed}");
        let rig = Rig::new();
        Mutator::new(&rig.path(), seed).steps(700);
        for (n, found) in all_paths(&rig).into_iter().enumerate() {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400 * 11 * n as u64);
            if let Ok(file) = fs::File::options().write(true).open(&found) {
                file.set_modified(time).unwrap();
            }
        }
        rig.scan();
        let all = all(&rig);
        // A file with several names is listed once.
        let mut inodes = std::collections::BTreeSet::new();
        let files = all.iter().filter(|found| found.attributes.kind == Kind::File);
        let files: Vec<_> = files
            .filter(|found| inodes.insert(found.attributes.id))
            .map(|found| &found.attributes)
            .collect();
        let mut sizes: Vec<u64> = files.iter().map(|file| file.size_bytes).collect();
        sizes.sort_by_key(|&size| std::cmp::Reverse(size));
        let mut times: Vec<i64> = files.iter().map(|file| file.modified_ns).collect();
        times.sort();
        for count in [0, 1, 7, 10_000] {
            let count = count.min(files.len());
            let first = |by| {
                rig.catalogue
                    .first_files(by, count)
                    .unwrap()
                    .into_iter()
                    .map(|found| found.attributes)
            };
            let found: Vec<u64> = first(FileOrder::Size).map(|file| file.size_bytes).collect();
            assert!(found == sizes[..count], "{count} by size");
            let found: Vec<i64> = first(FileOrder::Age).map(|file| file.modified_ns).collect();
            assert!(found == times[..count], "{count} by age");
        }
        let mut dirs: Vec<i64> = all
            .iter()
            .filter(|found| is_dir(found))
            .map(|found| rig.catalogue.usage(found).unwrap().blocks - found.attributes.blocks as i64)
            .collect();
        dirs.sort_by_key(|blocks| -blocks);
        let heaviest = rig.catalogue.heaviest(9).unwrap();
        let found: Vec<i64> = heaviest.iter().map(|row| row.usage.blocks).collect();
        assert_eq!(found, dirs.into_iter().take(9).collect::<Vec<_>>());
    }
}

/// Many files whose times fall on the same few days, in many directories. Whether or not age
/// follows size, the sums by day do not give their order.
#[test]
fn the_oldest_of_one_day_are_those_of_a_look_at_all() {
    for seed in 0..3 {
        println!("seed {seed}");
        let rig = Rig::new();
        let mut mutator = Mutator::new(&rig.path(), seed);
        for _ in 0..5 {
            mutator.steps(150);
            for found in all_paths(&rig) {
                let ns = mutator.dice.below(3 * 86_400_000_000_000) as u64;
                let time = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(ns);
                if mutator.dice.below(3) > 0
                    && let Ok(file) = fs::File::options().write(true).open(&found)
                {
                    file.set_modified(time).unwrap();
                }
            }
            rig.scan();
            rig.check();
            let mut inodes = std::collections::BTreeSet::new();
            let mut times: Vec<i64> = all(&rig)
                .iter()
                .filter(|found| found.attributes.kind == Kind::File)
                .filter(|found| inodes.insert(found.attributes.id))
                .map(|found| found.attributes.modified_ns)
                .collect();
            times.sort();
            for count in [1, 5, times.len()] {
                let count = count.min(times.len());
                let found = rig.catalogue.first_files(FileOrder::Age, count).unwrap();
                let found: Vec<i64> = found.iter().map(|found| found.attributes.modified_ns).collect();
                assert_eq!(found, times[..count]);
            }
        }
    }
}

fn all_paths(rig: &Rig) -> Vec<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let paths = crate::model::listed(&rig.path()).into_keys();
    paths
        .map(|path| std::ffi::OsString::from_vec(path).into())
        .collect()
}

#[test]
fn groups_are_sums_over_entries() {
    let rig = Rig::new();
    Mutator::new(&rig.path(), 3).steps(300);
    rig.scan();
    let mut sum = Usage::default();
    let mut formats: BTreeMap<&str, i64> = BTreeMap::new();
    for (group, usage) in rig.catalogue.groups().unwrap() {
        *formats.entry(group.format.name()).or_default() += usage.files();
        sum.size_bytes += usage.size_bytes;
        sum.entries += usage.entries;
    }
    let tree = &rig.catalogue.trees().unwrap()[0].usage;
    assert_eq!((sum.entries, sum.size_bytes), (tree.entries, tree.size_bytes));
    assert!(formats["warc"] > 0 && formats["other"] > 0);
}

#[test]
fn what_changed_since_is_told() {
    let rig = Rig::new();
    let root = rig.path();
    fs::create_dir_all(root.join("dir/inner")).unwrap();
    fs::write(root.join("dir/inner/file"), b"123").unwrap();
    fs::write(root.join("stays"), b"123").unwrap();
    fs::write(root.join("grows"), b"1").unwrap();
    rig.scan();
    let changes = |since_ms: i64| {
        let mut rows = Vec::new();
        let root = root.as_os_str().as_encoded_bytes();
        rig.catalogue
            .changes_since(since_ms, |row| {
                if row.kind != Kind::Directory || row.what != ChangeKind::Changed {
                    let path = String::from_utf8(row.path[root.len()..].to_vec()).unwrap();
                    rows.push((row.what, path, row.size_bytes));
                }
            })
            .unwrap();
        rows.retain(|row| row.1 != "/dir" || row.0 != ChangeKind::Changed);
        rows.sort();
        rows
    };
    assert_eq!(changes(0), []);
    fs::remove_dir_all(root.join("dir")).unwrap();
    fs::write(root.join("grows"), b"12345").unwrap();
    fs::write(root.join("new"), b"1").unwrap();
    let scanned = rig.scan();
    let size = |path: &str| changes(0).into_iter().find(|row| row.1 == path).unwrap().2;
    assert_eq!(size("/grows"), (1, 5));
    assert_eq!(size("/dir/inner/file"), (3, 0));
    let names: Vec<_> = changes(0).into_iter().map(|row| (row.0, row.1)).collect();
    let expected = [
        (ChangeKind::Added, "/new"),
        (ChangeKind::Removed, "/dir"),
        (ChangeKind::Removed, "/dir/inner"),
        (ChangeKind::Removed, "/dir/inner/file"),
        (ChangeKind::Changed, "/grows"),
    ];
    assert_eq!(names, expected.map(|(what, path)| (what, path.to_owned())));
    assert_eq!(changes(scanned.row.ended_ms + 1), []);
    let days = rig.catalogue.days().unwrap();
    let last: i64 = days
        .values()
        .next_back()
        .unwrap()
        .iter()
        .map(|(_, usage)| usage.entries)
        .sum();
    // The root counts too.
    assert_eq!(last, 4);
}

/// For each directory, the heaviest names equal those of a full traversal, and the sum of the
/// others covers the rest.
#[test]
fn names_in_a_directory_are_the_heaviest_and_the_sum_of_the_others() {
    for seed in 0..3 {
        println!("seed {seed}");
        let rig = Rig::new();
        Mutator::new(&rig.path(), seed).steps(400);
        rig.scan();
        let dirs = all(&rig);
        for dir in dirs
            .iter()
            .filter(|found| found.attributes.kind == Kind::Directory)
        {
            let whole = rig.catalogue.usage(dir).unwrap();
            for by in [ChildOrder::Size, ChildOrder::Entries] {
                let weight = |usage: &Usage| match by {
                    ChildOrder::Size => usage.size_bytes,
                    ChildOrder::Entries => usage.entries,
                };
                let every = rig.catalogue.children(dir, by, usize::MAX).unwrap();
                assert_eq!(every.others, 0);
                let entries: i64 = every.first.iter().map(|child| child.usage.entries).sum();
                assert_eq!(entries + 1, whole.entries, "{dir:?}");
                assert!(
                    every
                        .first
                        .is_sorted_by(|a, b| { (weight(&b.usage), &a.name) < (weight(&a.usage), &b.name) })
                );
                for count in [0, 1, 3] {
                    let some = rig.catalogue.children(dir, by, count).unwrap();
                    let kept = count.min(every.first.len());
                    assert_eq!(some.first, every.first[..kept]);
                    assert_eq!(some.others, (every.first.len() - kept) as u64);
                    let rest: i64 = every.first[kept..]
                        .iter()
                        .map(|child| child.usage.size_bytes)
                        .sum();
                    assert_eq!(some.others_usage.size_bytes, rest);
                }
            }
        }
    }
}

#[test]
fn growth_and_the_last_scans_are_those_of_a_look_at_all() {
    let rig = Rig::new();
    for seed in 0..3 {
        Mutator::new(&rig.path(), seed).steps(100);
        rig.scan();
    }
    let days = rig.catalogue.days().unwrap();
    let growth = rig.catalogue.growth(0).unwrap();
    assert_eq!(days.len(), growth.len());
    for (day, groups) in days {
        let mut sum = Usage::default();
        groups.iter().for_each(|(_, usage)| sum.merge(usage));
        let found = &growth[&day];
        assert_eq!(
            (found.entries, found.size_bytes, found.size_profile()),
            (sum.entries, sum.size_bytes, sum.size_profile())
        );
        assert!(rig.catalogue.growth(day + 1).unwrap().is_empty());
    }
    let mut scans = rig.catalogue.scans().unwrap();
    scans.reverse();
    scans.truncate(2);
    assert_eq!(rig.catalogue.last_scans(2).unwrap(), scans);
}
