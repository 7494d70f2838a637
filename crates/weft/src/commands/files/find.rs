//! `weft files find`: finds entries of the catalogue, as find(1) does on disk.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::Command;

use ::catalogue::{Attributes, CatalogueError, Digest, Format, Kind, PathEntry, Visit};
use anyhow::{Context as _, anyhow};
use clap::builder::TypedValueParser;
use pattern::Pattern;

use super::times::{age_ms, shown_ms};
use super::{JsonPath, display_path, open};
use crate::context::Context;
use crate::flag_values::{value, whole_from};
use crate::outcome::Outcome;
use crate::units::{bytes, parse_bytes};
use system::users::{Names, gid, uid};

const EXAMPLES: &str = "\
Examples:
  weft files find /data --name '*.warc.gz' --size +1G
  weft files find --type d --empty
  weft files find --format warc --modified +180d --long
  weft files find --format warc --verified +180d
  weft files find --never-verified --count
  weft files find /data --user crawler --print0 | xargs -0 ls -l
  weft files find --name '*.tmp' --modified +30d --exec rm -- {}

All conditions must hold. Numbers: +N more than N, -N less than N, N exactly N. The disk is not
read: entries are listed as the last scan found them. --exec runs its command for each entry,
without a shell; {} becomes the path, or the address of an object. weft files verify reads the files
that --never-verified lists.";

/// Flags of `weft files find`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Directories to search [default: every catalogued tree]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Name matches this pattern (*, ?, [a-z], {a,b}), with bash syntax
    #[arg(long, value_name = "GLOB")]
    name: Option<String>,
    /// Like --name, but case-insensitive
    #[arg(long, value_name = "GLOB", hide_short_help = true)]
    iname: Option<String>,
    /// Whole path matches this pattern
    #[arg(long, value_name = "GLOB")]
    path: Option<String>,
    /// File (f), directory (d), symbolic link (l), pipe (p), socket (s), block or character device
    /// (b, c); comma-separated: f,l
    #[arg(long = "type", value_name = "TYPES", value_delimiter = ',', value_parser = kind)]
    types: Vec<Kind>,
    /// Size in bytes, or with K, M, G, T: +1G
    #[arg(long, value_name = "[+-]SIZE", value_parser = size_range(), allow_hyphen_values = true)]
    size: Vec<Range>,
    /// Owner, by name or number
    #[arg(long, value_name = "USER", value_parser = uid)]
    user: Option<u32>,
    /// Group, by name or number
    #[arg(long, value_name = "GROUP", value_parser = gid, hide_short_help = true)]
    group: Option<u32>,
    /// Age of the content: +30d is older than 30 days, -36h younger than 36 hours
    #[arg(long, value_name = "[+-]AGE", value_parser = age_range(), allow_hyphen_values = true)]
    modified: Vec<Range>,
    /// Time since attributes last changed
    #[arg(long, value_name = "[+-]AGE", value_parser = age_range(), allow_hyphen_values = true, hide_short_help = true)]
    changed: Vec<Range>,
    /// Time since the last read
    #[arg(long, value_name = "[+-]AGE", value_parser = age_range(), allow_hyphen_values = true, hide_short_help = true)]
    accessed: Vec<Range>,
    /// Format, by name or by inspection of the content: warc, wacz, pdf, ... (weft files report
    /// formats lists them)
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = format)]
    format: Vec<Format>,
    /// Number of names (hard links)
    #[arg(long, value_name = "[+-]N", value_parser = count_range(), allow_hyphen_values = true, hide_short_help = true)]
    links: Vec<Range>,
    /// Permission bits in octal: exactly these; with - at least these; with / any of these
    #[arg(long, value_name = "[-/]MODE", value_parser = permissions(), allow_hyphen_values = true)]
    perm: Option<Permissions>,
    /// Time since the content was last verified; if never, or written since, it counts as older
    /// than any age
    #[arg(long, value_name = "[+-]AGE", value_parser = age_range(), allow_hyphen_values = true)]
    verified: Vec<Range>,
    /// Files whose content was never verified, or was written since, as of the last scan
    #[arg(long)]
    never_verified: bool,
    /// Replicas of the file's copy that were intact when last read; 0 without a copy
    #[arg(long, value_name = "[+-]N", value_parser = count_range(), allow_hyphen_values = true, hide_short_help = true)]
    replicas: Vec<Range>,
    /// Files whose digest changed although no write was observed
    #[arg(long, hide_short_help = true)]
    damaged: bool,
    /// Files of zero bytes, directories without entries
    #[arg(long)]
    empty: bool,
    /// Skip entries above this depth
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole_from(0_usize, 1), hide_short_help = true)]
    min_depth: usize,
    /// Skip entries below this depth
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true, value_parser = whole_from(0_usize, 2), hide_short_help = true)]
    max_depth: usize,
    /// Print raw paths, each followed by a zero byte
    #[arg(short = '0', long, conflicts_with_all = ["long", "count"])]
    print0: bool,
    /// Print type, permissions, owner, size and time before each path
    #[arg(short, long)]
    long: bool,
    /// Print only number and total size
    #[arg(long, conflicts_with = "long")]
    count: bool,
    /// Run this command for each entry, with {} replaced by its path; must be the last flag
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true, conflicts_with_all = ["print0", "long", "count"])]
    exec: Vec<OsString>,
}

