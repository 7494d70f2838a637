//! Prefetches objects into the cache.

use std::io;
use std::sync::Arc;

use cache::{Cache, StoreOrigin};
use futures_util::{StreamExt, stream};

use crate::cached::failure;
use crate::failure::Failure;
use crate::remote::Remote;

/// Number of objects read concurrently.
const AT_ONCE: usize = 4;

/// The result for one object.
#[derive(Debug)]
pub struct WarmReport {
    /// Its address.
    pub address: String,
    /// Its size, or why it could not be read.
    pub result: io::Result<u64>,
}

impl Remote {
    /// Reads objects of buckets into a cache, except for the parts already there, several at a
    /// time. Calls `progress` with the number of bytes of each part.
    ///
    /// # Errors
    /// Fails if no request could be made at all. Errors about one object are in its result.
    pub fn warm(
        &self,
        cache: &Cache,
        addresses: Vec<String>,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> io::Result<Vec<WarmReport>> {
        let (cache, progress) = (cache.clone(), Arc::new(progress));
        self.wait(move |shared| async move {
            let reads = stream::iter(addresses).map(|address| {
                let (cache, progress, shared) = (cache.clone(), progress.clone(), shared.clone());
                async move {
                    let result = async {
                        let (bucket, path) = shared.bucket_of(&address).await?;
                        let endpoint = if address.starts_with("store:") {
                            ""
                        } else {
                            shared.endpoint()
                        };
                        let origin = StoreOrigin {
                            store: bucket.objects.clone(),
                            root: bucket.root.strip_suffix('/').unwrap_or(&bucket.root).to_owned(),
                            endpoint: endpoint.to_owned(),
                        };
                        let read = cache.warm(Arc::new(origin), &path, |bytes| progress(bytes)).await;
                        read.map_err(|error| match failure(Some(&bucket), error) {
                            Failure::Final(error) => error,
                            Failure::Passing(what, _) => io::Error::other(what),
                        })
                    }
                    .await;
                    WarmReport { address, result }
                }
            });
            let warmed = reads.buffered(AT_ONCE).collect().await;
            cache.wait_until_stored(SETTLE_MAX).await;
            Ok(warmed)
        })
    }
}

/// Maximum wait for the disks at the end.
const SETTLE_MAX: std::time::Duration = std::time::Duration::from_secs(600);
