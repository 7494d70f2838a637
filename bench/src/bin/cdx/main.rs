//! Exact lookups of captures over HTTP: `weft serve` on one core, compared with OutbackCDX with the
//! same captures on the same core.
//!
//! `cargo run --release -p bench --bin cdx -- [--pages 100000] [--seconds 10]` writes a synthetic
//! web, loads it, and requests its URLs in random order over persistent connections, one request at
//! a time on each. OutbackCDX 1.2.2 is built from its repository with git, Maven and a JDK (once,
//! below `~/.cache/weft`), or given as `--outbackcdx JAR`. If that fails, the program says so and
//! continues without it.
//!
//! The server has the first core for itself; the clients have the others, if there are any. On a
//! busy machine, the number of requests per second of processor time is the better figure.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;

mod captures;
mod clients;
mod outback;

use bench::weft_server::{self, Server};
use captures::Captures;
use clients::Measured;

/// Measures lookups of captures.
#[derive(Debug, Parser)]
struct Args {
    /// Captures of the synthetic web
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pages: u64,
    /// Seed of the synthetic web, and of the order of requests
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// How long to query each server
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u64,
    /// Concurrent connections
    #[arg(long, value_name = "N", default_value_t = 8)]
    connections: usize,
    /// OutbackCDX, built [default: built from its repository]
    #[arg(long, value_name = "JAR", env = "OUTBACKCDX")]
    outbackcdx: Option<PathBuf>,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let dir = tempfile::tempdir()?;
    let archive = load(&args, &weft, dir.path())?;
    let captures = Captures::of(&weft, &archive, args.seed)?;
    weft_server::leave_first_core()?;
    println!(
        "{} captures, {} connections, one core for the server",
        captures.len(),
        args.connections
    );
    println!(
        "{:<28} {:>12} {:>16} {:>20}",
        "server", "look-ups/s", "CPU us", "look-ups/s per core"
    );
    let weft = Server::weft(&weft, &archive, &["--no-replay"])?;
    for path in ["/cdx", "/cdx/search/cdx", "/outbackcdx/all"] {
        row(&format!("weft {path}"), &measure(&args, &weft, path, &captures)?);
    }
    drop(weft);
    match outback::jar(args.outbackcdx.as_deref()) {
        Ok(jar) => {
            let outback = outback::start(&jar, dir.path(), &captures)?;
            row(
                &format!("OutbackCDX {}", outback::VERSION),
                &measure(&args, &outback, outback::INDEX, &captures)?,
            );
        }
        Err(error) => println!("OutbackCDX {}: not measured: {error:#}", outback::VERSION),
    }
    Ok(())
}

fn measure(args: &Args, server: &Server, path: &str, captures: &Captures) -> anyhow::Result<Measured> {
    // Fills caches and lets the JIT compiler finish.
    let warm = Duration::from_secs(args.seconds.div_ceil(2));
    clients::ask(server, path, captures, args.connections, warm)?;
    clients::ask(
        server,
        path,
        captures,
        args.connections,
        Duration::from_secs(args.seconds),
    )
}

fn row(name: &str, measured: &Measured) {
    let each_us = measured.cpu_seconds * 1e6 / measured.answers as f64;
    println!(
        "{name:<28} {:>12.0} {each_us:>16.1} {:>20.0}",
        measured.answers as f64 / measured.seconds,
        1e6 / each_us
    );
}

/// Creates an archive of a synthetic web.
fn load(args: &Args, weft: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
    let (web, archive) = (dir.join("web.wat.gz"), dir.join("archive"));
    let mut synth = Command::new(weft);
    synth.args(["synth", "--format", "wat"]);
    synth.args([
        "--pages",
        &args.pages.to_string(),
        "--seed",
        &args.seed.to_string(),
    ]);
    run(synth.arg(&web), "weft synth")?;
    let mut load = Command::new(weft);
    load.args(["load", "--facts", "none"]).arg(&web);
    run(load.arg("--archive").arg(&archive), "weft load")?;
    Ok(archive)
}

fn run(command: &mut Command, name: &str) -> anyhow::Result<()> {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}
