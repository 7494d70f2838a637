//! `weft cache`: inspects and manages the cache of remote stores.
//!
//! It reads only the cache directories and contacts no server. A running server follows changes
//! within a second.

use std::io::{IsTerminal as _, Write};
use std::time::Duration;

use ::cache::{Cache, ProgramStats, SPACES, Settings, UserRow};
use indicatif::{ProgressBar, ProgressStyle};
use remote::Remote;
use serde::Serialize;

use crate::cache_args::CacheArgs;
use crate::context::Context;
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, duration_ms, instant};

const EXAMPLES: &str = "\
Examples:
  weft cache stats                               contents and hit rates
  weft cache ls s3://crawls/warehouse/
  weft cache warm s3://crawls/warehouse/links/   fetch it ahead of time
  weft cache pin s3://crawls/warehouse/links/    keep it cached, as far as it fits
  weft cache drop s3://crawls/2024/
  weft cache advise                              hit rates with more or less space

cache.toml in the archive's directory says what is cached, where, and how much of it
(docs/cache.md). Several programs can share a cache directory. It can be deleted at any time: it
contains only copies.";

/// Flags of `weft cache`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(flatten)]
    which: CacheArgs,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show the contents of each tier, and how much each program has read
    Stats(StatsArgs),
    /// List objects that are at least partly cached
    Ls(LsArgs),
    /// Read objects into the cache
    Warm(WarmArgs),
    /// Protect objects with this prefix from eviction
    Pin(PrefixArgs),
    /// Undo pin
    Unpin(PrefixArgs),
    /// Drop objects with this prefix
    Drop(PrefixArgs),
    /// Estimate the effect of more or less space, by prefix
    Advise(AdviseArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft cache stats\n  weft cache stats --json")]
struct StatsArgs {}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft cache ls\n  weft cache ls s3://crawls/warehouse/ --json")]
struct LsArgs {
    /// Prefix of addresses
    #[arg(default_value = "", hide_default_value = true)]
    prefix: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  weft cache warm s3://crawls/warehouse/links/\n  weft cache warm s3://crawls/a.warc.gz"
)]
struct WarmArgs {
    /// Object, or folder of objects if it ends in a slash (s3://, store://)
    #[arg(required = true)]
    addresses: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  weft cache pin s3://crawls/warehouse/links/\n  weft cache drop https://example.org/"
)]
struct PrefixArgs {
    /// Prefix of addresses
    prefix: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft cache advise\n  weft cache advise --json")]
struct AdviseArgs {}

/// Runs `weft cache`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let settings = args.which.settings(context)?;
    if settings.directories.is_empty() {
        let file = context.archive.join(::cache::SETTINGS_FILE);
        return Err(NotFound(format!(
            "no cache directory: set one in {} or with --cache DIR (a server shows its memory cache on its \
             page /cache)",
            file.display()
        ))
        .into());
    }
    let cache = args.which.open(context, "")?;
    match args.command {
        Command::Stats(_) => stats(&cache, &settings, context),
        Command::Ls(args) => ls(&cache, &args.prefix, context),
        Command::Warm(args) => warm(&cache, args.addresses, context),
        Command::Pin(args) => pin(&cache, &args.prefix, true, context),
        Command::Unpin(args) => pin(&cache, &args.prefix, false, context),
        Command::Drop(args) => drop_below(&cache, &args.prefix, context),
        Command::Advise(_) => advise(&cache, context),
    }
}

fn checked(prefix: &str) -> Result<&str, WrongUse> {
    let is_address = prefix.contains("://") && !prefix.contains('\n');
    if is_address {
        Ok(prefix)
    } else {
        Err(WrongUse(format!(
            "{prefix:?} is not an address prefix: expected one such as s3://bucket/folder/"
        )))
    }
}

