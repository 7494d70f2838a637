//! The table of docs/store/availability.md, row by row, with real processes on loopback ports.
//!
//! For each row, as many nodes or zones are killed as it says, and each kind of operation is done
//! through every remaining node and through a client that is not a node. "waits" means a 503
//! response, and success once the nodes are back.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use cluster::{ConnectSettings, Connection};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use store::{Complete, List, Put, ReadMode, Store, StoreError, Timeouts};
use store_protocol::{ByteStream, Condition, Key};
use tempfile::TempDir;

use crate::nodes::free_addresses;
use crate::process::Process;

/// One row of the table.
#[derive(Clone, Copy)]
struct Row {
    copies: u8,
    /// The zone of each node.
    zones: &'static [&'static str],
    /// Nodes that are away.
    away: &'static [usize],
    reads: Outcome,
    writes: Outcome,
}

/// The outcome in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// Keys without a copy on an absent node are answered, the others wait.
    Partly,
    Waits,
}

use Outcome::{Answered, Partly, Waits};

const ROWS: [Row; 10] = [
    Row {
        copies: 1,
        zones: &["a", "b", "c"],
        away: &[2],
        reads: Partly,
        writes: Partly,
    },
    // Two copies on two machines: a write needs both.
    Row {
        copies: 2,
        zones: &["a", "b"],
        away: &[1],
        reads: Answered,
        writes: Waits,
    },
    Row {
        copies: 2,
        zones: &["a", "b", "c"],
        away: &[0],
        reads: Answered,
        writes: Answered,
    },
    Row {
        copies: 2,
        zones: &["a", "b", "c"],
        away: &[0, 1],
        reads: Waits,
        writes: Waits,
    },
    Row {
        copies: 2,
        zones: &["a", "b", "c", "d", "e"],
        away: &[0, 1],
        reads: Partly,
        writes: Partly,
    },
    Row {
        copies: 3,
        zones: &["a", "b", "c"],
        away: &[2],
        reads: Answered,
        writes: Waits,
    },
    Row {
        copies: 3,
        zones: &["a", "b", "c", "d"],
        away: &[0],
        reads: Answered,
        writes: Answered,
    },
    Row {
        copies: 3,
        zones: &["a", "b", "c", "d", "e"],
        away: &[1, 3],
        reads: Answered,
        writes: Answered,
    },
    // A zone of two machines is one failure if there are enough zones.
    Row {
        copies: 2,
        zones: &["a", "a", "b", "b", "c", "c"],
        away: &[2, 3],
        reads: Answered,
        writes: Answered,
    },
    Row {
        copies: 2,
        zones: &["a", "a", "b", "b"],
        away: &[0, 1],
        reads: Answered,
        writes: Waits,
    },
];

/// Objects written before any node goes away. There are enough for most deciders to get one.
const OBJECTS: usize = 12;

/// A cluster of processes with two volumes each.
struct Cluster {
    dir: TempDir,
    processes: Vec<Process>,
    zones: &'static [&'static str],
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_of_docs_store_md_is_true() {
    for row in ROWS {
        let Row {
            copies, zones, away, ..
        } = row;
        let told = format!("{copies} copies on nodes of zones {zones:?}, without {away:?}");
        let mut cluster = Cluster::start(copies, zones);
        let client = cluster.client().await;
        let store = patient(&client);
        for i in 0..OBJECTS {
            put(&store, &key("old", i), "1", Condition::Always).await.unwrap();
        }
        // A write answered with 503 may take effect once the nodes are back.
        put(&store, &key("doubtful", 0), "1", Condition::Always)
            .await
            .unwrap();
        for node in away {
            cluster.processes[*node].kill();
        }
        check(&store, row, &told).await;
        for node in away {
            cluster.processes[*node].restart();
        }
        let whole = Row {
            reads: Answered,
            writes: Answered,
            ..row
        };
        check(&store, whole, &format!("{told}, which are back")).await;
        client.close().await;
    }
}

/// One of the three machines of docs/store/cluster.md is killed during a thousand operations of
/// every kind. No operation is refused.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_machines_is_killed_and_nothing_is_refused() {
    let mut cluster = Cluster::start(2, &["a", "b", "c"]);
    let client = cluster.client().await;
    let store = client.store();
    let work = async |from: usize, to: usize| {
        let rounds = (from..to).map(|i| {
            let store = store.clone();
            async move { every_kind(&store, i).await }
        });
        let rounds: Vec<_> = rounds.collect();
        stream::iter(rounds.into_iter().map(Ok::<_, StoreError>))
            .try_for_each_concurrent(8, |round| round)
            .await
            .unwrap();
    };
    work(0, 20).await;
    let killed = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        cluster.processes[1].kill();
        cluster
    });
    work(20, 85).await;
    let cluster = tokio::task::block_in_place(|| killed.join().unwrap());
    work(85, 100).await;
    client.close().await;
    drop(cluster);
}

