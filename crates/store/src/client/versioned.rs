//! Finishes a put in a bucket that keeps versions ([`crate::versions`]). The content is uploaded
//! once; before each attempt the current version is copied to its place among the older ones.

use store_protocol::{Condition, Key, Meta};

use super::decide::Order;
use super::error::{StoreError, unavailable};
use super::store::Store;
use crate::versioning::Versioning;
use crate::versions::{Kept, TRIES, refused};

impl Store {
    /// Has a put decided on condition that the current version is still the one that was kept.
    pub(super) async fn finish_versioned(
        &self,
        key: &Key,
        mut order: Order,
        condition: Condition,
        versioning: Versioning,
    ) -> Result<Option<Meta>, StoreError> {
        let _alone = self.versions_locks().lock(key).await;
        let mut tries = 1;
        let ended = loop {
            match self.attempt(key, &mut order, &condition, versioning).await {
                Err(Attempt::Overtaken) if tries < TRIES => tries += 1,
                Err(Attempt::Overtaken) => {
                    break Err(unavailable(key, "it is being written too often: retry"));
                }
                Err(Attempt::Failed(error)) => break Err(error),
                Ok(written) => break Ok(written),
            }
        };
        order.close(ended.is_ok()).await;
        let (written, replaced) = ended?;
        self.remove_replaced(&replaced).await?;
        Ok(written)
    }

    /// Returns the version written, and the older ones that it replaces.
    async fn attempt(
        &self,
        key: &Key,
        order: &mut Order,
        condition: &Condition,
        versioning: Versioning,
    ) -> Result<(Option<Meta>, Vec<Meta>), Attempt> {
        let current = self.current(key).await?;
        if !condition.holds(current.as_ref()) {
            return Err(Attempt::Failed(refused(key, current.as_ref())));
        }
        let mut kept: Option<Kept> = None;
        if let Some(current) = current.as_ref().filter(|current| versioning.keeps(current)) {
            kept = Some(match self.keep(key, current).await {
                Err(StoreError::Condition { .. } | StoreError::NotFound(_)) => {
                    return Err(Attempt::Overtaken);
                }
                kept => kept?,
            });
        }
        let on = match (&kept, &current) {
            (Some(kept), Some(current)) => kept.condition(current),
            _ => Condition::still(current.as_ref()),
        };
        let replaced = self.null_entries(key, versioning).await?;
        order.renew(on, current.as_ref());
        match self.finish_somewhere(order).await {
            Err(StoreError::Condition { .. }) if !order.is_again() => {
                self.forget_kept(key, kept).await?;
                Err(Attempt::Overtaken)
            }
            Err(StoreError::Condition { .. }) => {
                let detail = "a response was lost, and the object was changed since";
                Err(Attempt::Failed(unavailable(key, detail)))
            }
            written => Ok((written?, replaced)),
        }
    }
}

/// Why an attempt has written nothing.
enum Attempt {
    /// Another client has written the object since it was looked at.
    Overtaken,
    Failed(StoreError),
}

impl From<StoreError> for Attempt {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}
