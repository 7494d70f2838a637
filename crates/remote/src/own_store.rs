//! Our own store as a source of inputs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use object_store::ObjectStore;

use crate::listing::ListedPage;

/// What a page of a listing will be.
type ListedLater = BoxFuture<'static, Result<Option<ListedPage>, String>>;

/// Access to our own store; paths are `bucket/name`.
#[derive(Clone)]
pub struct OwnStore {
    /// Its objects.
    pub objects: Arc<dyn ObjectStore>,
    /// Whether other machines hold objects, so that what is read of them is worth keeping here.
    pub is_far: bool,
    /// The SHA-256 that the store keeps for `bucket/name`; `None` if it cannot be read now.
    pub sha256: Arc<dyn Fn(String) -> BoxFuture<'static, Option<[u8; 32]>> + Send + Sync>,
    /// A page of the objects whose key begins with a text (`bucket/` and the beginning of a name) and comes after another one,
    /// in order; `None` if there is no such bucket. The error says why the store cannot say.
    pub list: Arc<dyn Fn(String, Option<String>) -> ListedLater + Send + Sync>,
    /// Closes the connection; [`crate::Remote::close`] calls it.
    pub close: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Connects to the store on first use; the error says why it cannot.
pub(crate) type Connect = dyn Fn() -> BoxFuture<'static, Result<OwnStore, String>> + Send + Sync;
