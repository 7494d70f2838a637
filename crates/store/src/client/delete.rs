//! A client's deletion.

use store_protocol::{Change, Condition, Key, Meta};

use super::error::StoreError;
use super::propose::Proposal;
use super::staging::ContentSource;
use super::store::Store;

impl Store {
    /// Deletes an object by writing a tombstone. Returns `None`, without a tombstone, if there is
    /// no object.
    ///
    /// # Errors
    /// [`StoreError`]; also `Condition` if the condition names an entity tag and there is no
    /// object.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Option<Meta>, StoreError> {
        let state = self.key_state(key).await;
        // The key certainly has no live version, so no decision is needed.
        if condition == Condition::Always && matches!(state.decided(), Ok(None)) {
            return Ok(None);
        }
        let mut proposal = Proposal::new(
            self,
            key,
            Change::Delete { condition },
            ContentSource::None,
            &state,
        );
        let decided = self.propose(&mut proposal).await;
        proposal.close(decided.is_ok()).await;
        decided
    }
}
