//! Scans of files: entries per second into the catalogue, with different stages switched off, and
//! memory. Compared with programs that only walk, and with the same rows in SQLite.
//!
//! `cargo run --release -p bench --bin scan -- [--entries 200000]` creates a tree of small files
//! and runs everything on it in turn, after an uncounted walk that brings the tree into the
//! kernel's caches. Medians are printed. Peers that are not installed are listed and left out.
//! `--one-directory N` puts N names into a single directory instead and measures only scans, whose
//! memory must not grow with N.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::process::{cpu_seconds, memory_bytes_max};
use clap::Parser;

mod tree;

/// Counted runs of each.
const RUNS: usize = 3;

/// Entries per second into Robinhood's database at its best, and of GUFI's walk with 64 threads
/// (MARKS).
const ROBINHOOD: f64 = 40_989.0;
const GUFI: f64 = 345_000.0;

/// Measures scans of files.
#[derive(Debug, Parser)]
struct Args {
    /// Entries of the tree
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    entries: u64,
    /// Five million entries
    #[arg(long, conflicts_with = "entries")]
    full: bool,
    /// Put this many names into one directory, and measure only scans
    #[arg(long, value_name = "N", conflicts_with_all = ["entries", "full", "tree"])]
    one_directory: Option<u64>,
    /// An existing tree instead [default: one is created]
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

/// One run of a program.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    s: f64,
    cpu_s: f64,
    memory_bytes: u64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let work = tempfile::tempdir().context("create a temporary folder")?;
    let tree = match &args.tree {
        Some(tree) => tree.clone(),
        None => {
            let tree = work.path().join("tree");
            let begun = Instant::now();
            let entries = match args.one_directory {
                Some(names) => names + 1,
                None if args.full => 5_000_000,
                None => args.entries,
            };
            match args.one_directory {
                Some(names) => tree::make_one_directory(&tree, names),
                None => tree::make(&tree, entries),
            }
            .context("create a tree")?;
            println!(
                "a tree of {entries} entries, created in {:.0} s",
                begun.elapsed().as_secs_f64()
            );
            tree
        }
    };
    let tree = tree.to_str().context("the path of the tree is not UTF-8")?;
    let archive = work.path().join("archive");
    let entries = count(tree)?;
    println!(
        "{entries} entries; seconds and entries per second, median of {RUNS} runs; the tree is cached in \
         memory\n"
    );
    println!(
        "{:<44} {:>8} {:>12} {:>10} {:>10}",
        "", "seconds", "entries/s", "CPU us", "memory"
    );

    let scan = |more: &[&str]| -> anyhow::Result<Run> {
        run(weft_command(&weft, &archive, &[&["scan", tree], more].concat()))
    };
    let mut walk = Run::default();
    for (until, name) in [
        ("read-dir", "weft files scan, names only"),
        ("stat", "walk only: names and attributes"),
        ("lookup", "plus look-ups in the (empty) catalogue"),
        ("diff", "plus comparison"),
    ] {
        let run = median(|| scan(&["--until", until]))?;
        if until == "stat" {
            walk = run;
        }
        print(name, entries, run);
    }
    let first = median(|| {
        remove(&archive)?;
        scan(&[])
    })?;
    print("first scan, into the catalogue", entries, first);
    let second = median(|| scan(&[]))?;
    print("second scan, nothing changed", entries, second);
    if args.one_directory.is_some() {
        std::fs::write(Path::new(tree).join("one more"), b"1").context("change the directory")?;
        print("third scan, one new name", entries, scan(&[])?);
        return Ok(());
    }

    println!();
    let sqlite = work.path().join("rows.sqlite");
    let printf = "%i %n %m %U %G %s %b %T@ %C@ %y %p\\n";
    for (name, program, arguments) in [
        (
            "find -printf, all attributes",
            "find",
            vec![tree, "-xdev", "-printf", printf],
        ),
        ("du", "du", vec!["-xs", tree]),
        ("fd, names only", "fd", vec!["-uu", ".", tree]),
        ("fd, names only", "fdfind", vec!["-uu", ".", tree]),
        ("dust", "dust", vec!["-x", "-d0", tree]),
        ("dua", "dua", vec!["aggregate", tree]),
    ] {
        if has(program) {
            print(name, entries, median(|| run(command(program, &arguments)))?)
        } else {
            println!("{name:<44} not measured: cannot find {program}")
        }
    }
    if has("python3") {
        let rows = median(|| {
            remove(&sqlite)?;
            run(command(
                "python3",
                &["-c", SQLITE, tree, sqlite.to_str().unwrap_or_default()],
            ))
        })?;
        print("output of find into SQLite, one transaction", entries, rows);
    } else {
        println!("SQLite: not measured: cannot find python3")
    }

