//! An in-memory store that keeps its history, counts requests, and fails on demand.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cache::{Answer, Description, Origin, OriginError, Validator};
use futures_util::{StreamExt, stream};
use object_store::GetRange;
use parking_lot::Mutex;

pub(crate) const ROOT: &str = "test://store";

/// A version of an object, and when it became current.
#[derive(Clone)]
pub(crate) struct ObjectVersion {
    pub(crate) at: tokio::time::Instant,
    /// `None` for a deletion.
    pub(crate) content: Option<Bytes>,
}

#[derive(Default)]
pub(crate) struct World {
    pub(crate) objects: Mutex<BTreeMap<String, Vec<ObjectVersion>>>,
    /// Bytes returned, by object and range.
    pub(crate) given: Mutex<Vec<(String, Range<u64>)>>,
    pub(crate) describes: AtomicU64,
    /// Number of requests per thousand that fail.
    pub(crate) fail_permille: AtomicU64,
    /// Maximum duration of a request.
    pub(crate) delay_ms_max: AtomicU64,
    /// Whether requests hang.
    pub(crate) hangs: AtomicBool,
    /// Delay of responses.
    pub(crate) answers_late_ms: AtomicU64,
    /// Whether versions are distinguished only by time.
    pub(crate) without_tags: bool,
    /// Whether it returns the current version even if another one is expected.
    pub(crate) ignores_conditions: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("injected failure")]
pub(crate) struct MadeToFail;

/// Returns content that differs from other versions at every position.
pub(crate) fn content(seed: u64, bytes: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut content = Vec::with_capacity(bytes + 8);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content.truncate(bytes);
    content.into()
}

impl World {
    pub(crate) fn write(&self, path: &str, content: Option<Bytes>) {
        let at = tokio::time::Instant::now();
        self.objects
            .lock()
            .entry(path.to_owned())
            .or_default()
            .push(ObjectVersion { at, content });
    }

    pub(crate) fn history(&self, path: &str) -> Vec<ObjectVersion> {
        self.objects.lock().get(path).cloned().unwrap_or_default()
    }

    fn now(&self, path: &str) -> Option<(Description, Bytes)> {
        let objects = self.objects.lock();
        let history = objects.get(path)?;
        let content = history.last()?.content.clone()?;
        let number = history.len() as i64;
        let description = Description {
            size_bytes: content.len() as u64,
            validator: if self.without_tags {
                Validator::Modified(number)
            } else {
                Validator::Tag(format!("\"{number}\""))
            },
            beside: Bytes::from(format!("beside {number}")),
        };
        Some((description, content))
    }

    async fn is_slow_and_may_fail(&self) -> Result<(), OriginError> {
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let delay_max = self.delay_ms_max.load(Ordering::Relaxed);
        if delay_max > 0 {
            tokio::time::sleep(Duration::from_millis(system::random_range(0..=delay_max))).await;
        }
        if self.fails() {
            Err(OriginError::Passing(Arc::new(MadeToFail)))
        } else {
            Ok(())
        }
    }

    fn fails(&self) -> bool {
        system::random_range(0..1000_u64) < self.fail_permille.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes returned so far.
    pub(crate) fn given_bytes(&self) -> u64 {
        self.given
            .lock()
            .iter()
            .map(|(_, range)| range.end - range.start)
            .sum()
    }

    /// Fails if a byte was returned twice.
    pub(crate) fn check_once(&self) {
        let mut given = self.given.lock().clone();
        given.sort_by(|a, b| (&a.0, a.1.start).cmp(&(&b.0, b.1.start)));
        for pair in given.windows(2) {
            let is_twice = pair[0].0 == pair[1].0 && pair[1].1.start < pair[0].1.end;
            assert!(!is_twice, "{:?} and {:?} of {}", pair[0].1, pair[1].1, pair[0].0);
        }
    }
}

#[async_trait]
impl Origin for World {
    fn root(&self) -> &str {
        ROOT
    }

    async fn describe(&self, path: &str) -> Result<Description, OriginError> {
        self.describes.fetch_add(1, Ordering::Relaxed);
        self.is_slow_and_may_fail().await?;
        let now = self.now(path).map(|(description, _)| description);
        tokio::time::sleep(Duration::from_millis(
            self.answers_late_ms.load(Ordering::Relaxed),
        ))
        .await;
        now.ok_or_else(|| OriginError::Missing(Arc::new(MadeToFail)))
    }

    async fn get(
        &self,
        path: &str,
        expected: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<Answer, OriginError> {
        self.is_slow_and_may_fail().await?;
        let (description, content) = self
            .now(path)
            .ok_or_else(|| OriginError::Missing(Arc::new(MadeToFail)))?;
        let is_other = expected.is_some_and(|expected| !expected.is_same_version(&description));
        if is_other && !self.ignores_conditions {
            return Err(OriginError::Changed);
        }
        let size_bytes = content.len() as u64;
        let range = match wanted {
            None => 0..size_bytes,
            Some(GetRange::Bounded(range)) => range.start..range.end.min(size_bytes),
            Some(GetRange::Offset(start)) => start..size_bytes,
            Some(GetRange::Suffix(bytes)) => size_bytes.saturating_sub(bytes)..size_bytes,
        };
        if range.start >= size_bytes {
            return Err(OriginError::Range { size_bytes });
        }
        self.given
            .lock()
            .push((format!("{path} {:?}", description.validator), range.clone()));
        let bytes = content.slice(range.start as usize..range.end as usize);
        // Chunks of odd lengths, with occasional failures in the middle.
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.fails() {
                pieces.push(Err(OriginError::Passing(Arc::new(MadeToFail))));
                break;
            }
            let now = rest.len().min(system::random_range(1..100_000));
            pieces.push(Ok(rest.split_to(now)));
        }
        let delay_max = self.delay_ms_max.load(Ordering::Relaxed);
        let body = stream::iter(pieces).then(move |piece| async move {
            if delay_max > 0 {
                tokio::time::sleep(Duration::from_millis(system::random_range(0..=delay_max / 4))).await;
            }
            piece
        });
        Ok(Answer {
            description,
            range,
            body: body.boxed(),
        })
    }
}

/// Reads a response to its end.
pub(crate) async fn bytes_of(got: cache::ObjectRead) -> Result<Vec<u8>, OriginError> {
    let mut body = got.body;
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        bytes.extend_from_slice(&piece?);
    }
    assert_eq!(
        bytes.len() as u64,
        got.range.end - got.range.start,
        "an answer is whole or an error"
    );
    Ok(bytes)
}

/// Runs a test with a simulated clock and a seed.
pub(crate) fn simulated<F: Future<Output = ()>>(seed: u64, test: impl FnOnce() -> F) {
    let simulated = system::Simulated::enter(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let began = tokio::time::Instant::now();
        simulated.follow(move || began.elapsed());
        test().await;
    });
}
