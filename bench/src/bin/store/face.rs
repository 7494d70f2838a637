//! The store through its S3 server: `weft store serve` in a separate process, over loopback.

use std::net::TcpListener;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use bench::process;
use bench::s3::{client, make_bucket};
use bench::store_server::StoreServer;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutPayload};

use crate::{Shape, Took};

/// Puts and gets every object. CPU time is the server's only.
pub(crate) async fn measure(weft: &Path, dir: &Path, content: &Bytes, shape: Shape) -> anyhow::Result<Took> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let server = StoreServer::start(weft, dir, port)?;
    let client = client(&format!("http://127.0.0.1:{port}"), "bench")?;
    make_bucket(&client).await?;
    put_and_get(&client, server.id(), content, shape).await
}

/// Puts and gets every object in the client's bucket. CPU time is that of the server's process.
pub(crate) async fn put_and_get(
    client: &AmazonS3,
    process: u32,
    content: &Bytes,
    shape: Shape,
) -> anyhow::Result<Took> {
    let cpu = process::cpu_seconds(process)?;
    let started = Instant::now();
    let puts = stream::iter(0..shape.objects)
        .map(|object| tokio::spawn(put(client.clone(), content.clone(), object)));
    puts.buffer_unordered(shape.at_once)
        .map(|done| done?)
        .try_collect::<()>()
        .await?;
    let (put_seconds, put_cpu_seconds) = (
        started.elapsed().as_secs_f64(),
        process::cpu_seconds(process)? - cpu,
    );

    let cpu = process::cpu_seconds(process)?;
    let started = Instant::now();
    let gets =
        stream::iter(0..shape.objects).map(|object| tokio::spawn(get(client.clone(), content.len(), object)));
    gets.buffer_unordered(shape.at_once)
        .map(|done| done?)
        .try_collect::<()>()
        .await?;
    let (get_seconds, get_cpu_seconds) = (
        started.elapsed().as_secs_f64(),
        process::cpu_seconds(process)? - cpu,
    );
    Ok(Took {
        put_seconds,
        get_seconds,
        put_cpu_seconds,
        get_cpu_seconds,
    })
}

async fn put(client: AmazonS3, content: Bytes, object: usize) -> anyhow::Result<()> {
    client
        .put(
            &ObjectPath::from(object.to_string()),
            PutPayload::from_bytes(content),
        )
        .await?;
    Ok(())
}

async fn get(client: AmazonS3, expected_bytes: usize, object: usize) -> anyhow::Result<()> {
    let mut body = client
        .get(&ObjectPath::from(object.to_string()))
        .await?
        .into_stream();
    let mut found_bytes = 0;
    while let Some(piece) = body.next().await {
        found_bytes += piece?.len();
    }
    ensure!(
        found_bytes == expected_bytes,
        "object {object} has {found_bytes} bytes, expected {expected_bytes}"
    );
    Ok(())
}
