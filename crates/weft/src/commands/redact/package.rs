//! Copies a package (WACZ) without what takedowns exclude.

use std::path::Path;

use anyhow::Context as _;
use archive::{OneInput, TakedownRules};
use export::PackageRedaction;

use super::{Args, LedgerRows, damaged, report};
use crate::commands::store::content;
use crate::context::Context;
use crate::outcome::Outcome;

/// Copies the package at an absolute path.
pub(super) fn run(
    args: &Args,
    place: &Path,
    rules: &TakedownRules,
    ledger: &LedgerRows,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let mut is_known = true;
    let mut known = |input: &OneInput, location: &str| {
        let found = ledger.find(input, location);
        is_known &= found.is_known;
        found.into_rules(args.collection.as_deref())
    };
    let redaction = PackageRedaction::plan(place, rules, &std::env::temp_dir(), &mut known);
    let mut redaction = redaction.with_context(|| format!("redact {}", args.input.display()))?;
    let counts = redaction.counts();
    if !args.dry_run {
        // Twice the size: the copy is written and read back.
        let bar = content::bar("writing", Some(2 * counts.kept_bytes), context.json);
        let written = redaction.write(&args.out, args.force, &mut |bytes| bar.inc(bytes));
        bar.finish_and_clear();
        written?;
    }
    let members = redaction.members();
    let spans = members.flat_map(|(name, redaction)| damaged(redaction, Some(name)));
    let mut report = report(args, is_known, counts, spans.collect());
    report.package = Some(redaction.package_counts());
    report.print(context)
}
