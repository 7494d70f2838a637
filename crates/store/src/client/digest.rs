//! Computes MD5, SHA-256 and BLAKE3 of content, each once. MD5 takes as long as the other two, so
//! they share a core.
//!
//! No thread blocks on content: hashing runs in short tasks, so that any number of slow uploads
//! cannot use up the threads that the volumes need.

use std::sync::Arc;

use bytes::Bytes;
use digests::{Md5, Sha256};
use futures_util::future::{FutureExt, join};
use futures_util::stream::StreamExt;
use store_protocol::{BlockHasher, ByteStream, ContentBlocks, Digests, HashedContent};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::intake::{SINK_PIECES, Sink, channel};
use super::md5_queue::Md5Queue;

/// Up to this length all digests are computed in the calling task: handing the work to other
/// threads takes longer.
const INLINE_BYTES_MAX: usize = 32 * 1024;

/// Returns the digests of short content.
pub(super) fn digest_now(content: &[u8]) -> Digests {
    Digests {
        md5: Md5::of(content),
        sha256: Sha256::of(content),
        blake3: *blake3::hash(content).as_bytes(),
    }
}

/// Returns the digests of content in memory; `None` if the process is shutting down.
pub(super) async fn digest_whole(content: &Bytes, md5_queue: &Md5Queue) -> Option<Digests> {
    if content.len() <= INLINE_BYTES_MAX {
        return Some(digest_now(content));
    }
    let hashed = content.clone();
    let others =
        system::blocking(move || (Sha256::of(&hashed), *blake3::hash(&hashed).as_bytes())).map(Result::ok);
    let (md5, others) = join(md5_queue.of_bytes(content.clone()), others).await;
    let (md5, (sha256, blake3)) = (md5?, others?);
    Some(Digests { md5, sha256, blake3 })
}

/// Computes digests while content passes. Feed the sinks that [`ContentHasher::start`] returns,
/// then call [`ContentHasher::finish`].
pub(super) struct ContentHasher {
    md5: JoinHandle<Option<[u8; 16]>>,
    sha256: oneshot::Receiver<[u8; 32]>,
    blocks: ContentBlocks,
}

impl ContentHasher {
    /// Starts the computation and returns the sinks for the content.
    pub(super) fn start(md5_queue: &Md5Queue) -> (Self, Vec<Sink>) {
        let (md5_sink, md5) = channel();
        let (others_sink, others) = channel();
        let (sha256_sent, sha256) = oneshot::channel();
        let hasher = Self {
            md5: tokio::spawn(md5_queue.clone().of_stream(md5)),
            sha256,
            blocks: tokio::spawn(hash_others(others, sha256_sent))
                .map(|hashed| hashed.ok().flatten())
                .boxed()
                .shared(),
        };
        (hasher, vec![md5_sink, others_sink])
    }

    /// Returns the digests by block, which volumes of this process need not compute again.
    pub(super) fn blocks(&self) -> ContentBlocks {
        self.blocks.clone()
    }

    /// Returns the digests, or `None` if the content was cut short or the process is shutting down.
    pub(super) async fn finish(self) -> Option<Digests> {
        Some(Digests {
            md5: self.md5.await.ok()??,
            blake3: self.blocks.await?.blake3,
            sha256: self.sha256.await.ok()?,
        })
    }
}

/// Computes BLAKE3 by blocks, and SHA-256, which is sent to the receiver.
async fn hash_others(body: ByteStream, sha256_sent: oneshot::Sender<[u8; 32]>) -> Option<Arc<HashedContent>> {
    let mut state = (Sha256::default(), BlockHasher::default());
    let mut waiting = body.ready_chunks(SINK_PIECES);
    while let Some(pieces) = waiting.next().await {
        let pieces: Vec<Bytes> = pieces.into_iter().collect::<Result<_, _>>().ok()?;
        let work = system::blocking(move || {
            for piece in &pieces {
                state.0.update(piece);
                state.1.update(piece);
            }
            state
        });
        state = work.await.ok()?;
    }
    let (table, blake3) = state.1.finish();
    // The send fails only if nobody waits for the digests any longer.
    let _ = sha256_sent.send(state.0.finish());
    Some(Arc::new(HashedContent { table, blake3 }))
}
