//! A load of small objects, and a model of what may be read after every response.
//!
//! Each worker has its own keys, so that it knows the order of its operations. In addition all
//! workers race to create the same keys, and read objects that never change ([`Load::kept`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{TryStreamExt as _, stream};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use store::{List, Put, Store, StoreError};
use store_protocol::{Condition, Key, VolumeId};
use tokio::sync::watch;

use super::model::{Model, Serial, content, serial_of};

const WORKERS: usize = 6;
/// Keys per worker.
const KEYS: usize = 12;
/// Objects that never change.
const KEPT: usize = 60;
/// Operations per worker in one run.
const OPERATIONS: usize = 40;
/// After this many operations, all workers try to create the same key.
const RACE_EVERY: usize = 10;
/// Keys for these races: enough for all runs.
const RACES: usize = 64;

/// The load and its model.
pub(crate) struct Load {
    stores: Vec<Store>,
    workers: Vec<Worker>,
    races: Races,
    runs: usize,
}

/// Attempts of all workers to create a key: those acknowledged, and those that may have left an
/// object.
type Races = Arc<Mutex<BTreeMap<Key, Race>>>;

#[derive(Clone, Default)]
struct Race {
    won: Vec<Serial>,
    tried: Vec<Serial>,
}

struct Worker {
    number: usize,
    store: Store,
    random: StdRng,
    models: Vec<Model>,
    races: Races,
    race_keys: Arc<[Key]>,
    writes: u64,
    counts: Counts,
}

/// Results of the operations.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    /// Operations that were answered.
    pub(crate) done: u64,
    /// Writes that were not acknowledged.
    pub(crate) unacknowledged: u64,
    /// Reads and listings that were not answered.
    pub(crate) unserved: u64,
}

/// Progress of a run.
pub(crate) struct Progress {
    done: watch::Receiver<usize>,
}

impl Progress {
    /// Waits until this share of the operations (in percent) is done.
    pub(crate) async fn reaches(&mut self, percent: usize) {
        let wanted = WORKERS * OPERATIONS * percent / 100;
        // The run may end early by a failure, which is reported where the run is awaited.
        let _ = self.done.wait_for(|done| *done >= wanted).await;
    }
}

impl Load {
    /// Returns a load through these clients. Many of its keys are at home on the pair of volumes.
    pub(crate) fn new(seed: u64, stores: &[Store], pair: &[VolumeId]) -> Self {
        let races = Races::default();
        let topology = stores[0].cluster().topology();
        let at_pair = |key: &Key| {
            topology
                .home(key.partition())
                .iter()
                .all(|volume| pair.contains(volume))
        };
        let race_keys: Arc<[Key]> = (0..RACES).map(|i| race_key(i, &at_pair)).collect();
        let worker = |number: usize| Worker {
            number,
            store: stores[number % stores.len()].clone(),
            random: StdRng::seed_from_u64(seed ^ number as u64),
            models: (0..KEYS)
                .map(|i| Model::absent(own_key(number, i, &at_pair)))
                .collect(),
            races: races.clone(),
            race_keys: race_keys.clone(),
            writes: 0,
            counts: Counts::default(),
        };
        Self {
            stores: stores.to_vec(),
            workers: (0..WORKERS).map(worker).collect(),
            races,
            runs: 0,
        }
    }

    /// Writes the objects that never change.
    pub(crate) async fn lay_kept(&self) {
        for key in kept() {
            put(&self.stores[0], &key, 1, Condition::Absent).await.unwrap();
        }
    }

    /// Runs during a hazard, until both have ended.
    pub(crate) async fn during(&mut self, hazard: impl AsyncFnOnce(&mut Progress)) -> Counts {
        self.runs += 1;
        let run = self.runs;
        let (told, done) = watch::channel(0);
        let told = Arc::new(told);
        let running: Vec<_> = self
            .workers
            .drain(..)
            .map(|worker| tokio::spawn(worker.run(run, told.clone())))
            .collect();
        drop(told);
        let mut progress = Progress { done };
        hazard(&mut progress).await;
        let mut counts = Counts::default();
        for worker in running {
            let mut worker = worker.await.unwrap();
            counts.add(std::mem::take(&mut worker.counts));
            self.workers.push(worker);
        }
        println!("  {counts:?}");
        counts
    }

