//! Unreachable nodes: objects stay readable while they are reachable themselves, and no client
//! gains a permission.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use cluster::{NodeSettings, RunningNode, Secret};
use s3::Settings;
use store::{Key, ReadMode, Store};
use tempfile::TempDir;

use crate::sign::Ask;
use crate::support::ADMIN;

/// No user has `own` in `plain-*`, so the keys file alone decides there.
const KEYS: &str = r#"
    [keys.ADMIN]
    secret = "admin-secret-0123456789"
    rights = { "*" = ["read", "write", "list", "delete"], "own-*" = ["own"] }

    [keys.READER]
    secret = "secret-of-READER"
    user = "reader"
    rights = { "*" = ["read"] }

    [keys.STRANGER]
    secret = "secret-of-STRANGER"
    user = "stranger"
    rights = { "own-*" = ["own"] }
"#;

const READER: (&str, &str) = ("READER", "secret-of-READER");
const STRANGER: (&str, &str) = ("STRANGER", "secret-of-STRANGER");

/// In the buckets with an odd number, a policy denies reads by READER.
const BUCKETS: [&str; 8] = [
    "own-0", "own-1", "own-2", "own-3", "own-4", "own-5", "plain-6", "plain-7",
];
const OBJECTS: usize = 6;

struct Cluster {
    dir: TempDir,
    nodes: Vec<RunningNode>,
}

impl Cluster {
    /// Starts three nodes of one volume each.
    async fn start(copies: u8) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let held = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = held.map(|listener| listener.local_addr().unwrap());
        let mut file = format!("replicas = {copies}\nseed = 7\n");
        for (i, address) in addresses.iter().enumerate() {
            writeln!(
                file,
                "[[node]]\nid = \"n{i}\"\nzone = \"z{i}\"\naddress = \"{address}\"\n[[node.volume]]\nname = \"d\""
            )
            .unwrap();
        }
        std::fs::write(dir.path().join("cluster.toml"), file).unwrap();
        std::fs::write(dir.path().join("keys.toml"), KEYS).unwrap();
        Secret::of_file(&dir.path().join("secret")).unwrap();
        let mut nodes = Vec::new();
        for (i, address) in addresses.iter().enumerate() {
            nodes.push(start(dir.path(), i, *address).await);
        }
        Self { dir, nodes }
    }

    async fn server(&self, store: Store) -> s3::Running {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = Settings::new(any_port, self.dir.path().join("keys.toml"));
        s3::serve(settings, store).await.unwrap()
    }
}

async fn start(dir: &Path, i: usize, address: SocketAddr) -> RunningNode {
    let toml = dir.join(format!("n{i}.toml"));
    let text = format!(
        "id = \"n{i}\"\nlisten = \"{address}\"\ncluster = \"cluster.toml\"\nsecret = \"secret\"\n\
         [[volume]]\nname = \"d\"\npath = \"n{i}\"\n"
    );
    std::fs::write(&toml, text).unwrap();
    let mut settings = NodeSettings::read(&toml).unwrap();
    settings.upkeep = None;
    cluster::start(settings).await.unwrap()
}

async fn status(server: &s3::Running, ask: Ask<'_>) -> u16 {
    let answer = ask.send(server.address()).await;
    assert!(
        answer.status != 200 || answer.body == b"content",
        "{}",
        answer.text()
    );
    answer.status
}

async fn fill(server: &s3::Running) {
    for (number, bucket) in BUCKETS.into_iter().enumerate() {
        let mut puts = vec![(format!("/{bucket}"), String::new())];
        puts.extend((0..OBJECTS).map(|i| (format!("/{bucket}/{i}"), "content".to_owned())));
        if bucket.starts_with("own") && number % 2 == 1 {
            let policy = format!(
                r#"{{"Statement": [{{"Effect": "Deny", "Principal": {{"AWS": "arn:aws:iam:::user/reader"}},
                    "Action": "s3:GetObject", "Resource": "arn:aws:s3:::{bucket}/*"}}]}}"#
            );
            puts.push((format!("/{bucket}?policy"), policy));
        }
        for (target, body) in puts {
            let ask = Ask {
                body: body.as_bytes(),
                ..Ask::new("PUT", &target)
            };
            let answer = ask.send(server.address()).await;
            assert!(matches!(answer.status, 200 | 204), "{target}: {}", answer.text());
        }
    }
}

