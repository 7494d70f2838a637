//! A client's deletion.

use store_protocol::{Change, Condition, Key, Meta};

use super::decide::Order;
use super::error::StoreError;
use super::spread::Content;
use super::store::Store;

impl Store {
    /// Deletes an object by writing a tombstone. Returns `None`, without a tombstone, if there is
    /// no object.
    ///
    /// # Errors
    /// [`StoreError`]; also `Condition` if the condition names an entity tag and there is no
    /// object.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Option<Meta>, StoreError> {
        let look = self.look(key).await;
        // The key certainly has no live version, so no decision is needed.
        if condition == Condition::Always && matches!(look.decided(), Ok(None)) {
            return Ok(None);
        }
        let order = Order::new(self, key, Change::Delete { condition }, Content::None, &look);
        self.finish(order).await
    }
}
