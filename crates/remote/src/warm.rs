//! Reading objects into the cache before anybody asks for them.

use std::io;
use std::sync::Arc;

use cache::{Cache, StoreOrigin};
use futures_util::{StreamExt, stream};

use crate::cached::failure;
use crate::failure::Failure;
use crate::remote::Remote;

/// Objects that are read at a time.
const AT_ONCE: usize = 4;

/// What became of one object.
#[derive(Debug)]
pub struct Warmed {
    /// Its address.
    pub address: String,
    /// Its size, or why it was not read.
    pub result: io::Result<u64>,
}

impl Remote {
    /// Reads objects of buckets into a cache, as far as they are not there, several at a time. `progress` is called with the
    /// bytes of each piece.
    ///
    /// # Errors
    /// Nothing could be asked at all. What is wrong with one object is in its result.
    pub fn warm(
        &self,
        cache: &Cache,
        addresses: Vec<String>,
        progress: impl Fn(u64) + Send + Sync + 'static,
    ) -> io::Result<Vec<Warmed>> {
        let (cache, progress) = (cache.clone(), Arc::new(progress));
        self.wait(move |shared| async move {
            let reads = stream::iter(addresses).map(|address| {
                let (cache, progress, shared) = (cache.clone(), progress.clone(), shared.clone());
                async move {
                    let result = async {
                        let (bucket, path) = shared.bucket_of(&address).await?;
                        let endpoint = match address.starts_with("store:") {
                            true => "",
                            false => shared.endpoint(),
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
                    Warmed { address, result }
                }
            });
            let warmed = reads.buffered(AT_ONCE).collect().await;
            cache.settled(SETTLE_MAX).await;
            Ok(warmed)
        })
    }
}

/// How long the disks are waited for at the end.
const SETTLE_MAX: std::time::Duration = std::time::Duration::from_secs(600);