fn stats(cache: &Cache, settings: &Settings, context: &mut Context) -> anyhow::Result<Outcome> {
    let (stats, programs) = (cache.stats(), cache.program_stats());
    if context.json {
        context.out.json(&serde_json::json!({
            "memory_size_bytes": settings.memory_size_bytes.0,
            "revalidate_seconds": settings.revalidate_seconds,
            "directories": stats.directories,
            "pins": stats.pins,
            "programs": programs,
        }))?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(&[
        ("directory", Column::Flexible),
        ("used", Column::Right),
        ("of", Column::Right),
        ("pinned", Column::Right),
        ("blocks", Column::Right),
        ("objects", Column::Right),
    ]);
    for directory in &stats.directories {
        table.row([
            directory.path.clone(),
            bytes(directory.used_bytes),
            bytes(directory.quota_bytes),
            bytes(directory.pinned_bytes),
            count(directory.blocks),
            count(directory.objects),
        ]);
    }
    table.print(&mut context.out)?;
    for pin in &stats.pins {
        writeln!(context.out, "pinned: {}", clean(pin))?;
    }
    if programs.is_empty() {
        writeln!(context.out, "\nnothing has been read through the cache yet")?;
    }
    for program in &programs {
        print_program(program, context)?;
    }
    Ok(Outcome::Done)
}

fn print_program(program: &ProgramStats, context: &mut Context) -> anyhow::Result<()> {
    let memory = &program.stats.memory;
    writeln!(
        context.out,
        "\n{}, as of {}: {} of {} of memory used",
        clean(&program.program),
        instant(program.at_ms),
        bytes(memory.used_bytes),
        bytes(memory.capacity_bytes)
    )?;
    let mut table = Table::new(&[
        ("who", Column::Left),
        ("reads", Column::Right),
        ("memory", Column::Right),
        ("disk", Column::Right),
        ("fetched", Column::Right),
        ("hits", Column::Right),
        ("waited", Column::Right),
    ]);
    for row in program.stats.users.iter().filter(|row| row.stats.reads > 0) {
        let stats = &row.stats;
        table.row([
            row.user.clone(),
            count(stats.reads),
            bytes(stats.memory_bytes + stats.joined_bytes),
            bytes(stats.disk_bytes),
            bytes(stats.fetched_bytes + stats.passed_bytes),
            UserRow::hit_rate(row).map_or_else(String::new, percent),
            duration_ms(stats.wait_us / 1000),
        ]);
    }
    table.print(&mut context.out)?;
    Ok(())
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn ls(cache: &Cache, prefix: &str, context: &mut Context) -> anyhow::Result<Outcome> {
    let objects = cache.objects(prefix);
    if context.json {
        for object in &objects {
            context.out.json(object)?;
        }
        return Ok(outcome_of(objects.is_empty()));
    }
    if objects.is_empty() {
        writeln!(
            context.out,
            "nothing is cached of {}",
            if prefix.is_empty() { "anything" } else { prefix }
        )?;
        return Ok(outcome_of(true));
    }
    let mut table = Table::new(&[
        ("kept", Column::Right),
        ("of", Column::Right),
        ("", Column::Left),
        ("object", Column::Flexible),
    ]);
    for object in &objects {
        table.row([
            bytes(object.disk_bytes),
            bytes(object.size_bytes),
            if object.is_pinned { "pinned" } else { "" }.to_owned(),
            object.address.clone(),
        ]);
    }
    table.print(&mut context.out)?;
    Ok(Outcome::Done)
}

fn outcome_of(is_empty: bool) -> Outcome {
    // As for a search without results.
    if is_empty { Outcome::Losses } else { Outcome::Done }
}

#[derive(Serialize)]
struct WarmedBody {
    objects: usize,
    failed: usize,
    bytes: u64,
}

fn warm(cache: &Cache, addresses: Vec<String>, context: &mut Context) -> anyhow::Result<Outcome> {
    let remote = context.remote_inputs.remote().clone();
    let (objects, size_bytes) = objects_to_warm(&remote, &addresses)?;
    let bar = if context.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        shown_bar(size_bytes)
    };
    let shown = bar.clone();
    let warmed = remote.warm(cache, objects, move |bytes| shown.inc(bytes))?;
    bar.finish_and_clear();
    let mut body = WarmedBody {
        objects: warmed.len(),
        failed: 0,
        bytes: 0,
    };
    for object in &warmed {
        match &object.result {
            Ok(size_bytes) => body.bytes += size_bytes,
            Err(error) => {
                body.failed += 1;
                crate::stderr::progress_line(&format!("{}: {error}", clean(&object.address)));
            }
        }
    }
    if context.json {
        context.out.json(&body)?;
    } else {
        print_warmed(cache, &body, context)?;
    }
    Ok(if body.failed > 0 {
        Outcome::Losses
    } else {
        Outcome::Done
    })
}

/// Returns the addresses of the objects at or below `addresses`, and the size of those that a
/// listing named.
fn objects_to_warm(remote: &Remote, addresses: &[String]) -> anyhow::Result<(Vec<String>, u64)> {
    let mut objects = Vec::new();
    let mut size_bytes = 0;
    for address in addresses {
        checked(address)?;
        if address.starts_with("http") {
            return Err(WrongUse(format!(
                "{address}: warm supports only s3:// and store://; files of web servers are cached when \
                 they are read"
            ))
            .into());
        }
        if address.ends_with('/') {
            let listed = remote
                .list(address)
                .map_err(|error| anyhow::anyhow!("{address}: {error}"))?;
            size_bytes += listed.iter().map(|(_, stat)| stat.size).sum::<u64>();
            objects.extend(listed.into_iter().map(|(address, _)| address));
        } else {
            objects.push(address.clone());
        }
    }
    if objects.is_empty() {
        return Err(NotFound("there are no such objects".to_owned()).into());
    }
    Ok((objects, size_bytes))
}

fn print_warmed(cache: &Cache, body: &WarmedBody, context: &mut Context) -> anyhow::Result<()> {
    let read = counted((body.objects - body.failed) as u64, "object", "objects");
    writeln!(context.out, "{read} read, {}", bytes(body.bytes))?;
    let refused: u64 = cache
        .stats()
        .directories
        .iter()
        .map(|directory| directory.events.refused_blocks)
        .sum();
    let passed: u64 = cache
        .stats()
        .directories
        .iter()
        .map(|directory| directory.events.bypassed_blocks)
        .sum();
    if refused + passed > 0 {
        let blocks = counted(refused + passed, "block is", "blocks are");
        writeln!(
            context.out,
            "{blocks} not cached: the cache is full or its disk is slow (weft cache stats)"
        )?;
    }
    Ok(())
}

fn shown_bar(size_bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(size_bytes);
    let template = "{elapsed}  {bar:30} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn pin(cache: &Cache, prefix: &str, is_pinned: bool, context: &mut Context) -> anyhow::Result<Outcome> {
    let is_changed = cache.set_pin(checked(prefix)?, is_pinned)?;
    let objects = cache.objects(prefix);
    let kept_bytes: u64 = objects.iter().map(|object| object.disk_bytes).sum();
    if context.json {
        let pinned_bytes = if is_pinned { kept_bytes } else { 0 };
        context.out.json(&serde_json::json!({
            "prefix": prefix, "pinned": is_pinned, "changed": is_changed, "objects": objects.len(), "pinned_bytes": pinned_bytes,
        }))?;
        return Ok(Outcome::Done);
    }
    let state = match (is_pinned, is_changed) {
        (true, true) => "pinned",
        (true, false) => "is already pinned",
        (false, true) => "is no longer pinned",
        (false, false) => "was not pinned",
    };
    let objects = counted(objects.len() as u64, "object", "objects");
    writeln!(
        context.out,
        "{} {state}: {objects}, {} cached now",
        clean(prefix),
        bytes(kept_bytes)
    )?;
    Ok(Outcome::Done)
}

fn drop_below(cache: &Cache, prefix: &str, context: &mut Context) -> anyhow::Result<Outcome> {
    let blocks = cache.drop_below(checked(prefix)?)?;
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "prefix": prefix, "dropped_blocks": blocks }))?;
    } else {
        writeln!(context.out, "{} dropped", counted(blocks, "block", "blocks"))?;
    }
    Ok(Outcome::Done)
}

