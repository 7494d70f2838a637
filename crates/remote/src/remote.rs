//! The interface to all sources.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cache::{Cache, CachedStore, StoreOrigin, User};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use object_store::ObjectStore;
use object_store::client::HttpClient;
use parking_lot::Mutex;
use warc::Input;

use crate::address::{Address, path};
use crate::bucket::{Bucket, BucketObject};
use crate::cached::CachedRanges;
use crate::download::download;
use crate::own_store::{Connect, OwnStore, OwnStoreError};
use crate::reader::RangeReader;
use crate::redirects::Connector;
use crate::retry::with_retries;
use crate::runtime::Spawner;
use crate::settings::{Retry, S3Settings, Settings};
use crate::stat::Stat;
use crate::web::{WebFile, WebRanges};
use crate::{failure::Failure, s3};

/// Number of concurrent requests when many inputs are examined.
const LOOKS_AT_ONCE: usize = 32;

/// Maximum wait for the disks of the cache on close.
const SETTLE_MAX: Duration = Duration::from_secs(5);

/// Inputs from S3 stores, web servers and Weft's own store. Cheap to clone and to create: threads
/// and connections start with the first request.
#[derive(Clone)]
pub struct Remote {
    shared: Arc<Shared>,
    spawner: Arc<OnceLock<Spawner>>,
}

pub(crate) struct Shared {
    settings: Settings,
    connect: Option<Box<Connect>>,
    s3: Mutex<HashMap<String, Arc<Bucket>>>,
    own: Mutex<Option<(Arc<Bucket>, OwnStore)>>,
    web: OnceLock<HttpClient>,
    cache: OnceLock<Option<Cache>>,
    open_cache: OnceLock<Box<OpenCache>>,
}

/// Opens the cache tier on first use.
type OpenCache = dyn Fn() -> Option<Cache> + Send + Sync;

/// The source of an address.
enum Source {
    /// A name in a bucket; `own` is set for Weft's own store.
    Bucket {
        bucket: Arc<Bucket>,
        name: String,
        own: Option<OwnStore>,
    },
    Web(WebFile),
}

impl Remote {
    /// Creates a remote without Weft's own store: `store://` addresses are errors.
    pub fn new(settings: Settings) -> Remote {
        Remote::with(settings, None)
    }

    /// Creates a remote with Weft's own store, to which it connects on first use.
    pub fn with_store(
        settings: Settings,
        connect: impl Fn() -> BoxFuture<'static, Result<OwnStore, OwnStoreError>> + Send + Sync + 'static,
    ) -> Remote {
        Remote::with(settings, Some(Box::new(connect)))
    }

    fn with(settings: Settings, connect: Option<Box<Connect>>) -> Remote {
        Remote {
            shared: Arc::new(Shared {
                settings,
                connect,
                s3: Mutex::default(),
                own: Mutex::default(),
                web: OnceLock::new(),
                cache: OnceLock::new(),
                open_cache: OnceLock::new(),
            }),
            spawner: Arc::default(),
        }
    }

    /// Reads inputs and tables through a cache tier, which `open` opens on first use. Only the
    /// first call has an effect.
    pub fn use_cache(&self, open: impl Fn() -> Option<Cache> + Send + Sync + 'static) {
        // Readers do not depend on which tier is used, so a second one is ignored.
        let _ = self.shared.open_cache.set(Box::new(open));
    }

    /// As [`Remote::use_cache`], with an open tier. Must be called before the first read.
    pub fn set_cache(&self, cache: Cache) {
        let _ = self.shared.open_cache.set(Box::new(|| None));
        let _ = self.shared.cache.set(Some(cache));
    }

    /// Returns the cache tier, if there is one.
    pub fn cache(&self) -> Option<&Cache> {
        self.shared.cache()
    }

