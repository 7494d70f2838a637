//! Rewrites an object with different attributes ([`store::Store::rewrite`]). Clients see the same
//! object.

use std::collections::BTreeMap;

use http::Extensions;
use s3s::S3Result;
use store::{Key, Meta, Protect, VersionId};

use super::StoreService;
use super::versions::refuse_marker;
use crate::access::confirm;
use crate::error::from_store;

impl StoreService {
    /// Rewrites an object, or a version of it, with attributes modified by `change`. Does nothing
    /// if they stay the same.
    pub(super) async fn rewrite(
        &self,
        target: (&str, &Key, Option<VersionId>),
        extensions: &Extensions,
        change: impl FnMut(&Meta, &mut BTreeMap<String, String>) -> S3Result<()> + Send,
    ) -> S3Result<Meta> {
        self.rewrite_protected(target, extensions, Protect::default(), change)
            .await
    }

    /// Like [`StoreService::rewrite`], and also changes the protection.
    pub(super) async fn rewrite_protected(
        &self,
        (bucket, key, id): (&str, &Key, Option<VersionId>),
        extensions: &Extensions,
        protect: Protect,
        mut change: impl FnMut(&Meta, &mut BTreeMap<String, String>) -> S3Result<()> + Send,
    ) -> S3Result<Meta> {
        let versioning = self.store.versioning(bucket).await.map_err(from_store)?;
        let written = self
            .store
            .rewrite(key, id, versioning, protect, |meta, attributes| {
                confirm(extensions, meta)?;
                refuse_marker(meta.clone())?;
                change(meta, attributes)
            });
        match written.await {
            Ok(written) => written,
            Err(error) => Err(self.explain_version(bucket, key, id, error).await),
        }
    }
}
