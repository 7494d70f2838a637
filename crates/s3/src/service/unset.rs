//! Bucket configurations that clients can read but not set. A read gets S3's response for a bucket
//! without the configuration: clients that manage buckets (Terraform, `mc`) read every
//! configuration and stop at any other error.
//!
//! Setting one is refused with the operation's name.

use s3s::dto::{self, GetBucketRequestPaymentInput, GetBucketRequestPaymentOutput, Payer};
use s3s::{S3Error, S3Request, S3Result};

use super::StoreService;
use crate::error::fault;

/// Implements operations for which S3 reports absence with status 404.
macro_rules! absent {
    ($($name:ident: $input:ident -> $output:ident, $code:literal, $what:literal;)*) => {
        impl StoreService {
            $(
                /// Reports that the bucket has no such configuration.
                pub(super) async fn $name(&self, request: S3Request<dto::$input>) -> S3Result<dto::$output> {
                    self.bucket(&request.input.bucket).await?;
                    Err(none($code, $what))
                }
            )*
        }
    };
}

/// Implements operations for which S3 reports absence with an empty output.
macro_rules! empty {
    ($($name:ident: $input:ident -> $output:ident;)*) => {
        impl StoreService {
            $(
                /// Reports that the bucket has no such configuration.
                pub(super) async fn $name(&self, request: S3Request<dto::$input>) -> S3Result<dto::$output> {
                    self.bucket(&request.input.bucket).await?;
                    Ok(dto::$output::default())
                }
            )*
        }
    };
}

/// Implements operations that return an empty list.
macro_rules! no_list {
    ($($name:ident: $input:ident -> $output:ident;)*) => {
        impl StoreService {
            $(
                /// Returns an empty list.
                pub(super) async fn $name(&self, request: S3Request<dto::$input>) -> S3Result<dto::$output> {
                    self.bucket(&request.input.bucket).await?;
                    Ok(dto::$output {
                        is_truncated: Some(false),
                        ..dto::$output::default()
                    })
                }
            )*
        }
    };
}

absent! {
    get_bucket_encryption: GetBucketEncryptionInput -> GetBucketEncryptionOutput,
        "ServerSideEncryptionConfigurationNotFoundError", "the bucket has no encryption configuration";
    get_bucket_lifecycle_configuration: GetBucketLifecycleConfigurationInput -> GetBucketLifecycleConfigurationOutput,
        "NoSuchLifecycleConfiguration", "the bucket has no lifecycle configuration";
    get_bucket_replication: GetBucketReplicationInput -> GetBucketReplicationOutput,
        "ReplicationConfigurationNotFoundError", "the bucket has no replication configuration";
    get_bucket_website: GetBucketWebsiteInput -> GetBucketWebsiteOutput,
        "NoSuchWebsiteConfiguration", "the bucket has no website configuration";
}

empty! {
    get_bucket_accelerate_configuration: GetBucketAccelerateConfigurationInput -> GetBucketAccelerateConfigurationOutput;
    get_bucket_logging: GetBucketLoggingInput -> GetBucketLoggingOutput;
    get_bucket_notification_configuration: GetBucketNotificationConfigurationInput -> GetBucketNotificationConfigurationOutput;
}

no_list! {
    list_bucket_analytics_configurations: ListBucketAnalyticsConfigurationsInput -> ListBucketAnalyticsConfigurationsOutput;
    list_bucket_intelligent_tiering_configurations: ListBucketIntelligentTieringConfigurationsInput -> ListBucketIntelligentTieringConfigurationsOutput;
    list_bucket_inventory_configurations: ListBucketInventoryConfigurationsInput -> ListBucketInventoryConfigurationsOutput;
    list_bucket_metrics_configurations: ListBucketMetricsConfigurationsInput -> ListBucketMetricsConfigurationsOutput;
}

impl StoreService {
    /// Returns who pays for requests: always the owner.
    pub(super) async fn get_bucket_request_payment(
        &self,
        request: S3Request<GetBucketRequestPaymentInput>,
    ) -> S3Result<GetBucketRequestPaymentOutput> {
        self.bucket(&request.input.bucket).await?;
        Ok(GetBucketRequestPaymentOutput {
            payer: Some(Payer::from_static(Payer::BUCKET_OWNER)),
        })
    }
}

/// Returns an error with status 404. The status is set here because s3s has none for some of these
/// codes.
fn none(code: &str, what: &str) -> S3Error {
    let mut error = fault(code, what);
    error.set_status_code(http::StatusCode::NOT_FOUND);
    error
}
