//! OutbackCDX for comparison: built from its repository, and loaded with the same captures.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::http::Connection;

use crate::captures::Captures;
use bench::weft_server::{Server, on_first_core};

/// Its version, a tag of its repository.
pub(crate) const VERSION: &str = "1.2.2";

/// The commit of that tag.
const COMMIT: &str = "90bf5c5cfeed2a903b4f36cf4e424cee39885753";

const REPOSITORY: &str = "https://github.com/nla/outbackcdx";

/// The path of the index that is created.
pub(crate) const INDEX: &str = "/bench";

/// Maximum time to start.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// Returns the given jar, or one that is built now or was built earlier.
pub(crate) fn jar(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(jar) = given {
        ensure!(jar.exists(), "{} is missing", jar.display());
        return Ok(jar.to_owned());
    }
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    let source = Path::new(&home).join(format!(".cache/weft/outbackcdx-{VERSION}"));
    let jar = source.join(format!("target/outbackcdx-{VERSION}.jar"));
    if jar.exists() {
        return Ok(jar);
    }
    if !source.exists() {
        let mut clone = Command::new("git");
        clone.args([
            "clone", "--quiet", "--depth", "1", "--branch", VERSION, REPOSITORY,
        ]);
        run(clone.arg(&source), "git clone")?;
    }
    let head = Command::new("git")
        .arg("-C")
        .arg(&source)
        .args(["rev-parse", "HEAD"])
        .output()?;
    let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    ensure!(
        head == COMMIT,
        "{} is commit {head}, not {COMMIT}",
        source.display()
    );
    let mut build = Command::new("mvn");
    build
        .args(["-q", "-B", "-DskipTests", "package"])
        .current_dir(&source);
    run(&mut build, "mvn package")?;
    ensure!(jar.exists(), "mvn did not create {}", jar.display());
    Ok(jar)
}

fn run(command: &mut Command, name: &str) -> anyhow::Result<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

/// Starts it with the captures in one index, which it compacts before the requests or during them.
pub(crate) fn start(jar: &Path, dir: &Path, captures: &Captures) -> anyhow::Result<Server> {
    // It creates folders of indexes, but not the one that contains them.
    let data = dir.join("outbackcdx");
    std::fs::create_dir_all(&data)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let child = on_first_core(Path::new("java"))
        .args(["-Xmx512m", "-jar"])
        .arg(jar)
        .args(["-b", "127.0.0.1", "-p", &port.to_string(), "-d"])
        .arg(&data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("start java with taskset")?;
    let server = Server::of(child, SocketAddr::from(([127, 0, 0, 1], port)));
    let mut connection = connected(server.address)?;
    for part in captures.parts() {
        let answer = connection.post(INDEX, part.as_bytes())?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!(
            answer.status == 200,
            "OutbackCDX rejected the captures: {} {text}",
            answer.status
        );
    }
    let compacted = connection.post(&format!("{INDEX}/compact"), b"")?;
    ensure!(
        compacted.status == 200,
        "OutbackCDX failed to compact: {}",
        compacted.status
    );
    Ok(server)
}

fn connected(address: SocketAddr) -> anyhow::Result<Connection> {
    let begun = Instant::now();
    loop {
        match Connection::open(address) {
            Ok(connection) => return Ok(connection),
            Err(error) if begun.elapsed() > START_TIME_MAX => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
