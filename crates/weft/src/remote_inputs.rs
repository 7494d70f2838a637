//! Inputs other than files, in the form that the archive needs: S3, web servers and the store that
//! flags or the environment select. Also the stores for the archive's facts, and objects as the
//! catalogue of files lists them.
//!
//! Connections are opened on first use and closed when the program ends.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cache::{Cache, SETTINGS_FILE};
use catalogue::Address;
use cluster::{ConnectSettings, connect};
use futures_util::FutureExt;
use inputs::{InputSource, InputStat, Sources};
use parking_lot::Mutex;
use remote::{ListedObject, ListedPage, Listing, OwnStore, OwnStoreError, Remote, Settings};
use store::{Key, List, Store};
use system::FileStore;
use warc::Input;

use crate::outcome::WrongUse;
use crate::store_args::{self, StoreArgs};

/// The cache accounts reads under this name.
pub(crate) const PROGRAM: &str = "weft";

/// All sources from which this process reads inputs.
#[derive(Clone)]
pub(crate) struct RemoteInputs {
    remote: Remote,
    /// The store selected by flags; without one the environment decides.
    store: Arc<Mutex<Option<ConnectSettings>>>,
}

impl RemoteInputs {
    /// Makes the sources from the environment. Reads go through the cache that this archive's
    /// settings describe, held in memory only if nothing may be written.
    pub(crate) fn new(archive: &Path, in_memory_alone: bool) -> RemoteInputs {
        let settings = Settings::from_variables(|name| std::env::var(name).ok());
        let store: Arc<Mutex<Option<ConnectSettings>>> = Arc::default();
        let given = store.clone();
        // The store is resolved when the first `store://` address is opened, after the flags were
        // parsed.
        let remote = Remote::with_store(settings, move || {
            let given = given.lock().clone();
            own_store(given).boxed()
        });
        let file = archive.join(SETTINGS_FILE);
        remote.use_cache(move || Cache::open_if_possible(&file, PROGRAM, in_memory_alone));
        RemoteInputs { remote, store }
    }

    /// Reads through this open cache.
    pub(crate) fn set_cache(&self, cache: Cache) {
        self.remote.set_cache(cache);
    }

    /// Returns the underlying stores, for callers that read from them directly.
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Resolves `store://` to the store selected by flags, if any.
    pub(crate) fn use_given(&self, args: &StoreArgs) {
        if let Some(place) = store_args::given(args) {
            self.use_store(place);
        }
    }

    /// Resolves `store://` to this store.
    pub(crate) fn use_store(&self, place: ConnectSettings) {
        *self.store.lock() = Some(place);
    }

    /// Returns the sources in the archive's form.
    pub(crate) fn sources(&self) -> Sources {
        Sources::new(Arc::new(self.clone()))
    }

    /// Returns the objects below an address, for the catalogue of files.
    ///
    /// # Errors
    /// Fails with [`WrongUse`] if the address does not name objects.
    pub(crate) fn objects(
        &self,
        address: &Path,
    ) -> Result<(Address, impl catalogue::Objects + use<>), WrongUse> {
        let text = address.as_os_str().as_encoded_bytes();
        // A `store:` address has no endpoint: flags or the environment select that store.
        let store = if text.starts_with(b"store:") {
            ""
        } else {
            self.remote.s3_endpoint()
        };
        let found = Address::new(text, store).map_err(|error| WrongUse(error.to_string()))?;
        let listing = self.remote.listing(&address.to_string_lossy());
        let listing = listing.map_err(|error| WrongUse(format!("{}: {error}", address.display())))?;
        Ok((found, BucketObjects(listing)))
    }

    /// Closes all connections.
    pub(crate) fn close(&self) {
        self.remote.close();
    }
}

