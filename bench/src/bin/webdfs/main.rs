//! The WEBDFS experiment of 2009 as a program: 15 servers in 5 zones, 5 groups of 100 clients, 8
//! reads to 2 writes, with faults in between.
//!
//! `cargo run --release -p bench --bin webdfs` starts 15 real servers on loopback and lets the
//! clients work until enough is uploaded. One server is ten times slower than the others, one is
//! killed and restarted, and some replicas are damaged. Then it runs the store's scrub, repair and
//! census, reads back every acknowledged object, checks every replica's file, and prints the
//! published table next to the new figures. It ends with status 1 if an object was lost, damage was
//! not detected, or a server's share deviates by more than 3 %.
//!
//! Sizes are divided by `--size-divisor` (default 80), so that the number of objects, which
//! evenness depends on, is near that of 2009 without its 250 GB.
//! `--size-divisor 1 --upload-bytes 250000850000` is the full experiment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::s3::{client, make_bucket};
use clap::Parser;

mod check;
mod clients;
mod cluster;
mod content;
mod evidence;
mod faults;
mod placement;
mod report;

use clients::Work;
use cluster::{BUCKET, Cluster};
use content::Pool;
use evidence::Evidence;
use faults::Slow;

/// Repeats the WEBDFS experiment.
#[derive(Debug, Parser)]
struct Args {
    /// Bytes to upload before the clients stop
    #[arg(long, value_name = "N", default_value_t = 2_000_000_000)]
    upload_bytes: u64,
    /// The seven sizes, 50 KB to 10 MB, are divided by this
    #[arg(long, value_name = "N", default_value_t = 80)]
    size_divisor: u64,
    /// Groups of clients
    #[arg(long, value_name = "N", default_value_t = 5)]
    groups: u64,
    /// Clients in each group
    #[arg(long, value_name = "N", default_value_t = 100)]
    clients: u64,
    /// Maximum time that a client waits between two requests
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    think_ms_max: u64,
    /// Replicas damaged on purpose, during the run
    #[arg(long, value_name = "N", default_value_t = 400)]
    damage: usize,
    /// Run without faults: no slow server, no dead one, no damage
    #[arg(long)]
    no_faults: bool,
    /// Seed of contents, choices and damage
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
    /// Folder for the servers, kept [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Server that runs a tenth of the time (zone 1), server that is killed (zone 2), zone whose
/// replicas are damaged.
const SLOW_SERVER: usize = 1;
const KILLED_SERVER: usize = 4;
const DAMAGED_ZONE: usize = 3;
/// Fractions of the upload at which the server is killed, restarted, and the replicas are damaged.
const KILL_AT: f64 = 0.3;
const RESTART_AT: f64 = 0.45;
const DAMAGE_AT: f64 = 0.6;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let temporary = tempfile::tempdir()?;
    let folder = args.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let runtime = tokio::runtime::Runtime::new()?;
    let whole = runtime.block_on(experiment(&args, &weft, &folder))?;
    std::process::exit(if whole { 0 } else { 1 });
}

async fn experiment(args: &Args, weft: &Path, folder: &Path) -> anyhow::Result<bool> {
    let mut cluster = Cluster::start(weft, folder)?;
    let servers = cluster
        .endpoints()
        .iter()
        .map(|endpoint| client(endpoint, BUCKET))
        .collect::<Result<Vec<_>, _>>()?;
    make_bucket(&servers[0]).await?;
    let pool = Pool::new(args.seed, args.size_divisor);
    let think = Duration::from_millis(args.think_ms_max);
    let work = Arc::new(Work::new(pool, servers, args.upload_bytes, think, args.seed));

    println!(
        "15 servers in 5 zones, {} x {} clients, sizes / {}",
        args.groups, args.clients, args.size_divisor
    );
    let started = Instant::now();
    let clients = tokio::spawn({
        let (work, groups, each) = (work.clone(), args.groups, args.clients);
        async move { work.run(groups, each).await }
    });
    let damages = if args.no_faults {
        watch(&work, 1.0, started).await.map(|()| Vec::new())
    } else {
        trouble(args, &mut cluster, &work, started).await
    };
    if damages.is_err() {
        work.stop();
    }
    clients.await?;
    let seconds = started.elapsed().as_secs_f64();
    let damages = damages?;

    println!("scrub, repair, census");
    let census_whole = settle(&cluster)?;
    let checked = check::check(&work, &cluster.volumes()).await?;
    let evidence = Evidence::read(&cluster.volumes())?;
    let run = report::Run {
        seconds,
        damaged: damages.len() as u64,
        unnoticed: damages.iter().filter(|damage| !evidence.noticed(damage)).count() as u64,
        found: evidence.found(),
        repaired: evidence.repaired,
        census_whole,
        placed: placement::by_server(&folder.join("cluster.toml"), report::OBJECTS_2009)?,
        checked,
    };
    Ok(report::print(&work.tally, &run))
}

/// Starts each of the faults at its time.
async fn trouble(
    args: &Args,
    cluster: &mut Cluster,
    work: &Arc<Work>,
    started: Instant,
) -> anyhow::Result<Vec<PathBuf>> {
    let slow = Slow::start(cluster.process(SLOW_SERVER)?)?;
    watch(work, KILL_AT, started).await?;
    println!("server {KILLED_SERVER} is killed");
    cluster.kill(KILLED_SERVER)?;
    watch(work, RESTART_AT, started).await?;
    println!("server {KILLED_SERVER} starts again");
    cluster.launch(KILLED_SERVER)?;
    cluster.wait_until_up(KILLED_SERVER)?;
    watch(work, DAMAGE_AT, started).await?;
    let damages = faults::damage(&cluster.volumes_of_zone(DAMAGED_ZONE), args.damage, args.seed)?;
    println!(
        "{} replicas of one zone are damaged: bits flipped, truncated, deleted",
        damages.len()
    );
    watch(work, 1.0, started).await?;
    drop(slow);
    Ok(damages)
}

/// Waits until a fraction of the work is done, and prints the progress occasionally.
async fn watch(work: &Arc<Work>, until: f64, started: Instant) -> anyhow::Result<()> {
    let mut said = Instant::now();
    let mut before = (work.progress(), Instant::now());
    while work.progress() < until {
        tokio::time::sleep(Duration::from_millis(200)).await;
        if work.progress() > before.0 {
            before = (work.progress(), Instant::now());
        }
        let reasons = || work.tally.reasons.lock().join("; ");
        ensure!(
            before.1.elapsed() < Duration::from_secs(120),
            "nothing was uploaded for two minutes: {}",
            reasons()
        );
        if said.elapsed() > Duration::from_secs(10) {
            said = Instant::now();
            let requests = work.tally.put_micros.lock().len() + work.tally.get_micros.lock().len();
            let failed = work.tally.failed_tries.load(Ordering::Relaxed);
            println!(
                "{:4.0} s {:3.0} %  {requests} requests, {failed} failed tries",
                started.elapsed().as_secs_f64(),
                work.progress() * 100.0
            );
        }
    }
    Ok(())
}

/// Runs scrub, repair and census. Returns true if the census is complete.
fn settle(cluster: &Cluster) -> anyhow::Result<bool> {
    cluster.store("scrub")?;
    cluster.store("repair")?;
    cluster.store("census")
}
