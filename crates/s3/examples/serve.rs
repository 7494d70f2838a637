//! An S3 server on volumes, for manual tests with clients: `serve LISTEN KEYS-FILE VOLUME...`
//!
//! `weft serve --s3` is the complete server; this is the shortest program that embeds it.

use std::path::PathBuf;

use cluster::{NodeSettings, VolumeSettings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(listen), Some(keys)) = (words.next(), words.next()) else {
        return Err("expected LISTEN KEYS-FILE VOLUME...".into());
    };
    let node = cluster::start(NodeSettings::of_volumes(words.map(VolumeSettings::at).collect())).await?;
    let settings = s3::Settings {
        // Ceph's tests sign their forms with version 2.
        version_2: std::env::var_os("WEFT_S3_VERSION_2").is_some(),
        ..s3::Settings::new(listen.parse()?, PathBuf::from(keys))
    };
    let server = s3::serve(settings, node.store()).await?;
    println!("http://{}", server.address());
    if let Some(key) = server.new_key() {
        println!("access key {}\nsecret {}", key.id, key.secret);
    }
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    node.shutdown().await;
    Ok(())
}
