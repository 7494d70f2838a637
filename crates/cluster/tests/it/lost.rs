//! Layouts that survive the volumes they were written to, and layouts that are lost.

use cluster::{StartError, recover_layouts};
use store_protocol::{VolumeState, WorkerState};

use crate::lone::{Lone, check_read, check_whole, fill, layouts, repair, state, story, until, wipe};
use crate::process::Process;

/// Regression test: both disks of a store are replaced while it runs, one after the other, each
/// rebuilt before the next. Then the power fails. The layouts must have been copied along: without
/// them the next start would make new ones, and look for every object in another place.
#[tokio::test(flavor = "multi_thread")]
async fn volumes_replaced_one_after_another_keep_their_layouts() {
    let lone = Lone::filled(&["a", "b"]).await;
    let mut process = Process::start(&lone.toml());
    let client = lone.connect().await;
    assert!(client.through().is_some());
    let before = layouts(&client.store());
    for (volume, id) in [("a", "local/a"), ("b", "local/b")] {
        let told = async |event: &str| {
            let story = story(&client.store()).await;
            story
                .iter()
                .any(|line| line.event == event && line.volume.0.as_ref() == id)
        };
        wipe(&lone.path(volume));
        until("the wipe is detected", async || told("volume-wiped").await).await;
        let layouts_file = lone.path(volume).join("node/layouts.json");
        until("the layouts are back", async || layouts_file.exists()).await;
        until("the rebuilding ends", async || told("volume-rebuilt").await).await;
        assert_eq!(state(&client.store(), id).await, VolumeState::InService);
        check_whole(&client.store()).await;
    }
    client.close().await;
    // Commands find the process through either volume.
    for volume in ["a", "b"] {
        let by = cluster::VolumeSettings::at(lone.path(volume));
        let found = cluster::connect(cluster::ConnectSettings::Volumes(vec![by]))
            .await
            .unwrap();
        assert!(found.through().is_some(), "by {volume}");
        found.close().await;
    }
    process.kill();
    let node = lone.start().await;
    assert_eq!(layouts(&node.store()), before);
    check_whole(&node.store()).await;
    node.shutdown().await;
}

/// Only `node/` is deleted under a running process: it is soon restored on all volumes.
#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_own_files_are_looked_after() {
    let lone = Lone::filled(&["a", "b"]).await;
    let node = lone.start().await;
    let before = layouts(&node.store());
    for volume in ["a", "b"] {
        std::fs::remove_dir_all(lone.path(volume).join("node")).unwrap();
    }
    until("the files are back", async || {
        let there = |file: &str| {
            ["a", "b"]
                .iter()
                .all(|volume| lone.path(volume).join("node").join(file).exists())
        };
        there("layouts.json") && there("owner.json")
    })
    .await;
    node.shutdown().await;
    assert!(
        !lone.path("a/node/owner.json").exists(),
        "no process owns it any longer"
    );
    let node = lone.start().await;
    assert_eq!(layouts(&node.store()), before);
    node.shutdown().await;
}

/// All `node/` directories are lost, and no process runs. A silently invented layout would find
/// none of the existing objects.
#[tokio::test(flavor = "multi_thread")]
async fn lost_layouts_are_never_made_up_silently() {
    let lone = Lone::filled(&["a", "b", "c"]).await;
    let node = lone.start().await;
    let before = layouts(&node.store());
    node.shutdown().await;
    let early = recover_layouts(&lone.settings()).await.unwrap_err().to_string();
    assert!(early.contains("nothing is lost"), "{early}");
    for volume in ["a", "b", "c"] {
        std::fs::remove_dir_all(lone.path(volume).join("node")).unwrap();
    }
    let refused = cluster::start(lone.settings()).await.err().unwrap();
    assert!(matches!(refused, StartError::LayoutsLost { .. }), "{refused}");
    for part in ["volume.json", "weft store layout recover"] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
    assert!(!lone.path("a/node").exists(), "nothing was written");

    let recovered = recover_layouts(&lone.settings()).await.unwrap();
    assert!(recovered.current.number > before.current.number + 1_000_000);
    assert_ne!(recovered.current.seed, before.current.seed);
    let node = lone.start().await;
    let store = node.store();
    assert_eq!(layouts(&store), recovered);
    assert!(
        story(&store)
            .await
            .iter()
            .any(|line| line.event == "volume-distrusted")
    );
    for volume in ["local/a", "local/b", "local/c"] {
        assert_eq!(state(&store, volume).await, VolumeState::Rebuilding);
    }
    // Before any object has moved, reads find objects that are not where the new layout expects
    // them.
    check_read(&store).await;
    repair(&store).await;
    check_whole(&store).await;
    for volume in ["local/a", "local/b", "local/c"] {
        assert_eq!(state(&store, volume).await, VolumeState::InService);
    }
    fill(&store).await;
    node.shutdown().await;
}