    println!();
    for report in [
        "owners",
        "formats",
        "sizes",
        "ages",
        "directories",
        "largest",
        "oldest",
    ] {
        let run = median(|| run(weft_command(&weft, &archive, &["report", report])))?;
        println!(
            "report {report:<12} {:>8.0} ms including program start (aim: 50)",
            run.s * 1e3
        );
    }
    let du = median(|| run(weft_command(&weft, &archive, &["du", tree])))?;
    println!("du                  {:>8.0} ms", du.s * 1e3);

    let rate = entries as f64 / first.s;
    let bytes = disk_bytes(&archive)?;
    println!(
        "\ncatalogue: {:.1} bytes on disk per entry",
        bytes as f64 / entries as f64
    );
    println!(
        "first scan: {rate:.0} entries/s (aim: 150,000), {:.2} of the walk only (aim: 0.6)",
        walk.s / first.s
    );
    println!(
        "{:.1} times Robinhood's best ({ROBINHOOD}), {:.2} of GUFI's walk with 64 threads ({GUFI})",
        rate / ROBINHOOD,
        rate / GUFI
    );
    Ok(())
}

/// Inserts the output of find into a table, in one transaction.
const SQLITE: &str = r#"
import sqlite3, subprocess, sys
db = sqlite3.connect(sys.argv[2])
db.execute("create table entries (inode, links, mode, uid, gid, size, blocks, modified, changed, kind, path primary key) without rowid")
find = subprocess.Popen(["find", sys.argv[1], "-xdev", "-printf", "%i %n %m %U %G %s %b %T@ %C@ %y %p\\0"], stdout=subprocess.PIPE)
def rows():
    rest = b""
    while chunk := find.stdout.read(1 << 20):
        *whole, rest = (rest + chunk).split(b"\0")
        for row in whole:
            yield row.split(b" ", 10)
db.executemany("insert into entries values (?,?,?,?,?,?,?,?,?,?,?)", rows())
db.commit()
"#;

fn weft_command(weft: &Path, archive: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(weft);
    command.arg("files").args(arguments).arg("--archive").arg(archive);
    command
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Runs a program to its end.
fn run(mut command: Command) -> anyhow::Result<Run> {
    let begun = Instant::now();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .context("start a program")?;
    let mut run = Run::default();
    let status = loop {
        // The kernel's accounting ends with the process, so the last sample counts, taken a few
        // milliseconds before its end.
        run.cpu_s = cpu_seconds(child.id()).unwrap_or(run.cpu_s).max(run.cpu_s);
        run.memory_bytes = memory_bytes_max(child.id()).unwrap_or(0).max(run.memory_bytes);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    ensure!(status.success(), "{command:?} failed: {status}");
    run.s = begun.elapsed().as_secs_f64();
    Ok(run)
}

fn median(mut once: impl FnMut() -> anyhow::Result<Run>) -> anyhow::Result<Run> {
    let mut runs = (0..RUNS).map(|_| once()).collect::<anyhow::Result<Vec<Run>>>()?;
    runs.sort_by(|a, b| a.s.total_cmp(&b.s));
    Ok(runs[RUNS / 2])
}

fn print(name: &str, entries: u64, run: Run) {
    let (rate, cpu_us) = (entries as f64 / run.s, run.cpu_s * 1e6 / entries as f64);
    let mib = run.memory_bytes as f64 / f64::from(1 << 20);
    println!(
        "{name:<44} {:>8.2} {rate:>12.0} {cpu_us:>10.2} {mib:>6.0} MiB",
        run.s
    );
}

/// Returns the number of entries that find reports. This reads the whole tree for the first time.
fn count(tree: &str) -> anyhow::Result<u64> {
    let output = Command::new("find")
        .args([tree, "-xdev", "-printf", "%s\\n"])
        .output()
        .context("run find")?;
    Ok(output.stdout.iter().filter(|&&byte| byte == b'\n').count() as u64)
}

fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context("remove the output of the last run")
        }
        _ => Ok(()),
    }
}

fn disk_bytes(dir: &Path) -> anyhow::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            disk_bytes(&entry.path())?
        } else {
            entry.metadata()?.blocks() * 512
        };
    }
    Ok(bytes)
}
