//! Bucket configurations that clients can read but never set here. Reads get S3's response for a bucket
//! without one, because clients that manage buckets (Terraform, `mc`) read all of them and stop at any other
//! error.
//!
//! Setting one is refused, with its name.

use s3s::dto::{self, GetBucketRequestPaymentInput, GetBucketRequestPaymentOutput, Payer};
use s3s::{S3Error, S3Request, S3Result};

use super::Face;
use crate::error::fault;

/// Operations for which S3 reports absence with 404.
macro_rules! absent {
    ($($name:ident: $input:ident -> $output:ident, $code:literal, $what:literal;)*) => {
        impl Face {
            $(
                /// Reports that there is none.
                pub(super) async fn $name(&self, request: S3Request<dto::$input>) -> S3Result<dto::$output> {
                    self.bucket(&request.input.bucket).await?;
                    Err(none($code, $what))
                }
            )*
        }
    };
}

/// Operations for which S3 reports absence with an empty output.
macro_rules! empty {
    ($($name:ident: $input:ident -> $output:ident;)*) => {
        impl Face {
            $(
                /// Reports that there is none.
                pub(super) async fn $name(&self, request: S3Request<dto::$input>) -> S3Result<dto::$output> {
                    self.bucket(&request.input.bucket).await?;
                    Ok(dto::$output::default())
                }
            )*
        }
    };
}

/// Operations that return an empty list.
macro_rules! no_list {
    ($($name:ident: $input:ident -> $output:ident;)*) => {
        impl Face {
            $(
                /// Reports that there are none.
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

impl Face {
    /// Reports who pays: always the owner.
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

/// An error with status 404, set here because s3s has no status for some of these codes.
fn none(code: &str, what: &str) -> S3Error {
    let mut error = fault(code, what);
    error.set_status_code(http::StatusCode::NOT_FOUND);
    error
}
