//! `weft store ls`: lists buckets, or objects below a prefix, printing each page as it arrives.

use std::io::{self, Write};

use cluster::ConnectSettings;
use serde::Serialize;
use store::bucket::is_hidden;
use store::{List, Listing, Meta};

use super::key;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::outcome::{NotFound, Outcome};
use crate::stdout::Out;
use crate::style::clean;
use crate::units::{bytes, count, counted, instant};

const EXAMPLES: &str = "\
Examples:
  weft store ls                       the buckets
  weft store ls crawls/               folders and objects of a bucket
  weft store ls crawls/2014/ -r       all objects below it, recursively
  weft store ls crawls/ --delimiter -

A bucket exists from its creation, by the first put or over S3, until it is removed over S3.";

/// Flags of `weft store ls`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// store://bucket/ and a prefix of object names [default: all buckets]
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,
    /// List every object below the prefix, without grouping into folders
    #[arg(short, long)]
    recursive: bool,
    /// Delimiter that ends a folder's name
    #[arg(long, value_name = "TEXT", default_value = "/", conflicts_with = "recursive")]
    delimiter: String,
    /// If too few nodes answer to determine the current version, take the newest reachable one
    #[arg(long)]
    any: bool,
}

/// Number of entries per request.
const PAGE: usize = 1000;

/// Totals of the listing.
#[derive(Default)]
struct Sums {
    objects: u64,
    prefixes: u64,
    bytes: u64,
}

/// Runs `weft store ls`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let prefix = args.prefix.as_deref().map(key::prefix).transpose()?;
    let list = List {
        prefix: prefix.clone().unwrap_or_default(),
        delimiter: (!args.recursive).then(|| args.delimiter.clone()),
        after: None,
        limit: PAGE,
    };
    with_store(place, StoreMode::Existing, async |session| {
        session.read_any(args.any);
        if prefix.is_none() && !args.recursive {
            return buckets(session, context).await;
        }
        let mut sums = Sums::default();
        each_page(session, list, async |page| {
            print(page, prefix.is_none(), &mut sums, context)?;
            // Flush, so that a long listing appears as it arrives, even through a pipe.
            context.out.flush()?;
            match &prefix {
                // Only at the end of the list: an empty page need not be the last.
                Some(prefix) if page.next.is_none() && sums.is_empty() => {
                    check_not_empty(session, prefix).await
                }
                _ => Ok(()),
            }
        })
        .await?;
        if !context.json {
            let line = context.out.style.dim(&sums_text(&sums));
            writeln!(context.out, "{line}")?;
        }
        Ok(Outcome::Done)
    })
}

/// A bucket as printed by `--json`.
#[derive(Serialize)]
struct BucketLine<'a> {
    prefix: String,
    bucket: &'a str,
    /// `None` if the bucket was never created: its objects date from before writers created
    /// buckets.
    created_ms: Option<u64>,
}

async fn buckets(session: &Session, context: &mut Context) -> anyhow::Result<Outcome> {
    let all = session.store().all_buckets().await?;
    for (name, bucket) in &all {
        let prefix = format!("{name}/");
        let created_ms = bucket.as_ref().map(|bucket| bucket.created_ms);
        if context.json {
            context.out.json(&BucketLine {
                prefix,
                bucket: name,
                created_ms,
            })?;
            continue;
        }
        let mark = match created_ms {
            Some(_) => "",
            None => "  not created: S3 does not see it until something is put into it",
        };
        let time = created_ms.map(instant).unwrap_or_default();
        line(
            &mut context.out,
            &time,
            "",
            &format!("{}{mark}", key::display_key(&prefix)),
        )?;
    }
    if !context.json {
        let found = counted(all.len() as u64, "bucket", "buckets");
        let found = context.out.style.dim(&found);
        writeln!(context.out, "{found}")?;
    }
    Ok(Outcome::Done)
}

/// Reports that no name has the prefix. This is an error unless the bucket exists and is empty.
async fn check_not_empty(session: &Session, prefix: &str) -> anyhow::Result<()> {
    if let Some(bucket) = prefix.strip_suffix('/').filter(|bucket| !bucket.contains('/'))
        && session.store().bucket(bucket).await?.is_some()
    {
        return Ok(());
    }
    let message = format!("no object begins with {}", key::display_key(prefix));
    Err(NotFound(message).into())
}

impl Sums {
    fn is_empty(&self) -> bool {
        self.objects + self.prefixes == 0
    }
}

/// Passes each page of a listing to `take`, in order.
pub(super) async fn each_page(
    session: &Session,
    mut list: List,
    mut take: impl AsyncFnMut(&Listing) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    loop {
        let page = session.store().list(&list).await?;
        take(&page).await?;
        if page.next.is_none() {
            return Ok(());
        }
        list.after = page.next;
    }
}

fn print(page: &Listing, hide: bool, sums: &mut Sums, context: &mut Context) -> io::Result<()> {
    let mut prefixes = page
        .prefixes
        .iter()
        .filter(|prefix| !(hide && is_hidden(prefix)))
        .peekable();
    let mut objects = page
        .objects
        .iter()
        .filter(|meta| !(hide && is_hidden(meta.key.as_str())))
        .peekable();
    loop {
        let folder_first = match (prefixes.peek(), objects.peek()) {
            (Some(prefix), Some(meta)) => prefix.as_str() < meta.key.as_str(),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Ok(()),
        };
        if folder_first {
            sums.prefixes += 1;
            folder(prefixes.next().map_or("", String::as_str), context)?;
        } else if let Some(meta) = objects.next() {
            sums.objects += 1;
            sums.bytes += meta.size;
            object(meta, context)?;
        }
    }
}

/// An object of a listing as printed by `--json`.
#[derive(Serialize)]
struct ObjectLine<'a> {
    key: &'a str,
    size: u64,
    modified_ms: u64,
    etag: &'a str,
    version: String,
}

fn object(meta: &Meta, context: &mut Context) -> io::Result<()> {
    let out = &mut context.out;
    if context.json {
        return out.json(&ObjectLine {
            key: meta.key.as_str(),
            size: meta.size,
            modified_ms: meta.version.millis,
            etag: &meta.etag,
            version: meta.version.to_string(),
        });
    }
    line(
        out,
        &instant(meta.version.millis),
        &bytes(meta.size),
        &key::display_key(meta.key.as_str()),
    )
}

fn folder(prefix: &str, context: &mut Context) -> io::Result<()> {
    if context.json {
        return context.out.json(&serde_json::json!({ "prefix": prefix }));
    }
    line(&mut context.out, "", "", &key::display_key(prefix))
}

/// Prints time, size and address in columns of fixed width, because rows are printed as they
/// arrive.
fn line(out: &mut Out, time: &str, size: &str, address: &str) -> io::Result<()> {
    let time = out.style.dim(&format!("{time:<19}"));
    writeln!(out, "{time}  {size:>10}  {}", clean(address))
}

fn sums_text(sums: &Sums) -> String {
    let folders = match sums.prefixes {
        0 => String::new(),
        n => format!(", {} prefixes", count(n)),
    };
    format!(
        "{}, {}{folders}",
        counted(sums.objects, "object", "objects"),
        bytes(sums.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_speak_of_what_was_shown() {
        let sums = Sums {
            objects: 1,
            prefixes: 2,
            bytes: 2048,
        };
        assert_eq!(sums_text(&sums), "1 object, 2.0 KiB, 2 prefixes");
    }
}
