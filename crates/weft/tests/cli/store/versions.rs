//! Writing to a versioned bucket from the command line.

use std::convert::Infallible;

use cluster::{NodeSettings, VolumeSettings, start};
use store::{ListVersions, Store, Versioning};
use tokio::runtime::Runtime;

use super::TwoVolumes;

const SMALL: &str = "crawls/2014/small.txt";

/// Runs `what` on the store while no command runs.
fn within<T>(kept: &TwoVolumes, what: impl AsyncFnOnce(Store) -> T) -> T {
    let volumes = ["a", "b"].map(|name| VolumeSettings::at(kept.place.path(name)));
    Runtime::new().expect("threads").block_on(async {
        let settings = NodeSettings {
            upkeep: None,
            ..NodeSettings::of_volumes(volumes.to_vec())
        };
        let node = start(settings).await.expect("a node");
        let done = what(node.store()).await;
        node.shutdown().await;
        done
    })
}

/// Returns the sizes of the small object's versions, newest first; `None` for a delete marker.
fn sizes(kept: &TwoVolumes) -> Vec<Option<u64>> {
    within(kept, async |store| {
        let ask = ListVersions {
            bucket: "crawls".to_owned(),
            prefix: "2014/small".to_owned(),
            limit: 10,
            ..ListVersions::default()
        };
        let versions = store.list_versions(&ask).await.expect("a listing").versions;
        let size =
            |version: &store::ObjectVersion| (!version.is_delete_marker()).then_some(version.meta.size);
        versions.iter().map(size).collect()
    })
}

#[test]
fn what_is_put_over_or_removed_stays_as_a_version() {
    let kept = TwoVolumes::filled();
    within(&kept, async |store| {
        let enabled = store.change_bucket("crawls", |bucket| {
            let attributes = bucket.attributes.clone().into_iter();
            Ok::<_, Infallible>(attributes.chain([Versioning::Enabled.attribute()]).collect())
        });
        enabled.await.expect("a bucket").expect("a change");
    });
    kept.place.write("small.txt", b"other content");
    kept.good(&["put", "small.txt", "crawls/2014/"]);
    assert_eq!(sizes(&kept), [Some(13), Some(5)]);

    // A marker would only hide it, but the user is told about the hold.
    kept.good(&["hold", SMALL]);
    let run = kept.run(&["rm", SMALL]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("under a legal hold"), "{}", run.stderr);
    kept.place.write("small.txt", b"the third");
    kept.good(&["put", "small.txt", "crawls/2014/"]);
    let removed = &kept.json(&["rm", SMALL])[0];
    assert_eq!(removed["deleted"], SMALL, "{removed}");
    assert_eq!(
        removed["delete_marker"].as_str().map(str::len),
        Some(44),
        "{removed}"
    );
    assert_eq!(kept.run(&["stat", SMALL]).code, Some(1));
    assert_eq!(sizes(&kept), [None, Some(9), Some(13), Some(5)]);
}
