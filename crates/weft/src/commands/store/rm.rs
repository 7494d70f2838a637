//! `weft store rm`: deletes objects. The deletion is a version of its own, which is kept until every replica
//! has it.

use std::io::Write;

use anyhow::Context as _;
use cluster::ConnectSettings;
use store::{Condition, Key, List, StoreError};

use super::key;
use super::ls::each_page;
use super::session::{Begin, Session, with_store};
use crate::context::Context;
use crate::exit::{Outcome, WrongUse, complain};
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft store rm store://crawls/a.warc.gz
  weft store rm crawls/2014/ --recursive          says what it would delete
  weft store rm crawls/2014/ --recursive --yes    deletes it

There is no way back: an object that was deleted cannot be had again. What is protected (weft store
retain, weft store hold) stays, and is told with exit code 1; the others are deleted.";

/// Flags of `weft store rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Objects; with --recursive, beginnings of names
    #[arg(value_name = "OBJECT", required = true)]
    objects: Vec<String>,
    /// Everything that begins so
    #[arg(short, long)]
    recursive: bool,
    /// Delete all of it, without asking
    #[arg(short, long, requires = "recursive")]
    yes: bool,
}

/// Number of entries listed at once.
const PAGE: usize = 1000;

/// Runs `weft store rm`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.recursive {
        let prefixes: Vec<String> = args
            .objects
            .iter()
            .map(|text| key::prefix(text))
            .collect::<Result<_, _>>()?;
        return with_store(place, Begin::Refused, async |session| {
            below(session, &prefixes, args.yes, context).await
        });
    }
    let keys: Vec<Key> = args
        .objects
        .iter()
        .map(|text| key::object(text))
        .collect::<Result<_, _>>()?;
    with_store(place, Begin::Refused, async |session| {
        let mut outcome = Outcome::Done;
        for key in &keys {
            let problem = match delete(session, key, context).await? {
                Deleted::Yes => continue,
                Deleted::NotThere => StoreError::NotFound(key.to_string()),
                Deleted::Protected(error) => error,
            };
            complain(&problem.into(), context);
            outcome = Outcome::Losses;
        }
        Ok(outcome)
    })
}

async fn below(
    session: &Session,
    prefixes: &[String],
    yes: bool,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let (mut sums, mut outcome) = ((0, 0), Outcome::Done);
    for prefix in prefixes {
        let list = List {
            prefix: prefix.clone(),
            limit: PAGE,
            ..List::default()
        };
        each_page(session, list, async |page| {
            for meta in &page.objects {
                if yes && let Deleted::Protected(error) = delete(session, &meta.key, context).await? {
                    complain(&error.into(), context);
                    outcome = Outcome::Losses;
                    continue;
                }
                sums = (sums.0 + 1, sums.1 + meta.size);
            }
            Ok(())
        })
        .await?;
    }
    let found = format!("{}, {}", counted(sums.0, "object", "objects"), bytes(sums.1));
    if !yes {
        return Err(WrongUse(format!("this would delete {found}; add --yes to do it")).into());
    }
    if !context.json {
        writeln!(context.out, "deleted {found}")?;
    }
    Ok(outcome)
}

/// What became of an object that was to be deleted.
enum Deleted {
    Yes,
    NotThere,
    /// It stays; the error says until when.
    Protected(StoreError),
}

async fn delete(session: &Session, key: &Key, context: &mut Context) -> anyhow::Result<Deleted> {
    let meta = match session.store().delete(key, Condition::Always).await {
        Ok(Some(meta)) => meta,
        Ok(None) => return Ok(Deleted::NotThere),
        Err(error @ StoreError::Protected { .. }) => return Ok(Deleted::Protected(error)),
        Err(error) => return Err(error).with_context(|| format!("delete {key}")),
    };
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "deleted": key, "version": meta.version }))?;
    }
    Ok(Deleted::Yes)
}
