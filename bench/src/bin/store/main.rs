//! Puts and gets on one machine with two volumes, compared with a plain program that gives the same
//! guarantees, with the bare disk, and with MinIO.
//!
//! `cargo run --release -p bench --bin store` puts and gets objects of 4 KB, 1 MB and 64 MB in five
//! ways, in turn for some rounds. It prints medians and ratios, and then the CPU time per megabyte
//! of each step:
//!
//! - *raw*: one file written sequentially and synced once, which is what the disk can do;
//! - *plain*: MD5, SHA-256 and BLAKE3 of each object, and two copies, each synced, renamed and its
//!   directory synced: the minimum for the guarantees of a put;
//! - *store*: `Store::put` and `Store::get`, in this process;
//! - *face*: the same through the S3 server of `weft store serve` on loopback;
//! - *minio*: the same requests to `minio server` with one folder, which keeps one copy. It is not
//!   measured if there is no `minio`.
//!
//! Gets come from the page cache in all ways, so they measure the program, not the disk.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

mod face;
mod minio;
mod ours;
mod plain;
mod report;
mod steps;

/// Measures the store.
#[derive(Debug, Parser)]
struct Args {
    /// Rounds; medians are printed
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Bytes put in each round at each size of 1 MB and more; a tenth of it at 4 KB
    #[arg(long, value_name = "N", default_value_t = 256_000_000)]
    bytes: u64,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
    /// MinIO, for comparison
    #[arg(long, value_name = "FILE", env = "MINIO", default_value = "minio")]
    minio: PathBuf,
    /// Folder for the volumes, on the disk to measure [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A size of objects, and how many of them are in flight at once: enough to share syncs if they are
/// small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) object_bytes: usize,
    pub(crate) objects: usize,
    pub(crate) at_once: usize,
}

/// The times of one way of putting and getting.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Took {
    pub(crate) put_seconds: f64,
    pub(crate) get_seconds: f64,
    /// CPU time of the process that stores the files.
    pub(crate) put_cpu_seconds: f64,
    pub(crate) get_cpu_seconds: f64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let minio = minio::is_there(&args.minio).then_some(args.minio.as_path());
    if minio.is_none() {
        println!("MinIO: not measured: {} cannot be run", args.minio.display());
    }
    for shape in shapes(args.bytes) {
        let mut rounds = Vec::new();
        for round in 0..args.rounds.max(1) {
            rounds.push(measure(&runtime, (weft.as_path(), minio), &dir, shape, round)?);
        }
        report::print(shape, &rounds);
    }
    steps::print();
    Ok(())
}

fn shapes(bytes: u64) -> [Shape; 3] {
    let shape = |name, object_bytes: usize, at_once, bytes: u64| Shape {
        name,
        object_bytes,
        objects: (bytes / object_bytes as u64).max(2) as usize,
        at_once,
    };
    [
        shape("4 KB", 4_000, 32, bytes / 10),
        shape("1 MB", 1_000_000, 8, bytes),
        shape("64 MB", 64_000_000, 2, bytes),
    ]
}

/// Measures all ways one after the other, each in a new folder that is removed afterwards.
fn measure(
    runtime: &tokio::runtime::Runtime,
    (weft, minio): (&Path, Option<&Path>),
    dir: &Path,
    shape: Shape,
    round: usize,
) -> anyhow::Result<report::Round> {
    let folder = |way: &str| -> anyhow::Result<PathBuf> {
        let folder = dir.join(format!("{way}-{}-{round}", shape.object_bytes));
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    let content = plain::content(shape.object_bytes);
    let raw = folder("raw")?;
    let raw_seconds = plain::raw(&raw, &content, shape)?;
    std::fs::remove_dir_all(&raw)?;
    let other = folder("plain")?;
    let plain = plain::measure(&other, &content, shape)?;
    std::fs::remove_dir_all(&other)?;
    let volumes = folder("store")?;
    let store = runtime.block_on(ours::measure(&volumes, &content, shape))?;
    std::fs::remove_dir_all(&volumes)?;
    let volumes = folder("face")?;
    let face = runtime.block_on(face::measure(weft, &volumes, &content, shape))?;
    std::fs::remove_dir_all(&volumes)?;
    let minio = match minio {
        None => None,
        Some(minio) => {
            let data = folder("minio")?;
            let took = runtime.block_on(minio::measure(minio, &data, &content, shape))?;
            std::fs::remove_dir_all(&data)?;
            Some(took)
        }
    };
    Ok(report::Round {
        raw_seconds,
        plain,
        store,
        face,
        minio,
    })
}
