//! Weft's own store as a source of inputs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use object_store::ObjectStore;

use crate::listed_page::ListedPage;

/// Why the store cannot answer: an error of the client that [`OwnStore`] calls.
pub type OwnStoreError = Box<dyn std::error::Error + Send + Sync>;

/// A page of a listing, later.
type ListedLater = BoxFuture<'static, Result<Option<ListedPage>, OwnStoreError>>;

/// Access to Weft's own store; paths are `bucket/name`.
#[derive(Clone)]
pub struct OwnStore {
    /// Its objects.
    pub objects: Arc<dyn ObjectStore>,
    /// Whether objects are on other machines, so that caching them here is useful.
    pub is_far: bool,
    /// Returns the SHA-256 that the store keeps for `bucket/name`; `None` if it cannot be read now.
    pub sha256: Arc<dyn Fn(String) -> BoxFuture<'static, Option<[u8; 32]>> + Send + Sync>,
    /// Returns a page of the objects whose path starts with a prefix (`bucket/` and the start of a
    /// name) and comes after another one, in order; `None` if the bucket does not exist.
    pub list: Arc<dyn Fn(String, Option<String>) -> ListedLater + Send + Sync>,
    /// Closes the connection; [`crate::Remote::close`] calls it.
    pub close: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Connects to the store on first use.
pub(crate) type Connect = dyn Fn() -> BoxFuture<'static, Result<OwnStore, OwnStoreError>> + Send + Sync;
