//! Dispatches each request to its operation. The operations that only look something up are in this
//! file.

use std::sync::Arc;

use store_protocol::{
    Head, Key, KeysInDoubt, ListQuery, ReplicaEntry, VolumeError, VolumeRequest, VolumeResponse, VolumeState,
    VolumeStatus,
};

use super::index::Entry;
use super::inner::Inner;
use super::room::reserve_bytes;

/// Handles a request. It may wait for the disk, so it runs on a blocking thread.
pub(super) fn answer(inner: &Arc<Inner>, ask: VolumeRequest) -> Result<VolumeResponse, VolumeError> {
    Ok(match ask {
        VolumeRequest::Prepare {
            upload,
            meta,
            purpose,
        } => inner.prepare(upload, &meta, purpose)?.into(),
        VolumeRequest::Commit {
            upload,
            cause,
            evidence,
        } => inner.commit(upload, cause, &evidence)?.into(),
        VolumeRequest::Abort { upload, what } => {
            inner.abort(upload, what);
            ().into()
        }
        VolumeRequest::Head { key } => inner.head(&key)?.into(),
        VolumeRequest::KeysInDoubt { prefix } => inner.unsettled(&prefix)?.into(),
        VolumeRequest::List(query) => inner.list(&query)?.into(),
        VolumeRequest::Survey { partitions } => inner.survey(&partitions)?.into(),
        VolumeRequest::Verify { key, version, cause } => inner.verify(&key, version, cause)?.into(),
        VolumeRequest::Remove {
            key,
            version,
            cause,
            evidence,
        } => inner.remove(&key, version, cause, &evidence)?.into(),
        VolumeRequest::SettleStray { path } => inner.settle_stray(&path)?.into(),
        VolumeRequest::Rebuilt => inner.finish_rebuilding()?.into(),
        VolumeRequest::Fixity { key, limit } => inner.fixity(key.as_ref(), limit)?.into(),
        VolumeRequest::Status => inner.status()?.into(),
    })
}

impl Inner {
    fn head(&self, key: &Key) -> Result<Head, VolumeError> {
        // Pending uploads are read before the index: an upload committed in between is seen in one
        // of them or both, never in neither.
        let pending = self.uploads.pending(key);
        let entry = self
            .index()?
            .get(key)
            .map_err(|error| self.index_failed(&error))?;
        Ok(Head {
            found: entry.map(Entry::held),
            pending,
            complete: self.life.read().state == VolumeState::InService,
        })
    }

    fn unsettled(&self, prefix: &str) -> Result<KeysInDoubt, VolumeError> {
        self.index()?;
        Ok(KeysInDoubt {
            keys: self.uploads.unsettled(prefix),
            complete: self.life.read().state == VolumeState::InService,
        })
    }

    fn list(&self, query: &ListQuery) -> Result<Vec<ReplicaEntry>, VolumeError> {
        let entries = self
            .index()?
            .list(query)
            .map_err(|error| self.index_failed(&error))?;
        Ok(entries.into_iter().map(Entry::held).collect())
    }

    fn fixity(
        &self,
        key: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<store_protocol::FixityEvent>, VolumeError> {
        self.fixity
            .read(key, limit)
            .map_err(|error| self.failed("read the fixity log", &error))
    }

    fn status(&self) -> Result<VolumeStatus, VolumeError> {
        self.check_identity();
        let (state, index) = {
            let life = self.life.read();
            (life.state.clone(), life.index.clone())
        };
        // A volume out of service has a status too; counts that cannot be read are reported as
        // zero.
        let counts = index.counts().unwrap_or_default();
        let space = self.disk.space(&self.root).ok();
        Ok(VolumeStatus {
            id: self.id.clone(),
            path: self.root.display().to_string(),
            state,
            capacity_bytes: space.map_or(0, |space| space.capacity_bytes),
            free_bytes: space.map_or(0, |space| space.free_bytes.saturating_sub(reserve_bytes(&space))),
            replicas: counts.replicas,
            replica_bytes: counts.replica_bytes,
            tombstones: counts.tombstones,
            bad: counts.bad,
            uploads: self.uploads.count(),
        })
    }
}
