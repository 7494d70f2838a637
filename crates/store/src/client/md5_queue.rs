//! MD5 of all contents that arrive at the same time, several in one pass over a core.
//!
//! Contents with bytes to hash wait in one queue. Few threads take them from it, several at a time.
//! While a thread is free, a content does not wait for others.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use digests::{LANES, Md5};
use futures_util::stream::StreamExt;
use parking_lot::Mutex;
use store_protocol::ByteStream;
use tokio::sync::oneshot;

/// Hashes contents together.
#[derive(Clone)]
pub(super) struct Md5Queue(Arc<Shared>);

struct Shared {
    threads_max: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// Contents with waiting pieces that no thread works on.
    ready: VecDeque<Arc<Mutex<Content>>>,
    threads: usize,
}

/// A content that is being hashed.
#[derive(Default)]
struct Content {
    md5: Md5,
    waiting: VecDeque<Batch>,
    /// It is in the queue, or a thread works on it.
    is_listed: bool,
}

/// Pieces, and the caller who waits until they are hashed.
struct Batch {
    pieces: Vec<Bytes>,
    hashed: oneshot::Sender<()>,
}

impl Default for Md5Queue {
    /// Half of the cores hash MD5 at most: the others have the other digests to compute, and a
    /// thread that takes several contents does the work of two.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Shared {
            threads_max: (cores / 2).max(1),
            queue: Mutex::default(),
        }))
    }
}

impl Md5Queue {
    /// Returns the MD5 of streamed content; `None` if it is cut short or the process is shutting
    /// down.
    pub(super) async fn of_stream(self, body: ByteStream) -> Option<[u8; 16]> {
        let content = Arc::default();
        let mut batches = body.ready_chunks(super::intake::SINK_PIECES);
        let mut last = None;
        while let Some(pieces) = batches.next().await {
            let pieces: Vec<Bytes> = pieces.into_iter().collect::<Result<_, _>>().ok()?;
            // The next pieces wait while these are hashed: a thread that finds several contents
            // waiting hashes them together.
            let hashing = self.push(&content, pieces);
            if let Some(before) = last.replace(hashing) {
                before.await.ok()?;
            }
        }
        if let Some(last) = last {
            last.await.ok()?;
        }
        let md5 = std::mem::take(&mut content.lock().md5);
        Some(md5.finish())
    }

    /// Returns the MD5 of content in memory; `None` if the process is shutting down.
    pub(super) async fn of_bytes(&self, bytes: Bytes) -> Option<[u8; 16]> {
        let content = Arc::default();
        self.push(&content, vec![bytes]).await.ok()?;
        let md5 = std::mem::take(&mut content.lock().md5);
        Some(md5.finish())
    }

    /// Adds pieces to a content. The receiver gets a message when they are hashed.
    fn push(&self, content: &Arc<Mutex<Content>>, pieces: Vec<Bytes>) -> oneshot::Receiver<()> {
        let (hashed, hashing) = oneshot::channel();
        let was_listed = {
            let mut content = content.lock();
            content.waiting.push_back(Batch { pieces, hashed });
            std::mem::replace(&mut content.is_listed, true)
        };
        if was_listed {
            return hashing;
        }
        if let Some(thread) = self.list(content) {
            // It ends by itself; nobody waits for it. A runtime that shuts down drops it here,
            // which locks the queue.
            drop(system::blocking(move || thread.run()));
        }
        hashing
    }

    /// Adds a content to the queue. Returns a thread to start, if one is missing.
    fn list(&self, content: &Arc<Mutex<Content>>) -> Option<Thread> {
        let mut queue = self.0.queue.lock();
        queue.ready.push_back(content.clone());
        let is_missing = queue.threads < self.0.threads_max;
        queue.threads += usize::from(is_missing);
        is_missing.then(|| Thread {
            shared: self.0.clone(),
            is_counted: true,
        })
    }
}

/// A thread that hashes what is ready.
struct Thread {
    shared: Arc<Shared>,
    is_counted: bool,
}

impl Thread {
    fn run(mut self) {
        while let Some(contents) = self.next() {
            hash(&contents);
            let mut queue = self.shared.queue.lock();
            for content in contents {
                let is_listed = {
                    let mut content = content.lock();
                    content.is_listed = !content.waiting.is_empty();
                    content.is_listed
                };
                if is_listed {
                    queue.ready.push_back(content);
                }
            }
        }
    }

