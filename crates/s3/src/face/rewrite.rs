//! Writing an object again with other attributes.
//!
//! A version's description never changes, so its content is read and written again, on the condition that the
//! object was not replaced in the meantime. For clients it stays the same object: entity tag and time are
//! preserved.

use std::collections::BTreeMap;

use http::Extensions;
use s3s::S3Result;
use store::{Condition, Meta, StoreError};

use super::Face;
use crate::access::confirm;
use crate::attributes::MADE;
use crate::content::Content;
use crate::error::from_store;
use crate::names;

impl Face {
    /// Rewrites an object with the attributes that `change` returns; does nothing if they are unchanged.
    pub(super) async fn rewrite(
        &self,
        bucket: &str,
        name: &str,
        extensions: &Extensions,
        change: impl FnOnce(&Meta, &mut BTreeMap<String, String>) -> S3Result<()>,
    ) -> S3Result<()> {
        let key = names::object(bucket, name)?;
        let opened = self.open_source(bucket, &key, None).await?;
        confirm(extensions, &opened.meta)?;
        let mut attributes = opened.meta.attributes.clone();
        change(&opened.meta, &mut attributes)?;
        if attributes == opened.meta.attributes {
            return Ok(());
        }
        // Last-Modified stays the time of the content, whose version is about to get newer.
        let made = attributes.entry(MADE.to_owned());
        made.or_insert_with(|| opened.meta.version.millis.to_string());
        let content = Content::of_store(opened.body, opened.meta.size, None);
        let (stream, mut put, explain) = content.into_parts();
        put.attributes = attributes;
        // A write that came in between must not be undone by the older content.
        put.condition = Condition::Etag(opened.meta.etag.clone());
        put.etag = Some(opened.meta.etag);
        match self.store.put(&key, stream, put).await {
            Ok(_) => Ok(()),
            Err(error @ StoreError::Condition { .. }) => Err(from_store(error)),
            Err(error) => Err(explain(error)),
        }
    }
}
