//! The faults while the clients work: a slow server, a dead one, damaged replicas.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rustix::process::{Pid, Signal, kill_process};

/// A process that runs a tenth of the time: it is stopped for nine slices of ten.
pub(crate) struct Slow {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

/// The three ways in which files are damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flipped,
    Truncated,
    Deleted,
}

const SLICE: Duration = Duration::from_millis(5);

impl Slow {
    pub(crate) fn start(process: u32) -> anyhow::Result<Self> {
        let pid = i32::try_from(process)
            .ok()
            .and_then(Pid::from_raw)
            .context("invalid process id")?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if kill_process(pid, Signal::STOP).is_err() {
                    return;
                }
                thread::sleep(SLICE * 9);
                // The process must not stay stopped after the run.
                if kill_process(pid, Signal::CONT).is_err() {
                    return;
                }
                thread::sleep(SLICE);
            }
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Damages `count` replicas of these volumes and returns their paths. Half get one flipped bit, a
/// quarter are truncated, a quarter deleted.
///
/// The volumes are in one zone, so that the other replica of each object, in another zone, stays
/// intact.
pub(crate) fn damage(volumes: &[PathBuf], count: usize, seed: u64) -> anyhow::Result<Vec<PathBuf>> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut files = Vec::new();
    for volume in volumes {
        files.extend(replica_files(volume)?);
    }
    files.sort();
    files.shuffle(&mut rng);
    let mut damages = Vec::new();
    for path in files {
        if damages.len() == count {
            break;
        }
        let kind = match damages.len() % 4 {
            0 | 1 => Kind::Flipped,
            2 => Kind::Truncated,
            _ => Kind::Deleted,
        };
        // A file may disappear in between: an older version, or a copy that moved to its home.
        if apply(&path, kind, &mut rng).is_ok() {
            damages.push(path);
        }
    }
    Ok(damages)
}

fn apply(path: &Path, kind: Kind, rng: &mut StdRng) -> anyhow::Result<()> {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    match kind {
        Kind::Flipped => {
            let place = rng.random_range(0..length);
            let mut byte = [0];
            file.read_exact_at(&mut byte, place)?;
            byte[0] ^= 1 << rng.random_range(0..8);
            file.write_all_at(&byte, place)?;
        }
        Kind::Truncated => file.set_len(rng.random_range(0..length))?,
        Kind::Deleted => fs::remove_file(path)?,
    }
    Ok(())
}

/// Returns every file below `objects/` of a volume.
pub(crate) fn replica_files(volume: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for partition in
        fs::read_dir(volume.join("objects")).with_context(|| format!("list {}", volume.display()))?
    {
        let partition = partition?.path();
        if partition.is_dir() {
            for file in fs::read_dir(&partition)? {
                files.push(file?.path());
            }
        }
    }
    Ok(files)
}