    /// Returns the next contents; `None` if none is ready.
    fn next(&mut self) -> Option<Vec<Arc<Mutex<Content>>>> {
        let mut queue = self.shared.queue.lock();
        let count = queue.ready.len().min(LANES);
        if count == 0 {
            // Under the lock, so that whoever adds a content next starts a thread.
            queue.threads -= 1;
            self.is_counted = false;
            return None;
        }
        Some(queue.ready.drain(..count).collect())
    }
}

impl Drop for Thread {
    /// Counts a thread that did not reach its end.
    fn drop(&mut self) {
        if self.is_counted {
            self.shared.queue.lock().threads -= 1;
        }
    }
}

/// Hashes the waiting pieces of some contents, and tells their callers.
fn hash(contents: &[Arc<Mutex<Content>>]) {
    let mut jobs: Vec<Job> = contents.iter().map(|content| content.lock().take()).collect();
    loop {
        let mut lanes: Vec<_> = jobs.iter_mut().filter_map(Job::lane).collect();
        // As many bytes of each as the shortest piece has: all of them advance together.
        let Some(bytes) = lanes.iter().map(|(_, piece)| piece.len()).min() else {
            break;
        };
        for (_, piece) in &mut lanes {
            *piece = &piece[..bytes];
        }
        Md5::update_all(&mut lanes);
        jobs.iter_mut().for_each(|job| job.advance(bytes));
    }
    for (content, job) in contents.iter().zip(jobs) {
        content.lock().md5 = job.md5;
        for hashed in job.hashed {
            // The send fails only if the caller has gone.
            let _ = hashed.send(());
        }
    }
}

/// What a thread takes out of a content.
struct Job {
    md5: Md5,
    pieces: VecDeque<Bytes>,
    hashed: Vec<oneshot::Sender<()>>,
}

impl Content {
    fn take(&mut self) -> Job {
        let (pieces, hashed): (Vec<_>, Vec<_>) = (self.waiting.drain(..))
            .map(|batch| (batch.pieces, batch.hashed))
            .unzip();
        let pieces = pieces.into_iter().flatten().filter(|piece| !piece.is_empty());
        Job {
            md5: std::mem::take(&mut self.md5),
            pieces: pieces.collect(),
            hashed,
        }
    }
}

impl Job {
    fn lane(&mut self) -> Option<(&mut Md5, &[u8])> {
        Some((&mut self.md5, self.pieces.front()?))
    }

    fn advance(&mut self, bytes: usize) {
        if let Some(piece) = self.pieces.front_mut() {
            piece.advance(bytes);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use futures_util::stream;

    fn queue(threads_max: usize) -> Md5Queue {
        Md5Queue(Arc::new(Shared {
            threads_max,
            queue: Mutex::default(),
        }))
    }

    /// Pieces of different lengths, some empty.
    fn pieces(content: usize) -> Vec<Bytes> {
        let piece = |n: usize| Bytes::from(vec![(content * 7 + n) as u8; n * n * (content % 5) % 3000]);
        (0..content * 3).map(piece).collect()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn contents_that_arrive_together_keep_their_digests() {
        for threads_max in [1, 3] {
            let queue = queue(threads_max);
            let hashing = (0..40).map(|content| {
                let body = stream::iter(pieces(content).into_iter().map(Ok));
                tokio::spawn(queue.clone().of_stream(Box::pin(body)))
            });
            for (content, hashed) in join_all(hashing).await.into_iter().enumerate() {
                let whole = Bytes::from(pieces(content).concat());
                assert_eq!(hashed.unwrap(), Some(Md5::of(&whole)));
                assert_eq!(queue.of_bytes(whole.clone()).await, Some(Md5::of(&whole)));
            }
            assert!(queue.0.queue.lock().ready.is_empty());
        }
    }

    /// Regression: the runtime drops the work at once, and its end waited for a lock of the caller.
    #[test]
    fn a_runtime_that_shuts_down_does_not_hang() {
        let queue = queue(1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        let _entered = handle.enter();
        drop(queue.push(&Arc::default(), vec![Bytes::from("begun")]));
        assert_eq!(queue.0.queue.lock().threads, 0);
    }

    #[tokio::test]
    async fn content_that_is_cut_short_has_no_digest() {
        let cut = stream::iter([
            Ok(Bytes::from("begun")),
            Err(std::io::ErrorKind::UnexpectedEof.into()),
        ]);
        assert_eq!(queue(1).of_stream(Box::pin(cut)).await, None);
    }
}
