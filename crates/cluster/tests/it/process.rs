//! Nodes as separate processes: the test binary started again, to be killed, stopped and continued.
//!
//! [`child`] is the test that the second process runs. With `WEFT_TEST_NODE` it is a node until its
//! input ends; without it, as in the test run itself, it does nothing.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use cluster::NodeSettings;
use store_protocol::{Key, VolumeError};

use crate::nodes::{Files, seen, volume};

/// A `node.toml`, and whether the node runs background workers.
const NODE: &str = "WEFT_TEST_NODE";
const UPKEEP: &str = "WEFT_TEST_UPKEEP";

/// A node in a separate process. Killed when dropped.
pub(crate) struct Process {
    toml: PathBuf,
    upkeep: bool,
    child: Child,
    /// Kept open: a process that cannot print fails.
    output: Output,
}

type Output = BufReader<ChildStdout>;

impl Process {
    /// Starts a node with its background workers, and waits until it serves.
    pub(crate) fn start(toml: &Path) -> Self {
        Self::spawn(toml, true)
    }

    /// Starts a node without background workers, and waits until it serves.
    pub(crate) fn start_idle(toml: &Path) -> Self {
        Self::spawn(toml, false)
    }

    fn spawn(toml: &Path, upkeep: bool) -> Self {
        let (child, output) = run(toml, upkeep);
        Self {
            toml: toml.to_owned(),
            upkeep,
            child,
            output,
        }
    }

    /// Sends SIGKILL: the process cannot clean up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGSTOP: the process keeps its connections and locks, and does nothing.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
        // The signal is still pending when `kill` returns; the process is stopped once all its
        // threads are.
        let tasks = format!("/proc/{}/task", self.child.id());
        while std::fs::read_dir(&tasks)
            .unwrap()
            .any(|task| !is_stopped(&task.unwrap().path()))
        {
            std::thread::yield_now();
        }
    }

    /// Sends SIGCONT.
    pub(crate) fn cont(&self) {
        self.signal("CONT");
    }

    /// Starts it again after [`Process::kill`] or [`Process::shutdown`].
    pub(crate) fn restart(&mut self) {
        (self.child, self.output) = run(&self.toml, self.upkeep);
    }

    /// Ends it cleanly.
    pub(crate) fn shutdown(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether a thread is stopped, by the state after its name in `stat`. A thread that has
/// ended counts.
fn is_stopped(task: &Path) -> bool {
    let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_none_or(|(_, rest)| rest.starts_with('T'))
}

fn run(toml: &Path, upkeep: bool) -> (Child, Output) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::child", "--nocapture"])
        .env(NODE, toml)
        .env(UPKEEP, if upkeep { "1" } else { "0" })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("node serves") {
        line.clear();
        assert!(
            output.read_line(&mut line).unwrap() > 0,
            "the node of {} did not start",
            toml.display()
        );
    }
    (child, output)
}

#[test]
fn child() {
    let Some(toml) = std::env::var_os(NODE) else {
        return;
    };
    let mut settings = NodeSettings::read(Path::new(&toml)).unwrap();
    if std::env::var(UPKEEP).is_ok_and(|upkeep| upkeep == "0") {
        settings.upkeep = None;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let node = runtime.block_on(cluster::start(settings)).unwrap();
    println!("\nnode serves at {}", node.address());
    // Until the parent closes its end of the pipe, or ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    runtime.block_on(node.shutdown());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_killed_stopped_continued_and_restarted() {
    let files = Files::new(2, 1, 2);
    let mut process = Process::start_idle(&files.toml("n2"));
    let node = files.start("n1").await;
    let remote = volume(&seen(&node.store()).topology(), "n2/d1");
    let key = Key::parse("b/x").unwrap();
    remote.head(&key).await.unwrap();
    process.kill();
    let gone = remote.head(&key).await.unwrap_err();
    assert!(matches!(gone, VolumeError::Unreachable { .. }), "{gone:?}");
    process.restart();
    remote.head(&key).await.unwrap();
    process.stop();
    let frozen = remote.head(&key).await.unwrap_err();
    assert!(matches!(frozen, VolumeError::Unreachable { .. }), "{frozen:?}");
    process.cont();
    while remote.head(&key).await.is_err() {
        tokio::task::yield_now().await;
    }
    process.shutdown();
    node.shutdown().await;
}
