//! `weft store put`: writes files as objects, into a bucket that is created if missing. An object
//! is reported as written only when it is synced on all its volumes.

use std::io::Write;

use anyhow::Context as _;
use cluster::ConnectSettings;
use serde::Serialize;
use store::{Condition, Key, Meta, Put, StoreError};

use super::content;
use super::key;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::exit::print_error;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::bytes;

const EXAMPLES: &str = "\
Examples:
  weft store put a.warc.gz store://crawls/a.warc.gz --volume /disks/a --volume /disks/b
  weft store put crawls/*.warc.gz crawls/2014/        file names are kept, below 2014/
  tar c notes | weft store put - backup/notes.tar     from standard input
  weft store put a.warc.gz crawls/ --if-absent        never replace an existing object

A put into empty directories creates a new store in them; a put into a missing bucket creates it. A
file becomes visible only once all of it is durable.";

/// Flags of `weft store put`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "weft store put [OPTIONS] FILE... DESTINATION")]
pub(super) struct Args {
    /// Files (- for standard input), then the destination: store://bucket/name, or
    /// store://bucket/folder/
    #[arg(value_name = "FILE... DESTINATION", required = true)]
    paths: Vec<String>,
    /// Write only objects that do not exist yet
    #[arg(long)]
    if_absent: bool,
    /// Content type stored with the objects
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
}

/// A written object as printed by `--json`.
#[derive(Serialize)]
struct PutLine<'a> {
    file: &'a str,
    #[serde(flatten)]
    meta: &'a Meta,
}

/// Runs `weft store put`. A file that cannot be written does not stop the others.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let puts = files_and_keys(&args.paths)?;
    // Create no new store if no file can be read.
    if puts.iter().all(|(file, _)| !is_readable(file)) {
        for (file, _) in &puts {
            print_error(&unreadable(file), context);
        }
        return Ok(Outcome::Losses);
    }
    with_store(place, StoreMode::Create, async |session| {
        // All files have the same destination bucket.
        if let Some((_, key)) = puts.first() {
            key::make_bucket(&session.store(), key.bucket()).await?;
        }
        let mut outcome = Outcome::Done;
        for (file, key) in &puts {
            match put(args, session, file, key, context).await {
                Ok(meta) => written(file, &meta, context)?,
                Err(error) if session.stop.is_requested() => return Err(error),
                Err(error) => {
                    print_error(&error, context);
                    outcome = Outcome::Losses;
                }
            }
        }
        Ok(outcome)
    })
}

fn is_readable(file: &str) -> bool {
    file == "-" || std::fs::File::open(file).is_ok() && !std::path::Path::new(file).is_dir()
}

fn unreadable(file: &str) -> anyhow::Error {
    let opened = match std::fs::File::open(file) {
        Ok(_) => std::io::Error::new(
            std::io::ErrorKind::IsADirectory,
            "this is a directory; name its files",
        ),
        Err(error) => error,
    };
    anyhow::Error::new(opened).context(format!("read {file}"))
}

/// Pairs each file with its object. Fails if two files would become the same object.
fn files_and_keys(paths: &[String]) -> Result<Vec<(&str, Key)>, WrongUse> {
    let Some((destination, files)) = paths.split_last().filter(|(_, files)| !files.is_empty()) else {
        let message = "expected files and a destination: weft store put FILE... store://bucket/folder/";
        return Err(WrongUse(message.into()));
    };
    let mut puts: Vec<(&str, Key)> = Vec::with_capacity(files.len());
    for file in files {
        let key = key::destination(destination, file, files.len() > 1)?;
        if let Some((other, _)) = puts.iter().find(|(_, taken)| *taken == key) {
            return Err(WrongUse(format!("{other} and {file} would both become {key}")));
        }
        puts.push((file, key));
    }
    Ok(puts)
}

async fn put(
    args: &Args,
    session: &Session,
    file: &str,
    key: &Key,
    context: &Context,
) -> anyhow::Result<Meta> {
    let source = content::open(file)
        .await
        .with_context(|| format!("read {file}"))?;
    let put = Put {
        size: source.size,
        attributes: args
            .content_type
            .iter()
            .map(|media| ("content-type".to_owned(), media.clone()))
            .collect(),
        condition: if args.if_absent {
            Condition::Absent
        } else {
            Condition::Always
        },
        versioning: session.store().versioning(key.bucket()).await?,
        ..Put::default()
    };
    let bar = content::bar(file, source.size, context.json);
    let body = source.stream(bar.clone(), session.stop.clone());
    let result = session.store().put(key, body, put).await;
    bar.finish_and_clear();
    match result {
        Err(StoreError::Condition { .. }) => anyhow::bail!("{key} already exists and was not changed"),
        result => result.with_context(|| format!("put {file}")),
    }
}

fn written(file: &str, meta: &Meta, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        context.out.json(&PutLine { file, meta })?;
    } else {
        let address = context
            .out
            .style
            .address(&clean(&key::display_key(meta.key.as_str())));
        writeln!(context.out, "{} -> {address}  {}", clean(file), bytes(meta.size))?;
    }
    context.out.flush()?;
    Ok(())
}
