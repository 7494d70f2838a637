//! Names by conditions on their paths, compared with a filter over all names.

use std::collections::BTreeSet;
use std::fs;

use catalogue::{CatalogueError, NameCondition, directory_of, name_of};

use crate::model::{Dice, Mutator, Rig, listed};

/// Returns the paths of all names that the catalogue finds for some conditions.
fn given(rig: &Rig, conditions: &[NameCondition]) -> BTreeSet<Vec<u8>> {
    let mut paths = BTreeSet::new();
    rig.catalogue
        .each_name::<CatalogueError>(conditions, |name| {
            assert!(
                paths.insert(name.found.path.clone()),
                "{:?} twice",
                name.found.path
            );
            Ok(())
        })
        .unwrap();
    paths
}

fn is_met(condition: &NameCondition, path: &[u8]) -> bool {
    match condition {
        NameCondition::Is(wanted) => path == wanted,
        NameCondition::Begins(begin) => path.starts_with(begin),
        NameCondition::In(dir) => directory_of(path) == Some(dir),
    }
}

#[track_caller]
fn check(rig: &Rig, all: &BTreeSet<Vec<u8>>, conditions: &[NameCondition]) {
    let meets = |path: &&Vec<u8>| conditions.iter().all(|condition| is_met(condition, path));
    let expected: BTreeSet<Vec<u8>> = all.iter().filter(meets).cloned().collect();
    assert!(given(rig, conditions) == expected, "{conditions:?}");
}

/// Returns a condition that some of these paths meet or almost meet.
fn condition(dice: &mut Dice, paths: &[Vec<u8>]) -> NameCondition {
    let mut path = paths[dice.below(paths.len())].clone();
    match dice.below(8) {
        0 => path.push(b'/'),
        1 => path.push(b'!'),
        2 => {
            path.pop();
        }
        _ => {}
    }
    match dice.below(3) {
        0 => NameCondition::Is(path),
        1 => NameCondition::In(match dice.below(3) {
            0 => path,
            _ => directory_of(&path).unwrap_or(b"/").to_vec(),
        }),
        _ => {
            path.truncate(dice.below(path.len() + 1));
            NameCondition::Begins(path)
        }
    }
}

#[test]
fn names_by_conditions_are_those_that_a_look_at_all_finds() {
    for seed in 0..4 {
        println!("seed {seed}");
        let rig = Rig::new();
        let trees = ["a", "a!", "ab/inner"].map(|name| rig.path().join(name));
        for (tree, seed) in trees.iter().zip(seed * 10..) {
            fs::create_dir_all(tree).unwrap();
            Mutator::new(tree, seed).steps(200);
            rig.scan_of(tree);
        }
        let all: BTreeSet<Vec<u8>> = trees.iter().flat_map(|tree| listed(tree).into_keys()).collect();
        let paths: Vec<Vec<u8>> = all.iter().cloned().collect();
        check(&rig, &all, &[]);
        let mut dice = Dice::new(seed);
        for _ in 0..400 {
            let conditions: Vec<NameCondition> = (0..1 + dice.below(3))
                .map(|_| condition(&mut dice, &paths))
                .collect();
            check(&rig, &all, &conditions);
        }
        for path in [&b""[..], b"/", b"//", b"a", b"/.."] {
            for condition in [NameCondition::Is, NameCondition::Begins, NameCondition::In] {
                check(&rig, &all, &[condition(path.to_vec())]);
            }
        }
    }
}

/// A directory of many packs: reading starts in the middle of them.
#[test]
fn one_name_of_many_thousands_is_found() {
    let rig = Rig::new();
    for n in 0..3000 {
        fs::write(rig.path().join(format!("{n}")), b"").unwrap();
    }
    rig.scan();
    let all: BTreeSet<Vec<u8>> = listed(&rig.path()).into_keys().collect();
    for path in all.iter().step_by(7) {
        check(&rig, &all, &[NameCondition::Is(path.clone())]);
        check(&rig, &all, &[NameCondition::Begins(path.clone())]);
    }
}

#[test]
fn each_file_counts_with_one_of_its_names() {
    let rig = Rig::new();
    Mutator::new(&rig.path(), 5).steps(600);
    rig.scan();
    let (mut files, mut names, mut size_bytes) = (BTreeSet::new(), 0, 0);
    rig.catalogue
        .each_name::<CatalogueError>(&[], |name| {
            names += 1;
            assert!(name.found.path.ends_with(name_of(&name.found.path)));
            if rig.catalogue.counts_with(&name)? {
                assert!(files.insert(name.found.attributes.id), "a file counts twice");
                size_bytes += name.found.attributes.size_bytes as i64;
            }
            Ok(())
        })
        .unwrap();
    let groups = rig.catalogue.groups().unwrap();
    assert_eq!(
        groups.iter().map(|row| row.1.entries).sum::<i64>(),
        files.len() as i64
    );
    assert_eq!(groups.iter().map(|row| row.1.size_bytes).sum::<i64>(), size_bytes);
    assert!(names > files.len(), "the tree has no hard links");
}