fn advise(cache: &Cache, context: &mut Context) -> anyhow::Result<Outcome> {
    let programs = cache.program_stats();
    if context.json {
        for program in &programs {
            context.out.json(&serde_json::json!({
                "program": program.program, "at_ms": program.at_ms, "spaces": SPACES, "advice": program.advice,
            }))?;
        }
        return Ok(Outcome::Done);
    }
    let is_empty = programs.iter().all(|program| program.advice.is_empty());
    if is_empty {
        writeln!(context.out, "nothing has been read yet, so there is no advice")?;
        return Ok(Outcome::Done);
    }
    for program in programs.iter().filter(|program| !program.advice.is_empty()) {
        writeln!(
            context.out,
            "{}: hit rate of block reads, by cache size",
            clean(&program.program)
        )?;
        let mut table = Table::new(&[
            ("prefix", Column::Flexible),
            ("reads", Column::Right),
            ("1/4", Column::Right),
            ("1/2", Column::Right),
            ("current", Column::Right),
            ("2x", Column::Right),
            ("4x", Column::Right),
        ]);
        for row in &program.advice {
            let [quarter, half, whole, twice, four] = row.hit_rates.map(percent);
            table.row([
                row.prefix.clone(),
                count(row.reads),
                quarter,
                half,
                whole,
                twice,
                four,
            ]);
        }
        table.print(&mut context.out)?;
    }
    Ok(Outcome::Done)
}
