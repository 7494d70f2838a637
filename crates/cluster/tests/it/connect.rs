//! How commands find a store, and how a node finds its volumes again.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cluster::{ConnectSettings, NodeSettings, Secret, SecretError, StartError, VolumeSettings};
use store_protocol::VolumeId;

use crate::nodes::{Files, seen};

fn dirs(root: &Path, names: &[&str]) -> Vec<VolumeSettings> {
    names
        .iter()
        .map(|name| VolumeSettings::at(root.join(name)))
        .collect()
}

fn of(volumes: &[VolumeSettings]) -> NodeSettings {
    NodeSettings {
        upkeep: None,
        ..NodeSettings::of_volumes(volumes.to_vec())
    }
}

fn mode(path: PathBuf) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_works_through_the_owner_or_is_the_owner() {
    let root = tempfile::tempdir().unwrap();
    let volumes = dirs(root.path(), &["a", "b"]);
    let through = || cluster::connect_or_begin(ConnectSettings::Volumes(volumes.clone()));
    let alone = through().await.unwrap();
    assert_eq!(alone.through(), None);
    // Meanwhile another command finds the first.
    let second = through().await.unwrap();
    assert!(second.through().is_some());
    second.close().await;
    alone.close().await;
    let node = cluster::start(of(&volumes)).await.unwrap();
    assert_eq!(mode(root.path().join("a/node/owner.json")), 0o600);
    let command = through().await.unwrap();
    assert_eq!(command.through(), Some(&node.status().await.id));
    let (ours, theirs) = (seen(&command.store()).topology(), seen(&node.store()).topology());
    assert_eq!(ours.layouts, theirs.layouts);
    assert_eq!(ours.layouts.current.roles.replicas, 2);
    for volume in ours.volumes.values() {
        volume.status().await.unwrap();
    }
    // A topology keeps the volumes open.
    drop((ours, theirs));
    command.close().await;
    node.shutdown().await;
    assert!(!root.path().join("a/node/owner.json").exists());
    let alone = through().await.unwrap();
    assert_eq!(alone.through(), None);
    alone.close().await;
}

/// The leftovers of a killed node: the file exists, no process answers, the lock is free.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_owner_file_does_no_harm() {
    let root = tempfile::tempdir().unwrap();
    let volumes = dirs(root.path(), &["a"]);
    let node = cluster::start(of(&volumes)).await.unwrap();
    let file = root.path().join("a/node/owner.json");
    let left_behind = std::fs::read(&file).unwrap();
    node.shutdown().await;
    std::fs::write(&file, left_behind).unwrap();
    let command = cluster::connect(ConnectSettings::Volumes(volumes)).await.unwrap();
    assert_eq!(command.through(), None);
    command.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_has_one_owner_and_keeps_its_name() {
    let root = tempfile::tempdir().unwrap();
    let volumes = dirs(root.path(), &["x/data", "y/data"]);
    ["x", "y"]
        .iter()
        .for_each(|dir| std::fs::create_dir(root.path().join(dir)).unwrap());
    let node = cluster::start(of(&volumes)).await.unwrap();
    let names: Vec<_> = seen(&node.store()).topology().volumes.keys().cloned().collect();
    assert_eq!(
        names,
        [
            VolumeId::from("local/data".to_owned()),
            VolumeId::from("local/data-2".to_owned())
        ]
    );
    let second = cluster::start(of(&volumes)).await.err().unwrap();
    assert!(matches!(second, StartError::InUse { .. }), "{second}");
    let before = seen(&node.store()).topology().layouts.clone();
    node.shutdown().await;
    // In the other order the volumes keep their names.
    let turned: Vec<_> = volumes.iter().rev().cloned().collect();
    let node = cluster::start(of(&turned)).await.unwrap();
    assert_eq!(seen(&node.store()).topology().layouts, before);
    assert!(node.unplaced().is_empty());
    let paths: Vec<_> = node
        .status()
        .await
        .volumes
        .into_iter()
        .map(|volume| volume.path)
        .collect();
    assert!(
        paths[0].ends_with("x/data") && paths[1].ends_with("y/data"),
        "{paths:?}"
    );
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_of_two_stores_are_not_mixed() {
    let root = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        cluster::start(of(&dirs(root.path(), &[name])))
            .await
            .unwrap()
            .shutdown()
            .await;
    }
    let error = cluster::start(of(&dirs(root.path(), &["a", "b"])))
        .await
        .err()
        .unwrap();
    assert!(matches!(error, StartError::Conflict { .. }), "{error}");
    let mut other = of(&dirs(root.path(), &["a"]));
    other.id = "another".to_owned().into();
    let error = cluster::start(other).await.err().unwrap();
    assert!(matches!(error, StartError::Conflict { .. }), "{error}");
}

