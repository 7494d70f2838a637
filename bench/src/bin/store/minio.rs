//! MinIO through the same client, if it is installed: `minio server` with one folder.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::s3::{ACCESS, SECRET, client, make_bucket};
use bytes::Bytes;

use crate::{Shape, Took, face};

/// A server that makes no bucket within this time is broken.
const START: Duration = Duration::from_secs(30);

/// A server process; dropping it ends the process.
struct Server(Child);

/// Returns whether the program can be run.
pub(crate) fn is_there(minio: &Path) -> bool {
    let version = Command::new(minio).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Puts and gets every object. CPU time is the server's only.
pub(crate) async fn measure(minio: &Path, dir: &Path, content: &Bytes, shape: Shape) -> anyhow::Result<Took> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut server = Server::start(minio, dir, port)?;
    let client = client(&format!("http://127.0.0.1:{port}"), "bench")?;
    let started = Instant::now();
    // It answers before it can store anything.
    while let Err(error) = make_bucket(&client).await {
        ensure!(server.0.try_wait()?.is_none(), "minio exited immediately");
        ensure!(started.elapsed() < START, "minio makes no bucket: {error:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
    face::put_and_get(&client, server.0.id(), content, shape).await
}

impl Server {
    fn start(minio: &Path, dir: &Path, port: u16) -> anyhow::Result<Server> {
        let child = Command::new(minio)
            .args(["server", "--quiet", "--address", &format!("127.0.0.1:{port}")])
            .arg(dir.join("data"))
            .env("MINIO_ROOT_USER", ACCESS)
            .env("MINIO_ROOT_PASSWORD", SECRET)
            .env("MINIO_BROWSER", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start minio server")?;
        Ok(Server(child))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
