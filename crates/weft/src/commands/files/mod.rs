//! `weft files`: shows what file systems contain, from a catalogue that scans maintain.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::catalogue::{
    Catalogue, CatalogueError, CatalogueSettings, Magic, Progress, ScanError, retry_while_in_use, wait_max,
};
use clap::builder::TypedValueParser;
use server::CatalogueLocation;

use crate::context::Context;
use crate::flag_values::{choice, described};
use crate::outcome::Outcome;
use crate::stop::Stop;
pub(crate) use watch::note_text as watch_note_text;

mod diff;
mod du;
mod find;
mod forget;
mod missing;
pub(crate) mod policy;
mod report;
mod scan;
mod status;
pub(crate) mod times;
mod watch;

const EXAMPLES: &str = "\
Examples:
  weft files scan /data/crawls            add a tree to the catalogue, or update it
  weft files scan s3://crawls/2026/       the objects of a store (also store://bucket/prefix)
  weft files watch /data/crawls           keep it up to date as it changes
  weft files status                       what is catalogued, and how fresh it is
  weft files du /data/crawls              what takes space
  weft files find --format warc --size +1G --modified +30d
  weft files report                       owners, formats, sizes, ages, the largest, the oldest
  weft files diff 7d                      changes that scans found in seven days
  weft files forget /data/old             remove a tree from the catalogue
  weft files verify                       missing and changed files; reads those never read
  weft files policy plan                  what policies would do now
  weft files diff                         how the disk differs from the catalogue

The catalogue is in the archive's directory (docs/files.md). Only one process at a time can open
it; a watch opens it briefly for each commit.";

/// Flags of `weft files`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// Commands on the catalogue of files.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Scan directories or list objects, and update the catalogue
    Scan(scan::Args),
    /// Keep trees up to date as they change, until Ctrl-C
    Watch(watch::Args),
    /// Show catalogued trees, scans, and read failures
    Status(status::Args),
    /// Find entries by name, type, size, owner, time, format
    Find(Box<find::Args>),
    /// Show the totals of directories and everything below them
    Du(du::Args),
    /// Report totals by owner, format, size and age; the largest, the oldest; growth
    Report(report::Args),
    /// List changes since a time, or between the catalogue and the disk
    Diff(diff::Args),
    /// Remove trees from the catalogue, without touching the disk
    Forget(forget::Args),
    /// Name missing and changed files; read those that were never read and record their SHA-256
    Verify(policy::VerifyArgs),
    /// Act on files by rules: verify, copy, release, move, delete
    Policy(policy::Args),
    /// Undo a run of a policy
    Undo(policy::UndoArgs),
}

/// Returns the parser of `--magic`: which files have their first bytes read to detect the format.
fn magic_values() -> impl TypedValueParser<Value = Magic> {
    choice([
        (
            described("unnamed", "Files whose names do not reveal their format"),
            Magic::Unnamed,
        ),
        (described("all", "All files"), Magic::All),
    ])
}

/// Runs `weft files`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Scan(args) => scan::run(&args, context),
        Command::Watch(args) => watch::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Find(args) => find::run(&args, context),
        Command::Du(args) => du::run(&args, context),
        Command::Report(args) => report::run(&args, context),
        Command::Diff(args) => diff::run(&args, context),
        Command::Forget(args) => forget::run(&args, context),
        Command::Verify(args) => policy::verify(&args, context),
        Command::Policy(args) => policy::run(args, context),
        Command::Undo(args) => policy::undo(&args, context),
    }
}

/// The folder of the catalogue in an archive's directory.
pub(crate) const CATALOGUE: &str = "files";

fn open(context: &Context) -> anyhow::Result<Arc<Catalogue>> {
    open_of(&context.archive)
}

/// Opens the catalogue in an archive's directory. Waits briefly if it is in use.
pub(crate) fn open_of(archive: &Path) -> anyhow::Result<Arc<Catalogue>> {
    let dir = archive.join(CATALOGUE);
    opened(&dir, || Catalogue::open(&dir, &CatalogueSettings::default()))
}

/// Returns the catalogue of an archive's directory, for the pages of a server.
pub(crate) fn catalogue_place(archive: &Path) -> CatalogueLocation {
    CatalogueLocation {
        dir: archive.join(CATALOGUE),
        user_name: system::users::user_name,
    }
}

fn create(context: &Context) -> anyhow::Result<Arc<Catalogue>> {
    if context.read_only {
        return Err(crate::outcome::WrongUse("a scan writes: run it without --read-only".to_owned()).into());
    }
    let dir = context.archive.join(CATALOGUE);
    opened(&dir, || Catalogue::create(&dir, &CatalogueSettings::default()))
}

fn opened(
    dir: &Path,
    open: impl Fn() -> Result<Catalogue, CatalogueError>,
) -> anyhow::Result<Arc<Catalogue>> {
    Ok(Arc::new(retry_while_in_use(wait_max(dir), open)?))
}

/// A catalogue path in JSON: as text, plus its bytes if they are not valid UTF-8.
#[derive(Debug, serde::Serialize)]
struct JsonPath {
    path: String,
    /// The bytes in hexadecimal; absent if `path` is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
}

impl JsonPath {
    fn new(bytes: &[u8]) -> JsonPath {
        let path = String::from_utf8_lossy(bytes).into_owned();
        let is_exact = path.as_bytes() == bytes;
        JsonPath {
            path,
            path_hex: (!is_exact).then(|| data_encoding::HEXLOWER.encode(bytes)),
        }
    }
}

/// Returns a path for display. Invalid UTF-8 and control characters are replaced.
fn display_path(path: &[u8]) -> String {
    crate::style::clean(&String::from_utf8_lossy(path))
}

/// Converts a total. A total is negative only while the catalogue is being written; it is then
/// shown as 0.
fn number(sum: i64) -> u64 {
    u64::try_from(sum).unwrap_or(0)
}

/// Totals as printed by `--json`.
#[derive(Debug, serde::Serialize)]
struct JsonUsage {
    entries: i64,
    directories: i64,
    files: i64,
    size_bytes: i64,
    disk_bytes: i64,
}

impl JsonUsage {
    fn new(usage: &::catalogue::Usage) -> JsonUsage {
        JsonUsage {
            entries: usage.entries,
            directories: usage.directories,
            files: usage.files(),
            size_bytes: usage.size_bytes,
            disk_bytes: usage.disk_bytes(),
        }
    }
}

/// Runs a walk on a separate thread, calls `tick` while it runs, and stops it on request.
fn run_interruptibly<T: Send>(
    progress: &Progress,
    stop: &Stop,
    walk: impl FnOnce() -> Result<T, ScanError> + Send,
    mut tick: impl FnMut(),
) -> anyhow::Result<T> {
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(walk);
        while !worker.is_finished() {
            system::pause(Duration::from_millis(5));
            if stop.is_requested() {
                progress.stop();
            }
            tick();
        }
        worker.join()
    });
    match result {
        Ok(result) => Ok(result?),
        Err(_) => anyhow::bail!("the scan panicked: this is a bug in Weft"),
    }
}
