//! S3's operations on the store. Each is a method of [`StoreService`], in a module by topic. All
//! other operations get status 501 with their name.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use s3s::auth::Credentials;
use s3s::dto::{self, ETag, HeadObjectInput, HeadObjectOutput, Owner};
use s3s::{S3, S3Request, S3Response, S3Result};
use store::bucket::Bucket;
use store::{Meta, Store, StoreError};

use crate::error::{fault, from_store};
use crate::keys::Keys;
use crate::settings;

mod acl;
mod buckets;
mod copies;
mod cors;
mod key_encoding;
mod lists;
mod locks;
mod objects;
mod ownership;
mod policy;
mod reads;
mod rewrite;
mod tags;
mod unset;
mod uploads;
pub(crate) mod versions;

/// The implementation of S3: a store, and its access keys.
pub(crate) struct StoreService {
    pub(crate) store: Store,
    pub(crate) keys: Arc<Keys>,
    /// Longest content of a request in bytes.
    pub(crate) body_bytes_max: u64,
    /// Held while a bucket's record is changed, so that concurrent changes in this process wait
    /// instead of retrying.
    pub(crate) changing: tokio::sync::Mutex<()>,
}

impl StoreService {
    /// Returns the bucket, or an error if it does not exist.
    async fn bucket(&self, bucket: &str) -> S3Result<Bucket> {
        let found = self.store.bucket(bucket).await.map_err(from_store)?;
        found.ok_or_else(no_bucket)
    }

    /// Changes a bucket's record; see [`settings::change`].
    async fn change_bucket(
        &self,
        bucket: &str,
        change: impl FnMut(&Bucket, &mut BTreeMap<String, String>) -> S3Result<()> + Send,
    ) -> S3Result<()> {
        let _alone = self.changing.lock().await;
        settings::change(&self.store, bucket, change).await
    }

    /// Converts a store error about an object. If the object is missing, the bucket may be missing
    /// too.
    async fn explain(&self, bucket: &str, error: StoreError) -> s3s::S3Error {
        // The bucket is looked up only now, so that requests for existing objects need one lookup.
        let StoreError::NotFound(_) = error else {
            return from_store(error);
        };
        match self.store.bucket_as_known(bucket).await {
            Ok(Some(_)) => from_store(error),
            Ok(None) => no_bucket(),
            Err(unavailable) => from_store(unavailable),
        }
    }

    /// Returns the user of a request.
    fn user(&self, credentials: Option<&Credentials>) -> String {
        credentials.map_or_else(
            || "anonymous".to_owned(),
            |credentials| self.keys.user(&credentials.access_key),
        )
    }
}

fn no_bucket() -> s3s::S3Error {
    fault("NoSuchBucket", "there is no such bucket")
}

/// Converts a user to an owner in S3's form.
fn owner_named(user: &str) -> Owner {
    Owner {
        display_name: Some(user.to_owned()),
        id: Some(user.to_owned()),
    }
}

/// Converts an entity tag to S3's form.
fn etag(meta: &Meta) -> Option<ETag> {
    Some(ETag::Strong(meta.etag.clone()))
}

