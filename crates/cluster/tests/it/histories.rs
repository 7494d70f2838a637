//! Histories of several clients over nodes in processes, one of which at a time is killed or
//! stopped. One register per key explains each history, and once everything works again all nodes
//! return the same.
//!
//! `WEFT_TEST_HISTORIES` sets their number. No seed can replay how the processes interleave.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cluster::Connection;
use futures_util::future::join_all;
use futures_util::{TryStreamExt as _, stream};
use parking_lot::Mutex;
use rand::RngExt as _;
use store::{List, Put, Store, StoreError};
use store_protocol::{Condition, Key};
use store_testkit::linear::{Answer, Event, RegisterRequest, Value, When, is_linearizable};

use crate::nodes::Files;
use crate::process::Process;

const NODES: usize = 3;
const CLIENTS: usize = 4;
const OPERATIONS: usize = 14;

/// The operations of the clients of one history.
struct History {
    keys: [Key; 2],
    ticks: AtomicU64,
    values: AtomicU64,
    etags: Mutex<HashMap<String, Value>>,
    events: Mutex<Vec<(usize, Event)>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_over_processes_can_be_explained() {
    let given = std::env::var("WEFT_TEST_HISTORIES").ok();
    let histories = given.and_then(|text| text.parse().ok()).unwrap_or(4);
    let files = Files::new(NODES, 2, 2);
    cluster::Secret::of_file(&files.path().join("secret")).unwrap();
    let mut processes: Vec<_> = std::thread::scope(|scope| {
        let tomls = files.nodes.iter().map(|node| files.toml(node));
        let starting: Vec<_> = tomls
            .map(|toml| scope.spawn(move || Process::start_idle(&toml)))
            .collect();
        starting
            .into_iter()
            .map(|process| process.join().unwrap())
            .collect()
    });
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(files.client().await);
    }
    let stores: Vec<_> = clients.iter().map(Connection::store).collect();
    let (mut operations, mut unknown) = (0, 0);
    for number in 0..histories {
        let history = History::new(number);
        let work = join_all(stores.iter().map(|store| history.client(store)));
        let victim = rand::random_range(0..NODES);
        let (_, process) = tokio::join!(work, misfortune(processes.swap_remove(victim)));
        processes.push(process);
        for store in &stores {
            for at in 0..history.keys.len() {
                while history.get(store, at).await.is_none() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        let events = history.events.into_inner();
        for at in 0..history.keys.len() {
            let of_key: Vec<_> = events
                .iter()
                .filter(|(key, _)| *key == at)
                .map(|(_, event)| *event)
                .collect();
            assert!(
                is_linearizable(&of_key),
                "history {number} of key {at}: {of_key:#?}"
            );
        }
        operations += events.len();
        unknown += events
            .iter()
            .filter(|(_, event)| event.answer == Answer::Unknown)
            .count();
    }
    println!("{histories} histories, {operations} operations, {unknown} of them without an answer");
    for client in clients {
        client.close().await;
    }
}

/// Kills or stops a node, and brings it back.
async fn misfortune(mut process: Process) -> Process {
    let pause = async || tokio::time::sleep(Duration::from_millis(rand::random_range(20..400))).await;
    pause().await;
    if rand::random() {
        process.kill();
        pause().await;
        tokio::task::spawn_blocking(move || {
            process.restart();
            process
        })
        .await
        .unwrap()
    } else {
        process.stop();
        // Long enough for the node to be given up, or not.
        tokio::time::sleep(Duration::from_millis(
            *[300, 5000].get(usize::from(rand::random::<bool>())).unwrap(),
        ))
        .await;
        process.cont();
        process
    }
}

impl History {
    fn new(number: usize) -> Self {
        Self {
            keys: ["a", "b"].map(|name| Key::new("h", &format!("{number}/{name}")).unwrap()),
            ticks: AtomicU64::new(0),
            values: AtomicU64::new(0),
            etags: Mutex::default(),
            events: Mutex::default(),
        }
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn begin(&self, at: usize, asked: RegisterRequest) -> usize {
        let event = Event {
            asked,
            answer: Answer::Unknown,
            begun: self.tick(),
            ended: u64::MAX,
        };
        let mut events = self.events.lock();
        events.push((at, event));
        events.len() - 1
    }

    fn end(&self, index: usize, answer: Answer) {
        let tick = self.tick();
        let event = &mut self.events.lock()[index].1;
        (event.answer, event.ended) = (answer, tick);
    }

    async fn client(&self, store: &Store) {
        let mut seen = [0; 2];
        for _ in 0..OPERATIONS {
            tokio::time::sleep(Duration::from_millis(rand::random_range(0..60))).await;
            let at = rand::random_range(0..2);
            let is_seen = self
                .etags
                .lock()
                .iter()
                .find(|(_, value)| **value == seen[at])
                .map(|(etag, _)| etag.clone());
            let is_seen = Condition::Etag(is_seen.unwrap_or_default());
            match rand::rng().random_range(0..10) {
                0..=2 => self.put(store, at, When::Always, Condition::Always).await,
                3 => self.put(store, at, When::Absent, Condition::Absent).await,
                4 => self.put(store, at, When::Is(seen[at]), is_seen).await,
                5 => self.delete(store, at).await,
                6 => self.list(store).await,
                _ => seen[at] = self.get(store, at).await.unwrap_or(seen[at]),
            }
        }
    }

    fn wrote<T>(&self, index: usize, outcome: Result<Option<T>, StoreError>) {
        let answer = match outcome {
            Ok(Some(_)) => Answer::Written,
            Ok(None) => Answer::Nothing,
            Err(StoreError::Condition { current, .. }) => {
                Answer::Refused(current.map_or(0, |etag| self.etags.lock()[&etag]))
            }
            Err(_) => Answer::Unknown,
        };
        self.end(index, answer);
    }

    async fn put(&self, store: &Store, at: usize, when: When, condition: Condition) {
        let value = 1 + self.values.fetch_add(1, Ordering::SeqCst) as Value;
        let content = Bytes::from(value.to_string());
        let etag = data_encoding::HEXLOWER.encode(&digests::Md5::of(&content));
        self.etags.lock().insert(etag, value);
        let index = self.begin(at, RegisterRequest::Write { value, when });
        let put = Put {
            condition,
            ..Put::default()
        };
        let body = Box::pin(stream::iter([Ok(content)]));
        self.wrote(index, store.put(&self.keys[at], body, put).await.map(Some));
    }

    async fn delete(&self, store: &Store, at: usize) {
        let when = When::Always;
        let index = self.begin(at, RegisterRequest::Write { value: 0, when });
        self.wrote(index, store.delete(&self.keys[at], Condition::Always).await);
    }

    async fn get(&self, store: &Store, at: usize) -> Option<Value> {
        let index = self.begin(at, RegisterRequest::Read);
        let value = match store.get(&self.keys[at], None).await {
            Ok(object) => {
                let pieces: Vec<Bytes> = object.body.try_collect().await.ok()?;
                String::from_utf8(pieces.concat()).unwrap().parse().unwrap()
            }
            Err(StoreError::NotFound(_)) => 0,
            Err(_) => return None,
        };
        self.end(index, Answer::Found(value));
        Some(value)
    }

    async fn list(&self, store: &Store) {
        let indexes = [0, 1].map(|at| self.begin(at, RegisterRequest::Read));
        let prefix = self.keys[0].as_str().trim_end_matches('a').to_owned();
        let list = List {
            prefix,
            limit: 10,
            ..List::default()
        };
        let Ok(page) = store.list(&list).await else { return };
        for (at, index) in indexes.into_iter().enumerate() {
            let found = page.objects.iter().find(|meta| meta.key == self.keys[at]);
            let value = found.map_or(0, |meta| self.etags.lock()[&meta.etag]);
            self.end(index, Answer::Found(value));
        }
    }
}
