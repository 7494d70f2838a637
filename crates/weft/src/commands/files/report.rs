//! `weft files report`: prints totals that the catalogue maintains, and the top rows of each.

use std::collections::BTreeMap;
use std::io::Write;

use ::catalogue::{
    Catalogue, DuplicateReport, FileOrder, Group, Kind, PathEntry, Root, SIZE_CLASSES, Share, Usage,
};
use clap::ValueEnum;

use super::times::shown_ms;
use super::{JsonPath, JsonUsage, display_path, number, open};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::Outcome;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted};
use system::users::Names;

const EXAMPLES: &str = "\
Examples:
  weft files report                    the top of each report, as an overview
  weft files report owners -n 50
  weft files report largest oldest
  weft files report growth             by day, from each day's scans

Sums cover all trees of the catalogue. They are updated with each change, so reports are immediate.";

/// Flags of `weft files report`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Reports to print [default: owners, formats, sizes, ages, directories, largest, oldest]
    #[arg(value_enum, value_name = "REPORT")]
    reports: Vec<Report>,
    /// Rows per report
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = whole_from(1_usize, 50))]
    limit: usize,
}

/// A report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Report {
    /// Totals by user
    Owners,
    /// Totals by group
    Groups,
    /// Totals by kind: files, directories, links, ...
    Types,
    /// Totals by format
    Formats,
    /// Files by size
    Sizes,
    /// Files by the year of their last content change
    Ages,
    /// Largest directories, counting everything below them
    Directories,
    /// The largest files
    Largest,
    /// Files unchanged for the longest time
    Oldest,
    /// Files of zero bytes
    Empty,
    /// Files with equal content, among those that weft files verify or a policy has read
    Duplicates,
    /// Totals at the end of each day on which a scan ended
    Growth,
}

impl Report {
    /// Returns its name on the command line.
    fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    const DEFAULT: [Report; 7] = [
        Report::Owners,
        Report::Formats,
        Report::Sizes,
        Report::Ages,
        Report::Directories,
        Report::Largest,
        Report::Oldest,
    ];
}

/// Milliseconds in a day.
const DAY_MS: i64 = 86_400_000;

/// Runs `weft files report`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = open(context)?;
    let reports = if args.reports.is_empty() {
        &Report::DEFAULT[..]
    } else {
        &args.reports
    };
    let mut names = Names::default();
    for (index, report) in reports.iter().enumerate() {
        if !context.json {
            if index > 0 {
                writeln!(context.out)?;
            }
            let title = context.out.style.bold(&report.name());
            writeln!(context.out, "{title}")?;
        }
        print_report(*report, &catalogue, args.limit, &mut names, context)?;
    }
    Ok(Outcome::Done)
}

fn print_report(
    report: Report,
    catalogue: &Catalogue,
    limit: usize,
    names: &mut Names,
    context: &mut Context,
) -> anyhow::Result<()> {
    match report {
        Report::Owners => {
            let rows = sums_by(catalogue, |group| group.uid)?;
            sums(report, rows, |uid| names.user(uid).to_owned(), limit, context)
        }
        Report::Groups => {
            let rows = sums_by(catalogue, |group| group.gid)?;
            sums(report, rows, |gid| names.group(gid).to_owned(), limit, context)
        }
        Report::Types => {
            let rows = sums_by(catalogue, |group| group.kind)?;
            sums(report, rows, |kind| kind.name().to_owned(), limit, context)
        }
        Report::Formats => {
            let groups = catalogue
                .groups()?
                .into_iter()
                .filter(|(group, _)| group.kind == Kind::File);
            let rows = sum_groups(groups, |group| group.format);
            sums(report, rows, |format| format.name().to_owned(), limit, context)
        }
        Report::Sizes => shares(report, by_size(catalogue)?, context),
        Report::Empty => {
            // The first class is that of files of zero bytes.
            let mut rows = by_size(catalogue)?;
            rows.truncate(1);
            shares(report, rows, context)
        }
        Report::Duplicates => duplicates(catalogue, limit, context),
        Report::Ages => shares(report, by_year(catalogue)?, context),
        Report::Directories => directories(report, catalogue, limit, context),
        Report::Largest => files(
            report,
            &catalogue.first_files(FileOrder::Size, limit)?,
            names,
            context,
        ),
        Report::Oldest => files(
            report,
            &catalogue.first_files(FileOrder::Age, limit)?,
            names,
            context,
        ),
        Report::Growth => growth(catalogue, limit, context),
    }
}

fn by_size(catalogue: &Catalogue) -> anyhow::Result<Vec<(String, Share)>> {
    let profile = total_usage(catalogue)?.size_profile();
    let rows = SIZE_CLASSES
        .iter()
        .zip(profile)
        .map(|((name, _), share)| (format!("{name} bytes"), share));
    Ok(rows.collect())
}