    /// Checks every object, once everything can be reached.
    pub(crate) async fn look(&mut self) {
        self.read_back(false).await;
    }

    /// Checks every object once everything is repaired. The values read now must stay.
    pub(crate) async fn check(&mut self) {
        self.read_back(true).await;
        self.races.lock().clear();
    }

    async fn read_back(&mut self, stays: bool) {
        for worker in &mut self.workers {
            for (i, model) in worker.models.iter_mut().enumerate() {
                let found = read(&self.stores[i % self.stores.len()], &model.key).await;
                model.found(found.unwrap(), stays);
            }
            worker.list(true).await;
        }
        let races: Vec<_> = self
            .races
            .lock()
            .iter()
            .map(|(key, race)| (key.clone(), race.clone()))
            .collect();
        for (key, race) in races {
            race.check(&key, read(&self.stores[0], &key).await.unwrap());
        }
        for key in kept() {
            assert_eq!(read(&self.stores[0], &key).await.unwrap(), Some(1), "{key}");
        }
    }
}

impl Race {
    /// Checks a race: at most one attempt was acknowledged, and its object exists. Without an
    /// acknowledgement, the object of any attempt may exist.
    fn check(&self, key: &Key, found: Option<Serial>) {
        match self.won[..] {
            [] => assert!(
                found.is_none_or(|serial| self.tried.contains(&serial)),
                "{key}: {found:?}"
            ),
            [winner] => assert_eq!(found, Some(winner), "{key}"),
            _ => panic!("{key} was created by {:?}", self.won),
        }
    }
}

impl Worker {
    async fn run(mut self, run: usize, told: Arc<watch::Sender<usize>>) -> Self {
        for operation in 0..OPERATIONS {
            if operation % RACE_EVERY == 0 {
                let race = run * (OPERATIONS / RACE_EVERY) + operation / RACE_EVERY;
                self.race(race).await;
            }
            let i = self.random.random_range(0..KEYS);
            match self.random.random_range(0..100) {
                0..35 => self.put(i).await,
                35..47 => self.delete(i).await,
                47..60 => self.create(i).await,
                60..65 => self.list(false).await,
                65..80 => self.get_kept().await,
                _ => self.get(i).await,
            }
            self.counts.done += 1;
            told.send_modify(|done| *done += 1);
        }
        self
    }

    fn serial(&mut self) -> Serial {
        self.writes += 1;
        self.writes * WORKERS as u64 + self.number as u64
    }

    async fn put(&mut self, i: usize) {
        let serial = self.serial();
        let model = &mut self.models[i];
        match put(&self.store, &model.key, serial, Condition::Always).await {
            Ok(()) => model.is_now(Some(serial)),
            Err(StoreError::Unavailable { .. }) => {
                model.may_be(Some(serial));
                self.counts.unacknowledged += 1;
            }
            Err(StoreError::Full { .. }) => self.counts.unacknowledged += 1,
            Err(error) => panic!("{error}"),
        }
    }

    async fn create(&mut self, i: usize) {
        let serial = self.serial();
        let model = &mut self.models[i];
        match put(&self.store, &model.key, serial, Condition::Absent).await {
            Ok(()) => {
                assert!(
                    !model.is_there(),
                    "{} was created a second time: {model:?}",
                    model.key
                );
                model.is_now(Some(serial));
            }
            // The decider may have created it, died before it answered, and received the request
            // again.
            Err(StoreError::Condition { .. }) if !model.is_there() => model.may_come(Some(serial)),
            Err(StoreError::Condition { .. }) => {}
            Err(StoreError::Unavailable { .. }) => {
                model.may_come(Some(serial));
                self.counts.unacknowledged += 1;
            }
            Err(StoreError::Full { .. }) => self.counts.unacknowledged += 1,
            Err(error) => panic!("{error}"),
        }
    }

