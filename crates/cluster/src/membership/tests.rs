//! Tests of every rule of both decisions, on values made here: no disk and no network.

use std::collections::BTreeSet;
use std::path::PathBuf;

use placement::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use store_protocol::{NodeId, VolumeId};

use super::decide::{Decision, Membership, decide};
use super::recovery::{Recovery, decide_recovery};
use super::start_inputs::StartInputs;
use crate::ask_nodes::{LayoutAnswer, OtherNodes};
use crate::discovery::{Directory, DirectoryState};
use crate::layout_log::LayoutsFile;
use crate::settings::{NodeSettings, VolumeSettings};
use crate::start_error::StartError;

/// The salt of placements made here.
const SEED: u64 = 77;

fn id(name: &str) -> VolumeId {
    VolumeId::from(name.to_owned())
}

/// Returns a layout of node `n` with these volumes.
fn layout(number: u64, seed: u64, volumes: &[&str]) -> Layout {
    let node = NodeId::from("n".to_owned());
    let volumes = volumes.iter().map(|volume| VolumeRole {
        id: id(volume),
        node: node.clone(),
        zone: "z".to_owned(),
        weight: 1,
    });
    Layout {
        number,
        seed,
        roles: Roles {
            replicas: 1,
            volumes: volumes.collect(),
            nodes: vec![NodeRole {
                id: node.clone(),
                zone: "z".to_owned(),
                address: "h:1".to_owned(),
            }],
            retired: BTreeSet::new(),
        },
    }
}

fn layouts(current: Layout) -> Layouts {
    Layouts {
        current,
        older: Vec::new(),
    }
}

/// Returns settings of node `n` with volumes in directories of these names.
fn settings(paths: &[&str]) -> NodeSettings {
    let volumes = paths.iter().map(|path| VolumeSettings::at(format!("/{path}")));
    NodeSettings {
        id: NodeId::from("n".to_owned()),
        ..NodeSettings::of_volumes(volumes.collect())
    }
}

fn directory(path: &str, state: DirectoryState) -> Directory {
    Directory {
        path: PathBuf::from(format!("/{path}")),
        state,
        file: None,
        id: None,
    }
}

fn fresh(path: &str) -> Directory {
    directory(path, DirectoryState::Fresh)
}

fn absent(path: &str) -> Directory {
    directory(path, DirectoryState::Absent)
}

/// Returns a directory that was used as this volume, without layouts.
fn used(path: &str, volume: &str) -> Directory {
    Directory {
        id: Some(id(volume)),
        ..directory(path, DirectoryState::Used("volume.json".to_owned()))
    }
}

/// Returns a volume that stores these layouts.
fn keeps(path: &str, volume: &str, current: Layout, accepted: Vec<Layout>) -> Directory {
    Directory {
        file: Some(LayoutsFile::new(id(volume), layouts(current), accepted)),
        ..used(path, volume)
    }
}

fn told(current: Layout, holds: bool) -> OtherNodes {
    OtherNodes::Answered(LayoutAnswer {
        layouts: layouts(current),
        by: NodeId::from("m".to_owned()),
        holds,
    })
}

fn found(
    settings: &NodeSettings,
    directories: Vec<Directory>,
    others: Option<OtherNodes>,
) -> StartInputs<'_> {
    StartInputs {
        settings,
        directories,
        others,
        seed: SEED,
    }
}

/// Returns the final decision.
fn joined(
    settings: &NodeSettings,
    directories: Vec<Directory>,
    others: OtherNodes,
) -> Result<Box<Membership>, StartError> {
    match decide(&found(settings, directories, Some(others)))? {
        Decision::Join(membership) => Ok(membership),
        Decision::AskOthers => panic!("the other nodes were asked already"),
    }
}

fn refused(settings: &NodeSettings, directories: Vec<Directory>, others: OtherNodes) -> StartError {
    joined(settings, directories, others)
        .err()
        .expect("the start must be refused")
}

/// Returns for each volume its name, whether it held data before, whether its directory is made,
/// and whether it becomes a volume.
fn volumes(membership: &Membership) -> Vec<(&str, bool, bool, bool)> {
    let volumes = membership.volumes.iter();
    volumes
        .map(|volume| {
            (
                &*volume.id.0,
                volume.held_before,
                volume.makes_directory,
                volume.begins,
            )
        })
        .collect()
}

#[test]
fn wrong_settings_are_refused_first() {
    let error = refused(&settings(&[]), Vec::new(), OtherNodes::Alone);
    assert!(error.to_string().contains("no volume is given"), "{error}");
}

