//! `weft store retain` and `weft store hold`: protect objects from removal and replacement.

use std::io::Write;

use cluster::ConnectSettings;
use serde::Serialize;
use store::{Key, List, Meta, Protect, Protection, Retention, RetentionChange, RetentionMode, StoreError};

use super::key;
use super::ls::each_page;
use super::retention::{ProtectionBody, end_of_date, end_of_span};
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::exit::print_error;
use crate::flag_values::choice;
use crate::outcome::Outcome;
use crate::style::clean;

const EXAMPLES_RETAIN: &str = "\
Examples:
  weft store retain store://crawls/a.warc.gz --for 10y
  weft store retain crawls/2014/ --recursive --until 2036-01-01 --mode compliance
  weft store retain crawls/a.warc.gz --lift          ends a retention of mode governance

Until then the object cannot be deleted or its content replaced. An existing retention is never
weakened: the later time and the stricter mode apply. Nobody, and no command, can shorten or lift a
retention of mode compliance.
Exit code 1: an object does not exist, or its retention cannot be lifted; the others are done.";

const EXAMPLES_HOLD: &str = "\
Examples:
  weft store hold store://crawls/a.warc.gz
  weft store hold crawls/2014/ --recursive
  weft store hold crawls/a.warc.gz --off

An object under a legal hold cannot be deleted or replaced until the hold is ended, regardless of
its retention.
Exit code 1: an object does not exist; the others are done.";

/// Number of entries per listing request.
const PAGE: usize = 1000;

/// Modes of a retention; the first is the one that can be lifted.
pub(crate) const MODES: [(&str, RetentionMode); 2] = [
    ("governance", RetentionMode::Governance),
    ("compliance", RetentionMode::Compliance),
];

/// Flags that select objects.
#[derive(Debug, clap::Args)]
struct Which {
    /// Objects; with --recursive, prefixes of names
    #[arg(value_name = "OBJECT", required = true)]
    objects: Vec<String>,
    /// All objects with these prefixes
    #[arg(short, long)]
    recursive: bool,
}

/// Flags of `weft store retain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES_RETAIN, group = clap::ArgGroup::new("end").required(true))]
pub(super) struct RetainArgs {
    #[command(flatten)]
    which: Which,
    /// Retain until the start of this day, or until this time (UTC)
    #[arg(long, value_name = "DATE", group = "end", value_parser = end_of_date())]
    until: Option<u64>,
    /// Retain for this long from now: 36h, 30d, 2w, 10y
    #[arg(long = "for", value_name = "SPAN", group = "end", value_parser = end_of_span())]
    span: Option<u64>,
    /// End the retention, if its mode is governance
    #[arg(long, group = "end")]
    lift: bool,
    /// Who may lift it: users allowed to run this command (governance), or nobody (compliance)
    #[arg(long, value_name = "MODE", default_value = MODES[0].0, value_parser = choice(MODES), conflicts_with = "lift")]
    mode: RetentionMode,
}

/// Flags of `weft store hold`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES_HOLD)]
pub(super) struct HoldArgs {
    #[command(flatten)]
    which: Which,
    /// End the hold
    #[arg(long)]
    off: bool,
}

/// An object whose protection was changed, as printed by `--json`.
#[derive(Serialize)]
struct ProtectionLine<'a> {
    object: &'a Key,
    protection: ProtectionBody,
}

/// Runs `weft store retain`.
pub(super) fn retain(
    args: &RetainArgs,
    place: ConnectSettings,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let retention = args.until.or(args.span).map(|until_ms| Retention {
        mode: args.mode,
        until_ms,
    });
    let protect = retention.map_or(
        Protect {
            retention: RetentionChange::Set(None),
            hold: None,
            bypass_governance: true,
        },
        Protect::extend,
    );
    run(&args.which, protect, place, context)
}

/// Runs `weft store hold`.
pub(super) fn hold(
    args: &HoldArgs,
    place: ConnectSettings,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let protect = Protect {
        hold: Some(!args.off),
        ..Protect::default()
    };
    run(&args.which, protect, place, context)
}

fn run(
    which: &Which,
    protect: Protect,
    place: ConnectSettings,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let texts = which.objects.iter();
    let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
    if which.recursive {
        prefixes = texts.map(|text| key::prefix(text)).collect::<Result<_, _>>()?;
    } else {
        keys = texts.map(|text| key::object(text)).collect::<Result<_, _>>()?;
    }
    with_store(place, StoreMode::Existing, async |session| {
        let mut outcome = Outcome::Done;
        for key in &keys {
            one(session, key, protect, &mut outcome, context).await?;
        }
        for prefix in &prefixes {
            let list = List {
                prefix: prefix.clone(),
                limit: PAGE,
                ..List::default()
            };
            each_page(session, list, async |page| {
                for meta in &page.objects {
                    one(session, &meta.key, protect, &mut outcome, context).await?;
                }
                Ok(())
            })
            .await?;
        }
        Ok(outcome)
    })
}

/// Changes the protection of one object. Its errors do not stop the others.
async fn one(
    session: &Session,
    key: &Key,
    protect: Protect,
    outcome: &mut Outcome,
    context: &mut Context,
) -> anyhow::Result<()> {
    match session.store().protect(key, protect).await {
        Ok(meta) => print_protection(&meta, context),
        Err(error @ (StoreError::NotFound(_) | StoreError::Protected { .. })) => {
            print_error(&error.into(), context);
            *outcome = Outcome::Losses;
            Ok(())
        }
        Err(error) => Err(anyhow::Error::new(error).context(format!("protect {key}"))),
    }
}

fn print_protection(meta: &Meta, context: &mut Context) -> anyhow::Result<()> {
    let protection = Protection::of(&meta.attributes);
    if context.json {
        context.out.json(&ProtectionLine {
            object: &meta.key,
            protection: ProtectionBody::of(protection),
        })?;
    } else {
        let address = clean(&key::display_key(meta.key.as_str()));
        let address = context.out.style.address(&address);
        writeln!(context.out, "{address}  {protection}")?;
    }
    context.out.flush()?;
    Ok(())
}