    /// Closes the connection to Weft's own store, if any; the next use connects again. Waits at
    /// most [`SETTLE_MAX`] until the data read is on the disks of the cache.
    pub fn close(&self) {
        let opened = self.shared.cache.get().cloned().flatten();
        if let (Some(cache), Some(spawner)) = (opened, self.spawner.get()) {
            let settled = spawner.wait(async move { Ok(cache.wait_until_stored(SETTLE_MAX).await) });
            if !settled.unwrap_or(false) {
                tracing::warn!("the disks of the cache are slow: some of the data read is not cached");
            }
        }
        let own = self.shared.own.lock().take();
        if let Some((_, own)) = own {
            let closed = self.wait(|_| async move {
                (own.close)().await;
                Ok(())
            });
            // An error means that no threads were started, so there was no connection.
            closed.unwrap_or_default();
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn spawner(&self) -> io::Result<Spawner> {
        if let Some(spawner) = self.spawner.get() {
            return Ok(spawner.clone());
        }
        let spawner = Spawner::new()?;
        // If two threads create one concurrently, both use the first one stored.
        Ok(self.spawner.get_or_init(|| spawner).clone())
    }

    /// Runs work on the threads of this value and waits for it.
    pub(crate) fn wait<T, F>(&self, work: impl FnOnce(Arc<Shared>) -> F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = io::Result<T>> + Send + 'static,
    {
        self.spawner()?.wait(work(self.shared.clone()))
    }

    /// Returns whether the scheme of an address is supported.
    pub fn serves(&self, address: &str) -> bool {
        let scheme = address.split("://").next().unwrap_or_default();
        ["s3", "https", "http", "store"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    }

    /// Examines many addresses in parallel. The results have the order of `addresses`; `None` means
    /// that the input does not exist. A name that ends in a slash, like a folder's, counts as
    /// missing.
    pub fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<Stat>>> {
        let asked: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
        let looked = self.wait(|shared| async move {
            let looks = stream::iter(asked).map(|address| look(shared.clone(), address));
            Ok(looks.buffered(LOOKS_AT_ONCE).collect::<Vec<_>>().await)
        });
        // If no request could be made at all, every address gets that error.
        looked.unwrap_or_else(|error| {
            let again = |_| Err(io::Error::new(error.kind(), error.to_string()));
            addresses.iter().map(again).collect()
        })
    }

    /// Returns every input whose address starts with `folder`, which ends in a slash, sorted by
    /// address.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for web servers, which have no listings; otherwise the source's
    /// error, for example [`ErrorKind::PermissionDenied`]. The text says what to do next; it does
    /// not name the address.
    pub fn list(&self, folder: &str) -> io::Result<Vec<(String, Stat)>> {
        let folder = folder.to_owned();
        self.wait(|shared| async move { shared.list(&folder).await })
    }

    /// Opens an input for reading at any position: the version `seen` if given, otherwise the
    /// current one. Reads fail with [`ErrorKind::InvalidData`] once another version has replaced
    /// it.
    ///
    /// # Errors
    /// As [`Remote::list`]; [`ErrorKind::NotFound`] if the input does not exist.
    pub fn open(&self, address: &str, seen: Option<&Stat>) -> io::Result<Arc<dyn Input>> {
        let spawner = self.spawner()?;
        let (address, seen) = (address.to_owned(), seen.cloned());
        self.wait(|shared| async move { shared.open(address, seen, spawner).await })
    }
}

impl Remote {
    /// Returns the bucket of `s3://bucket/...`, for engines that read and write tables directly.
    /// Its requests run on the threads of this value, whatever thread makes them, while a clone of
    /// this value exists.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] or [`ErrorKind::Unsupported`] if the address is not a bucket of
    /// an S3 store.
    pub fn bucket_of_s3(&self, address: &str) -> io::Result<Arc<dyn ObjectStore>> {
        let Address::S3 { bucket, .. } = Address::parse(address)? else {
            let what = "expected s3://; a Weft store is accessible by S3 with weft store serve --s3";
            return Err(io::Error::new(ErrorKind::Unsupported, what));
        };
        let handle = self.spawner()?.handle();
        self.wait(|shared| async move {
            let Settings { s3, retry } = &shared.settings;
            let handle = handle.unwrap_or_else(tokio::runtime::Handle::current);
            let made = with_retries(*retry, || {
                s3::bucket_for_others(s3, &bucket, *retry, handle.clone())
            })
            .await?;
            let store: Arc<dyn ObjectStore> = Arc::new(made);
            let Some(cache) = shared.cache() else {
                return Ok(store);
            };
            let origin = StoreOrigin {
                store,
                root: format!("s3://{bucket}"),
                endpoint: shared.endpoint().to_owned(),
            };
            Ok(Arc::new(CachedStore::new(cache, origin, User::Sql)) as Arc<dyn ObjectStore>)
        })
    }
}

async fn look(shared: Arc<Shared>, address: String) -> io::Result<Option<Stat>> {
    let retry = shared.settings.retry;
    match shared.resolve(&address).await? {
        // Some stores keep an empty object for a folder. It is not an input.
        Source::Bucket { name, .. } if name.is_empty() || name.ends_with('/') => Ok(None),
        Source::Bucket { bucket, name, own } => {
            let path = path(&name)?;
            let stat = with_retries(retry, || bucket.stat(&path)).await?;
            match (stat, own) {
                (Some(stat), Some(own)) => Ok(Some(with_digest(&own, &name, stat).await)),
                (stat, _) => Ok(stat),
            }
        }
        Source::Web(file) => {
            let stat = with_retries(retry, || file.stat()).await?;
            Ok(stat.map(|stat| stat.stat()))
        }
    }
}

async fn with_digest(own: &OwnStore, name: &str, stat: Stat) -> Stat {
    let sha256 = (own.sha256)(name.to_owned()).await;
    Stat { sha256, ..stat }
}

impl Shared {
    pub(crate) fn retry(&self) -> Retry {
        self.settings.retry
    }

    /// Returns the endpoint, which distinguishes buckets of the same name.
    pub(crate) fn endpoint(&self) -> &str {
        self.settings.s3.endpoint.as_deref().unwrap_or_default()
    }

    fn cache(&self) -> Option<&Cache> {
        let open = self.open_cache.get()?;
        self.cache.get_or_init(open).as_ref()
    }

    /// Returns the cache for objects of a store.
    fn cache_for(&self, own: Option<&OwnStore>) -> Option<&Cache> {
        // Objects on local disks are not cached.
        let is_far = own.is_none_or(|own| own.is_far);
        self.cache().filter(|_| is_far)
    }

    pub(crate) fn s3_settings(&self) -> &S3Settings {
        &self.settings.s3
    }

    /// Returns the bucket of an address, and the name in it.
    pub(crate) async fn bucket_of(&self, address: &str) -> io::Result<(Arc<Bucket>, String)> {
        match self.resolve(address).await? {
            Source::Bucket { bucket, name, .. } => Ok((bucket, name)),
            Source::Web(_) => Err(io::Error::new(
                ErrorKind::Unsupported,
                "a web server has no buckets",
            )),
        }
    }

    async fn resolve(&self, address: &str) -> io::Result<Source> {
        Ok(match Address::parse(address)? {
            Address::S3 { bucket, name } => Source::Bucket {
                bucket: self.s3_bucket(&bucket).await?,
                name,
                own: None,
            },
            Address::Store { bucket, name } => {
                let (whole, own) = self.own_store().await?;
                Source::Bucket {
                    bucket: whole,
                    name: format!("{bucket}/{name}"),
                    own: Some(own),
                }
            }
            Address::Web(url) => Source::Web(WebFile::new(self.client()?, url)?),
        })
    }

    /// Returns the HTTP client for requests that bypass the object store client.
    pub(crate) fn client(&self) -> io::Result<HttpClient> {
        if let Some(client) = self.web.get() {
            return Ok(client.clone());
        }
        let made = Connector::new(true).client()?;
        Ok(self.web.get_or_init(|| made).clone())
    }

    async fn s3_bucket(&self, name: &str) -> io::Result<Arc<Bucket>> {
        if let Some(bucket) = self.s3.lock().get(name) {
            return Ok(bucket.clone());
        }
        let settings = &self.settings;
        let made = with_retries(settings.retry, || s3::bucket(&settings.s3, name, settings.retry)).await?;
        // The lock is not held while the region is requested: two threads may create the same
        // bucket, and the first one stored is used.
        let mut known = self.s3.lock();
        Ok(known.entry(name.to_owned()).or_insert(Arc::new(made)).clone())
    }

    pub(crate) async fn own_store(&self) -> io::Result<(Arc<Bucket>, OwnStore)> {
        if let Some(known) = &*self.own.lock() {
            return Ok(known.clone());
        }
        let connect = self.connect.as_ref().ok_or_else(|| {
            io::Error::new(
                ErrorKind::Unsupported,
                "store:// is not connected to a store here",
            )
        })?;
        let own = connect()
            .await
            .map_err(|error| io::Error::other(format!("connect to the store: {error}")))?;
        let bucket = Bucket {
            objects: own.objects.clone(),
            root: "store://".to_owned(),
            refused: "the store's nodes do not share a secret".to_owned(),
            retries: false,
        };
        Ok(self.own.lock().insert((Arc::new(bucket), own)).clone())
    }

    async fn list(&self, folder: &str) -> io::Result<Vec<(String, Stat)>> {
        let Source::Bucket { bucket, name, own } = self.resolve(folder).await? else {
            let what = "a web server does not list its files; name them, or a .paths list";
            return Err(io::Error::new(ErrorKind::Unsupported, what));
        };
        let found = with_retries(self.settings.retry, || bucket.list(&name)).await?;
        let root = bucket.root.as_str();
        let described = stream::iter(found).map(|(path, stat)| {
            let own = own.as_ref();
            async move {
                let stat = match own {
                    Some(own) => with_digest(own, path.as_ref(), stat).await,
                    None => stat,
                };
                (format!("{root}{path}"), stat)
            }
        });
        Ok(described.buffered(LOOKS_AT_ONCE).collect().await)
    }

    async fn open(
        &self,
        address: String,
        seen: Option<Stat>,
        spawner: Spawner,
    ) -> io::Result<Arc<dyn Input>> {
        let retry = self.settings.retry;
        match self.resolve(&address).await? {
            Source::Bucket { bucket, name, own } if let Some(cache) = self.cache_for(own.as_ref()) => {
                let path = path(&name)?.to_string();
                // Weft's own store is a single store, whichever node answers.
                let endpoint = if own.is_some() { "" } else { self.endpoint() };
                let ask =
                    || CachedRanges::of_bucket(cache, bucket.clone(), endpoint, path.clone(), seen.as_ref());
                let ranges = with_retries(retry, ask).await?;
                let size = ranges.size_bytes();
                Ok(Arc::new(RangeReader::new(Arc::new(ranges), size, retry, spawner)))
            }
            Source::Bucket { bucket, name, .. } => {
                let path = path(&name)?;
                let seen = match seen {
                    Some(seen) => seen,
                    None => with_retries(retry, || bucket.stat(&path))
                        .await?
                        .ok_or_else(not_found)?,
                };
                let size = seen.size;
                let object = BucketObject { bucket, path, seen };
                Ok(Arc::new(RangeReader::new(Arc::new(object), size, retry, spawner)))
            }
            Source::Web(file) => {
                if let Some(cache) = self.cache_for(None) {
                    let ask = || CachedRanges::of_web(cache, file.clone(), seen.as_ref());
                    if let Some(ranges) = with_retries(retry, ask).await? {
                        let size = ranges.size_bytes();
                        return Ok(Arc::new(RangeReader::new(Arc::new(ranges), size, retry, spawner)));
                    }
                }
                let found = with_retries(retry, || file.stat()).await?.ok_or_else(not_found)?;
                let ranges = WebRanges { file, seen: found };
                if let Some(seen) = seen {
                    ranges.check_seen(&seen).map_err(to_io_error)?;
                }
                match ranges.seen.size {
                    Some(size) if ranges.seen.ranges => {
                        Ok(Arc::new(RangeReader::new(Arc::new(ranges), size, retry, spawner)))
                    }
                    // Without ranges or a size, the file cannot be read at any position, so it is
                    // copied first.
                    _ => Ok(Arc::new(download(ranges.file, retry).await?)),
                }
            }
        }
    }
}

fn not_found() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "no such input (404)")
}

fn to_io_error(failure: Failure) -> io::Error {
    match failure {
        Failure::Final(error) => error,
        Failure::Passing(what, _) => io::Error::other(what),
    }
}
