//! Layouts of a running cluster: proposed, applied, and learnt by nodes that were away.

use std::collections::BTreeMap;

use cluster::{ApplyError, RunningNode, apply_layout};
use placement::{Layouts, Roles};
use store::{LayoutTag, List, Listing, StoreError, announce};
use store_protocol::{Key, NodeError, VolumeError, VolumeId};

use crate::nodes::{Files, seen, volume};

fn layouts(node: &RunningNode) -> Layouts {
    seen(&node.store()).topology().layouts.clone()
}

/// Returns the same roles with another weight for one volume.
fn weighted(roles: &Roles, volume: usize, weight: u32) -> Roles {
    let mut roles = roles.clone();
    roles.volumes[volume].weight = weight;
    roles
}

async fn end(nodes: Vec<RunningNode>) {
    for node in nodes {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_make_the_same_first_layout() {
    let files = Files::new(3, 2, 2);
    let nodes = files.start_all().await;
    let first = layouts(&nodes[0]);
    assert_eq!((first.current.number, first.older.len()), (1, 0));
    assert_eq!(
        (first.current.roles.nodes.len(), first.current.roles.volumes.len()),
        (3, 6)
    );
    assert!(
        nodes
            .iter()
            .all(|node| layouts(node) == first && node.unplaced().is_empty())
    );
    end(nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_is_in_force_everywhere_and_survives_restarts() {
    let files = Files::new(3, 1, 2);
    let nodes = files.start_all().await;
    let first = layouts(&nodes[0]).current;
    let roles = weighted(&first.roles, 1, 5);
    let applied = apply_layout(&seen(&nodes[0].store()), roles.clone())
        .await
        .unwrap();
    assert_eq!(applied.current.number, 2);
    assert_eq!((&applied.current.roles, &applied.older), (&roles, &vec![first]));
    assert!(nodes.iter().all(|node| layouts(node) == applied));
    // Applying the same roles again changes nothing.
    assert_eq!(
        apply_layout(&seen(&nodes[1].store()), roles).await.unwrap(),
        applied
    );
    end(nodes).await;
    let nodes = files.start_all().await;
    assert!(nodes.iter().all(|node| layouts(node) == applied));
    // The older layout goes out of force without a new number.
    let done = Layouts {
        older: Vec::new(),
        ..applied
    };
    announce(&seen(&nodes[2].store()), &done).await;
    assert!(nodes.iter().all(|node| layouts(node) == done));
    end(nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_away_learns_by_asking_and_by_being_asked() {
    for asks in [true, false] {
        let files = Files::new(3, 1, 2);
        let mut nodes = files.start_all().await;
        let away = nodes.pop().unwrap();
        away.shutdown().await;
        let roles = weighted(&layouts(&nodes[0]).current.roles, 0, 3);
        let applied = apply_layout(&seen(&nodes[0].store()), roles).await.unwrap();
        let back = files.start("n3").await;
        assert_eq!(layouts(&back).current.number, 1);
        let (from, to) = if asks {
            (&back, "n1/d1")
        } else {
            (&nodes[0], "n3/d1")
        };
        let key = Key::parse("b/x").unwrap();
        let topology = seen(&from.store()).topology();
        let error = volume(&topology, to).head(&key).await.unwrap_err();
        let numbers = if asks { (1, 2) } else { (2, 1) };
        match error {
            VolumeError::OtherLayout { ours, theirs, .. } => assert_eq!((ours, theirs), numbers),
            other => panic!("{other:?}"),
        }
        assert_eq!(layouts(&back), applied, "asks: {asks}");
        let topology = seen(&from.store()).topology();
        volume(&topology, to).head(&key).await.unwrap();
        nodes.push(back);
        end(nodes).await;
    }
}

/// A topology that was taken before a change uses the old layout, even if its process has learnt
/// the new one meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_view_is_refused_also_when_its_process_knows_better() {
    let files = Files::new(2, 1, 2);
    let nodes = files.start_all().await;
    let old = seen(&nodes[0].store()).topology();
    let roles = weighted(&old.layouts.current.roles, 0, 3);
    apply_layout(&seen(&nodes[0].store()), roles).await.unwrap();
    let key = Key::parse("b/x").unwrap();
    let error = volume(&old, "n2/d1").head(&key).await.unwrap_err();
    assert!(
        matches!(
            error,
            VolumeError::OtherLayout {
                ours: 1,
                theirs: 2,
                ..
            }
        ),
        "{error:?}"
    );
    end(nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_nothing_changes() {
    let files = Files::new(3, 1, 2);
    let mut nodes = files.start_all().await;
    let first = layouts(&nodes[0]);
    for node in nodes.split_off(1) {
        node.shutdown().await;
    }
    let roles = weighted(&first.current.roles, 0, 3);
    let error = apply_layout(&seen(&nodes[0].store()), roles).await.unwrap_err();
    assert!(
        matches!(
            error,
            ApplyError::NoMajority {
                accepted: 1,
                nodes: 3,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(layouts(&nodes[0]), first);
    end(nodes).await;
}

/// A layout that a majority has accepted may have been used by some process, although no node here
/// has it in force, so reads look into it. One that only a minority accepted, while the others have
/// moved on, cannot have been used.
#[tokio::test(flavor = "multi_thread")]
async fn a_half_done_change_becomes_an_older_layout_if_it_can_be_in_force() {
    for holders in [1, 2] {
        let files = Files::new(3, 1, 2);
        let nodes = files.start_all().await;
        let first = layouts(&nodes[0]).current;
        let topology = seen(&nodes[0].store()).topology();
        let mut half_done = first.clone();
        half_done.number = 2;
        half_done.roles = weighted(&first.roles, 0, 9);
        let mut other = half_done.clone();
        other.roles = weighted(&first.roles, 0, 8);
        for node in &first.roles.nodes[..holders] {
            let node = &topology.nodes[&node.id];
            node.propose(&half_done).await.unwrap();
            node.propose(&half_done).await.unwrap();
            let refused = node.propose(&other).await.unwrap_err();
            assert!(matches!(refused, NodeError::LayoutRefused { .. }), "{refused:?}");
        }
        let roles = weighted(&first.roles, 1, 3);
        let applied = apply_layout(&seen(&nodes[2].store()), roles).await.unwrap();
        assert_eq!(applied.current.number, 3);
        let older = if holders == 2 {
            vec![half_done, first]
        } else {
            vec![first]
        };
        assert_eq!(applied.older, older);
        end(nodes).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_left_never_comes_back_under_its_name() {
    let files = Files::new(2, 2, 2);
    let nodes = files.start_all().await;
    let cluster = seen(&nodes[0].store());
    let before = layouts(&nodes[0]).current.roles;
    let mut without = before.clone();
    let gone = without.volumes.remove(0).id;
    let applied = apply_layout(&cluster, without).await.unwrap();
    assert_eq!(applied.current.roles.retired.iter().collect::<Vec<_>>(), [&gone]);
    let error = apply_layout(&cluster, before).await.unwrap_err();
    assert!(
        matches!(&error, ApplyError::Roles(detail) if detail.contains(&*gone.0)),
        "{error:?}"
    );
    end(nodes).await;
}

/// Two operators apply different roles at the same time, again and again. Whatever the outcome for
/// each: no node ever sees two layouts of one number, and in the end all nodes have the same.
#[tokio::test(flavor = "multi_thread")]
async fn two_appliers_never_make_two_layouts_of_one_number() {
    let files = Files::new(5, 1, 2);
    let nodes = files.start_all().await;
    let mut seen_tags: BTreeMap<u64, LayoutTag> = BTreeMap::new();
    let mut note = |layouts: &Layouts| {
        for layout in std::iter::once(&layouts.current).chain(&layouts.older) {
            let tag = LayoutTag::of(layout);
            assert_eq!(
                *seen_tags.entry(layout.number).or_insert(tag),
                tag,
                "layout {}",
                layout.number
            );
        }
    };
    let mut applied = 0;
    for round in 0..12_u32 {
        let base = layouts(&nodes[0]).current.roles;
        let apply = |by: usize, volume: usize| {
            let cluster = seen(&nodes[by].store());
            let roles = weighted(&base, volume, 2 + round);
            async move { apply_layout(&cluster, roles).await }
        };
        let (one, two) = tokio::join!(apply(0, 1), apply(3, 2));
        for outcome in [&one, &two] {
            match outcome {
                Ok(layouts) => {
                    applied += 1;
                    note(layouts);
                }
                Err(ApplyError::NoMajority { .. } | ApplyError::Overtaken { .. }) => {}
                Err(other) => panic!("round {round}: {other}"),
            }
        }
        nodes.iter().for_each(|node| note(&layouts(node)));
    }
    // Once only one applies, it succeeds, and then all agree.
    let last = loop {
        let base = layouts(&nodes[4]).current.roles;
        match apply_layout(&seen(&nodes[4].store()), weighted(&base, 0, 99)).await {
            Ok(layouts) => break layouts,
            Err(ApplyError::Overtaken { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    };
    assert!(
        nodes.iter().all(|node| layouts(node) == last),
        "{applied} were applied"
    );
    end(nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_node_takes_over_the_layouts_of_the_others() {
    let files = Files::new(3, 1, 2);
    let (first, second) = (files.start("n1").await, files.start("n2").await);
    let roles = weighted(&layouts(&first).current.roles, 0, 3);
    let applied = apply_layout(&seen(&first.store()), roles).await.unwrap();
    let third = files.start("n3").await;
    assert_eq!(layouts(&third), applied);
    assert_eq!(third.status().await.layout, 2);
    end(vec![first, second, third]).await;
}

/// A process that is not a node is not notified when a layout change has ended: it asks when it is
/// in doubt.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_does_not_wait_for_ever_for_volumes_that_left() {
    let files = Files::new(4, 1, 2);
    let mut nodes = files.start_all().await;
    let (client, cluster) = (files.client().await, seen(&nodes[0].store()));
    let absent = async || {
        for i in 0..20 {
            let key = Key::parse(&format!("b/{i}")).unwrap();
            let error = client.store().head(&key).await.unwrap_err();
            assert!(matches!(error, StoreError::NotFound(_)), "{error}");
        }
        let list = List {
            prefix: "b/".to_owned(),
            limit: 10,
            ..List::default()
        };
        assert_eq!(client.store().list(&list).await.unwrap(), Listing::default());
    };
    let mut roles = layouts(&nodes[0]).current.roles;
    roles.nodes.truncate(2);
    roles.volumes.truncate(2);
    let applied = apply_layout(&cluster, roles).await.unwrap();
    absent().await;
    assert_eq!(seen(&client.store()).topology().layouts, applied);
    let done = Layouts {
        older: Vec::new(),
        ..applied
    };
    announce(&cluster, &done).await;
    end(nodes.split_off(2)).await;
    absent().await;
    client.close().await;
    end(nodes).await;
}

/// A directory that is in no layout is opened, holds nothing, and is reported.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_in_no_layout_is_named() {
    let files = Files::new(1, 1, 1);
    files.start("n1").await.shutdown().await;
    let mut settings = files.settings("n1");
    let mut more = cluster::VolumeSettings::at(files.path().join("more"));
    more.name = Some("d2".to_owned());
    settings.volumes.push(more);
    let node = cluster::start(settings).await.unwrap();
    assert_eq!(node.unplaced(), [VolumeId::from("n1/d2".to_owned())]);
    node.shutdown().await;
}