/// Converts a size to the type of S3's inputs and outputs.
fn signed(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Delegates every operation of s3s to the method of the same name.
macro_rules! operations {
    ($($name:ident: $input:ident -> $output:ident;)*) => {
        #[async_trait]
        impl S3 for StoreService {
            $(
                async fn $name(&self, request: S3Request<dto::$input>) -> S3Result<S3Response<dto::$output>> {
                    Ok(S3Response::new(self.$name(request).await?))
                }
            )*

            async fn head_object(
                &self,
                request: S3Request<HeadObjectInput>,
            ) -> S3Result<S3Response<HeadObjectOutput>> {
                self.head_object(request).await
            }
        }
    };
}

operations! {
    list_buckets: ListBucketsInput -> ListBucketsOutput;
    create_bucket: CreateBucketInput -> CreateBucketOutput;
    head_bucket: HeadBucketInput -> HeadBucketOutput;
    delete_bucket: DeleteBucketInput -> DeleteBucketOutput;
    get_bucket_location: GetBucketLocationInput -> GetBucketLocationOutput;
    get_bucket_versioning: GetBucketVersioningInput -> GetBucketVersioningOutput;
    put_bucket_versioning: PutBucketVersioningInput -> PutBucketVersioningOutput;
    get_bucket_tagging: GetBucketTaggingInput -> GetBucketTaggingOutput;
    put_bucket_tagging: PutBucketTaggingInput -> PutBucketTaggingOutput;
    delete_bucket_tagging: DeleteBucketTaggingInput -> DeleteBucketTaggingOutput;
    get_bucket_cors: GetBucketCorsInput -> GetBucketCorsOutput;
    put_bucket_cors: PutBucketCorsInput -> PutBucketCorsOutput;
    delete_bucket_cors: DeleteBucketCorsInput -> DeleteBucketCorsOutput;
    get_bucket_acl: GetBucketAclInput -> GetBucketAclOutput;
    put_bucket_acl: PutBucketAclInput -> PutBucketAclOutput;
    get_object_acl: GetObjectAclInput -> GetObjectAclOutput;
    put_object_acl: PutObjectAclInput -> PutObjectAclOutput;
    get_bucket_policy: GetBucketPolicyInput -> GetBucketPolicyOutput;
    put_bucket_policy: PutBucketPolicyInput -> PutBucketPolicyOutput;
    delete_bucket_policy: DeleteBucketPolicyInput -> DeleteBucketPolicyOutput;
    get_bucket_policy_status: GetBucketPolicyStatusInput -> GetBucketPolicyStatusOutput;
    get_public_access_block: GetPublicAccessBlockInput -> GetPublicAccessBlockOutput;
    put_public_access_block: PutPublicAccessBlockInput -> PutPublicAccessBlockOutput;
    delete_public_access_block: DeletePublicAccessBlockInput -> DeletePublicAccessBlockOutput;
    get_bucket_ownership_controls: GetBucketOwnershipControlsInput -> GetBucketOwnershipControlsOutput;
    put_bucket_ownership_controls: PutBucketOwnershipControlsInput -> PutBucketOwnershipControlsOutput;
    delete_bucket_ownership_controls: DeleteBucketOwnershipControlsInput -> DeleteBucketOwnershipControlsOutput;
    get_bucket_accelerate_configuration: GetBucketAccelerateConfigurationInput -> GetBucketAccelerateConfigurationOutput;
    get_bucket_encryption: GetBucketEncryptionInput -> GetBucketEncryptionOutput;
    get_bucket_lifecycle_configuration: GetBucketLifecycleConfigurationInput -> GetBucketLifecycleConfigurationOutput;
    get_bucket_logging: GetBucketLoggingInput -> GetBucketLoggingOutput;
    get_bucket_notification_configuration: GetBucketNotificationConfigurationInput -> GetBucketNotificationConfigurationOutput;
    get_bucket_replication: GetBucketReplicationInput -> GetBucketReplicationOutput;
    get_bucket_request_payment: GetBucketRequestPaymentInput -> GetBucketRequestPaymentOutput;
    get_bucket_website: GetBucketWebsiteInput -> GetBucketWebsiteOutput;
    get_object_lock_configuration: GetObjectLockConfigurationInput -> GetObjectLockConfigurationOutput;
    get_object_legal_hold: GetObjectLegalHoldInput -> GetObjectLegalHoldOutput;
    get_object_retention: GetObjectRetentionInput -> GetObjectRetentionOutput;
    put_object_legal_hold: PutObjectLegalHoldInput -> PutObjectLegalHoldOutput;
    put_object_lock_configuration: PutObjectLockConfigurationInput -> PutObjectLockConfigurationOutput;
    put_object_retention: PutObjectRetentionInput -> PutObjectRetentionOutput;
    list_bucket_analytics_configurations: ListBucketAnalyticsConfigurationsInput -> ListBucketAnalyticsConfigurationsOutput;
    list_bucket_intelligent_tiering_configurations: ListBucketIntelligentTieringConfigurationsInput -> ListBucketIntelligentTieringConfigurationsOutput;
    list_bucket_inventory_configurations: ListBucketInventoryConfigurationsInput -> ListBucketInventoryConfigurationsOutput;
    list_bucket_metrics_configurations: ListBucketMetricsConfigurationsInput -> ListBucketMetricsConfigurationsOutput;
    put_object: PutObjectInput -> PutObjectOutput;
    delete_object: DeleteObjectInput -> DeleteObjectOutput;
    delete_objects: DeleteObjectsInput -> DeleteObjectsOutput;
    get_object: GetObjectInput -> GetObjectOutput;
    get_object_attributes: GetObjectAttributesInput -> GetObjectAttributesOutput;
    copy_object: CopyObjectInput -> CopyObjectOutput;
    get_object_tagging: GetObjectTaggingInput -> GetObjectTaggingOutput;
    put_object_tagging: PutObjectTaggingInput -> PutObjectTaggingOutput;
    delete_object_tagging: DeleteObjectTaggingInput -> DeleteObjectTaggingOutput;
    list_objects: ListObjectsInput -> ListObjectsOutput;
    list_objects_v2: ListObjectsV2Input -> ListObjectsV2Output;
    list_object_versions: ListObjectVersionsInput -> ListObjectVersionsOutput;
    create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput;
    upload_part: UploadPartInput -> UploadPartOutput;
    upload_part_copy: UploadPartCopyInput -> UploadPartCopyOutput;
    complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput;
    abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput;
    list_parts: ListPartsInput -> ListPartsOutput;
    list_multipart_uploads: ListMultipartUploadsInput -> ListMultipartUploadsOutput;
}
