//! `weft store get`: an object becomes a file, or goes to standard output.
//!
//! A file appears under its name only when all of it is there, compared with the object's digest, and synced.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use futures_util::TryStreamExt;
use indicatif::ProgressBar;
use store::key::Key;
use store::node::ConnectSettings;
use store::store::Object;
use store::volume::blocks::BlockHasher;

use super::content;
use super::key;
use super::session::{Begin, Session, with_store};
use crate::context::Context;
use crate::exit::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::bytes;

const EXAMPLES: &str = "\
Examples:
  weft store get store://crawls/a.warc.gz               becomes ./a.warc.gz
  weft store get crawls/a.warc.gz /tmp/copy.warc.gz
  weft store get crawls/a.warc.gz - | zcat | head

A file of that name is replaced, but only by the whole object, verified.";

/// Flags of `weft store get`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The object
    #[arg(value_name = "OBJECT")]
    object: String,
    /// A file or a folder; - for standard output [default: the last part of the object's name]
    #[arg(value_name = "FILE")]
    file: Option<String>,
}

/// Runs `weft store get`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let key = key::object(&args.object)?;
    let target = match args.file.as_deref() {
        Some("-") if context.json => {
            return Err(WrongUse("--json and content on standard output".into()).into());
        }
        Some("-") => None,
        file => Some(target(&key, file)?),
    };
    with_store(place, Begin::Refused, async |session| match &target {
        Some(target) => to_file(session, &key, target, context).await,
        None => to_output(session, &key, context).await,
    })
}

/// The file that the object becomes.
fn target(key: &Key, file: Option<&str>) -> Result<PathBuf, WrongUse> {
    let given = file.map(Path::new);
    if let Some(path) = given.filter(|path| !path.is_dir() && !path.to_string_lossy().ends_with('/')) {
        return Ok(path.to_owned());
    }
    let name = key.name().rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") || name.contains('\0') {
        return Err(WrongUse(format!("{key} has no name for a file: name one")));
    }
    Ok(given.unwrap_or(Path::new("")).join(name))
}

async fn to_file(
    session: &Session,
    key: &Key,
    target: &Path,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let object = session.store().get(key, None).await?;
    let meta = object.meta.clone();
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".weft-get-")
        .tempfile_in(folder)
        .with_context(|| format!("write into {}", folder.display()))?;
    let bar = content::bar(key.name(), Some(meta.size), context.json);
    let copied = copy(object, &mut file, &bar).await;
    bar.finish_and_clear();
    copied.with_context(|| format!("get {key}"))?;
    file.as_file()
        .sync_all()
        .with_context(|| format!("sync {}", target.display()))?;
    // Made for its owner alone until it is whole; from here on it is a file like any other.
    let mode = readable_as_usual(file.as_file());
    mode.with_context(|| format!("write {}", target.display()))?;
    file.persist(target)
        .with_context(|| format!("write {}", target.display()))?;
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "file": target, "object": meta }))?;
    } else {
        let address = clean(&key::shown(key.as_str()));
        writeln!(
            context.out,
            "{address} -> {}  {}",
            clean(&target.display().to_string()),
            bytes(meta.size)
        )?;
    }
    Ok(Outcome::Done)
}

async fn to_output(session: &Session, key: &Key, context: &mut Context) -> anyhow::Result<Outcome> {
    let object = session.store().get(key, None).await?;
    let bar = ProgressBar::hidden();
    copy(object, &mut context.out, &bar)
        .await
        .with_context(|| format!("get {key}"))?;
    Ok(Outcome::Done)
}

/// Copies all of an object and compares the digest of what was written with its own.
async fn copy(mut object: Object, to: &mut impl Write, bar: &ProgressBar) -> anyhow::Result<()> {
    let mut hasher = BlockHasher::default();
    while let Some(piece) = object.body.try_next().await? {
        hasher.update(&piece);
        to.write_all(&piece)?;
        bar.inc(piece.len() as u64);
    }
    to.flush()?;
    let (_, found) = hasher.finish();
    if found != object.meta.digests.blake3 {
        bail!("what arrived is not what the object's BLAKE3 says; nothing was kept");
    }
    Ok(())
}

#[cfg(unix)]
fn readable_as_usual(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_as_usual(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_the_last_part_and_never_leaves_its_folder() {
        let key = |text| Key::parse(text).expect("a key");
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
