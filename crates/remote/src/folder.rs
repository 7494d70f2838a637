//! A folder of a store as the place of an archive's tables of facts ([`facts::Place`]).
//!
//! Invariants:
//!  - a commit of a table is made by a put that the store itself refuses where there is one already (`If-None-Match: *`). A store
//!    that ignores the condition is found out with the first commit, which begins a table, before any epoch counts on it;
//!  - what a caller wants written is sent as it is, without a copy of it; large files in parts, each with
//!    a time of its own to be answered, as each piece of what is read has.

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
use crate::retry::{Patience, asked};

/// Reads at once where many small files are asked for.
const READS_AT_ONCE: usize = 16;

/// Times that a file is created before its store counts as away, if answers are lost.
const CREATIONS_MAX: u32 = 3;

/// A folder of a bucket. Each call finds the bucket again, so that it outlives a closed connection.
#[derive(Clone)]
pub struct Folder {
    remote: Remote,
    /// Its address, without a slash at the end.
    root: String,
    /// Whether the store was seen to refuse a second file of the same name.
    refuses_second: Arc<AtomicBool>,
}

impl Remote {
    /// The folder at `s3://bucket/name` or `store://bucket/name`; nothing is asked yet.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the address names no folder of a store.
    pub fn folder(&self, address: &str) -> io::Result<Folder> {
        let (scheme, bucket, name) = match Address::parse(address)? {
            Address::S3 { bucket, name } => ("s3", bucket, name),
            Address::Store { bucket, name } => ("store", bucket, name),
            Address::Web(_) => {
                let what = "nothing can be written to a web server: expected s3:// or store://";
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

/// The bucket of an address, and the path in it.
async fn at(shared: &Shared, address: &str) -> io::Result<(Arc<Bucket>, Path)> {
    let (bucket, name) = shared.bucket_of(address).await?;
    Ok((bucket, path(&name)?))
}

async fn read(shared: &Shared, address: &str) -> io::Result<Option<Bytes>> {
    let (bucket, path) = at(shared, address).await?;
    let mut patience = Patience::new(shared.retry());
    loop {
        match bucket.read(&path, &patience).await {
            Ok(read) => return Ok(read),
            Err(failure) => patience.bear(failure).await?,
        }
    }
}

async fn write(shared: &Shared, address: &str, bytes: Bytes) -> io::Result<()> {
    let (bucket, path) = at(shared, address).await?;
    let mut patience = Patience::new(shared.retry());
    loop {
        match bucket.write(&path, &bytes, &patience).await {
            Ok(()) => return Ok(()),
            Err(failure) => patience.bear(failure).await?,
        }
    }
}

/// Creates a file; says whether there was none.
async fn create(shared: &Shared, address: &str, bytes: Bytes) -> io::Result<bool> {
    let (bucket, path) = at(shared, address).await?;
    let mut patience = Patience::new(shared.retry());
    let mut attempts = 0;
    loop {
        attempts += 1;
        let failure = match patience.hear(bucket.create(&path, &bytes)).await {
            Ok(is_new) => return Ok(is_new),
            Err(failure) => failure,
        };
        match failure {
            Failure::Passing(..) => patience.bear(failure).await?,
            // The client below never repeats a conditional put whose answer was lost. Where the store answers by now, it says
            // whether the file is there; a failed one is tried again.
            Failure::Final(error) if error.kind() == ErrorKind::Other && attempts < CREATIONS_MAX => {
                match patience.hear(bucket.stat(&path)).await {
                    Ok(Some(_)) => return Ok(false),
                    Ok(None) => {}
                    Err(_) => return Err(error),
                }
            }
            Failure::Final(error) => return Err(error),
        }
    }
}

impl facts::Place for Folder {
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
            // The same bytes again, so that a store which takes them changes nothing.
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
            let stat = asked(shared.retry(), || bucket.stat(&path)).await?;
            Ok(stat.is_some())
        })
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let address = self.address(folder);
        self.remote.wait(|shared| async move {
            let (bucket, path) = at(&shared, &address).await?;
            asked(shared.retry(), || bucket.names(&path)).await
        })
    }

    fn may_arrive_late(&self) -> bool {
        true
    }

    fn locate(&self, path: &str) -> String {
        self.address(path)
    }
}

/// Said of a store that took a second file in place of the first.
const CONDITIONS_IGNORED: &str = "this store ignores the condition of a put (If-None-Match: *), so that two writers would \
     replace each other's commits: keep facts in a store with conditional puts, or in a folder (--facts DIR)";

impl std::fmt::Debug for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Folder({})", self.root)
    }
}
