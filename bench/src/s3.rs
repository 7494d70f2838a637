//! The S3 client of the benchmarks: one bucket, one key, unsigned content, and no retries.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::Method;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{ClientOptions, RetryConfig};

/// The client's key.
pub const ACCESS: &str = "bench";
/// Its secret.
pub const SECRET: &str = "a-key-for-this-run-alone";

/// Returns a keys file in which the client has all rights.
pub fn keys_file() -> String {
    format!(
        "[keys.{ACCESS}]\nsecret = \"{SECRET}\"\nrights = {{ \"*\" = [\"read\", \"write\", \"list\", \"delete\"] }}\n"
    )
}

/// Returns a client of one server.
///
/// # Errors
/// If the endpoint is not a URL.
pub fn client(endpoint: &str, bucket: &str) -> anyhow::Result<AmazonS3> {
    let options = ClientOptions::new()
        .with_allow_http(true)
        .with_connect_timeout(Duration::from_secs(3))
        .with_timeout(Duration::from_secs(60))
        .with_pool_max_idle_per_host(64);
    Ok(AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_bucket_name(bucket)
        .with_region("us-east-1")
        .with_access_key_id(ACCESS)
        .with_secret_access_key(SECRET)
        .with_unsigned_payload(true)
        .with_client_options(options)
        .with_retry(RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        })
        .build()?)
}

/// Creates the client's bucket with a presigned request over a plain connection, because the client
/// library has no call for it.
///
/// # Errors
/// If the server does not answer, or refuses.
pub async fn make_bucket(client: &AmazonS3) -> anyhow::Result<()> {
    let url = client
        .signed_url(Method::PUT, &Path::from(""), Duration::from_secs(60))
        .await?;
    let (host, port) = (url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
    let mut connection = TcpStream::connect((host, port)).context("connect to the server")?;
    let target = &url[url::Position::BeforePath..];
    write!(
        connection,
        "PUT {target} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "create the bucket: {answer}");
    Ok(())
}