/// Compares the status of reading every object through the server with what the store can read: the
/// object, and the record of its bucket.
async fn check(server: &s3::Running, store: &Store, reading: ReadMode, remembers: bool) {
    let store = store.with_read_mode(reading);
    let header: &[(&str, &str)] = match reading {
        ReadMode::Any => &[("x-weft-read", "any")],
        ReadMode::Current => &[],
    };
    let mut counted: BTreeMap<(bool, bool), usize> = BTreeMap::new();
    for (number, bucket) in BUCKETS.into_iter().enumerate() {
        let record = Key::parse(&format!(".s3/buckets/{bucket}")).unwrap();
        let reached = store.with_read_mode(ReadMode::Any).head(&record).await.is_ok();
        let known = remembers || reached || bucket.starts_with("plain");
        let denied = bucket.starts_with("own") && number % 2 == 1;
        for i in 0..OBJECTS {
            let target = format!("/{bucket}/{i}");
            let object = store.head(&Key::parse(&target[1..]).unwrap()).await.is_ok();
            *counted.entry((known, object)).or_default() += 1;
            let expected = if known && object { 200 } else { 503 };
            for (key, method) in [(ADMIN, "GET"), (ADMIN, "HEAD"), (READER, "GET")] {
                let ask = Ask {
                    key,
                    unsigned: header,
                    ..Ask::new(method, &target)
                };
                let found = match method {
                    "HEAD" => head(server, ask).await,
                    _ => status(server, ask).await,
                };
                let is_right = if key == READER && denied {
                    matches!(found, 403 | 503)
                } else {
                    found == expected
                };
                assert!(
                    is_right,
                    "{reading:?} {method} {target} by {}: {found}, not {expected}",
                    key.0
                );
            }
            let stranger = Ask {
                key: STRANGER,
                unsigned: header,
                ..Ask::new("GET", &target)
            };
            assert!(matches!(status(server, stranger).await, 403 | 503), "{target}");
        }
        // Writes need the current record.
        let target = format!("/{bucket}/new");
        let put = Ask {
            body: b"content",
            ..Ask::new("PUT", &target)
        };
        if !reached {
            assert_eq!(status(server, put).await, 503, "{bucket}");
        }
    }
    assert!(
        counted.contains_key(&(true, true)) && counted.contains_key(&(true, false)),
        "{counted:?}"
    );
    assert!(remembers || counted.contains_key(&(false, true)), "{counted:?}");
}

/// Returns the status of a HEAD, whose response declares a length but has no body.
async fn head(server: &s3::Running, ask: Ask<'_>) -> u16 {
    let (bytes, ..) = ask.by_header(server.address());
    let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes)
        .await
        .unwrap();
    let mut line = [0; 12];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut line)
        .await
        .unwrap();
    String::from_utf8_lossy(&line[9..]).parse().unwrap()
}

/// Two of three nodes are down, with two copies, so the current version is unknown. A client that
/// accepts any version gets the newest reachable one if the bucket's permissions, as last known,
/// allow it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_version_is_read_under_the_rights_last_known() {
    let mut cluster = Cluster::start(2).await;
    let store = cluster.nodes[0].store();
    let server = cluster.server(store.clone()).await;
    fill(&server).await;
    for node in cluster.nodes.split_off(1) {
        node.shutdown().await;
    }
    check(&server, &store, ReadMode::Any, true).await;
    let begun_since = cluster.server(Store::new(store.cluster().clone())).await;
    check(&begun_since, &store, ReadMode::Any, false).await;
    for server in [server, begun_since] {
        server.shutdown().await;
    }
    for node in cluster.nodes {
        node.shutdown().await;
    }
}

/// One of three nodes is down, with one copy. Objects on the other nodes can be read. This includes
/// buckets whose record is unreachable, if the record is known from before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_read_while_the_record_of_their_bucket_is_away() {
    let mut cluster = Cluster::start(1).await;
    let store = cluster.nodes[0].store();
    let server = cluster.server(store.clone()).await;
    fill(&server).await;
    cluster.nodes.remove(1).shutdown().await;
    check(&server, &store, ReadMode::Current, true).await;
    let begun_since = cluster.server(Store::new(store.cluster().clone())).await;
    check(&begun_since, &store, ReadMode::Current, false).await;
    for server in [server, begun_since] {
        server.shutdown().await;
    }
    for node in cluster.nodes {
        node.shutdown().await;
    }
}