/// A wiped directory is the same volume, empty: its "not found" means "not known".
#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_volume_keeps_its_place_and_is_rebuilt() {
    let root = tempfile::tempdir().unwrap();
    let volumes = dirs(root.path(), &["a", "b"]);
    cluster::start(of(&volumes)).await.unwrap().shutdown().await;
    crate::lone::wipe(&root.path().join("b"));
    let node = cluster::start(of(&volumes)).await.unwrap();
    assert!(node.unplaced().is_empty());
    let states: Vec<_> = node
        .status()
        .await
        .volumes
        .into_iter()
        .map(|volume| volume.state)
        .collect();
    assert_eq!(
        states,
        [
            store_protocol::VolumeState::InService,
            store_protocol::VolumeState::Rebuilding
        ]
    );
    assert!(root.path().join("b/node/layouts.json").exists());
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_layout_is_planned_from() {
    let root = tempfile::tempdir().unwrap();
    let mut volumes = dirs(root.path(), &["a", "b"]);
    volumes[1] = format!("{},zone=z,weight=3", root.path().join("b").display())
        .parse()
        .unwrap();
    let node = cluster::start(of(&volumes)).await.unwrap();
    let in_force = seen(&node.store()).topology().layouts.current.roles.clone();
    assert_eq!(cluster::wanted_roles(&of(&volumes)).unwrap(), in_force);
    assert_eq!(
        (in_force.volumes[1].zone.as_str(), in_force.volumes[1].weight),
        ("z", 3)
    );
    volumes.push(VolumeSettings::at(root.path().join("c")));
    assert_eq!(cluster::wanted_roles(&of(&volumes)).unwrap().volumes.len(), 3);
    node.shutdown().await;
}

#[test]
fn a_secret_file_is_private() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("secret");
    let made = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Secret::of_file(&path).unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(
        made.iter().all(|secret| *secret == made[0]),
        "nodes that start at once must share one"
    );
    assert_eq!(mode(path.clone()), 0o600);
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    for readable in [0o640, 0o604, 0o644] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(readable)).unwrap();
        let error = Secret::of_file(&path).unwrap_err();
        assert!(
            matches!(error, SecretError::Readable { mode, .. } if mode == readable),
            "{error}"
        );
    }
    std::fs::write(&path, "00ff\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let error = Secret::of_file(&path).unwrap_err();
    assert!(matches!(error, SecretError::Format { .. }), "{error}");
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let files = Files::new(2, 1, 2);
    let toml = files.toml("n1");
    let good = std::fs::read_to_string(&toml).unwrap();
    let check = |change: &dyn Fn(&str) -> String, expected: &str| {
        std::fs::write(&toml, change(&good)).unwrap();
        let error = NodeSettings::read(&toml).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("n1.toml"), "{error}");
    };
    check(&|good| good.replace("\"n1\"", "\"n9\""), "no node \"n9\"");
    check(&|good| good.replace("\"n1\"", "\"a/b\""), "node name \"a/b\"");
    check(&|good| format!("surprise = 1\n{good}"), "surprise");
    check(
        &|good| good[..good.find("[[volume]]").unwrap()].to_owned(),
        "volume",
    );
    check(
        &|good| format!("{good}[[volume]]\nname = \"d1\"\npath = \"z\"\n"),
        "two volumes",
    );
    check(
        &|good| format!("{good}[upkeep]\nscrub_every_s = -1\n"),
        "scrub_every_s",
    );
    std::fs::write(&toml, format!("{good}[upkeep]\nscrub_every_s = 1.5\n")).unwrap();
    let settings = NodeSettings::read(&toml).unwrap();
    assert_eq!(settings.upkeep.unwrap().scrub_every.as_millis(), 1500);
    assert_eq!(settings.volumes[0].path, files.volume("n1", "d1"));
    for wrong in [
        "",
        ",zone=x",
        "d,zone=",
        "d,weight=x",
        "d,colour=red",
        "d,name=a/b",
    ] {
        wrong.parse::<VolumeSettings>().unwrap_err();
    }
}