/// The volume that knows the layouts may only be away. Until it returns, they are not reported as
/// lost.
#[tokio::test(flavor = "multi_thread")]
async fn layouts_are_not_lost_while_a_volume_is_away() {
    let lone = Lone::filled(&["a", "b"]).await;
    std::fs::remove_dir_all(lone.path("a/node")).unwrap();
    std::fs::rename(lone.path("b"), lone.path("b-unmounted")).unwrap();
    let refused = cluster::start(lone.settings()).await.err().unwrap().to_string();
    assert!(refused.contains("b is absent"), "{refused}");
    let refused = recover_layouts(&lone.settings()).await.unwrap_err().to_string();
    assert!(refused.contains("b is absent"), "{refused}");
    assert!(!lone.path("b").exists(), "nothing was made");
    std::fs::rename(lone.path("b-unmounted"), lone.path("b")).unwrap();
    let node = lone.start().await;
    check_whole(&node.store()).await;
    node.shutdown().await;
}

/// In a cluster the other nodes know the layouts: a node that lost its own files takes them over.
/// If no other node answers, the error names the nodes to start.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lost_its_layouts_asks_the_others() {
    let files = crate::nodes::Files::new(3, 1, 2);
    let nodes = files.start_all().await;
    fill(&nodes[0].store()).await;
    let before = layouts(&nodes[0].store());
    for node in nodes {
        node.shutdown().await;
    }
    std::fs::remove_dir_all(files.volume("n1", "d1").join("node")).unwrap();
    let refused = cluster::start(files.settings("n1"))
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("Start another node first"), "{refused}");
    let second = files.start("n2").await;
    let refused = recover_layouts(&files.settings("n1"))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("node n2 has layout 1"), "{refused}");
    let first = files.start("n1").await;
    assert_eq!(layouts(&first.store()), before);
    check_read(&first.store()).await;
    first.shutdown().await;
    second.shutdown().await;
}

/// A scrub that has finished is not due again for weeks, even after a restart, and even after the
/// first volume and the files on it were replaced.
#[tokio::test(flavor = "multi_thread")]
async fn a_scrub_does_not_begin_anew_after_a_restart() {
    let lone = Lone::filled(&["a", "b"]).await;
    let node = cluster::start(lone.served()).await.unwrap();
    until("both scrubs end", async || {
        scrubs(&node)
            .iter()
            .all(|scrub| scrub.last_pass_ms.is_some() && scrub.state == WorkerState::Idle)
    })
    .await;
    let before = passes(&node);
    node.shutdown().await;
    for wiped in [false, true] {
        if wiped {
            wipe(&lone.path("a"));
        }
        let node = cluster::start(lone.served()).await.unwrap();
        until("the node has looked at everything", async || {
            let statuses = node.workers().unwrap().statuses();
            statuses
                .iter()
                .any(|worker| worker.name == "reconcile" && worker.last_pass_ms.is_some())
        })
        .await;
        assert_eq!(passes(&node), before, "wiped: {wiped}");
        assert!(
            scrubs(&node).iter().all(|scrub| scrub.bytes == 0),
            "wiped: {wiped}"
        );
        node.shutdown().await;
    }
}

fn scrubs(node: &cluster::RunningNode) -> Vec<store_protocol::WorkerStatus> {
    let statuses = node.workers().unwrap().statuses();
    let scrubs = statuses
        .into_iter()
        .filter(|worker| worker.name.starts_with("scrub"));
    scrubs.collect()
}

fn passes(node: &cluster::RunningNode) -> Vec<Option<u64>> {
    scrubs(node).iter().map(|scrub| scrub.last_pass_ms).collect()
}
