//! Our own store as a source of inputs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use object_store::ObjectStore;

/// Access to our own store; paths are `bucket/name`.
#[derive(Clone)]
pub struct OwnStore {
    /// Its objects.
    pub objects: Arc<dyn ObjectStore>,
    /// The SHA-256 that the store keeps for `bucket/name`; `None` if it cannot be read now.
    pub sha256: Arc<dyn Fn(String) -> BoxFuture<'static, Option<[u8; 32]>> + Send + Sync>,
    /// Closes the connection; [`crate::Remote::close`] calls it.
    pub close: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Connects to the store on first use; the error says why it cannot.
pub(crate) type Connect = dyn Fn() -> BoxFuture<'static, Result<OwnStore, String>> + Send + Sync;