async fn own_store(given: Option<ConnectSettings>) -> Result<OwnStore, OwnStoreError> {
    let place = given.map_or_else(store_args::from_environment, Ok)?;
    let is_far = !matches!(place, ConnectSettings::Volumes(_));
    let connection = connect(place).await?;
    let store = connection.store();
    let objects = Arc::new(store.object_store_of_all());
    let connection = Arc::new(Mutex::new(Some(connection)));
    let listed = store.clone();
    Ok(OwnStore {
        objects,
        is_far,
        list: Arc::new(move |prefix, after| page_of(listed.clone(), prefix, after).boxed()),
        sha256: Arc::new(move |name| {
            let store = store.clone();
            async move {
                let meta = store.head(&Key::parse(&name).ok()?).await.ok()?;
                Some(meta.digests.sha256)
            }
            .boxed()
        }),
        // Taken out, so a second close does nothing.
        close: Arc::new(move || {
            let connection = connection.lock().take();
            async move {
                if let Some(connection) = connection {
                    connection.close().await;
                }
            }
            .boxed()
        }),
    })
}

/// Returns a page of a listing of the selected store, or `None` if the bucket does not exist.
async fn page_of(
    store: Store,
    prefix: String,
    after: Option<String>,
) -> Result<Option<ListedPage>, OwnStoreError> {
    let bucket = prefix.split('/').next().unwrap_or_default().to_owned();
    let list = List {
        prefix,
        after,
        limit: LISTED_AT_ONCE,
        ..List::default()
    };
    let page = store.list(&list).await?;
    // Older stores hold objects whose bucket was never created. The store's internal objects are
    // hidden from clients.
    let is_there = match store::bucket::is_hidden(&list.prefix) {
        true => false,
        false if page.objects.is_empty() => store.bucket(&bucket).await?.is_some(),
        false => true,
    };
    Ok(is_there.then(|| ListedPage {
        objects: page
            .objects
            .iter()
            .map(|meta| ListedObject {
                key: meta.key.name().as_bytes().to_vec(),
                size_bytes: meta.size,
                modified_ms: i64::try_from(meta.version.millis).unwrap_or(i64::MAX),
            })
            .collect(),
        is_last: page.next.is_none(),
    }))
}

/// Objects per page, as in S3.
const LISTED_AT_ONCE: usize = 1000;

/// A bucket as a source of objects for the catalogue of files.
struct BucketObjects(Listing);

impl catalogue::Objects for BucketObjects {
    fn page(&self, prefix: &[u8], after: Option<&[u8]>) -> io::Result<catalogue::ObjectsPage> {
        let page = self.0.page(prefix, after)?;
        let object = |listed: ListedObject| catalogue::Object {
            key: listed.key,
            size_bytes: listed.size_bytes,
            modified_ns: listed.modified_ms.saturating_mul(1_000_000),
        };
        Ok(catalogue::ObjectsPage {
            objects: page.objects.into_iter().map(object).collect(),
            is_last: page.is_last,
        })
    }
}

impl InputSource for RemoteInputs {
    fn serves(&self, address: &str) -> bool {
        self.remote.serves(address)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>> {
        let looked = self.remote.stat(addresses).into_iter();
        looked.map(|stat| stat.map(|stat| stat.map(input_stat))).collect()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, InputStat)>> {
        let listed = self.remote.list(folder)?.into_iter();
        Ok(listed
            .map(|(address, stat)| (address, input_stat(stat)))
            .collect())
    }

    fn open(&self, address: &str, expected: Option<&InputStat>) -> io::Result<Arc<dyn Input>> {
        let expected = expected.map(|stat| remote::Stat {
            size: stat.size,
            validator: stat.validator.clone(),
            sha256: stat.sha256,
        });
        self.remote.open(address, expected.as_ref())
    }

    fn drop_cached(&self, address: &str) {
        if let Some(cache) = self.remote.cache()
            && let Err(error) = cache.drop_below(address)
        {
            tracing::warn!(%error, address, "other programs that share the cache do not know that this was \
                                             dropped");
        }
    }

    fn tables(&self, address: &str) -> io::Result<Arc<dyn FileStore>> {
        Ok(Arc::new(self.remote.folder(address)?))
    }
}

fn input_stat(stat: remote::Stat) -> InputStat {
    InputStat {
        size: stat.size,
        validator: stat.validator,
        sha256: stat.sha256,
    }
}
