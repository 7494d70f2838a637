//! A folder of a store that holds an archive's tables of facts ([`system::FileStore`]).
//!
//! Invariants:
//!  - A table is committed with a conditional put, which the store refuses if the object exists
//!    (`If-None-Match: *`). A store that ignores the condition is detected at the first commit,
//!    which creates a table, before any epoch depends on it.
//!  - Bytes are sent without a copy of them. Large files are sent in parts, each with its own
//!    timeout, like each piece that is read.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;

use crate::address::{Address, path};
use crate::bucket::Bucket;
use crate::failure::Failure;
use crate::remote::{Remote, Shared};
use crate::retry::{Retries, with_retries};

/// Number of concurrent reads of small files.
const READS_AT_ONCE: usize = 16;

/// Maximum number of tries to create a file, if responses are lost, before the store counts as
/// unavailable.
const CREATIONS_MAX: u32 = 3;

/// A folder of a bucket. Each call looks the bucket up again, so that it survives a closed
/// connection.
#[derive(Clone)]
pub struct Folder {
    remote: Remote,
    /// Its address, without a trailing slash.
    root: String,
    /// Whether the store has been seen to refuse a second file of the same name.
    refuses_second: Arc<AtomicBool>,
}

impl Remote {
    /// Returns the folder at `s3://bucket/name` or `store://bucket/name`, without any request.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the address is not a folder of a store.
    pub fn folder(&self, address: &str) -> io::Result<Folder> {
        let (scheme, bucket, name) = match Address::parse(address)? {
            Address::S3 { bucket, name } => ("s3", bucket, name),
            Address::Store { bucket, name } => ("store", bucket, name),
            Address::Web(_) => {
                let what = "cannot write to a web server: expected s3:// or store://";
                return Err(io::Error::new(ErrorKind::InvalidInput, what));
            }
        };
        let name = name.trim_end_matches('/');
        path(name)?;
        let root = format!("{scheme}://{bucket}/{name}");
        Ok(Folder {
            remote: self.clone(),
            root: root.trim_end_matches('/').to_owned(),
            refuses_second: Arc::default(),
        })
    }
}

impl Folder {
    fn address(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }
}

/// Returns the bucket of an address, and the path in it.
async fn at(shared: &Shared, address: &str) -> io::Result<(Arc<Bucket>, Path)> {
    let (bucket, name) = shared.bucket_of(address).await?;
    Ok((bucket, path(&name)?))
}

async fn read(shared: &Shared, address: &str) -> io::Result<Option<Bytes>> {
    let (bucket, path) = at(shared, address).await?;
    let mut retries = Retries::new(shared.retry());
    loop {
        match bucket.read(&path, &retries).await {
            Ok(read) => return Ok(read),
            Err(failure) => retries.wait_or_fail(failure).await?,
        }
    }
}

async fn write(shared: &Shared, address: &str, bytes: Bytes) -> io::Result<()> {
    let (bucket, path) = at(shared, address).await?;
    let mut retries = Retries::new(shared.retry());
    loop {
        match bucket.write(&path, &bytes, &retries).await {
            Ok(()) => return Ok(()),
            Err(failure) => retries.wait_or_fail(failure).await?,
        }
    }
}

/// Creates a file. Returns whether it was created.
async fn create(shared: &Shared, address: &str, bytes: Bytes) -> io::Result<bool> {
    let (bucket, path) = at(shared, address).await?;
    let mut retries = Retries::new(shared.retry());
    let mut attempts = 0;
    loop {
        attempts += 1;
        let failure = match retries.with_timeout(bucket.create(&path, &bytes)).await {
            Ok(is_new) => return Ok(is_new),
            Err(failure) => failure,
        };
        match failure {
            Failure::Passing(..) => retries.wait_or_fail(failure).await?,
            // The client never repeats a conditional put whose response was lost. Ask whether the
            // file exists; if not, try again.
            Failure::Final(error) if error.kind() == ErrorKind::Other && attempts < CREATIONS_MAX => {
                match retries.with_timeout(bucket.stat(&path)).await {
                    Ok(Some(_)) => return Ok(false),
                    Ok(None) => {}
                    Err(_) => return Err(error),
                }
            }
            Failure::Final(error) => return Err(error),
        }
    }
}

impl system::FileStore for Folder {
    fn put(&self, path: &str, bytes: Bytes) -> io::Result<()> {
        let address = self.address(path);
        self.remote
            .wait(|shared| async move { write(&shared, &address, bytes).await })
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> io::Result<bool> {
        system::failpoint::pass(&facts::CRASH_POINTS, "publish.before_rename");
        let address = self.address(path);
        let is_checked = self.refuses_second.load(Ordering::Relaxed);
        let (is_new, is_refused) = self.remote.wait(|shared| async move {
            let is_new = create(&shared, &address, bytes.clone()).await?;
            // The same bytes, so that a store that accepts the second put changes nothing.
            let is_refused = is_new && !is_checked && !create(&shared, &address, bytes).await?;
            Ok((is_new, is_refused))
        })?;
        if is_new && !is_checked && !is_refused {
            return Err(io::Error::new(ErrorKind::Unsupported, CONDITIONS_IGNORED));
        }
        self.refuses_second.store(true, Ordering::Relaxed);
        system::failpoint::pass(&facts::CRASH_POINTS, "publish.before_sync");
        Ok(is_new)
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        let address = self.address(path);
        self.remote
            .wait(|shared| async move { read(&shared, &address).await })
    }

    fn get_all(&self, paths: &[String]) -> io::Result<Vec<Option<Bytes>>> {
        let addresses: Vec<String> = paths.iter().map(|path| self.address(path)).collect();
        self.remote.wait(|shared| async move {
            let reads = addresses.into_iter().map(|address| {
                let shared = shared.clone();
                async move { read(&shared, &address).await }
            });
            stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await
        })
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        let address = self.address(path);
        self.remote.wait(|shared| async move {
            let (bucket, path) = at(&shared, &address).await?;
            let stat = with_retries(shared.retry(), || bucket.stat(&path)).await?;
            Ok(stat.is_some())
        })
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let address = self.address(folder);
        self.remote.wait(|shared| async move {
            let (bucket, path) = at(&shared, &address).await?;
            with_retries(shared.retry(), || bucket.names(&path)).await
        })
    }

    fn may_arrive_late(&self) -> bool {
        true
    }

    fn locate(&self, path: &str) -> String {
        self.address(path)
    }
}

/// Error for a store that replaced a file despite the condition.
const CONDITIONS_IGNORED: &str = "this store ignores the condition of a put (If-None-Match: *), so two writers would \
     overwrite each other's commits: keep facts in a store with conditional puts, or in a folder (--facts DIR)";

impl std::fmt::Debug for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Folder({})", self.root)
    }
}
