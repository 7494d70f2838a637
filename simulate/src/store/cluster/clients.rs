//! Clients that write, delete and read a few keys through any machine, and the history of the
//! results.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{TryStreamExt as _, stream};
use parking_lot::Mutex;
use store::{Put, Store, StoreError};
use store_protocol::{ByteStream, Condition, Key};
use store_testkit::Dice;
use store_testkit::linear::{Answer, Event, RegisterRequest, Value, When, is_linearizable};
use tokio::time::{sleep, timeout};

use super::World;

/// Number of keys.
pub(super) const KEYS: usize = 3;

/// Timeout of a client.
const CLIENT_WAITS: Duration = Duration::from_millis(2500);

/// Requests and results.
#[derive(Default)]
pub(super) struct History(Mutex<Told>);

#[derive(Default)]
struct Told {
    ticks: u64,
    values: Value,
    /// Entity tags of all contents.
    etags: BTreeMap<String, Value>,
    events: Vec<(usize, Event)>,
}

pub(super) fn key(at: usize) -> Key {
    Key::new("bucket", &format!("key-{at}")).expect("the name is short")
}

/// Returns the content for a value: small, or of several blocks.
fn content(value: Value) -> Vec<u8> {
    let length = match value % 8 {
        0..5 => 0,
        5 => 5_000,
        6 => 262_144,
        _ => 600_000,
    };
    let mut content = format!("{value};").into_bytes();
    content.extend((0..length).map(|i: u32| (i.wrapping_mul(31) ^ (i >> 11) ^ value) as u8));
    content
}

fn body(content: &[u8]) -> ByteStream {
    let whole = Bytes::copy_from_slice(content);
    let pieces: Vec<_> = whole
        .chunks(100_000)
        .map(|piece| Ok(whole.slice_ref(piece)))
        .collect();
    Box::pin(stream::iter(pieces))
}

impl History {
    fn tick(&self) -> u64 {
        let mut told = self.0.lock();
        told.ticks += 1;
        told.ticks
    }

    fn new_value(&self) -> (Value, Vec<u8>) {
        let mut told = self.0.lock();
        told.values += 1;
        let (value, content) = (told.values, content(told.values));
        let etag = data_encoding::HEXLOWER.encode(&digests::Md5::of(&content));
        told.etags.insert(etag, value);
        (value, content)
    }

    fn etag_of(&self, value: Value) -> String {
        let told = self.0.lock();
        let found = told.etags.iter().find(|(_, known)| **known == value);
        found.map_or_else(String::new, |(etag, _)| etag.clone())
    }

    /// Returns the content with this entity tag, if a client wrote it.
    pub(super) fn content_of(&self, etag: &str) -> Option<Vec<u8>> {
        self.0.lock().etags.get(etag).map(|value| content(*value))
    }

    /// Records the start of an operation, as unanswered.
    fn begin(&self, at: usize, asked: RegisterRequest) -> usize {
        let event = Event {
            asked,
            answer: Answer::Unknown,
            begun: self.tick(),
            ended: u64::MAX,
        };
        let mut told = self.0.lock();
        told.events.push((at, event));
        told.events.len() - 1
    }

    fn end(&self, index: usize, answer: Answer) {
        let ended = self.tick();
        let event = &mut self.0.lock().events[index].1;
        (event.answer, event.ended) = (answer, ended);
    }

    /// Checks that the results are linearizable, with one register per key.
    pub(super) fn check(&self) -> Result<(), String> {
        for at in 0..KEYS {
            let told = self.0.lock();
            let of_key = told.events.iter().filter(|(key, _)| *key == at);
            let events: Vec<_> = of_key.map(|(_, event)| *event).collect();
            if !is_linearizable(&events) {
                return Err(format!(
                    "the history of key-{at} cannot be explained: {events:#?}"
                ));
            }
        }
        Ok(())
    }
}

impl World {
    /// Runs a client: some operations, each through a running machine.
    pub(super) async fn client(self: Arc<Self>, client: usize, seed: u64, operations: u64) {
        let mut dice = Dice(seed);
        let mut seen = [0; KEYS];
        for _ in 0..operations {
            sleep(Duration::from_millis(dice.roll(40))).await;
            let machine = dice.roll(self.machines.shape.machines as u64) as usize;
            let (at, operation) = (dice.roll(KEYS as u64) as usize, dice.roll(12));
            let Some((store, life)) = self.machines.running(machine) else {
                continue;
            };
            let (name, net) = (format!("client {client} at {machine}"), &self.machines.board.net);
            let work = timeout(
                CLIENT_WAITS,
                self.operation(&store, at, operation, &mut seen, &name),
            );
            tokio::select! {
                biased;
                () = net.killed(machine, life) => self.trace.line(format_args!("{name} stops: its machine was killed")),
                ended = work => if ended.is_err() {
                    self.trace.line(format_args!("{name} stops waiting"));
                },
            }
        }
    }

