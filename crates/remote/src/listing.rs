//! Ordered listing of the objects of a bucket, page by page, with unchanged keys.
//!
//! Invariants:
//!  - A key is returned byte for byte as the store has it, even if it is not a valid path because
//!    of empty segments or a trailing slash.
//!  - Every page but the last has an object, so that a caller makes progress.
//!  - A missing bucket is an error, not an empty page.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::address::Address;
use crate::failure::Failure;
use crate::listed_page::ListedPage;
use crate::remote::{Remote, Shared};
use crate::retry::with_retries;
use crate::s3_list::S3Listing;

/// The listing of a bucket. Cheap to clone; the first page makes the first request.
#[derive(Clone)]
pub struct Listing {
    remote: Remote,
    source: ListingSource,
}

#[derive(Clone)]
enum ListingSource {
    S3 {
        bucket: String,
        /// Created with the first page, because the region may have to be requested.
        made: Arc<Mutex<Option<Arc<S3Listing>>>>,
    },
    Own {
        bucket: String,
    },
}

impl Remote {
    /// Returns the listing of the bucket in `s3://bucket/...` or `store://bucket/...`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the address names no bucket.
    pub fn listing(&self, address: &str) -> io::Result<Listing> {
        let source = match Address::parse(address)? {
            Address::S3 { bucket, .. } => ListingSource::S3 {
                bucket,
                made: Arc::default(),
            },
            Address::Store { bucket, .. } => ListingSource::Own { bucket },
            Address::Web(_) => {
                let what = "a web server does not list its files: expected s3:// or store://";
                return Err(io::Error::new(ErrorKind::InvalidInput, what));
            }
        };
        Ok(Listing {
            remote: self.clone(),
            source,
        })
    }

    /// Returns the endpoint of `s3://` addresses, or Amazon's name.
    pub fn s3_endpoint(&self) -> &str {
        let endpoint = self.shared().s3_settings().endpoint.as_deref();
        endpoint.map_or("amazonaws.com", |endpoint| endpoint.trim_end_matches('/'))
    }
}

impl Listing {
    /// Returns the next page of objects whose keys start with `prefix` and come after `after`. The
    /// store chooses the page size.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the bucket does not exist; errors of the store, after retries.
    /// The text does not name the address.
    pub fn page(&self, prefix: &[u8], after: Option<&[u8]>) -> io::Result<ListedPage> {
        let (prefix, after) = (prefix.to_vec(), after.map(<[u8]>::to_vec));
        let source = self.source.clone();
        self.remote.wait(|shared| async move {
            match source {
                ListingSource::S3 { bucket, made } => {
                    let known = made.lock().clone();
                    let listing = match known {
                        Some(listing) => listing,
                        None => {
                            let listing = S3Listing::new(&shared, &bucket).await?;
                            made.lock().insert(Arc::new(listing)).clone()
                        }
                    };
                    with_retries(shared.retry(), || listing.page(&prefix, after.as_deref())).await
                }
                ListingSource::Own { bucket } => own_page(&shared, &bucket, &prefix, after.as_deref()).await,
            }
        })
    }
}

async fn own_page(
    shared: &Shared,
    bucket: &str,
    prefix: &[u8],
    after: Option<&[u8]>,
) -> io::Result<ListedPage> {
    let whole = |name: &[u8]| match std::str::from_utf8(name) {
        Ok(name) => Ok(format!("{bucket}/{name}")),
        Err(_) => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "names in a store are UTF-8, but this prefix is not",
        )),
    };
    let (prefix, after) = (whole(prefix)?, after.map(whole).transpose()?);
    let (_, own) = shared.own_store().await?;
    with_retries(shared.retry(), || {
        let page = (own.list)(prefix.clone(), after.clone());
        async move {
            match page.await {
                Ok(Some(page)) => Ok(page),
                Ok(None) => {
                    let what = format!("there is no bucket {bucket} in this store");
                    Err(Failure::lasting(ErrorKind::NotFound, what))
                }
                Err(error) => Err(Failure::passing(error)),
            }
        }
    })
    .await
}