fn by_year(catalogue: &Catalogue) -> anyhow::Result<Vec<(String, Share)>> {
    let mut years: BTreeMap<i64, Share> = BTreeMap::new();
    for (day, share) in total_usage(catalogue)?.age_profile() {
        let year = years
            .entry(format::date::DateTime::of_ms(i64::from(*day) * DAY_MS).year)
            .or_default();
        year.files += share.files;
        year.size_bytes = year.size_bytes.saturating_add(share.size_bytes);
    }
    Ok(years
        .into_iter()
        .map(|(year, share)| (year.to_string(), share))
        .collect())
}

fn directories(
    report: Report,
    catalogue: &Catalogue,
    limit: usize,
    context: &mut Context,
) -> anyhow::Result<()> {
    let rows = catalogue.heaviest(limit)?;
    if context.json {
        for row in &rows {
            context.out.json(&serde_json::json!({
                "report": report.name(),
                "at": JsonPath::new(&row.path),
                "usage": JsonUsage::new(&row.usage),
            }))?;
        }
        return Ok(());
    }
    super::du::table(rows.iter().map(|row| (&row.path[..], &row.usage))).print(&mut context.out)?;
    Ok(())
}

fn sums_by<K: Ord>(catalogue: &Catalogue, key: impl Fn(&Group) -> K) -> anyhow::Result<BTreeMap<K, Usage>> {
    Ok(sum_groups(catalogue.groups()?.into_iter(), key))
}

fn sum_groups<K: Ord>(
    groups: impl Iterator<Item = (Group, Usage)>,
    key: impl Fn(&Group) -> K,
) -> BTreeMap<K, Usage> {
    let mut sums: BTreeMap<K, Usage> = BTreeMap::new();
    for (group, usage) in groups {
        sums.entry(key(&group)).or_default().merge(&usage);
    }
    sums
}

fn total_usage(catalogue: &Catalogue) -> anyhow::Result<Usage> {
    Ok(sums_by(catalogue, |_| ())?.remove(&()).unwrap_or_default())
}

fn sums<K>(
    report: Report,
    rows: BTreeMap<K, Usage>,
    mut name: impl FnMut(K) -> String,
    limit: usize,
    context: &mut Context,
) -> anyhow::Result<()> {
    let mut rows: Vec<(String, Usage)> = rows.into_iter().map(|(key, usage)| (name(key), usage)).collect();
    rows.sort_by(|a, b| b.1.blocks.cmp(&a.1.blocks).then_with(|| a.0.cmp(&b.0)));
    let left = rows.len().saturating_sub(limit);
    rows.truncate(limit);
    let mut table = Table::new(&[
        ("on disk", Column::Right),
        ("size", Column::Right),
        ("entries", Column::Right),
        ("", Column::Flexible),
    ]);
    for (name, usage) in rows {
        if context.json {
            let row =
                serde_json::json!({ "report": report.name(), "name": name, "usage": JsonUsage::new(&usage) });
            context.out.json(&row)?;
            continue;
        }
        table.row([
            bytes(number(usage.disk_bytes())),
            bytes(number(usage.size_bytes)),
            count(number(usage.entries)),
            name,
        ]);
    }
    if !context.json {
        table.print(&mut context.out)?;
        if left > 0 {
            let more = context
                .out
                .style
                .dim(&format!("and {} more (-n)", count(left as u64)));
            writeln!(context.out, "{more}")?;
        }
    }
    Ok(())
}

/// Prints a profile, with bars for the number of files.
fn shares(report: Report, rows: Vec<(String, Share)>, context: &mut Context) -> anyhow::Result<()> {
    let most = rows.iter().map(|row| row.1.files).max().unwrap_or(0).max(1);
    let mut table = Table::new(&[
        ("", Column::Left),
        ("files", Column::Right),
        ("size", Column::Right),
        ("", Column::Left),
    ]);
    for (name, share) in rows {
        if context.json {
            context
                .out
                .json(&serde_json::json!({ "report": report.name(), "name": name, "share": share }))?;
            continue;
        }
        let length = (share.files.max(0) as f64 / most as f64 * 30.0).ceil() as usize;
        table.row([
            name,
            count(number(share.files)),
            bytes(number(share.size_bytes)),
            "#".repeat(length),
        ]);
    }
    if !context.json {
        table.print(&mut context.out)?;
    }
    Ok(())
}

fn files(report: Report, rows: &[PathEntry], names: &mut Names, context: &mut Context) -> anyhow::Result<()> {
    let mut table = Table::new(&[
        ("size", Column::Right),
        ("modified", Column::Left),
        ("owner", Column::Left),
        ("path", Column::Flexible),
    ]);
    for row in rows {
        let file = &row.attributes;
        let modified_ms = file.modified_ns.div_euclid(1_000_000);
        if context.json {
            context.out.json(&serde_json::json!({
                "report": report.name(),
                "at": JsonPath::new(&row.path),
                "size_bytes": file.size_bytes,
                "modified_ms": modified_ms,
                "uid": (!file.is_object()).then_some(file.uid),
            }))?;
            continue;
        }
        let owner = names.user(file.uid).to_owned();
        table.row([
            bytes(file.size_bytes),
            shown_ms(modified_ms),
            owner,
            display_path(&row.path),
        ]);
    }
    if !context.json {
        table.print(&mut context.out)?;
    }
    Ok(())
}

