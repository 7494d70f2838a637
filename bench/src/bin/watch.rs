//! Watches of files: how many changes per second reach the catalogue without loss.
//!
//! `cargo run --release -p bench --bin watch -- [--files 200000]` creates directories, watches
//! them, and then creates files in them, writes to each, and removes them, with several threads as
//! fast as the system allows. Each phase is measured from its first change to the last commit of
//! the watch. After each phase the catalogue is compared with the disk.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bench::process::{cpu_seconds, memory_bytes_max};
use clap::Parser;

/// Changes one file, by its number.
type Phase<'a> = dyn Fn(usize) -> std::io::Result<()> + Sync + 'a;

/// Target of changes per second.
const AIM: f64 = 50_000.0;

/// A phase has ended if there is no commit for this time.
const SILENCE: Duration = Duration::from_secs(4);

/// Measures watches of files.
#[derive(Debug, Parser)]
struct Args {
    /// Files to create, write to and remove
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    files: usize,
    /// Directories that contain them
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    directories: usize,
    /// Threads that change them
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let work = tempfile::tempdir().context("create a temporary folder")?;
    let (tree, archive) = (work.path().join("tree"), work.path().join("archive"));
    for dir in 0..args.directories {
        std::fs::create_dir_all(tree.join(dir_name(dir))).context("create a tree")?;
    }
    let mut watch = Watching::start(&weft, &archive, &tree)?;
    watch.wait_for("current")?;
    println!(
        "{} files in {} directories, {} threads; until the last commit of the watch (aim: {AIM:.0} \
         changes/s)\n",
        args.files, args.directories, args.threads
    );
    println!(
        "{:<10} {:>12} {:>12} {:>12} {:>10} {:>10} {:>9}",
        "", "changed in", "in catalogue", "changes/s", "commits", "CPU us", "memory"
    );
    let path = |file: usize| {
        tree.join(dir_name(file % args.directories))
            .join(format!("file {file}"))
    };
    let phases: [(&str, &Phase<'_>); 3] = [
        ("create", &|file| std::fs::write(path(file), b"x")),
        ("modify", &|file| std::fs::write(path(file), b"more")),
        ("remove", &|file| std::fs::remove_file(path(file))),
    ];
    for (name, change) in phases {
        let (begun, cpu_s) = (Instant::now(), cpu_seconds(watch.child.id())?);
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let changers: Vec<_> = (0..args.threads)
                .map(|thread| {
                    scope.spawn(move || (thread..args.files).step_by(args.threads).try_for_each(change))
                })
                .collect();
            for changer in changers {
                let Ok(changed) = changer.join() else {
                    bail!("a thread that changes files panicked")
                };
                changed.context("change a file")?;
            }
            Ok(())
        })?;
        let made_s = begun.elapsed().as_secs_f64();
        let (ended, commits) = watch.wait_for_silence()?;
        let s = ended.duration_since(begun).as_secs_f64();
        let cpu_us = (cpu_seconds(watch.child.id())? - cpu_s) * 1e6 / args.files as f64;
        let memory = memory_bytes_max(watch.child.id()).unwrap_or(0) as f64 / f64::from(1 << 20);
        println!(
            "{name:<10} {made_s:>10.2} s {s:>10.2} s {:>12.0} {commits:>10} {cpu_us:>10.1} {memory:>5.0} MiB",
            args.files as f64 / s
        );
        compare(&weft, &archive, &tree)?;
    }
    watch.end()
}

fn dir_name(dir: usize) -> String {
    format!("{:02}/{dir:05}", dir % 50)
}

fn command(weft: &Path, archive: &Path, arguments: &[&str], tree: &Path) -> Command {
    let mut command = Command::new(weft);
    command.arg("files").args(arguments).arg(tree);
    command.arg("--archive").arg(archive).arg("--json");
    command
}

/// A running watch, and the lines that it prints, each with its time of arrival.
struct Watching {
    child: Child,
    lines: Receiver<(Instant, serde_json::Value)>,
}

impl Watching {
    fn start(weft: &Path, archive: &Path, tree: &Path) -> anyhow::Result<Watching> {
        let mut child = command(weft, archive, &["watch"], tree)
            .stdout(Stdio::piped())
            .spawn()
            .context("start the watch")?;
        let stdout = child.stdout.take().context("the watch has no standard output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str(&line) else {
                    return;
                };
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Ok(Watching { child, lines })
    }

    fn wait_for(&self, what: &str) -> anyhow::Result<()> {
        loop {
            let (_, line) = self
                .lines
                .recv_timeout(Duration::from_secs(60))
                .context("the watch printed nothing")?;
            if line["what"] == what {
                return Ok(());
            }
        }
    }

    /// Returns the time of the last commit, and the number of commits.
    fn wait_for_silence(&self) -> anyhow::Result<(Instant, usize)> {
        let (mut last, mut commits) = (None, 0);
        loop {
            match self.lines.recv_timeout(SILENCE) {
                Ok((at, line)) if line["what"] == "committed" => {
                    last = Some(at);
                    commits += 1;
                }
                Ok((_, line)) => ensure!(line["what"] != "stale", "events were lost: {line}"),
                Err(RecvTimeoutError::Timeout) => {
                    return Ok((last.context("nothing was committed")?, commits));
                }
                Err(error) => return Err(error).context("the watch ended"),
            }
        }
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let status = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status()
            .context("run kill")?;
        ensure!(
            status.success() && self.child.wait()?.success(),
            "the watch failed"
        );
        Ok(())
    }
}

/// Fails if the disk differs from the catalogue.
fn compare(weft: &Path, archive: &Path, tree: &Path) -> anyhow::Result<()> {
    let output = command(weft, archive, &["diff", "--path"], tree)
        .output()
        .context("compare")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The exit code is 1 if anything differs.
    ensure!(output.status.success(), "the catalogue differs: {text}");
    Ok(())
}
