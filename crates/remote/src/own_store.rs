//! Our own store as a place of inputs.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use object_store::ObjectStore;

/// Our own store, as reading sees it: paths are `bucket/name`.
#[derive(Clone)]
pub struct OwnStore {
    /// Its objects.
    pub objects: Arc<dyn ObjectStore>,
    /// The SHA-256 that it keeps of `bucket/name`; `None` if it cannot be told now.
    pub sha256: Arc<dyn Fn(String) -> BoxFuture<'static, Option<[u8; 32]>> + Send + Sync>,
    /// Ends the connection, at [`crate::Remote::close`].
    pub close: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Finds the store when it is first needed, or says why it cannot be had.
pub(crate) type Connect = dyn Fn() -> BoxFuture<'static, Result<OwnStore, String>> + Send + Sync;
