//! Volumes that cannot be opened, while the others can.

use std::path::Path;
use std::sync::Arc;

use cluster::{ConnectError, ConnectSettings, OpenVolume, Opener, StartError, VolumeSettings};
use store_protocol::{Volume, VolumeState};
use volume::{DiskSettings, DiskVolume, FixityLog};

use crate::lone::{Lone, check_read, check_whole, fill, key, state, story, until, wipe};
use crate::wire::pieces;

/// A way to make a volume's directory impossible to open, and to undo it.
struct Trouble {
    name: &'static str,
    make: fn(&Path),
    mend: fn(&Path),
    said: &'static str,
}

const TROUBLES: [Trouble; 5] = [
    Trouble {
        name: "the directory is absent",
        make: |dir| std::fs::rename(dir, dir.with_extension("away")).unwrap(),
        mend: |dir| std::fs::rename(dir.with_extension("away"), dir).unwrap(),
        said: "there is no such directory",
    },
    Trouble {
        name: "a file is in its place",
        make: |dir| {
            std::fs::rename(dir, dir.with_extension("away")).unwrap();
            std::fs::write(dir, "").unwrap();
        },
        mend: |dir| {
            std::fs::remove_file(dir).unwrap();
            std::fs::rename(dir.with_extension("away"), dir).unwrap();
        },
        said: "Not a directory",
    },
    Trouble {
        name: "volume.json is damaged",
        make: |dir| {
            std::fs::rename(dir.join("volume.json"), dir.join("node/kept")).unwrap();
            std::fs::write(dir.join("volume.json"), "{\"format\": 1, \"id\"").unwrap();
        },
        mend: |dir| std::fs::rename(dir.join("node/kept"), dir.join("volume.json")).unwrap(),
        said: "volume.json",
    },
    Trouble {
        name: "the index cannot be written",
        make: |dir| {
            std::fs::remove_file(dir.join("index.redb")).unwrap();
            std::fs::create_dir(dir.join("index.redb")).unwrap();
        },
        mend: |dir| std::fs::remove_dir(dir.join("index.redb")).unwrap(),
        said: "index.redb",
    },
    Trouble {
        name: "it cannot be locked",
        make: |dir| {
            std::fs::remove_file(dir.join("lock")).unwrap();
            std::fs::create_dir(dir.join("lock")).unwrap();
        },
        mend: |dir| std::fs::remove_dir(dir.join("lock")).unwrap(),
        said: "lock",
    },
];