#[test]
fn names_are_those_given_then_those_found_then_those_of_the_paths() {
    let mut three = settings(&["x/d", "y/d", "z/d"]);
    three.volumes[0].name = Some("a".to_owned());
    let directories = vec![
        fresh("x/d"),
        fresh("y/d"),
        keeps("z/d", "n/d", layout(1, 1, &["n/d"]), Vec::new()),
    ];
    let membership = joined(&three, directories, OtherNodes::Alone).unwrap();
    let names: Vec<_> = volumes(&membership).iter().map(|volume| volume.0).collect();
    assert_eq!(names, ["n/a", "n/d-2", "n/d"]);
}

#[test]
fn directories_under_a_wrong_name_are_refused() {
    let mut named = settings(&["d"]);
    named.volumes[0].name = Some("other".to_owned());
    let cases = [
        (
            &named,
            vec![used("d", "n/d")],
            "directory /d is volume n/d, not n/other",
        ),
        (
            &settings(&["d"]),
            vec![used("d", "m/d")],
            "directory /d is volume m/d of another node",
        ),
        (
            &settings(&["c", "d"]),
            vec![used("c", "n/c"), used("d", "n/c")],
            "two directories are volume n/c: /d and another",
        ),
    ];
    for (settings, directories, text) in cases {
        let error = refused(settings, directories, OtherNodes::Alone);
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn the_newest_layouts_on_the_volumes_count() {
    let (one, two, three) = (
        layout(1, 1, &["n/a", "n/b"]),
        layout(2, 1, &["n/a", "n/b"]),
        layout(3, 1, &["n/a"]),
    );
    let directories = vec![
        keeps("a", "n/a", one, vec![two.clone()]),
        keeps("b", "n/b", two.clone(), vec![three.clone()]),
    ];
    let ab = settings(&["a", "b"]);
    // No other node is asked.
    let Decision::Join(membership) = decide(&found(&ab, directories, None)).unwrap() else {
        panic!("the volumes have the layouts");
    };
    assert_eq!(membership.layouts.current, two);
    assert_eq!(membership.accepted, [three]);
    assert_eq!(
        volumes(&membership),
        [("n/a", true, false, true), ("n/b", true, false, true)]
    );
}

#[test]
fn volumes_of_two_stores_are_refused() {
    let ab = settings(&["a", "b"]);
    for other in [layout(3, 2, &["n/b"]), layout(2, 1, &["n/b"])] {
        let directories = vec![
            keeps("a", "n/a", layout(2, 1, &["n/a"]), Vec::new()),
            keeps("b", "n/b", other, Vec::new()),
        ];
        let error = refused(&ab, directories, OtherNodes::Alone);
        assert!(
            error.to_string().contains("volume n/b belongs to another store"),
            "{error}"
        );
    }
}

#[test]
fn without_layouts_on_the_volumes_the_others_are_asked_first() {
    let a = settings(&["a"]);
    for directory in [fresh("a"), absent("a"), used("a", "n/a")] {
        let decision = decide(&found(&a, vec![directory], None)).unwrap();
        assert!(matches!(decision, Decision::AskOthers));
    }
}

/// A lost machine was replaced: the node may make all directories, and knows whether the volumes
/// held data.
#[test]
fn layouts_of_other_nodes_are_taken_over() {
    let a = settings(&["a"]);
    for (directory, holds) in [(absent("a"), true), (fresh("a"), false), (used("a", "n/a"), true)] {
        let membership = joined(&a, vec![directory], told(layout(5, 1, &["n/a"]), holds)).unwrap();
        assert_eq!(membership.layouts.current.number, 5);
        assert_eq!(volumes(&membership), [("n/a", holds, true, true)]);
    }
}

#[test]
fn layout_1_is_made_only_where_nothing_was_used() {
    let ab = settings(&["a", "b"]);
    for others in [OtherNodes::Alone, OtherNodes::Silent("h:1".to_owned())] {
        let membership = joined(&ab, vec![fresh("a"), absent("b")], others).unwrap();
        let current = &membership.layouts.current;
        assert_eq!(
            (current.number, current.seed, current.roles.replicas),
            (1, SEED, 2)
        );
        assert_eq!(
            volumes(&membership),
            [("n/a", false, true, true), ("n/b", false, true, true)]
        );
    }
    let unreadable = || directory("b", DirectoryState::Unreadable("error".to_owned()));
    for second in [used("b", "n/b"), unreadable()] {
        let silent = OtherNodes::Silent("h:1, h:2".to_owned());
        let error = refused(&ab, vec![fresh("a"), second], silent);
        assert!(matches!(error, StartError::LayoutsLost { .. }), "{error}");
        assert!(
            error.to_string().contains("no node answers at h:1, h:2"),
            "{error}"
        );
    }
    let error = refused(&ab, vec![used("a", "n/a"), fresh("b")], OtherNodes::Alone);
    assert!(error.to_string().contains("If a volume is missing"), "{error}");
}

#[test]
fn where_no_volume_may_be_made_there_is_no_store() {
    let reading = NodeSettings {
        makes_volumes: false,
        ..settings(&["a"])
    };
    let error = refused(&reading, vec![fresh("a")], OtherNodes::Alone);
    assert_eq!(error.to_string(), "there is no store: /a is empty");
}

/// Whether a volume held data before, whether its directory is made, and whether it becomes a
/// volume.
type Made = (bool, bool, bool);

/// A node whose volume `a` stores the layouts, and a directory `b`: what may be made.
#[test]
fn a_directory_is_made_only_if_it_cannot_be_an_unmounted_disk() {
    let placed: &[&str] = &["n/a", "n/b"];
    let cases: [(&[&str], bool, Made); 5] = [
        // It is in the layout, so its disk may only be unmounted.
        (placed, true, (true, false, true)),
        (placed, false, (true, false, true)),
        // It is new, and all volumes of the node were given.
        (&["n/a"], true, (false, true, true)),
        (&["n/a"], false, (false, false, false)),
        // It is new, or it is `n/c` under a new path.
        (&["n/a", "n/c"], true, (false, false, true)),
    ];
    for (in_layout, makes_volumes, expected) in cases {
        let ab = NodeSettings {
            makes_volumes,
            ..settings(&["a", "b"])
        };
        let directories = vec![
            keeps("a", "n/a", layout(1, 1, in_layout), Vec::new()),
            absent("b"),
        ];
        let membership = joined(&ab, directories, OtherNodes::Alone).unwrap();
        let (name, held_before, makes_directory, begins) = volumes(&membership)[1];
        assert_eq!(name, "n/b");
        assert_eq!(
            (held_before, makes_directory, begins),
            expected,
            "{in_layout:?} {makes_volumes}"
        );
    }
}

#[test]
fn what_does_not_take_part_is_named() {
    let ab = settings(&["a", "b"]);
    let directories = vec![
        keeps("a", "n/a", layout(1, 1, &["n/a", "n/c"]), Vec::new()),
        fresh("b"),
    ];
    let membership = joined(&ab, directories, OtherNodes::Alone).unwrap();
    assert_eq!(membership.unplaced, [id("n/b")]);
    assert_eq!(membership.not_given, [id("n/c")]);
}

#[test]
fn a_new_layout_is_refused_unless_all_are_lost() {
    let ab = settings(&["a", "b"]);
    let cases = [
        (
            vec![
                keeps("a", "n/a", layout(4, 1, &["n/a"]), Vec::new()),
                used("b", "n/b"),
            ],
            OtherNodes::Alone,
            "nothing is lost: the node's volumes have layout 4",
        ),
        (
            vec![fresh("a"), absent("b")],
            OtherNodes::Alone,
            "there is no store",
        ),
        (
            vec![used("a", "n/a"), absent("b")],
            OtherNodes::Alone,
            "/b is absent: it may have the layouts",
        ),
        (
            vec![
                used("a", "n/a"),
                directory("b", DirectoryState::Unreadable("e".to_owned())),
            ],
            OtherNodes::Alone,
            "/b cannot be read (e): it may have the layouts",
        ),
        (
            vec![used("a", "n/a"), fresh("b")],
            told(layout(6, 1, &["n/a"]), true),
            "node m has layout 6",
        ),
    ];
    for (directories, others, text) in cases {
        let error = decide_recovery(&found(&ab, directories, Some(others)), 0).err();
        let error = error.expect("the recovery must be refused").to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_new_layout_has_the_time_as_its_number_and_distrusts_what_was_used() {
    let ab = settings(&["a", "b"]);
    let directories = || vec![used("a", "n/a"), fresh("b")];
    let unasked = decide_recovery(&found(&ab, directories(), None), 0).unwrap();
    assert!(matches!(unasked, Recovery::AskOthers));
    let silent = Some(OtherNodes::Silent("h:1".to_owned()));
    let decided = decide_recovery(&found(&ab, directories(), silent), 1_700_000_000_999).unwrap();
    let Recovery::Make { layouts, used } = decided else {
        panic!("the other nodes were asked already");
    };
    assert_eq!(
        (layouts.current.number, layouts.current.seed),
        (1_700_000_000, SEED)
    );
    assert_eq!(used, [(id("n/a"), PathBuf::from("/a"))]);
}
