//! `weft store fixity`: shows the fixity logs, and the digests of an object.

use std::io::Write;

use anyhow::Context as _;
use cluster::ConnectSettings;
use data_encoding::HEXLOWER;
use serde::Serialize;
use store::upkeep::{digests, fixity};
use store::{FixityEvent, Key, Meta, StoreError, Topology};

use super::key;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::exit::print_error;
use crate::flag_values::whole;
use crate::outcome::Outcome;
use crate::stderr::progress_line;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::instant;

const EXAMPLES: &str = "\
Examples:
  weft store fixity store://crawls/a.warc.gz            its digests and the history of its replicas
  weft store fixity crawls/a.warc.gz --sha512           also SHA-512; reads the object
  weft store fixity                                     the latest entries of all logs
  weft store fixity --json | jq 'select(.event == \"bad\")'";

/// Flags of `weft store fixity`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Object [default: the newest lines of the logs, about any object]
    #[arg(value_name = "OBJECT")]
    object: Option<String>,
    /// Read the object and compute its SHA-512
    #[arg(long, requires = "object")]
    sha512: bool,
    /// Number of newest lines per log
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1_u32..=1_000_000, 100))]
    limit: u32,
}

/// The digests of an object, printed by `--json` on the first line.
#[derive(Serialize)]
struct DigestLine<'a> {
    object: &'a Meta,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha512: Option<&'a str>,
}

/// Runs `weft store fixity`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    let key = args.object.as_deref().map(key::object).transpose()?;
    let limit = args.limit as usize;
    with_store(place, StoreMode::Existing, async |session| {
        let mut outcome = Outcome::Done;
        let (events, silent) = match &key {
            Some(key) => {
                let headed = print_digests(session, key, args.sha512, context).await;
                let story = fixity(&session.topology(), key, limit).await;
                match headed {
                    Err(error) if is_absent(&error) && !story.0.is_empty() => {
                        progress_line(&format!(
                            "object {} does not exist; entries in the logs:",
                            clean(key.as_str())
                        ));
                    }
                    Err(error) if is_absent(&error) => return Err(error),
                    Err(error) => {
                        print_error(&error, context);
                        outcome = Outcome::Losses;
                    }
                    Ok(()) => {}
                }
                story
            }
            None => all(&session.topology(), limit).await,
        };
        print(&events, key.is_none(), context)?;
        for volume in &silent {
            print_error(&anyhow::anyhow!("volume {volume} did not answer"), context);
        }
        Ok(if silent.is_empty() {
            outcome
        } else {
            Outcome::Losses
        })
    })
}

fn is_absent(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::NotFound(_)))
}

/// Prints the digests of the object. If it is gone, the caller still shows its history.
async fn print_digests(
    session: &Session,
    key: &Key,
    sha512: bool,
    context: &mut Context,
) -> anyhow::Result<()> {
    let (meta, sha512) = if sha512 {
        let found = digests(&session.store(), key)
            .await
            .with_context(|| format!("read {key}"))?;
        (found.meta, Some(found.sha512))
    } else {
        (session.store().head(key).await?, None)
    };
    if context.json {
        context.out.json(&DigestLine {
            object: &meta,
            sha512: sha512.as_deref(),
        })?;
        return Ok(());
    }
    let hex = |digest: &[u8]| HEXLOWER.encode(digest);
    let mut lines = vec![
        ("MD5", hex(&meta.digests.md5)),
        ("SHA-256", hex(&meta.digests.sha256)),
        ("BLAKE3", hex(&meta.digests.blake3)),
    ];
    lines.extend(sha512.map(|digest| ("SHA-512", digest)));
    for (name, digest) in lines {
        let name = context.out.style.dim(&format!("{name:<8}"));
        writeln!(context.out, "{name} {digest}")?;
    }
    writeln!(context.out)?;
    Ok(())
}

/// Returns the newest lines of all logs, ordered by time. Volumes of one node share a log, so
/// duplicate lines are dropped.
async fn all(topology: &Topology, limit: usize) -> (Vec<FixityEvent>, Vec<String>) {
    let mut events: Vec<FixityEvent> = Vec::new();
    let mut silent = Vec::new();
    for (id, volume) in &topology.volumes {
        match volume.fixity(None, limit).await {
            Ok(lines) => events.extend(lines),
            Err(error) => silent.push(format!("{id}: {error}")),
        }
    }
    let order = |event: &FixityEvent| {
        (
            event.time_ms,
            event.volume.clone(),
            event.key.clone(),
            event.version,
            event.event.clone(),
            event.detail.clone(),
        )
    };
    events.sort_by_key(order);
    events.dedup();
    (events, silent)
}

fn print(events: &[FixityEvent], with_key: bool, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        for event in events {
            context.out.json(event)?;
        }
        return Ok(());
    }
    let mut table = Table::new(&[
        ("time (UTC)", Column::Left),
        ("event", Column::Left),
        ("cause", Column::Left),
        ("volume", Column::Left),
        (if with_key { "object" } else { "version" }, Column::Left),
        ("evidence", Column::Flexible),
    ]);
    for event in events {
        let cause = serde_json::to_value(event.cause).ok();
        table.row([
            instant(event.time_ms),
            event.event.clone(),
            cause
                .and_then(|cause| cause.as_str().map(str::to_owned))
                .unwrap_or_default(),
            event.volume.to_string(),
            subject(event, with_key),
            event.detail.clone(),
        ]);
    }
    if events.is_empty() {
        writeln!(context.out, "no log has an entry for it")?;
    }
    table.print(&mut context.out)?;
    Ok(())
}

fn subject(event: &FixityEvent, with_key: bool) -> String {
    let key = event.key.as_ref().map(ToString::to_string);
    let version = event.version.map(|version| version.to_string());
    if with_key { key } else { version }.unwrap_or_else(|| "-".to_owned())
}