/// Does a dozen operations on separate keys, and checks what the client sees of each.
async fn every_kind(store: &Store, i: usize) -> Result<(), StoreError> {
    let (one, other, parts) = (key("one", i), key("other", i), key("parts", i));
    assert!(matches!(store.head(&one).await, Err(StoreError::NotFound(_))));
    put(store, &one, "1", Condition::Absent).await?;
    put(store, &one, "2", Condition::Always).await?;
    assert_eq!(get(store, &one).await?, "2");
    let refused = put(store, &one, "3", Condition::Absent).await;
    assert!(
        matches!(refused, Err(StoreError::Condition { .. })),
        "{refused:?}"
    );
    store.copy(&one, &other, None, Condition::Always).await?;
    assert_eq!(get(store, &other).await?, "2");
    upload(store, &parts).await?;
    assert_eq!(get(store, &parts).await?, "parts");
    let found = list(store, &format!("b/{i:03}")).await?;
    assert_eq!(found, [one.as_str(), other.as_str(), parts.as_str()]);
    assert!(store.delete(&one, Condition::Always).await?.is_some());
    assert!(matches!(store.head(&one).await, Err(StoreError::NotFound(_))));
    assert!(store.delete(&one, Condition::Always).await?.is_none());
    Ok(())
}

/// Checks that some objects can be read and written, and that for the others both reads and writes
/// wait. A listing waits.
async fn check_partly(store: &Store, told: &str) {
    // All at once, because those that wait wait for as long as the client does.
    let asked = (0..OBJECTS).map(|i| async move {
        let old = key("old", i);
        let read = get(store, &old).await;
        let written = put(store, &old, "1", Condition::Always).await;
        (old, read, written)
    });
    let mut answered = 0;
    for (old, read, written) in join_all(asked).await {
        match (read, written) {
            (Ok(found), Ok(())) => {
                assert_eq!(found, "1", "{told}");
                answered += 1;
            }
            (Err(StoreError::Unavailable { .. }), Err(StoreError::Unavailable { .. })) => {}
            other => panic!("{told}: {old}: {other:?}"),
        }
    }
    assert!((1..OBJECTS).contains(&answered), "{told}: {answered}");
    let listed = list(store, "b/").await;
    assert!(
        matches!(listed, Err(StoreError::Unavailable { .. })),
        "{told}: {listed:?}"
    );
}

/// Checks that every kind of operation is answered or waits, as the row says.
async fn check(store: &Store, row: Row, told: &str) {
    let said = |what: &str, said: Outcome, outcome: Result<(), StoreError>| match (said, outcome) {
        (Answered, Ok(())) | (Waits, Err(StoreError::Unavailable { .. })) => true,
        (_, outcome) => panic!("{told}: {what}: expected {said:?}, found {outcome:?}"),
    };
    if (row.reads, row.writes) == (Partly, Partly) {
        return check_partly(store, told).await;
    }
    each_object(async |i| {
        let old = key("old", i);
        // If only some keys wait, the row describes all of them together, because a listing
        // includes them all.
        if row.reads == Answered {
            said(
                "read",
                Answered,
                get(store, &old).await.map(|found| assert_eq!(found, "1")),
            );
            let absent = store.head(&key("absent", i)).await;
            assert!(
                matches!(absent, Err(StoreError::NotFound(_))),
                "{told}: {absent:?}"
            );
        } else {
            let any = get(&store.with_read_mode(ReadMode::Any), &old).await;
            assert!(
                matches!(any, Err(StoreError::Unavailable { .. } | StoreError::Lost { .. }))
                    || any.unwrap() == "1",
                "{told}: any"
            );
        }
    })
    .await;
    said("list", row.reads, list(store, "b/").await.map(|_| ()));
    if row.writes == Answered {
        each_object(async |i| {
            let new = key("new", i);
            said("create", Answered, put(store, &new, "1", Condition::Absent).await);
            said(
                "overwrite",
                Answered,
                put(store, &new, "2", Condition::Always).await,
            );
            said(
                "copy",
                Answered,
                store
                    .copy(&new, &key("copied", i), None, Condition::Always)
                    .await
                    .map(|_| ()),
            );
            said("parts", Answered, upload(store, &key("parts", i)).await);
            said(
                "delete",
                Answered,
                store.delete(&new, Condition::Always).await.map(|_| ()),
            );
            store.delete(&key("copied", i), Condition::Always).await.unwrap();
            store.delete(&key("parts", i), Condition::Always).await.unwrap();
        })
        .await;
    } else {
        let (new, doubtful) = (key("new", 0), key("doubtful", 0));
        let (created, overwritten, deleted) = tokio::join!(
            put(store, &new, "1", Condition::Absent),
            put(store, &doubtful, "2", Condition::Always),
            store.delete(&doubtful, Condition::Always),
        );
        said("create", Waits, created);
        said("overwrite", Waits, overwritten);
        said("delete", Waits, deleted.map(|_| ()));
    }
}