/// A range of accepted numbers, inclusive.
#[derive(Debug, Clone, Copy)]
struct Range {
    least: i64,
    most: i64,
}

impl Range {
    fn parse(text: &str, number: impl Fn(&str) -> Option<i64>) -> Option<Range> {
        match text.split_at_checked(1) {
            Some(("+", rest)) => Some(Range {
                least: number(rest)?.saturating_add(1),
                most: i64::MAX,
            }),
            Some(("-", rest)) => Some(Range {
                least: i64::MIN,
                most: number(rest)?.saturating_sub(1),
            }),
            _ => number(text).map(|number| Range {
                least: number,
                most: number,
            }),
        }
    }

    fn has(self, number: i64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

fn size_range() -> impl TypedValueParser<Value = Range> {
    value("a size, with + for larger or - for smaller", "+1G or -500k", size)
}

fn size(text: &str) -> Option<Range> {
    Range::parse(text, |text| i64::try_from(parse_bytes(text).ok()?).ok())
}

fn age_range() -> impl TypedValueParser<Value = Range> {
    value("an age, with + for older or - for younger", "+30d or -36h", age)
}

/// Parses an age. A sign is required: nothing is exactly 30 days old.
fn age(text: &str) -> Option<Range> {
    text.starts_with(['+', '-']).then(|| Range::parse(text, age_ms))?
}

fn count_range() -> impl TypedValueParser<Value = Range> {
    value(
        "a whole number, with + for more or - for less",
        "2, +1 or -2",
        plain,
    )
}

fn plain(text: &str) -> Option<Range> {
    Range::parse(text, |text| text.parse().ok())
}

fn kind(text: &str) -> anyhow::Result<Kind> {
    let find = |kind: &&Kind| text == kind.name() || text.chars().eq([kind.letter()]);
    Kind::ALL
        .iter()
        .find(find)
        .copied()
        .ok_or_else(|| anyhow!("{text:?}: expected one of f, d, l, p, s, b, c"))
}

fn format(text: &str) -> anyhow::Result<Format> {
    Format::named(text).ok_or_else(|| {
        let names: Vec<&str> = Format::names().collect();
        anyhow!("{text:?}: expected one of {}", names.join(", "))
    })
}

/// Permission bits and how to compare them.
#[derive(Debug, Clone, Copy)]
enum Permissions {
    Exactly(u16),
    All(u16),
    Any(u16),
}

fn permissions() -> impl TypedValueParser<Value = Permissions> {
    let takes = "permission bits in octal, with - for at least or / for any of these";
    value(takes, "644, -022 or /111", Permissions::parse)
}

impl Permissions {
    fn parse(text: &str) -> Option<Permissions> {
        let bits = |text: &str| u16::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777);
        match text.split_at_checked(1) {
            Some(("-", rest)) => bits(rest).map(Permissions::All),
            Some(("/", rest)) => bits(rest).map(Permissions::Any),
            _ => bits(text).map(Permissions::Exactly),
        }
    }

    fn matches(self, mode: u16) -> bool {
        match self {
            Permissions::Exactly(bits) => mode == bits,
            Permissions::All(bits) => mode & bits == bits,
            Permissions::Any(bits) => bits == 0 || mode & bits != 0,
        }
    }
}

/// Search conditions, compiled once for all entries.
struct Conditions<'a> {
    args: &'a Args,
    name: Vec<Pattern>,
    path: Option<Pattern>,
    now_ms: i64,
}

