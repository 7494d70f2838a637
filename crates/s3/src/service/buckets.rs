//! Creating, listing, inspecting and removing buckets. The store defines what a bucket is
//! ([`store::bucket`]).

use std::collections::BTreeMap;

use http::HeaderMap;
use s3s::auth::Credentials;
use s3s::dto::{
    Bucket, BucketLocationConstraint, CreateBucketInput, CreateBucketOutput, DeleteBucketInput,
    DeleteBucketOutput, GetBucketLocationInput, GetBucketLocationOutput, HeadBucketInput, HeadBucketOutput,
    ListBucketsInput, ListBucketsOutput, ObjectOwnership,
};
use s3s::{S3Request, S3Result};
use store::{Versioning, bucket};

use super::ownership::check_enforceable;
use super::{StoreService, owner_named};
use crate::acl::acl_request_of;
use crate::attributes::{self, OWNER};
use crate::error::{fault, from_bucket, from_store};
use crate::lock::ObjectLock;
use crate::settings::{BucketSettings, Ownership};

/// Attribute of a bucket: the region requested at its creation.
const LOCATION: &str = "weft-location";

/// The region of a bucket created without one.
const LOCATION_DEFAULT: &str = "us-east-1";

/// Most buckets in a page of a listing. S3 allows 10,000, but here the store reads a record for
/// each.
const PAGE_MAX: usize = 1000;

impl StoreService {
    /// Lists the buckets in which the client has any right.
    pub(super) async fn list_buckets(
        &self,
        request: S3Request<ListBucketsInput>,
    ) -> S3Result<ListBucketsOutput> {
        let user = self.user(request.credentials.as_ref());
        let input = request.input;
        let limit = page_limit(input.max_buckets)?;
        let prefix = input.prefix.as_deref().unwrap_or_default();
        let mut after = input.continuation_token;
        let mut buckets = Vec::new();
        let mut more = false;
        'pages: loop {
            let page = self.store.buckets(prefix, after.as_deref(), PAGE_MAX).await;
            let page = page.map_err(from_store)?;
            for bucket in page.buckets {
                if !may_see(self, request.credentials.as_ref(), &bucket) {
                    continue;
                }
                // There is another page only if it has a bucket that the client may see.
                if buckets.len() == limit {
                    more = true;
                    break 'pages;
                }
                buckets.push(Bucket {
                    bucket_region: None,
                    creation_date: Some(attributes::at(bucket.created_ms)),
                    name: Some(bucket.name),
                });
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let last = buckets.last().and_then(|bucket| bucket.name.clone());
        Ok(ListBucketsOutput {
            buckets: Some(buckets),
            continuation_token: last.filter(|_| more),
            owner: Some(owner_named(&user)),
            prefix: input.prefix,
        })
    }

    /// Creates a bucket, unless one of that name exists.
    pub(super) async fn create_bucket(
        &self,
        request: S3Request<CreateBucketInput>,
    ) -> S3Result<CreateBucketOutput> {
        let user = self.user(request.credentials.as_ref());
        let input = request.input;
        let settings = self.new_settings(user.clone(), &input, &request.headers)?;
        let mut attributes = BTreeMap::new();
        settings.write(&mut attributes);
        if input.object_lock_enabled_for_bucket == Some(true) {
            attributes.extend([Versioning::Enabled.attribute(), ObjectLock::default().attribute()]);
        }
        let location = input
            .create_bucket_configuration
            .and_then(|set| set.location_constraint);
        if let Some(location) = location {
            attributes.insert(LOCATION.to_owned(), location.as_str().to_owned());
        }
        let made = self.store.make_bucket(&input.bucket, attributes).await;
        if made.map_err(from_bucket)?.is_some() {
            return Ok(CreateBucketOutput {
                location: Some(format!("/{}", input.bucket)),
            });
        }
        let theirs = self.settings(&input.bucket).await?;
        Err(if theirs.owner == user && theirs.acl == settings.acl {
            fault("BucketAlreadyOwnedByYou", "you own this bucket already")
        } else {
            fault("BucketAlreadyExists", "a bucket of this name exists")
        })
    }

    /// Checks whether a bucket exists.
    pub(super) async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<HeadBucketOutput> {
        let record = self.bucket(&request.input.bucket).await?;
        Ok(HeadBucketOutput {
            bucket_region: Some(
                location(&record.attributes)
                    .unwrap_or(LOCATION_DEFAULT)
                    .to_owned(),
            ),
            ..HeadBucketOutput::default()
        })
    }

    /// Removes an empty bucket and aborts its unfinished uploads.
    pub(super) async fn delete_bucket(
        &self,
        request: S3Request<DeleteBucketInput>,
    ) -> S3Result<DeleteBucketOutput> {
        let removed = self.store.remove_bucket(&request.input.bucket).await;
        removed.map_err(from_bucket)?;
        Ok(DeleteBucketOutput::default())
    }

    /// Returns the region requested at the bucket's creation.
    pub(super) async fn get_bucket_location(
        &self,
        request: S3Request<GetBucketLocationInput>,
    ) -> S3Result<GetBucketLocationOutput> {
        let record = self.bucket(&request.input.bucket).await?;
        let location =
            location(&record.attributes).map(|name| BucketLocationConstraint::from(name.to_owned()));
        Ok(GetBucketLocationOutput {
            location_constraint: location,
        })
    }

    /// Returns the settings of a new bucket.
    fn new_settings(
        &self,
        user: String,
        input: &CreateBucketInput,
        headers: &HeaderMap,
    ) -> S3Result<BucketSettings> {
        let mut settings = BucketSettings::of_new(user);
        let owner = settings.owner.clone();
        settings.acl = acl_request_of!(input, headers).resolve(&owner, &owner, &self.keys)?;
        let ownership = input.object_ownership.as_ref().map(ObjectOwnership::as_str);
        settings.ownership = ownership.map(Ownership::by_name).transpose()?;
        check_enforceable(&settings)?;
        self.check_list(&settings.acl, &owner, &input.bucket, &settings)?;
        Ok(settings)
    }
}

fn may_see(service: &StoreService, credentials: Option<&Credentials>, bucket: &bucket::Bucket) -> bool {
    let owner = bucket.attributes.get(OWNER).map(String::as_str);
    credentials.is_some_and(|credentials| service.keys.may_see(&credentials.access_key, &bucket.name, owner))
}

fn location(attributes: &BTreeMap<String, String>) -> Option<&str> {
    attributes.get(LOCATION).map(String::as_str)
}

fn page_limit(requested: Option<i32>) -> S3Result<usize> {
    let limit = usize::try_from(requested.unwrap_or(PAGE_MAX as i32))
        .ok()
        .filter(|limit| *limit > 0);
    limit
        .map(|limit| limit.min(PAGE_MAX))
        .ok_or_else(|| fault("InvalidArgument", "max-buckets must be 1 to 1000"))
}
