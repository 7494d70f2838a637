//! Puts a file into a store of three volumes, two of which get a copy, and reads it back.
//!
//!     cargo run -p examples --bin put_and_get -- STORE_DIR BUCKET/NAME FILE

use std::path::Path;

use anyhow::bail;
use bytes::Bytes;
use cluster::{NodeSettings, VolumeSettings};
use futures_util::{TryStreamExt as _, stream};
use store::{Key, Put};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, key, file] = &arguments[..] else {
        bail!("expected STORE_DIR BUCKET/NAME FILE");
    };
    std::fs::create_dir_all(dir)?;
    let volume = |name: &str| VolumeSettings {
        name: None,
        path: Path::new(dir).join(name),
        zone: None,
        weight: 1,
    };
    // One process has all volumes here. In a cluster, each machine runs a node.
    let mut settings = NodeSettings::of_volumes(["disk1", "disk2", "disk3"].map(volume).to_vec());
    settings.replicas = Some(2);
    let node = cluster::start(settings).await?;
    let store = node.store();

    let key = Key::parse(key)?;
    let content = Bytes::from(std::fs::read(file)?);
    let body = Box::pin(stream::iter([Ok(content)]));
    // When this returns, two volumes hold the object, synced.
    let meta = store.put(&key, body, Put::default()).await?;
    println!("put\t{key}\tetag {}", meta.etag);

    // Each block is compared with its digest before it is returned.
    let object = store.get(&key, None).await?;
    let pieces: Vec<Bytes> = object.body.try_collect().await?;
    println!("got\t{key}\t{}", String::from_utf8_lossy(&pieces.concat()));
    drop(store);
    node.shutdown().await;
    Ok(())
}
