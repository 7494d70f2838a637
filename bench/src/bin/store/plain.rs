//! The plain program, and the bare disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::ensure;
use bench::process;
use bytes::Bytes;
use md5::{Digest, Md5};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use sha2::Sha256;

use crate::{Shape, Took};

/// Returns random bytes, which cannot be compressed.
pub(crate) fn content(bytes: usize) -> Bytes {
    let mut content = vec![0; bytes];
    StdRng::seed_from_u64(bytes as u64).fill(&mut content[..]);
    content.into()
}

/// Returns the seconds to write the bytes of both copies into one file and sync it once.
pub(crate) fn raw(dir: &Path, content: &[u8], shape: Shape) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut file = File::create(dir.join("raw"))?;
    for _ in 0..shape.objects * 2 {
        file.write_all(content)?;
    }
    file.sync_all()?;
    Ok(started.elapsed().as_secs_f64())
}

/// Writes two synced copies of each object with all digests, then reads each again and compares its
/// BLAKE3.
pub(crate) fn measure(dir: &Path, content: &[u8], shape: Shape) -> anyhow::Result<Took> {
    for copy in ["a", "b"] {
        fs::create_dir_all(dir.join(copy))?;
    }
    let digest = blake3::hash(content);
    let (put_seconds, put_cpu_seconds) = timed(|| each(shape, |object| put(dir, content, object)))?;
    let (get_seconds, get_cpu_seconds) = timed(|| {
        each(shape, |object| {
            let found = fs::read(dir.join("a").join(object.to_string()))?;
            ensure!(blake3::hash(&found) == digest, "object {object} differs");
            Ok(())
        })
    })?;
    Ok(Took {
        put_seconds,
        get_seconds,
        put_cpu_seconds,
        get_cpu_seconds,
    })
}

/// Returns the wall-clock and CPU seconds of some work.
fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<(f64, f64)> {
    let cpu = process::own_cpu_seconds()?;
    let started = Instant::now();
    work()?;
    Ok((started.elapsed().as_secs_f64(), process::own_cpu_seconds()? - cpu))
}

/// Runs some work for each object, several at once.
fn each(shape: Shape, work: impl Fn(usize) -> anyhow::Result<()> + Sync) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let one_after_another = || -> anyhow::Result<()> {
        loop {
            let object = next.fetch_add(1, Ordering::Relaxed);
            if object >= shape.objects {
                return Ok(());
            }
            work(object)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..shape.at_once)
            .map(|_| scope.spawn(one_after_another))
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("a worker panicked"))
    })
}

fn put(dir: &Path, content: &[u8], object: usize) -> anyhow::Result<()> {
    let digests = (
        Md5::digest(content),
        Sha256::digest(content),
        blake3::hash(content),
    );
    for copy in ["a", "b"] {
        let folder = dir.join(copy);
        let draft = folder.join(format!("{object}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&draft, folder.join(object.to_string()))?;
        File::open(&folder)?.sync_all()?;
    }
    std::hint::black_box(digests);
    Ok(())
}
