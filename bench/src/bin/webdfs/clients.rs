//! Five groups of a hundred clients. Each repeatedly puts a new object or gets an old one from any
//! server, compares every byte of the response, and waits for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::content::{Object, Pool};

/// Number of attempts for a request. Without an answer, the client asks another server.
const TRIES: usize = 6;

/// What the clients do, and when they stop.
pub(crate) struct Work {
    pub(crate) pool: Pool,
    pub(crate) upload_bytes: u64,
    pub(crate) think_max: Duration,
    /// Number of uploads among ten requests.
    pub(crate) writes_of_ten: u32,
    pub(crate) seed: u64,
    pub(crate) servers: Vec<AmazonS3>,
    pub(crate) tally: Tally,
    numbers: AtomicU64,
    stop: AtomicBool,
}

/// The counts so far.
#[derive(Default)]
pub(crate) struct Tally {
    /// Objects that a server acknowledged as durable.
    pub(crate) acknowledged: Mutex<Vec<Object>>,
    /// Uploads that no server acknowledged. They may exist, but only completely.
    pub(crate) unacknowledged: Mutex<Vec<Object>>,
    pub(crate) uploaded_bytes: AtomicU64,
    pub(crate) downloads: AtomicU64,
    pub(crate) downloaded_bytes: AtomicU64,
    /// Responses with bytes that differ from those put: undetected damage.
    pub(crate) wrong_answers: Mutex<Vec<String>>,
    /// Failed attempts, and requests whose every attempt failed.
    pub(crate) failed_tries: AtomicU64,
    pub(crate) failed_requests: AtomicU64,
    /// The first few reasons of failures.
    pub(crate) reasons: Mutex<Vec<String>>,
    /// Response times in microseconds, including all attempts of a request.
    pub(crate) put_micros: Mutex<Vec<u32>>,
    pub(crate) get_micros: Mutex<Vec<u32>>,
}

impl Work {
    pub(crate) fn new(
        pool: Pool,
        servers: Vec<AmazonS3>,
        upload_bytes: u64,
        think_max: Duration,
        seed: u64,
    ) -> Self {
        Self {
            pool,
            upload_bytes,
            think_max,
            writes_of_ten: 2,
            seed,
            servers,
            tally: Tally::default(),
            numbers: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Runs `groups` x `each` clients until enough is uploaded.
    pub(crate) async fn run(self: &Arc<Self>, groups: u64, each: u64) {
        let clients = (0..groups * each).map(|client| tokio::spawn(self.clone().client(client)));
        for client in clients.collect::<Vec<_>>() {
            // A client's panic is a bug of this program and must be reported.
            client.await.expect("a client panicked");
        }
    }

    /// Asks all clients to stop after their current request.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the completed fraction of the work, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        self.tally.uploaded_bytes.load(Ordering::Relaxed) as f64 / self.upload_bytes as f64
    }

    async fn client(self: Arc<Self>, client: u64) {
        let mut rng = StdRng::seed_from_u64(self.seed ^ client.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        while !self.stop.load(Ordering::Relaxed) && self.progress() < 1.0 {
            if rng.random_range(0..10) < self.writes_of_ten {
                let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                let object = self.pool.object(number, &mut rng);
                self.put(object, &mut rng).await;
            } else if let Some(object) = self.tally.any(&mut rng) {
                self.get(object, &mut rng).await;
            }
            tokio::time::sleep(self.think_max.mul_f64(rng.random::<f64>())).await;
        }
    }

    async fn put(&self, object: Object, rng: &mut StdRng) {
        let started = Instant::now();
        for _ in 0..TRIES {
            let server = &self.servers[rng.random_range(0..self.servers.len())];
            match server
                .put(&Path::from(object.name()), self.pool.payload(object))
                .await
            {
                Ok(_) => {
                    self.tally.put_micros.lock().push(micros(started));
                    self.tally
                        .uploaded_bytes
                        .fetch_add(object.bytes, Ordering::Relaxed);
                    self.tally.acknowledged.lock().push(object);
                    return;
                }
                Err(error) => self.tally.failed(format!("put {}: {error}", object.name())),
            }
        }
        self.tally.failed_requests.fetch_add(1, Ordering::Relaxed);
        self.tally.unacknowledged.lock().push(object);
    }

    async fn get(&self, object: Object, rng: &mut StdRng) {
        let started = Instant::now();
        for _ in 0..TRIES {
            let server = &self.servers[rng.random_range(0..self.servers.len())];
            match self.compare(server, object).await {
                Ok(true) => {
                    self.tally.get_micros.lock().push(micros(started));
                    self.tally.downloads.fetch_add(1, Ordering::Relaxed);
                    self.tally
                        .downloaded_bytes
                        .fetch_add(object.bytes, Ordering::Relaxed);
                    return;
                }
                Ok(false) => {
                    self.tally.wrong_answers.lock().push(object.name());
                    return;
                }
                Err(error) => self.tally.failed(format!("get {}: {error}", object.name())),
            }
        }
        self.tally.failed_requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the server returns exactly the bytes that were put. A truncated response is
    /// an error, not a wrong answer.
    pub(crate) async fn compare(&self, server: &AmazonS3, object: Object) -> object_store::Result<bool> {
        let mut stream = server.get(&Path::from(object.name())).await?.into_stream();
        let mut comparison = self.pool.comparison(object);
        while let Some(piece) = stream.next().await {
            comparison.update(&piece?);
        }
        Ok(comparison.holds())
    }
}

impl Tally {
    fn any(&self, rng: &mut StdRng) -> Option<Object> {
        let objects = self.acknowledged.lock();
        (!objects.is_empty()).then(|| objects[rng.random_range(0..objects.len())])
    }

    fn failed(&self, reason: String) {
        self.failed_tries.fetch_add(1, Ordering::Relaxed);
        let mut reasons = self.reasons.lock();
        if reasons.len() < 5 {
            reasons.push(reason);
        }
    }
}

fn micros(started: Instant) -> u32 {
    u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX)
}
