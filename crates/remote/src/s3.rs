//! Buckets of S3 stores.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, resolve_bucket_region};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use tokio::runtime::Handle;

use crate::bucket::Bucket;
use crate::failure::Failure;
use crate::redirects::{CONNECT_TIME_MAX, Connector};
use crate::settings::{Retry, S3Settings};

/// Default region for a store other than Amazon's.
const REGION_DEFAULT: &str = "us-east-1";

/// Timeout of a whole response for clients without a timeout per read: enough for a row group of a
/// table at 1 MB/s.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);

/// Opens a bucket.
pub(crate) async fn bucket(settings: &S3Settings, name: &str, retry: Retry) -> Result<Bucket, Failure> {
    // No timeout for a whole response, because an object may be large. The readers have a timeout
    // per read instead.
    let connector = Connector::new(is_plain(settings));
    let client = client(settings, name, retry).await;
    let objects = built(client.with_http_connector(connector), name)?;
    Ok(Bucket {
        objects: Arc::new(objects),
        root: format!("s3://{name}/"),
        refused: refused(settings),
        retries: true,
    })
}

/// Opens a bucket for code that sets no timeouts: requests have a time limit and run in `runtime`.
pub(crate) async fn bucket_for_others(
    settings: &S3Settings,
    name: &str,
    retry: Retry,
    runtime: Handle,
) -> Result<AmazonS3, Failure> {
    let connector = Connector {
        answer_time_max: Some(ANSWER_TIME_MAX),
        runtime: Some(runtime),
        ..Connector::new(is_plain(settings))
    };
    let client = client(settings, name, retry).await;
    built(client.with_http_connector(connector), name)
}

/// Returns whether the store is accessed without TLS.
fn is_plain(settings: &S3Settings) -> bool {
    settings
        .endpoint
        .as_deref()
        .is_some_and(|endpoint| endpoint.starts_with("http://"))
}

pub(crate) fn options(settings: &S3Settings) -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(is_plain(settings))
        .with_connect_timeout(CONNECT_TIME_MAX)
}

async fn client(settings: &S3Settings, name: &str, retry: Retry) -> AmazonS3Builder {
    let options = options(settings);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(name)
        .with_region(region(settings, name, &options).await)
        .with_client_options(options)
        .with_retry(retries(retry));
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    builder = match (&settings.access_key_id, &settings.secret_access_key) {
        (Some(id), Some(secret)) => builder.with_access_key_id(id).with_secret_access_key(secret),
        // Without a complete key requests cannot be signed; public buckets accept unsigned ones.
        _ => builder.with_skip_signature(true),
    };
    if let Some(token) = &settings.session_token {
        builder = builder.with_token(token);
    }
    builder
}

fn built(client: AmazonS3Builder, name: &str) -> Result<AmazonS3, Failure> {
    client
        .build()
        .map_err(|error| Failure::lasting(std::io::ErrorKind::InvalidInput, format!("s3://{name}: {error}")))
}

/// Returns the region of a bucket. Amazon reports it; for other stores it hardly matters.
pub(crate) async fn region(settings: &S3Settings, bucket: &str, options: &ClientOptions) -> String {
    match (&settings.region, &settings.endpoint) {
        (Some(region), _) => region.clone(),
        (None, Some(_)) => REGION_DEFAULT.to_owned(),
        (None, None) => resolve_bucket_region(bucket, options)
            .await
            .unwrap_or_else(|_| REGION_DEFAULT.to_owned()),
    }
}

fn retries(retry: Retry) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: retry.wait_first,
            max_backoff: retry.wait_max,
            base: 2.0,
        },
        max_retries: retry.failures_max.saturating_sub(1) as usize,
        retry_timeout: retry.silence_max,
    }
}

pub(crate) fn refused(settings: &S3Settings) -> String {
    match (&settings.access_key_id, &settings.secret_access_key) {
        (Some(id), Some(_)) => format!("the key {id} is wrong, or may not do this"),
        (Some(_), None) => "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not".to_owned(),
        _ => "not public; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".to_owned(),
    }
}