/// One of three disks cannot be used when the node starts. The node starts with the others, reports
/// why, continues to read and write, and takes the disk into service as soon as it can be opened.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_volume_does_not_keep_the_others_from_starting() {
    for Trouble {
        name,
        make,
        mend,
        said,
    } in TROUBLES
    {
        println!("{name}");
        let lone = Lone::filled(&["a", "b", "c"]).await;
        make(&lone.path("b"));
        let node = cluster::start(lone.served()).await.unwrap();
        let store = node.store();
        let VolumeState::Out(reason) = state(&store, "local/b").await else {
            panic!("{name}: in service");
        };
        assert!(reason.contains(said), "{name}: {reason}");
        let told = async |event: &str| {
            let story = story(&store).await;
            story
                .iter()
                .any(|line| line.event == event && line.volume.0.as_ref() == "local/b")
        };
        assert!(told("volume-out").await, "{name}");
        check_read(&store).await;
        fill(&store).await;
        mend(&lone.path("b"));
        until("the volume is back", async || {
            state(&store, "local/b").await == VolumeState::InService
        })
        .await;
        until("meanwhile written objects are home", async || {
            let census = store::upkeep::census(&store.cluster().topology(), &|_| {}).await;
            census.is_whole() && census.replicas_surplus == 0
        })
        .await;
        assert!(told("volume-back").await, "{name}");
        check_whole(&store).await;
        drop(store);
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_volume_opens_or_the_settings_are_wrong_the_start_fails() {
    let lone = Lone::filled(&["a", "b"]).await;
    for volume in ["a", "b"] {
        std::fs::create_dir(lone.path(volume).join("lock.d")).unwrap();
        std::fs::remove_file(lone.path(volume).join("lock")).unwrap();
        std::fs::rename(lone.path(volume).join("lock.d"), lone.path(volume).join("lock")).unwrap();
    }
    let error = cluster::start(lone.served()).await.err().unwrap();
    assert!(matches!(error, StartError::Volume { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("/a/lock") && error.contains("/b/lock"), "{error}");

    let lone = Lone::filled(&["a", "b"]).await;
    wipe(&lone.path("b"));
    std::fs::write(lone.path("b").join("thesis.txt"), "not ours").unwrap();
    let error = cluster::start(lone.served()).await.err().unwrap();
    assert!(matches!(error, StartError::WrongDirectory { .. }), "{error}");
    assert!(error.to_string().contains("thesis.txt"), "{error}");
}

/// A command that only reads makes nothing, whatever is missing.
#[tokio::test(flavor = "multi_thread")]
async fn reading_makes_nothing() {
    let lone = Lone::new(&["a", "b"]);
    let connect = |names: &[&str]| {
        let volumes = names.iter().map(|name| VolumeSettings::at(lone.path(name)));
        cluster::connect(ConnectSettings::Volumes(volumes.collect()))
    };
    std::fs::create_dir(lone.path("b")).unwrap();
    let none = connect(&["a", "b"]).await.err().unwrap();
    assert!(
        matches!(none, ConnectError::Start(StartError::NoStore { .. })),
        "{none}"
    );
    assert!(none.to_string().contains("a is absent"), "{none}");
    let names = |dir: &Path| std::fs::read_dir(dir).map(Iterator::count);
    assert!(!lone.path("a").exists());
    assert_eq!(names(&lone.path("b")).unwrap(), 0);

    let node = lone.start().await;
    fill(&node.store()).await;
    node.shutdown().await;
    std::fs::rename(lone.path("b"), lone.path("unmounted")).unwrap();
    std::fs::create_dir(lone.path("other")).unwrap();
    let command = connect(&["a", "b", "typo", "other"]).await.unwrap();
    check_read(&command.store()).await;
    assert!(matches!(
        state(&command.store(), "local/b").await,
        VolumeState::Out(_)
    ));
    command.close().await;
    assert!(!lone.path("b").exists() && !lone.path("typo").exists());
    assert_eq!(names(&lone.path("other")).unwrap(), 0);

    // Nor does a write, because the disk may be back soon.
    let volumes = ["a", "b"].map(|name| VolumeSettings::at(lone.path(name)));
    let command = cluster::connect_or_begin(ConnectSettings::Volumes(volumes.to_vec()))
        .await
        .unwrap();
    let put = command
        .store()
        .put(&key(0), pieces(b"new"), store::Put::default())
        .await;
    put.unwrap_err();
    command.close().await;
    assert!(!lone.path("b").exists());
    std::fs::rename(lone.path("unmounted"), lone.path("b")).unwrap();
    let node = lone.start().await;
    check_whole(&node.store()).await;
    node.shutdown().await;
}

/// The process is killed while it makes a store of two volumes, after the first volume and its
/// layout are made. The second must not be taken for an unmounted disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_making_was_killed_is_made_to_its_end() {
    let lone = Lone::new(&["a", "b"]);
    let fixity = FixityLog::new();
    let opener: Opener = Arc::new(move |volume: OpenVolume| {
        if volume.id.to_string().ends_with('b') {
            let detail = "killed".to_owned();
            return Err(StartError::InUse {
                path: volume.path,
                detail,
            });
        }
        let settings = DiskSettings {
            write_node_files: volume.write_node_files,
            ..DiskSettings::new(volume.path, volume.id, fixity.clone())
        };
        Ok(DiskVolume::open(settings).unwrap() as Arc<dyn Volume>)
    });
    assert!(cluster::start_with(lone.settings(), opener).await.is_err());
    assert!(lone.path("a").join("volume.json").exists());
    assert!(lone.path("a").join("node/layouts.json").exists());
    assert!(!lone.path("b").join("volume.json").exists());
    let node = lone.start().await;
    fill(&node.store()).await;
    node.shutdown().await;
}
