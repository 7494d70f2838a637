//! The store, in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use bench::process;
use bytes::Bytes;
use cluster::{NodeSettings, VolumeSettings};
use futures_util::{StreamExt, TryStreamExt, stream};
use store::{ByteStream, Key, Put, Store};

use crate::{Shape, Took};

/// Size of the pieces in which content arrives, as from a connection.
const PIECE_BYTES: usize = 64 << 10;

/// Puts and gets every object.
pub(crate) async fn measure(dir: &Path, content: &Bytes, shape: Shape) -> anyhow::Result<Took> {
    let volumes = ["a", "b"].map(|name| VolumeSettings::at(dir.join(name))).to_vec();
    let node = cluster::start(NodeSettings::of_volumes(volumes))
        .await
        .context("start the store")?;
    let store = Arc::new(node.store());

    let cpu = process::own_cpu_seconds()?;
    let started = Instant::now();
    let puts = stream::iter(0..shape.objects)
        .map(|object| tokio::spawn(put(store.clone(), content.clone(), object)));
    puts.buffer_unordered(shape.at_once)
        .map(|done| done?)
        .try_collect::<()>()
        .await?;
    let (put_seconds, put_cpu_seconds) = (started.elapsed().as_secs_f64(), process::own_cpu_seconds()? - cpu);

    let cpu = process::own_cpu_seconds()?;
    let started = Instant::now();
    let gets =
        stream::iter(0..shape.objects).map(|object| tokio::spawn(get(store.clone(), content.len(), object)));
    gets.buffer_unordered(shape.at_once)
        .map(|done| done?)
        .try_collect::<()>()
        .await?;
    let (get_seconds, get_cpu_seconds) = (started.elapsed().as_secs_f64(), process::own_cpu_seconds()? - cpu);
    node.shutdown().await;
    Ok(Took {
        put_seconds,
        get_seconds,
        put_cpu_seconds,
        get_cpu_seconds,
    })
}

async fn put(store: Arc<Store>, content: Bytes, object: usize) -> anyhow::Result<()> {
    let key = Key::new("bench", &object.to_string())?;
    let put = Put {
        size: Some(content.len() as u64),
        ..Put::default()
    };
    store.put(&key, pieces(content), put).await?;
    Ok(())
}

async fn get(store: Arc<Store>, expected_bytes: usize, object: usize) -> anyhow::Result<()> {
    let key = Key::new("bench", &object.to_string())?;
    let mut body = store.get(&key, None).await?.body;
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

fn pieces(content: Bytes) -> ByteStream {
    let starts = (0..content.len()).step_by(PIECE_BYTES);
    let pieces: Vec<_> = starts
        .map(|from| Ok(content.slice(from..content.len().min(from + PIECE_BYTES))))
        .collect();
    Box::pin(stream::iter(pieces))
}
