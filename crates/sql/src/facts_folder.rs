//! The location of Delta Lake tables: a folder, or a prefix in a bucket of an S3 store.

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

/// Length of the version number at the start of commit and checkpoint names (Delta Lake protocol,
/// "Delta Log Entries").
const VERSION_DIGITS: usize = 20;

/// A folder of tables.
pub(crate) struct FactsFolder {
    /// The address as the user typed it.
    address: String,
    /// The URL, ending in a slash.
    root: Url,
    /// The bucket, if the folder is in one.
    bucket: Option<Arc<dyn ObjectStore>>,
    /// Owns the runtime of the bucket's requests.
    _remote: Remote,
}

impl FactsFolder {
    /// Makes the folder `address`: a path, or `s3://bucket/name`. Nothing is read yet.
    ///
    /// # Errors
    /// [`SqlError::FactsFolder`] if it is another kind of address, or malformed.
    pub(crate) fn new(address: &str, remote: &Remote) -> Result<FactsFolder, SqlError> {
        let failed = |why: String| SqlError::FactsFolder {
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
                root.map_err(|()| failed("it cannot be written as a URL".into()))?,
                None,
            )
        };
        Ok(FactsFolder {
            address: address.to_owned(),
            root,
            bucket,
            _remote: remote.clone(),
        })
    }

    /// Returns the address as given.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Opens a table at its newest version; returns `None` if there is no such table.
    ///
    /// # Errors
    /// [`SqlError::Facts`].
    pub(crate) async fn open(&self, table: &'static str) -> Result<Option<DeltaTable>, SqlError> {
        let failed = SqlError::facts(table);
        let url = self
            .root
            .join(&format!("{table}/"))
            .map_err(|error| SqlError::FactsFolder {
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

    /// Returns whether the table exists, which means that its log has a commit. A load killed while
    /// creating the table leaves an empty log.
    async fn is_table(&self, url: &Url) -> Result<bool, object_store::Error> {
        let Some(bucket) = &self.bucket else {
            let dir = url.to_file_path().unwrap_or_else(|()| PathBuf::from(url.path()));
            return Ok(std::fs::read_dir(dir.join("_delta_log")).is_ok_and(|entries| {
                let mut names = entries.flatten().map(|entry| entry.file_name());
                names.any(|name| name.to_str().is_some_and(is_version_file))
            }));
        };
        let log = Path::from_url_path(url.path())?.join("_delta_log");
        let mut listing = bucket.list(Some(&log));
        while let Some(object) = listing.try_next().await? {
            if object.location.filename().is_some_and(is_version_file) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns whether a log file defines a version.
fn is_version_file(name: &str) -> bool {
    let version = name.get(..VERSION_DIGITS);
    let is_numbered = version.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered && (name.ends_with(".json") || name.ends_with(".parquet"))
}

/// Logs of tables in buckets. Commits are conditional puts, as on all stores that support them.
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
