//! Has a put decided in a bucket that keeps versions ([`crate::versions`]). The content is uploaded
//! once; before each attempt the current version is copied to its place among the older ones.

use store_protocol::{Condition, Key, Meta};

use super::error::{StoreError, unavailable};
use super::propose::Proposal;
use super::store::Store;
use crate::versioning::Versioning;
use crate::versions::{TRIES, VersionCopy, refused};

impl Store {
    /// Has a put decided on condition that the current version is still the one that was copied.
    pub(super) async fn propose_versioned(
        &self,
        key: &Key,
        mut proposal: Proposal,
        versioning: Versioning,
    ) -> Result<Option<Meta>, StoreError> {
        let condition = proposal.take_condition();
        let _alone = self.versions_locks().lock(key).await;
        let mut tries = 1;
        let ended = loop {
            match self.try_propose(key, &mut proposal, &condition, versioning).await {
                Err(AttemptError::Overtaken) if tries < TRIES => tries += 1,
                Err(AttemptError::Overtaken) => {
                    break Err(unavailable(key, "it is being written too often: retry"));
                }
                Err(AttemptError::Failed(error)) => break Err(error),
                Ok(written) => break Ok(written),
            }
        };
        proposal.close(ended.is_ok()).await;
        let (written, replaced) = ended?;
        self.remove_replaced(&replaced).await?;
        Ok(written)
    }

    /// Returns the version written, and the older ones that it replaces.
    async fn try_propose(
        &self,
        key: &Key,
        proposal: &mut Proposal,
        condition: &Condition,
        versioning: Versioning,
    ) -> Result<(Option<Meta>, Vec<Meta>), AttemptError> {
        let current = self.current(key).await?;
        if !condition.holds(current.as_ref()) {
            return Err(AttemptError::Failed(refused(key, current.as_ref())));
        }
        let mut copy: Option<VersionCopy> = None;
        if let Some(current) = current.as_ref().filter(|current| versioning.keeps(current)) {
            copy = Some(match self.copy_aside(key, current).await {
                Err(StoreError::Condition { .. } | StoreError::NotFound(_)) => {
                    return Err(AttemptError::Overtaken);
                }
                copied => copied?,
            });
        }
        let on = match (&copy, &current) {
            (Some(copy), Some(current)) => copy.condition(current),
            _ => Condition::still(current.as_ref()),
        };
        let replaced = self.null_entries(key, versioning).await?;
        proposal.renew(on, current.as_ref());
        match self.propose(proposal).await {
            Err(StoreError::Condition { .. }) if !proposal.is_repeated() => {
                self.remove_unneeded_copy(key, copy).await?;
                Err(AttemptError::Overtaken)
            }
            Err(StoreError::Condition { .. }) => {
                let detail = "a response was lost, and the object was changed since";
                Err(AttemptError::Failed(unavailable(key, detail)))
            }
            written => Ok((written?, replaced)),
        }
    }
}

/// Why an attempt has written nothing.
enum AttemptError {
    /// Another client has written the object since it was looked at.
    Overtaken,
    Failed(StoreError),
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}
