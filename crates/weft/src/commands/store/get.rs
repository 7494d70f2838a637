//! `weft store get`: writes an object to a file or to standard output.
//!
//! A file gets its name only when it is complete, verified against the digest of the object, and
//! synced.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::builder::TypedValueParser;
use cluster::ConnectSettings;
use futures_util::TryStreamExt;
use indicatif::ProgressBar;
use store::{BlockHasher, Key, Object};

use super::content;
use super::key;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::flag_values::value;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::bytes;

const EXAMPLES: &str = "\
Examples:
  weft store get store://crawls/a.warc.gz               written to ./a.warc.gz
  weft store get crawls/a.warc.gz /tmp/copy.warc.gz
  weft store get crawls/a.warc.gz - | zcat | head
  weft store get crawls/a.warc.gz --range 0-262143 part-1
                                                        the first 256 KiB, first and last byte as in HTTP

An existing file is replaced only once the whole object or range has been verified. If blocks of an
object are damaged in every replica, --range can still get the others; the error lists the damaged
ones.";

/// Flags of `weft store get`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Object to read
    #[arg(value_name = "OBJECT")]
    object: String,
    /// File or folder; - for standard output [default: the last part of the object's name]
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Only these bytes, first to last inclusive, counted from 0; without LAST to the end
    #[arg(long, value_name = "FIRST-LAST", value_parser = byte_range())]
    range: Option<ByteRange>,
    /// If too few nodes answer to determine the current version, take the newest reachable one
    #[arg(long)]
    any: bool,
}

/// A range of bytes of an object, as written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ByteRange(Range<u64>);

fn byte_range() -> impl TypedValueParser<Value = ByteRange> {
    value("FIRST-LAST or FIRST-, in bytes", "0-262143", ByteRange::parse)
}

impl ByteRange {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-')?;
        let first = first.parse::<u64>().ok()?;
        let end = match last {
            "" => u64::MAX,
            last => last.parse::<u64>().ok()?.saturating_add(1),
        };
        (first < end).then_some(Self(first..end))
    }
}

/// Runs `weft store get`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let key = key::object(&args.object)?;
    let target = match args.file.as_deref() {
        Some("-") if context.json => {
            return Err(WrongUse("--json requires an output file, not standard output".into()).into());
        }
        Some("-") => None,
        file => Some(target(&key, file)?),
    };
    let range = args.range.as_ref().map(|range| range.0.clone());
    with_store(place, StoreMode::Existing, async |session| {
        session.read_any(args.any);
        match &target {
            Some(target) => to_file(session, &key, range, target, context).await,
            None => to_output(session, &key, range, context).await,
        }
    })
}

/// Returns the path of the file for the object.
fn target(key: &Key, file: Option<&str>) -> Result<PathBuf, WrongUse> {
    let given = file.map(Path::new);
    if let Some(path) = given.filter(|path| !path.is_dir() && !path.to_string_lossy().ends_with('/')) {
        return Ok(path.to_owned());
    }
    let name = key.name().rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") || name.contains('\0') {
        return Err(WrongUse(format!(
            "{key} does not give a file name: name the output file"
        )));
    }
    Ok(given.unwrap_or(Path::new("")).join(name))
}

async fn to_file(
    session: &Session,
    key: &Key,
    range: Option<Range<u64>>,
    target: &Path,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let object = session.store().get(key, range).await?;
    let meta = object.meta.clone();
    let wanted = object.range.end - object.range.start;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".weft-get-")
        .tempfile_in(folder)
        .with_context(|| format!("write into {}", folder.display()))?;
    let bar = content::bar(key.name(), Some(wanted), context.json);
    let copied = copy(object, &mut file, &bar).await;
    bar.finish_and_clear();
    copied.with_context(|| format!("get {key}"))?;
    file.as_file()
        .sync_all()
        .with_context(|| format!("sync {}", target.display()))?;
    // The incomplete file was readable only by its owner; now it gets the usual permissions.
    let mode = set_usual_permissions(file.as_file());
    mode.with_context(|| format!("write {}", target.display()))?;
    file.persist(target)
        .with_context(|| format!("write {}", target.display()))?;
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "file": target, "object": meta }))?;
    } else {
        let address = clean(&key::display_key(key.as_str()));
        writeln!(
            context.out,
            "{address} -> {}  {}",
            clean(&target.display().to_string()),
            bytes(wanted)
        )?;
    }
    Ok(Outcome::Done)
}

async fn to_output(
    session: &Session,
    key: &Key,
    range: Option<Range<u64>>,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let object = session.store().get(key, range).await?;
    let bar = ProgressBar::hidden();
    copy(object, &mut context.out, &bar)
        .await
        .with_context(|| format!("get {key}"))?;
    Ok(Outcome::Done)
}

/// Copies the opened object. Its blocks are verified during reading; for a whole object the
/// digest of the written bytes is verified as well.
async fn copy(mut object: Object, to: &mut impl Write, bar: &ProgressBar) -> anyhow::Result<()> {
    let mut hasher = BlockHasher::default();
    while let Some(piece) = object.body.try_next().await? {
        hasher.update(&piece);
        to.write_all(&piece)?;
        bar.inc(piece.len() as u64);
    }
    to.flush()?;
    let whole = object.range == (0..object.meta.size);
    let (_, found) = hasher.finish();
    if whole && found != object.meta.digests.blake3 {
        bail!("the received content does not match the object's BLAKE3 digest; nothing was kept");
    }
    Ok(())
}

#[cfg(unix)]
fn set_usual_permissions(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_usual_permissions(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_first_and_last_byte() {
        let range = |text: &str| ByteRange::parse(text).map(|range| range.0);
        assert_eq!(range("0-0"), Some(0..1));
        assert_eq!(range("5-9"), Some(5..10));
        assert_eq!(range("5-"), Some(5..u64::MAX));
        assert_eq!(range("0-18446744073709551615"), Some(0..u64::MAX));
        for wrong in ["", "-", "-5", "9-5", "5", "a-b", "1-2-3"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_is_named_by_the_last_part_and_never_leaves_its_folder() {
        let key = |text| Key::parse(text).expect("a valid key");
        let name = |text, file| {
            target(&key(text), file)
                .map(|path| path.display().to_string())
                .ok()
        };
        assert_eq!(name("b/x/y.warc", None).as_deref(), Some("y.warc"));
        assert_eq!(name("b/x/y.warc", Some("out/")).as_deref(), Some("out/y.warc"));
        assert_eq!(name("b/x/y.warc", Some("z")).as_deref(), Some("z"));
        assert_eq!(name("b/x/..", None), None);
        assert_eq!(name("b/x/", None), None);
    }
}