fn growth(catalogue: &Catalogue, limit: usize, context: &mut Context) -> anyhow::Result<()> {
    let days = catalogue.days()?;
    let rows: Vec<(u32, Usage)> = days
        .into_iter()
        .map(|(day, groups)| {
            (
                day,
                sum_groups(groups.into_iter(), |_| ())
                    .remove(&())
                    .unwrap_or_default(),
            )
        })
        .collect();
    let mut table = Table::new(&[
        ("day", Column::Left),
        ("entries", Column::Right),
        ("size", Column::Right),
        ("since previous day", Column::Right),
    ]);
    let mut before: Option<i64> = rows.len().checked_sub(limit + 1).map(|at| rows[at].1.size_bytes);
    for (day, usage) in &rows[rows.len().saturating_sub(limit)..] {
        let date = format::date::iso(i64::from(*day) * DAY_MS)[..10].to_owned();
        if context.json {
            context.out.json(
                &serde_json::json!({ "report": "growth", "day": date, "usage": JsonUsage::new(usage) }),
            )?;
        }
        let change = match before.replace(usage.size_bytes) {
            None => String::new(),
            Some(before) => {
                let change = usage.size_bytes - before;
                let sign = if change < 0 { "-" } else { "+" };
                format!("{sign}{}", bytes(change.unsigned_abs()))
            }
        };
        table.row([
            date,
            count(number(usage.entries)),
            bytes(number(usage.size_bytes)),
            change,
        ]);
    }
    if !context.json {
        table.print(&mut context.out)?;
    }
    Ok(())
}

fn duplicates(catalogue: &Catalogue, limit: usize, context: &mut Context) -> anyhow::Result<()> {
    let found = catalogue.duplicates(limit)?;
    // Names of files that are gone stay until the next scan.
    let trees = catalogue.trees()?;
    let oldest = trees.iter().min_by_key(|tree| tree.whole_ended_ms);
    if context.json {
        return Ok(context.out.json(&json_duplicates(&found, oldest))?);
    }
    let archive = context.archive_flag();
    let out = &mut context.out;
    for row in &found.first {
        writeln!(out, "{} of {} each:", count(row.files), bytes(row.size_bytes))?;
        for path in &row.paths {
            writeln!(out, "  {}", display_path(path))?;
        }
        if row.files > row.paths.len() as u64 {
            writeln!(out, "  and {} more", count(row.files - row.paths.len() as u64))?;
        }
    }
    let hidden = found.contents.saturating_sub(found.first.len() as u64);
    if hidden > 0 {
        let more = out.style.dim(&format!("and {} more (-n)", count(hidden)));
        writeln!(out, "{more}")?;
    }
    if found.known_files > 0 {
        writeln!(
            out,
            "{} more than once: keeping one copy of each would free {}",
            counted(found.contents, "content exists", "contents exist"),
            bytes(found.excess_bytes),
        )?;
    }
    if let Some(tree) = oldest.filter(|tree| tree.whole_scan > 0) {
        let oldest = if trees.len() > 1 {
            ", the oldest of the trees"
        } else {
            ""
        };
        let time = shown_ms(tree.whole_ended_ms);
        writeln!(out, "as of scan {}, {time}{oldest}", tree.whole_scan)?;
    }
    let known = format!(
        "content known for {} of {}",
        count(found.known_files),
        counted(found.files, "non-empty file", "non-empty files")
    );
    if found.known_files < found.files {
        writeln!(out, "{known}: weft files verify{archive} reads the others")?;
    } else {
        writeln!(out, "{known}")?;
    }
    Ok(())
}

/// Returns the report as JSON; `oldest` is the tree whose last whole scan is the longest ago.
fn json_duplicates(found: &DuplicateReport, oldest: Option<&Root>) -> serde_json::Value {
    let first = found.first.iter().map(|row| {
        serde_json::json!({
            "sha256": data_encoding::HEXLOWER.encode(&row.sha256),
            "size_bytes": row.size_bytes,
            "files": row.files,
            "excess_bytes": row.excess_bytes(),
            "paths": row.paths.iter().map(|path| JsonPath::new(path)).collect::<Vec<_>>(),
        })
    });
    serde_json::json!({
        "report": Report::Duplicates.name(),
        "scan": oldest.map(|tree| tree.whole_scan),
        "scan_ended_ms": oldest.map(|tree| tree.whole_ended_ms),
        "contents": found.contents,
        "excess_bytes": found.excess_bytes,
        "known_files": found.known_files,
        "files": found.files,
        "first": first.collect::<Vec<_>>(),
    })
}