fn pattern(text: &str, ignores_case: bool) -> anyhow::Result<Pattern> {
    let pattern = if ignores_case {
        Pattern::without_case(text)
    } else {
        Pattern::new(text)
    };
    Ok(pattern.map_err(|error| crate::outcome::WrongUse(format!("the pattern {text:?}: {error}")))?)
}

impl Conditions<'_> {
    fn new(args: &Args) -> anyhow::Result<Conditions<'_>> {
        let mut name = Vec::new();
        if let Some(text) = &args.name {
            name.push(pattern(text, false)?);
        }
        if let Some(text) = &args.iname {
            name.push(pattern(text, true)?);
        }
        let path = args.path.as_ref().map(|text| pattern(text, false)).transpose()?;
        Ok(Conditions {
            args,
            name,
            path,
            now_ms: system::time_ms(),
        })
    }

    fn matches(&self, found: &PathEntry) -> bool {
        let (args, file) = (self.args, &found.attributes);
        let age_fits = |ranges: &[Range], at_ms: i64| {
            ranges
                .iter()
                .all(|range| range.has(self.now_ms.saturating_sub(at_ms)))
        };
        found.depth >= args.min_depth
            && (args.types.is_empty() || args.types.contains(&file.kind))
            && (args.format.is_empty() || file.kind == Kind::File && args.format.contains(&file.format))
            && args
                .size
                .iter()
                .all(|range| range.has(i64::try_from(file.size_bytes).unwrap_or(i64::MAX)))
            && args.links.iter().all(|range| range.has(i64::from(file.links)))
            && args.user.is_none_or(|uid| file.uid == uid)
            && args.group.is_none_or(|gid| file.gid == gid)
            && args.perm.is_none_or(|permissions| permissions.matches(file.mode))
            && (args.modified.is_empty() && args.changed.is_empty() || has_times(file))
            && age_fits(&args.modified, file.modified_ns.div_euclid(1_000_000))
            && age_fits(&args.changed, file.changed_ns.div_euclid(1_000_000))
            && (args.accessed.is_empty() || !file.is_object())
            && age_fits(&args.accessed, file.accessed_s.saturating_mul(1000))
            && (!args.empty || is_empty(found))
            && self.names_match(&found.path)
    }

    /// Returns whether any condition needs the digest of an entry.
    fn needs_digest(&self) -> bool {
        let args = self.args;
        !args.verified.is_empty() || args.never_verified || !args.replicas.is_empty() || args.damaged
    }

    fn digest_matches(&self, file: &Attributes, digest: Option<&Digest>) -> bool {
        let age_ms = digest.map_or(i64::MAX, |digest| self.now_ms.saturating_sub(digest.verified_ms));
        let copy = digest.and_then(|digest| digest.copy.as_ref());
        let replicas = copy.map_or(0, |copy| i64::from(copy.replicas));
        file.kind == Kind::File
            && self.args.verified.iter().all(|range| range.has(age_ms))
            && (!self.args.never_verified || digest.is_none())
            && self.args.replicas.iter().all(|range| range.has(replicas))
            && (!self.args.damaged || digest.is_some_and(|digest| digest.damaged_ms.is_some()))
    }

    fn names_match(&self, path: &[u8]) -> bool {
        // The name of an object may end in a slash.
        let whole = path.strip_suffix(b"/").unwrap_or(path);
        let name = whole.rsplit(|&byte| byte == b'/').next().unwrap_or(whole);
        self.name.iter().all(|pattern| pattern.matches(name))
            && self.path.as_ref().is_none_or(|pattern| pattern.matches(path))
    }
}

