//! The store through its S3 face: `weft store serve` as a process of its own, asked over loopback.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::process;
use bench::s3::{client, make_bucket};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutPayload};

use crate::{Shape, Took};

/// A server that has not answered after this time is broken.
const START: Duration = Duration::from_secs(30);

/// Ends the server when the measurement ends, even by an error.
struct Server(Child);

/// Puts and gets every object. CPU time is the server's alone.
pub(crate) async fn measure(weft: &Path, dir: &Path, content: &Bytes, shape: Shape) -> anyhow::Result<Took> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let server = start(weft, dir, port)?;
    let process = server.0.id();
    let client = client(&format!("http://127.0.0.1:{port}"), "bench")?;
    make_bucket(&client).await?;

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

fn start(weft: &Path, dir: &Path, port: u16) -> anyhow::Result<Server> {
    let keys = dir.join("keys.toml");
    fs::write(&keys, bench::s3::keys_file())?;
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600))?;
    let mut command = Command::new(weft);
    command
        .args([
            "store",
            "serve",
            "--s3",
            &format!("127.0.0.1:{port}"),
            "--s3-keys",
        ])
        .arg(&keys);
    for volume in ["a", "b"] {
        command.arg("--volume").arg(dir.join(volume));
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("start weft store serve")?;
    let mut server = Server(child);
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(server.0.try_wait()?.is_none(), "weft store serve ended at once");
        ensure!(started.elapsed() < START, "weft store serve does not answer");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(server)
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
