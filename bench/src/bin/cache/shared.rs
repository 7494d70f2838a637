//! Shared by the parts: a synthetic store, settings, medians.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use async_trait::async_trait;
use bytes::Bytes;
use cache::{
    Answer, Cause, Description, Directory, ObjectRead, Origin, OriginError, Rule, Settings, Size, Validator,
};
use contest::{BLOCK_BYTES, Store};
use futures_util::{StreamExt, stream};
use object_store::GetRange;

/// Address of the synthetic store.
pub(crate) const ROOT: &str = "bench://store";
/// Length of the parts in which bytes are read and returned.
pub(crate) const PIECE_BYTES: u64 = 64 << 10;

/// A store in which each object has this many blocks of the contest's store.
pub(crate) struct MadeUp {
    blocks: u64,
    store: Arc<Store>,
    /// Whether it refuses reads.
    pub(crate) is_closed: AtomicBool,
}

#[derive(Debug, thiserror::Error)]
#[error("the store is closed: the block is not in the cache")]
struct Closed;

impl MadeUp {
    pub(crate) fn new(blocks: u64, store: Arc<Store>) -> MadeUp {
        MadeUp {
            blocks,
            store,
            is_closed: AtomicBool::new(false),
        }
    }

    fn description(&self) -> Description {
        Description {
            size_bytes: self.blocks * BLOCK_BYTES,
            validator: Validator::Tag("\"1\"".to_owned()),
            beside: Bytes::new(),
        }
    }

    fn refuse(&self) -> Result<(), OriginError> {
        let closed: Cause = Arc::new(Closed);
        if self.is_closed.load(Ordering::Relaxed) {
            Err(OriginError::Lasting(closed))
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Origin for MadeUp {
    fn root(&self) -> &str {
        ROOT
    }

    async fn describe(&self, _: &str) -> Result<Description, OriginError> {
        self.refuse()?;
        self.store.wait().await;
        Ok(self.description())
    }

    async fn get(
        &self,
        _: &str,
        _: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<Answer, OriginError> {
        self.refuse()?;
        self.store.wait().await;
        let description = self.description();
        let size_bytes = description.size_bytes;
        let range = match wanted {
            None => 0..size_bytes,
            Some(GetRange::Bounded(range)) => range.start.min(size_bytes)..range.end.min(size_bytes),
            Some(GetRange::Offset(start)) => start.min(size_bytes)..size_bytes,
            Some(GetRange::Suffix(bytes)) => size_bytes.saturating_sub(bytes)..size_bytes,
        };
        let (store, given) = (self.store.clone(), range.clone());
        let blocks = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        let body = stream::iter(blocks).map(move |number| Ok(part(&store.block(number), number, &given)));
        Ok(Answer {
            description,
            range,
            body: body.boxed(),
        })
    }
}

/// Returns the part of a block that is in a range.
fn part(block: &Bytes, number: u64, range: &Range<u64>) -> Bytes {
    let start = number * BLOCK_BYTES;
    let within = |at: u64| at.saturating_sub(start).min(BLOCK_BYTES) as usize;
    block.slice(within(range.start)..within(range.end))
}

/// Returns settings with this memory for data, and an optional directory.
pub(crate) fn settings(memory_bytes: u64, directory: Option<(&Path, u64)>) -> Settings {
    Settings {
        memory_size_bytes: Size(memory_bytes),
        metadata_size_bytes: Size(0),
        directories: directory
            .into_iter()
            .map(|(path, quota_bytes)| Directory {
                quota_bytes: Size(quota_bytes),
                ..Directory::at(path.to_owned())
            })
            .collect(),
        // So that an opened directory knows its objects without asking the store.
        rules: vec![Rule {
            prefix: ROOT.to_owned(),
            immutable: true,
            ..Rule::default()
        }],
        ..Settings::default()
    }
}

/// Returns all pieces of an answer.
pub(crate) async fn pieces(mut got: ObjectRead) -> Result<Vec<Bytes>, OriginError> {
    let mut all = Vec::new();
    while let Some(piece) = got.body.next().await {
        all.push(piece?);
    }
    Ok(all)
}

/// Returns a range of bytes.
pub(crate) fn bytes(start: u64, length: u64) -> Option<GetRange> {
    Some(GetRange::Bounded(start..start + length))
}

pub(crate) fn median(mut values: Vec<f64>) -> anyhow::Result<f64> {
    ensure!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    Ok(values[values.len() / 2])
}