/// Returns whether the entry has change times; directories of objects have none.
fn has_times(file: &Attributes) -> bool {
    file.kind != Kind::Directory || !file.is_object()
}

fn is_empty(found: &PathEntry) -> bool {
    match found.attributes.kind {
        Kind::Directory => found.entries == Some(0),
        Kind::File => found.attributes.size_bytes == 0,
        _ => false,
    }
}

/// An error that ends a search: in the catalogue, the output or a command.
#[derive(Debug, thiserror::Error)]
enum FindError {
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error("write the results: {0}")]
    Output(#[from] std::io::Error),
    #[error("run {command}: {source}")]
    Command { command: String, source: std::io::Error },
}

/// Runs `weft files find`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = open(context)?;
    let conditions = Conditions::new(args)?;
    let mut names = Names::default();
    let (mut entries, mut size_bytes, mut failed) = (0u64, 0u64, 0u64);
    for top in super::du::tops(&catalogue, &args.paths)? {
        catalogue.each::<FindError>(top, |found| {
            let mut fits = conditions.matches(found);
            let digest = if fits && (conditions.needs_digest() || context.json) {
                catalogue.current_digest(&found.attributes)?
            } else {
                None
            };
            if conditions.needs_digest() {
                fits = fits && conditions.digest_matches(&found.attributes, digest.as_ref());
            }
            if fits {
                entries += 1;
                size_bytes = size_bytes.saturating_add(found.attributes.size_bytes);
                if !args.exec.is_empty() {
                    context.out.flush()?;
                    failed += u64::from(!exec(&args.exec, &found.path)?);
                } else if !args.count {
                    print(found, digest.as_ref(), args, &mut names, context)?;
                }
            }
            // A closed output ends the search (`weft files find | head`).
            let goes_on = found.depth < args.max_depth && !context.out.closed();
            Ok(if goes_on { Visit::Descend } else { Visit::Skip })
        })?;
    }
    if args.count {
        count(entries, size_bytes, context).context("write the results")?;
    }
    Ok(if failed > 0 {
        Outcome::Losses
    } else {
        Outcome::Done
    })
}

fn count(entries: u64, size_bytes: u64, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "entries": entries, "size_bytes": size_bytes }))?;
    } else {
        writeln!(
            context.out,
            "{}, {}",
            crate::units::counted(entries, "entry", "entries"),
            bytes(size_bytes)
        )?;
    }
    Ok(())
}

/// Runs a command for an entry. Returns whether it succeeded.
fn exec(command: &[OsString], path: &[u8]) -> Result<bool, FindError> {
    let fill = |word: &OsString| {
        let word = word.as_bytes();
        let mut out = Vec::new();
        let mut rest = word;
        while let Some(at) = rest.windows(2).position(|pair| pair == b"{}") {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(path);
            rest = &rest[at + 2..];
        }
        out.extend_from_slice(rest);
        OsString::from_vec(out)
    };
    let status = Command::new(&command[0])
        .args(command[1..].iter().map(fill))
        .status();
    match status {
        Ok(status) => Ok(status.success()),
        Err(source) => Err(FindError::Command {
            command: command[0].to_string_lossy().into_owned(),
            source,
        }),
    }
}

fn print(
    found: &PathEntry,
    digest: Option<&Digest>,
    args: &Args,
    names: &mut Names,
    context: &mut Context,
) -> Result<(), FindError> {
    if context.json {
        context.out.json(&json(found, digest))?;
    } else if args.print0 {
        context.out.write_all(&found.path)?;
        context.out.write_all(b"\0")?;
    } else if args.long {
        writeln!(context.out, "{}", long_line(found, names))?;
    } else {
        writeln!(context.out, "{}", display_path(&found.path))?;
    }
    Ok(())
}