    async fn delete(&mut self, i: usize) {
        let model = &mut self.models[i];
        match self.store.delete(&model.key, Condition::Always).await {
            Ok(Some(_)) => model.is_now(None),
            // No tombstone was written, so an earlier failed attempt may still appear.
            Ok(None) => assert!(model.allows(None), "nothing was found to delete: {model:?}"),
            Err(StoreError::Unavailable { .. } | StoreError::Full { .. }) => {
                model.may_be(None);
                self.counts.unacknowledged += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }

    async fn get(&mut self, i: usize) {
        let model = &self.models[i];
        match read(&self.store, &model.key).await {
            Ok(found) => assert!(model.allows(found), "{found:?} was read: {model:?}"),
            Err(error) => self.counts.unserved(&error),
        }
    }

    async fn get_kept(&mut self) {
        let key = kept_key(self.random.random_range(0..KEPT));
        match read(&self.store, &key).await {
            Ok(found) => assert_eq!(found, Some(1), "{key}"),
            Err(error) => self.counts.unserved(&error),
        }
    }

    async fn list(&mut self, must: bool) {
        let list = List {
            prefix: format!("load/w{}/", self.number),
            limit: 1000,
            ..List::default()
        };
        let page = match self.store.list(&list).await {
            Ok(page) => page,
            Err(error) if must => panic!("{error}"),
            Err(error) => return self.counts.unserved(&error.to_string()),
        };
        let listed: BTreeMap<_, _> = page.objects.iter().map(|meta| (&meta.key, meta.size)).collect();
        for model in &self.models {
            match listed.get(&model.key) {
                Some(size) => assert!(model.allows_size(*size), "{size} bytes are listed: {model:?}"),
                None => assert!(model.allows(None), "it is not listed: {model:?}"),
            }
        }
        assert!(listed.len() <= KEYS && page.next.is_none(), "{page:?}");
    }

    async fn race(&mut self, race: usize) {
        let serial = self.serial();
        let key = &self.race_keys[race % RACES];
        let answer = put(&self.store, key, serial, Condition::Absent).await;
        let mut races = self.races.lock();
        let race = races.entry(key.clone()).or_default();
        race.tried.push(serial);
        match answer {
            Ok(()) => race.won.push(serial),
            Err(StoreError::Condition { .. }) => {}
            Err(StoreError::Unavailable { .. } | StoreError::Full { .. }) => self.counts.unacknowledged += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

impl Counts {
    fn unserved(&mut self, error: &str) {
        println!("  not served: {error}");
        self.unserved += 1;
    }

    fn add(&mut self, other: Self) {
        self.done += other.done;
        self.unacknowledged += other.unacknowledged;
        self.unserved += other.unserved;
    }
}

/// Returns the keys of the objects that never change.
pub(crate) fn kept() -> impl Iterator<Item = Key> {
    (0..KEPT).map(kept_key)
}

fn kept_key(i: usize) -> Key {
    Key::parse(&format!("kept/{i}")).unwrap()
}

/// Returns a worker's key. Every third key is at home on the pair.
fn own_key(worker: usize, i: usize, at_pair: &impl Fn(&Key) -> bool) -> Key {
    named(&format!("load/w{worker}/{i}"), |key| {
        !i.is_multiple_of(3) || at_pair(key)
    })
}

/// Returns a key to race for. Every second key is at home on the pair.
fn race_key(i: usize, at_pair: &impl Fn(&Key) -> bool) -> Key {
    named(&format!("race/{i}"), |key| !i.is_multiple_of(2) || at_pair(key))
}

/// Returns the first suitable key of this name and a number.
fn named(name: &str, will_do: impl Fn(&Key) -> bool) -> Key {
    let mut keys = (0..).map(|number: u32| Key::parse(&format!("{name}-{number}")).unwrap());
    keys.find(will_do).unwrap()
}

/// Writes an object, declaring its size and all digests.
async fn put(store: &Store, key: &Key, serial: Serial, condition: Condition) -> Result<(), StoreError> {
    let content = content(key, serial);
    let put = Put {
        size: Some(content.len() as u64),
        condition,
        ..Put::default()
    };
    let body = Box::pin(stream::iter([Ok(content)]));
    store.put(key, body, put).await.map(drop)
}

/// Returns which write is read, or `None` if there is no object. An error means that this cannot be
/// known now.
async fn read(store: &Store, key: &Key) -> Result<Option<Serial>, String> {
    let object = match store.get(key, None).await {
        Ok(object) => object,
        Err(StoreError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let body: Vec<Bytes> = object
        .body
        .try_collect()
        .await
        .map_err(|error| format!("{key}: {error}"))?;
    Ok(Some(serial_of(key, &body.concat())))
}
