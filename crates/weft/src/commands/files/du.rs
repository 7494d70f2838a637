//! `weft files du`: shows the totals of directories and everything below them.

use std::io::Write;
use std::path::PathBuf;

use ::catalogue::{CatalogueError, Kind, PathEntry, Usage, Visit};

use super::{JsonPath, JsonUsage, display_path, number, open};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::{NotFound, Outcome};
use crate::table::{Column, Table};
use crate::units::{bytes, count};

const EXAMPLES: &str = "\
Examples:
  weft files du /data/crawls                 its entries, largest first
  weft files du /data/crawls --max-depth 0   only the total
  weft files du /data --max-depth 3 --all    files too

A file with several names is counted once in the catalogue, under its first name.";

/// Flags of `weft files du`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Directories or files [default: every catalogued tree]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How many levels below the paths to show
    #[arg(short = 'd', long, value_name = "N", default_value_t = 1, value_parser = whole_from(0_usize, 2))]
    max_depth: usize,
    /// Show files too, not only directories
    #[arg(short, long)]
    all: bool,
    /// At most this many rows, largest first; 0 for all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0, value_parser = whole_from(0_usize, 20))]
    limit: usize,
}

struct Row {
    path: Vec<u8>,
    usage: Usage,
}

/// Runs `weft files du`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = open(context)?;
    let mut rows = Vec::new();
    for top in tops(&catalogue, &args.paths)? {
        catalogue.each::<CatalogueError>(top, |found| {
            if args.all || found.depth == 0 || found.attributes.kind == Kind::Directory {
                rows.push(Row {
                    path: found.path.clone(),
                    usage: catalogue.usage(found)?,
                });
            }
            Ok(if found.depth < args.max_depth {
                Visit::Descend
            } else {
                Visit::Skip
            })
        })?;
    }
    rows.sort_by(|a, b| {
        b.usage
            .blocks
            .cmp(&a.usage.blocks)
            .then_with(|| a.path.cmp(&b.path))
    });
    if args.limit > 0 {
        rows.truncate(args.limit);
    }
    if context.json {
        for row in &rows {
            context.out.json(
                &serde_json::json!({ "at": JsonPath::new(&row.path), "usage": JsonUsage::new(&row.usage) }),
            )?;
        }
        return Ok(Outcome::Done);
    }
    if rows.is_empty() {
        writeln!(context.out, "nothing is catalogued yet: run weft files scan DIR")?;
        return Ok(Outcome::Done);
    }
    table(rows.iter().map(|row| (&row.path[..], &row.usage))).print(&mut context.out)?;
    Ok(Outcome::Done)
}

/// Formats directories and their totals as a table.
pub(super) fn table<'a>(rows: impl Iterator<Item = (&'a [u8], &'a Usage)>) -> Table {
    let mut table = Table::new(&[
        ("on disk", Column::Right),
        ("size", Column::Right),
        ("entries", Column::Right),
        ("path", Column::Flexible),
    ]);
    for (path, usage) in rows {
        table.row([
            bytes(number(usage.disk_bytes())),
            bytes(number(usage.size_bytes)),
            count(number(usage.entries)),
            display_path(path),
        ]);
    }
    table
}

/// Returns the entries of the paths, or of every tree.
pub(super) fn tops(catalogue: &::catalogue::Catalogue, paths: &[PathBuf]) -> anyhow::Result<Vec<PathEntry>> {
    use std::os::unix::ffi::OsStringExt;
    let trees = catalogue.trees()?;
    let all = trees
        .into_iter()
        .map(|tree| PathBuf::from(std::ffi::OsString::from_vec(tree.path)));
    let paths = if paths.is_empty() {
        all.collect()
    } else {
        paths.to_vec()
    };
    let find = |path: PathBuf| match catalogue.locate(&path)? {
        Some(found) => Ok(found),
        None => Err(NotFound(format!(
            "{} is not in the catalogue: run weft files scan to add it",
            path.display()
        ))
        .into()),
    };
    paths.into_iter().map(find).collect()
}
