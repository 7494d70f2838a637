//! `weft store rm`: deletes objects. A deletion is stored as a version (a tombstone), which is kept
//! until every replica has it.

use std::io::Write;

use anyhow::Context as _;
use cluster::ConnectSettings;
use store::{Condition, Deletion, Key, List, Protection, StoreError, Versioning};

use super::key;
use super::ls::each_page;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::exit::print_error;
use crate::outcome::{Outcome, WrongUse};
use crate::units::{bytes, counted};

const EXAMPLES: &str = "\
Examples:
  weft store rm store://crawls/a.warc.gz
  weft store rm crawls/2014/ --recursive          show what would be deleted
  weft store rm crawls/2014/ --recursive --yes    delete it

Deleted objects cannot be restored. Protected objects (weft store retain, weft store hold) stay, and
are reported with exit code 1; the others are deleted.";

/// Flags of `weft store rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Objects; with --recursive, prefixes of names
    #[arg(value_name = "OBJECT", required = true)]
    objects: Vec<String>,
    /// All objects with these prefixes
    #[arg(short, long)]
    recursive: bool,
    /// Delete them all without asking
    #[arg(short, long, requires = "recursive")]
    yes: bool,
}

/// Number of entries per listing request.
const PAGE: usize = 1000;

/// Runs `weft store rm`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    if args.recursive {
        let prefixes: Vec<String> = args
            .objects
            .iter()
            .map(|text| key::prefix(text))
            .collect::<Result<_, _>>()?;
        return with_store(place, StoreMode::Existing, async |session| {
            keys_below(session, &prefixes, args.yes, context).await
        });
    }
    let keys: Vec<Key> = args
        .objects
        .iter()
        .map(|text| key::object(text))
        .collect::<Result<_, _>>()?;
    with_store(place, StoreMode::Existing, async |session| {
        let mut outcome = Outcome::Done;
        for key in &keys {
            let problem = match delete(session, key, context).await? {
                DeleteOutcome::Yes => continue,
                DeleteOutcome::NotThere => StoreError::NotFound(key.to_string()),
                DeleteOutcome::Protected(error) => error,
            };
            print_error(&problem.into(), context);
            outcome = Outcome::Losses;
        }
        Ok(outcome)
    })
}

async fn keys_below(
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
                if yes && let DeleteOutcome::Protected(error) = delete(session, &meta.key, context).await? {
                    print_error(&error.into(), context);
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
        return Err(WrongUse(format!("this would delete {found}; add --yes to delete")).into());
    }
    if !context.json {
        writeln!(context.out, "deleted {found}")?;
    }
    Ok(outcome)
}

/// The result of deleting an object.
enum DeleteOutcome {
    Yes,
    NotThere,
    /// Protected, so it stays; the error says until when.
    Protected(StoreError),
}

async fn delete(session: &Session, key: &Key, context: &mut Context) -> anyhow::Result<DeleteOutcome> {
    let deletion = match delete_now(session, key).await {
        Ok(deletion) => deletion,
        Err(error @ StoreError::Protected { .. }) => return Ok(DeleteOutcome::Protected(error)),
        Err(error) => return Err(error).with_context(|| format!("delete {key}")),
    };
    let Some(meta) = deletion.deleted else {
        return Ok(DeleteOutcome::NotThere);
    };
    if context.json {
        let mut line = serde_json::json!({ "deleted": key, "version": meta.version });
        if let Some(marker) = deletion.marker {
            line["delete_marker"] = marker.to_string().into();
        }
        context.out.json(&line)?;
    }
    Ok(DeleteOutcome::Yes)
}

async fn delete_now(session: &Session, key: &Key) -> Result<Deletion, StoreError> {
    let store = session.store();
    let versioning = store.versioning(key.bucket()).await?;
    if versioning != Versioning::Unversioned {
        // Deletion would only hide the object. But a user who deletes a protected object does not
        // expect it to vanish from lists.
        let meta = match store.head(key).await {
            Err(StoreError::NotFound(_)) => return Ok(Deletion::default()),
            meta => meta?,
        };
        if let Some(protection) = Protection::of(&meta.attributes).in_force(system::wall_ms()) {
            let key = key.to_string();
            return Err(StoreError::Protected { key, protection });
        }
    }
    store.delete_versioned(key, Condition::Always, versioning).await
}