fn json(found: &PathEntry, digest: Option<&Digest>) -> serde_json::Value {
    let file = &found.attributes;
    let has_owner = !file.is_object();
    serde_json::json!({
        "at": JsonPath::new(&found.path),
        "kind": file.kind,
        "inode": file.id.inode,
        "mode": has_owner.then(|| format!("{:o}", file.mode)),
        "links": file.links,
        "uid": has_owner.then_some(file.uid),
        "gid": has_owner.then_some(file.gid),
        "size_bytes": file.size_bytes,
        "disk_bytes": file.blocks.saturating_mul(512),
        "modified_ns": file.modified_ns,
        "changed_ns": file.changed_ns,
        "accessed_s": has_owner.then_some(file.accessed_s),
        "born_ns": file.born_ns(),
        "format": file.format.name(),
        "sha256": digest.map(|digest| data_encoding::HEXLOWER.encode(&digest.sha256)),
        "verified_ms": digest.map(|digest| digest.verified_ms),
        "damaged_ms": digest.and_then(|digest| digest.damaged_ms),
        "copy": digest.and_then(|digest| digest.copy.as_ref()).map(|copy| serde_json::json!({
            "address": copy.address, "replicas": copy.replicas, "verified_ms": copy.verified_ms,
        })),
        "target": file.target.as_ref().map(|target| JsonPath::new(target)),
    })
}

/// Describes an entry as `ls -l` does.
fn long_line(found: &PathEntry, names: &mut Names) -> String {
    let file = &found.attributes;
    let target = match &file.target {
        Some(target) => format!(" -> {}", display_path(target)),
        None => String::new(),
    };
    let user = names.user(file.uid).to_owned();
    format!(
        "{}{} {:>3} {:<8} {:<8} {:>10}  {}  {}{target}",
        if file.kind == Kind::File {
            '-'
        } else {
            file.kind.letter()
        },
        mode(file),
        file.links,
        user,
        names.group(file.gid),
        bytes(file.size_bytes),
        if has_times(file) {
            shown_ms(file.modified_ns.div_euclid(1_000_000))
        } else {
            format!("{:<19}", "-")
        },
        display_path(&found.path),
    )
}

/// Formats permission bits as `ls -l` does.
fn mode(file: &Attributes) -> String {
    let bit = |shift: u16, letter: char| if file.mode >> shift & 1 == 1 { letter } else { '-' };
    let run =
        |shift: u16, special: u16, letter: char| match (file.mode >> shift & 1, file.mode >> special & 1) {
            (1, 1) => letter,
            (0, 1) => letter.to_ascii_uppercase(),
            (1, _) => 'x',
            _ => '-',
        };
    [
        bit(8, 'r'),
        bit(7, 'w'),
        run(6, 11, 's'),
        bit(5, 'r'),
        bit(4, 'w'),
        run(3, 10, 's'),
        bit(2, 'r'),
        bit(1, 'w'),
        run(0, 9, 't'),
    ]
    .iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_more_less_or_just() {
        let has = |text: &str, number: i64| size(text).unwrap().has(number);
        assert!(has("+1K", 1025) && !has("+1K", 1024));
        assert!(has("-1K", 1023) && !has("-1K", 1024));
        assert!(has("1K", 1024) && !has("1K", 1023));
        assert!(age("30d").is_none() && age("+30d").is_some());
        assert!(size("x").is_none() && plain("+").is_none() && size("").is_none());
    }

    #[test]
    fn permissions_are_those_of_find() {
        let fit = |text: &str, mode: u16| Permissions::parse(text).unwrap().matches(mode);
        assert!(fit("644", 0o644) && !fit("644", 0o664));
        assert!(fit("-600", 0o644) && !fit("-022", 0o644));
        assert!(fit("/022", 0o664) && !fit("/022", 0o644));
        assert!(Permissions::parse("8").is_none() && Permissions::parse("77777").is_none());
        let shown = |bits: u16| {
            mode(&Attributes {
                mode: bits,
                ..Attributes::default()
            })
        };
        assert_eq!(shown(0o644), "rw-r--r--");
        assert_eq!(shown(0o4755), "rwsr-xr-x");
        assert_eq!(shown(0o1777), "rwxrwxrwt");
        assert_eq!(shown(0o2644), "rw-r-Sr--");
    }
}
