//! Spark SQL with Hadoop's s3a, in a process that answers line by line (`bench/far.py`), and the
//! gateway it can read through.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::s3::{ACCESS, SECRET};
use serde_json::{Value, json};

/// A gateway that does not answer within this time is broken.
const START: Duration = Duration::from_secs(30);

/// A Spark process; dropping it ends the process.
pub(crate) struct Spark {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Spark {
    pub(crate) fn start(python: &Path, endpoint: &str, bucket: &str) -> anyhow::Result<Spark> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("far.py");
        let mut child = Command::new(python)
            .arg(script)
            .args([endpoint, ACCESS, SECRET, &format!("s3a://{bucket}/facts")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start Spark")?;
        let questions = child.stdin.take().context("Spark has no standard input")?;
        let answers = BufReader::new(child.stdout.take().context("Spark has no standard output")?);
        let mut spark = Spark {
            child,
            questions,
            answers,
        };
        spark.answer().context("Spark did not start")?;
        Ok(spark)
    }

    /// Returns the seconds until all rows of the answer.
    pub(crate) fn ask(&mut self, statement: &str) -> anyhow::Result<f64> {
        writeln!(self.questions, "{}", json!(statement))?;
        self.questions.flush()?;
        let answer = self.answer()?;
        ensure!(
            answer["rows"].as_u64().is_some_and(|rows| rows > 0),
            "no response to {statement}"
        );
        answer["seconds"].as_f64().context("the answer has no time")
    }

    fn answer(&mut self) -> anyhow::Result<Value> {
        loop {
            let mut line = String::new();
            ensure!(self.answers.read_line(&mut line)? > 0, "Spark exited");
            // The program that downloads the jars also prints to this output.
            if let Ok(answer @ Value::Object(_)) = serde_json::from_str(&line) {
                return Ok(answer);
            }
        }
    }
}

impl Drop for Spark {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway process; dropping it ends the process.
pub(crate) struct Gateway(Child);

/// Starts a gateway to the store that `to_store` names, with a new archive and the cache's default
/// memory.
pub(crate) fn gateway(
    weft: &Path,
    dir: &Path,
    port: u16,
    cache: &Path,
    to_store: impl FnOnce(&mut Command),
) -> anyhow::Result<Gateway> {
    let archive = dir.join("gateway");
    contest::empty(&archive)?;
    let keys = dir.join("gateway-keys.toml");
    fs::write(&keys, bench::s3::keys_file())?;
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600))?;
    let mut command = Command::new(weft);
    command
        .args([
            "serve",
            "--create",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            "s3://",
            "--s3",
        ])
        .arg(format!("127.0.0.1:{port}"))
        .arg("--s3-keys")
        .arg(&keys)
        .arg("--cache")
        .arg(cache)
        .arg("--archive")
        .arg(&archive)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    to_store(&mut command);
    let mut gateway = Gateway(command.spawn().context("start the gateway")?);
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(gateway.0.try_wait()?.is_none(), "the gateway exited immediately");
        ensure!(started.elapsed() < START, "the gateway does not respond");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(gateway)
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
