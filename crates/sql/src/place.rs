//! Where tables of Delta Lake lie: in a folder, or in a bucket of an S3 store.

use std::path::PathBuf;
use std::sync::Arc;

use deltalake_core::logstore::{
    LogStore, LogStoreFactory, ObjectStoreRef, StorageConfig, default_logstore, logstore_factories,
};
use deltalake_core::{DeltaResult, DeltaTable, DeltaTableBuilder};
use futures_util::TryStreamExt as _;
use object_store::ObjectStore;
use object_store::path::Path;
use remote::Remote;
use url::Url;

use crate::SqlError;

/// What the names of a table's commits and checkpoints begin with (Delta Lake protocol, "Delta Log Entries").
const VERSION_DIGITS: usize = 20;

/// A folder of tables.
pub(crate) struct Place {
    /// As people write it.
    address: String,
    /// Ends in a slash.
    root: Url,
    /// The bucket, if it is one.
    bucket: Option<Arc<dyn ObjectStore>>,
    /// Its requests run in it.
    _remote: Remote,
}

impl Place {
    /// The folder `address`: a path, or `s3://bucket/name`. Nothing is read yet.
    ///
    /// # Errors
    /// [`SqlError::Place`]: it is another kind of address, or has no form as one.
    pub(crate) fn new(address: &str, remote: &Remote) -> Result<Place, SqlError> {
        let failed = |why: String| SqlError::Place {
            address: address.to_owned(),
            why,
        };
        let (root, bucket) = if inputs::is_address(address) {
            let bucket = remote
                .bucket_of_s3(address)
                .map_err(|error| failed(error.to_string()))?;
            let root = format!("{}/", address.trim_end_matches('/'));
            let root = Url::parse(&root).map_err(|error| failed(error.to_string()))?;
            if let Ok(scheme) = Url::parse("s3://") {
                logstore_factories().insert(scheme, Arc::new(Logs));
            }
            (root, Some(bucket))
        } else {
            let dir =
                std::path::absolute(inputs::path_of(address)).map_err(|error| failed(error.to_string()))?;
            let root = Url::from_directory_path(&dir);
            (
                root.map_err(|()| failed("it has no form as an address".into()))?,
                None,
            )
        };
        Ok(Place {
            address: address.to_owned(),
            root,
            bucket,
            _remote: remote.clone(),
        })
    }

    /// As it was given.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A table at its newest version; `None` if there is no such table.
    ///
    /// # Errors
    /// [`SqlError::Facts`].
    pub(crate) async fn open(&self, table: &'static str) -> Result<Option<DeltaTable>, SqlError> {
        let failed = SqlError::facts(table);
        let url = self
            .root
            .join(&format!("{table}/"))
            .map_err(|error| SqlError::Place {
                address: self.address.clone(),
                why: error.to_string(),
            })?;
        if !self.is_table(&url).await.map_err(|error| failed(error.into()))? {
            return Ok(None);
        }
        let mut builder = DeltaTableBuilder::from_url(url.clone()).map_err(&failed)?;
        if let Some(bucket) = &self.bucket {
            builder = builder.with_storage_backend(bucket.clone(), url);
        }
        let mut delta = builder.build().map_err(&failed)?;
        delta.load().await.map_err(&failed)?;
        Ok(Some(delta))
    }

    /// Whether there is a table: its log has a commit. A load that was killed as it made the table leaves a log without.
    async fn is_table(&self, url: &Url) -> Result<bool, object_store::Error> {
        let Some(bucket) = &self.bucket else {
            let dir = url.to_file_path().unwrap_or_else(|()| PathBuf::from(url.path()));
            return Ok(std::fs::read_dir(dir.join("_delta_log")).is_ok_and(|entries| {
                let mut names = entries.flatten().map(|entry| entry.file_name());
                names.any(|name| name.to_str().is_some_and(is_of_log))
            }));
        };
        let log = Path::from_url_path(url.path())?.join("_delta_log");
        let mut listing = bucket.list(Some(&log));
        while let Some(object) = listing.try_next().await? {
            if object.location.filename().is_some_and(is_of_log) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a file of a log makes a version.
fn is_of_log(name: &str) -> bool {
    let version = name.get(..VERSION_DIGITS);
    let is_numbered = version.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered && (name.ends_with(".json") || name.ends_with(".parquet"))
}

/// Logs of tables in buckets: commits are conditional puts, as on every store that has them.
struct Logs;

impl LogStoreFactory for Logs {
    fn with_options(
        &self,
        prefixed_store: ObjectStoreRef,
        root_store: ObjectStoreRef,
        location: &Url,
        options: &StorageConfig,
    ) -> DeltaResult<Arc<dyn LogStore>> {
        Ok(default_logstore(prefixed_store, root_store, location, options))
    }
}