/// Does some work for every object, for a few at the same time.
async fn each_object(work: impl AsyncFn(usize)) {
    stream::iter(0..OBJECTS).for_each_concurrent(4, |i| work(i)).await;
}

async fn upload(store: &Store, key: &Key) -> Result<(), StoreError> {
    let upload = store.create_multipart(key, Default::default()).await?;
    let mut parts = Vec::new();
    for (number, content) in [(1, "par"), (2, "ts")] {
        let meta = store
            .put_part(key, &upload.id, number, body(content), Put::default())
            .await?;
        parts.push((number, meta.etag));
    }
    assert_eq!(store.list_parts(key, &upload.id, 0, 10).await?.parts.len(), 2);
    let complete = Complete {
        parts,
        ..Complete::default()
    };
    store.complete_multipart(key, &upload.id, complete).await?;
    let given_up = store.create_multipart(key, Default::default()).await?;
    store.abort_multipart(key, &given_up.id).await
}

fn key(kind: &str, i: usize) -> Key {
    Key::new("b", &format!("{i:03}-{kind}")).unwrap()
}

fn body(content: &str) -> ByteStream {
    Box::pin(stream::iter([Ok(Bytes::copy_from_slice(content.as_bytes()))]))
}

async fn put(store: &Store, key: &Key, content: &str, condition: Condition) -> Result<(), StoreError> {
    let put = Put {
        condition,
        ..Put::default()
    };
    store.put(key, body(content), put).await.map(|_| ())
}

async fn get(store: &Store, key: &Key) -> Result<String, StoreError> {
    let object = store.get(key, None).await?;
    let pieces: Vec<Bytes> = object.body.try_collect().await.unwrap();
    Ok(String::from_utf8(pieces.concat()).unwrap())
}

async fn list(store: &Store, prefix: &str) -> Result<Vec<String>, StoreError> {
    let list = List {
        prefix: prefix.to_owned(),
        limit: 1000,
        ..List::default()
    };
    let page = store.list(&list).await?;
    Ok(page
        .objects
        .into_iter()
        .map(|meta| meta.key.as_str().to_owned())
        .collect())
}

/// Returns the client's store with short timeouts, because some operations cannot succeed.
fn patient(client: &Connection) -> Store {
    let timeouts = Timeouts {
        decide: Duration::from_millis(500),
        answer: Duration::from_secs(4),
        ..Timeouts::default()
    };
    Store::with_timeouts(client.store().cluster().clone(), timeouts)
}

impl Cluster {
    fn start(copies: u8, zones: &'static [&'static str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut file = format!("replicas = {copies}\nseed = 7\n");
        for (i, (zone, address)) in zones.iter().zip(free_addresses(zones.len())).enumerate() {
            let name = format!("n{i}");
            writeln!(
                file,
                "[[node]]\nid = {name:?}\nzone = {zone:?}\naddress = {address:?}"
            )
            .unwrap();
            let mut own = format!(
                "id = {name:?}\nlisten = {address:?}\ncluster = \"cluster.toml\"\nsecret = \"secret\"\n"
            );
            for volume in ["d1", "d2"] {
                writeln!(file, "[[node.volume]]\nname = {volume:?}").unwrap();
                writeln!(own, "[[volume]]\nname = {volume:?}\npath = \"{name}-{volume}\"").unwrap();
            }
            std::fs::write(dir.path().join(format!("{name}.toml")), own).unwrap();
        }
        std::fs::write(dir.path().join("cluster.toml"), file).unwrap();
        cluster::Secret::of_file(&dir.path().join("secret")).unwrap();
        let tomls: Vec<PathBuf> = (0..zones.len())
            .map(|i| dir.path().join(format!("n{i}.toml")))
            .collect();
        let processes = std::thread::scope(|scope| {
            let starting: Vec<_> = tomls
                .iter()
                .map(|toml| scope.spawn(|| Process::start_idle(toml)))
                .collect();
            starting
                .into_iter()
                .map(|process| process.join().unwrap())
                .collect()
        });
        Self {
            dir,
            processes,
            zones,
        }
    }

    async fn client(&self) -> Connection {
        assert_eq!(self.processes.len(), self.zones.len());
        let settings = ConnectSettings::Cluster {
            file: self.dir.path().join("cluster.toml"),
            secret: self.dir.path().join("secret"),
        };
        cluster::connect(settings).await.unwrap()
    }
}