    async fn operation(
        &self,
        store: &Store,
        at: usize,
        operation: u64,
        seen: &mut [Value; KEYS],
        name: &str,
    ) {
        let is_seen = (
            When::Is(seen[at]),
            Condition::Etag(self.history.etag_of(seen[at])),
        );
        match operation {
            0..4 => self.put(store, at, (When::Always, Condition::Always), name).await,
            4 => self.put(store, at, (When::Absent, Condition::Absent), name).await,
            5 => self.put(store, at, is_seen, name).await,
            6 => {
                self.delete(store, at, (When::Always, Condition::Always), name)
                    .await
            }
            7 => self.delete(store, at, is_seen, name).await,
            _ => {
                if let Some(value) = self.get(store, at, name).await {
                    seen[at] = value;
                }
            }
        }
    }

    async fn put(&self, store: &Store, at: usize, (when, condition): (When, Condition), name: &str) {
        let (value, content) = self.history.new_value();
        self.trace.count("puts");
        self.trace
            .line(format_args!("{name}: put {value} as key-{at} {when:?}"));
        let index = self.history.begin(at, RegisterRequest::Write { value, when });
        let put = Put {
            condition,
            ..Put::default()
        };
        let outcome = store.put(&key(at), body(&content), put).await;
        self.wrote(index, outcome.map(Some), name);
    }

    async fn delete(&self, store: &Store, at: usize, (when, condition): (When, Condition), name: &str) {
        self.trace.count("deletions");
        self.trace.line(format_args!("{name}: delete key-{at} {when:?}"));
        let index = self.history.begin(at, RegisterRequest::Write { value: 0, when });
        let outcome = store.delete(&key(at), condition).await;
        self.wrote(index, outcome, name);
    }

    fn wrote<T>(&self, index: usize, outcome: Result<Option<T>, StoreError>, name: &str) {
        let answer = match outcome {
            Ok(Some(_)) => Answer::Written,
            Ok(None) => Answer::Nothing,
            Err(StoreError::Condition { current, .. }) => {
                let etags = &self.history.0.lock().etags;
                Answer::Refused(current.map_or(0, |etag| etags.get(&etag).copied().unwrap_or(Value::MAX)))
            }
            Err(error) => {
                self.trace.line(format_args!("{name}: {error}"));
                Answer::Unknown
            }
        };
        if answer != Answer::Unknown {
            self.trace.count("acknowledged writes");
        }
        self.history.end(index, answer);
        self.trace.line(format_args!("{name}: {answer:?}"));
    }

    /// Reads a whole key; `None` if there was no answer.
    pub(super) async fn get(&self, store: &Store, at: usize, name: &str) -> Option<Value> {
        self.trace.count("reads");
        let index = self.history.begin(at, RegisterRequest::Read);
        let value = match read(store, &key(at)).await {
            Ok(bytes) => {
                let value = bytes.split(|byte| *byte == b';').next();
                let value = value.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                match value.filter(|value| content(*value) == bytes) {
                    Some(value) => value,
                    None => {
                        self.wrong(format!(
                            "{name}: key-{at} has {} bytes that no client wrote",
                            bytes.len()
                        ));
                        return None;
                    }
                }
            }
            Err(StoreError::NotFound(_)) => 0,
            Err(error) => {
                self.trace.line(format_args!("{name}: key-{at}: {error}"));
                return None;
            }
        };
        self.trace.count("answered reads");
        self.history.end(index, Answer::Found(value));
        self.trace.line(format_args!("{name}: key-{at} is {value}"));
        Some(value)
    }
}

async fn read(store: &Store, key: &Key) -> Result<Vec<u8>, StoreError> {
    let object = store.get(key, None).await?;
    let pieces: Vec<Bytes> = object
        .body
        .try_collect()
        .await
        .map_err(|error| StoreError::Lost {
            key: key.to_string(),
            detail: error.to_string(),
        })?;
    Ok(pieces.concat())
}
