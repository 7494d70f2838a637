//! Calls the operation that each question asks for.

use std::sync::Arc;

use contract::{VolumeAnswer, VolumeAsk, VolumeError};

use super::inner::Inner;

/// Answers a question. It may wait for the disk, so it runs on a blocking thread.
pub(super) fn answer(inner: &Arc<Inner>, ask: VolumeAsk) -> Result<VolumeAnswer, VolumeError> {
    Ok(match ask {
        VolumeAsk::Prepare {
            upload,
            meta,
            purpose,
        } => inner.prepare(upload, &meta, purpose)?.into(),
        VolumeAsk::Commit {
            upload,
            cause,
            evidence,
        } => inner.commit(upload, cause, &evidence)?.into(),
        VolumeAsk::Abort { upload, what } => {
            inner.abort(upload, what);
            ().into()
        }
        VolumeAsk::Head { key } => inner.head(&key)?.into(),
        VolumeAsk::Unsettled { prefix } => inner.unsettled(&prefix)?.into(),
        VolumeAsk::List(query) => inner.list(&query)?.into(),
        VolumeAsk::Survey { partitions } => inner.survey(&partitions)?.into(),
        VolumeAsk::Verify { key, version, cause } => inner.verify(&key, version, cause)?.into(),
        VolumeAsk::Remove {
            key,
            version,
            cause,
            evidence,
        } => inner.remove(&key, version, cause, &evidence)?.into(),
        VolumeAsk::SettleStray { path } => inner.settle_stray(&path)?.into(),
        VolumeAsk::Rebuilt => inner.rebuilt()?.into(),
        VolumeAsk::Fixity { key, limit } => inner.fixity(key.as_ref(), limit)?.into(),
        VolumeAsk::Status => inner.status()?.into(),
    })
}
