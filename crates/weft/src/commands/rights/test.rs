//! `weft rights test`: shows who sees a URL, and by which rules.

use std::io::Write;

use ::access::{Access, AccessRules};
use archive::question::{RightsTest, RightsTestBody};

use super::{file, rule_text};
use crate::ask;
use crate::context::Context;
use crate::flag_values::date;
use crate::outcome::Outcome;
use crate::style::clean;

const EXAMPLES: &str = "\
Examples:
  weft rights test http://example.com/private/a               for the public
  weft rights test http://example.com/private/a --as staff
  weft rights test http://example.com/new --mime application/pdf --collection news --at 2024-05-01

Each capture of the URL is tested; if the archive has none, a capture with the given flags.
Exit code 1 if any is hidden.";

/// Flags of `weft rights test`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// URL or URL key
    url: String,
    /// Time of a hypothetical capture
    #[arg(long, value_name = "TIME", value_parser = date())]
    at: Option<String>,
    /// Media type of the hypothetical capture
    #[arg(long, value_name = "TYPE", default_value = "text/html")]
    mime: String,
    /// Digest of the hypothetical capture
    #[arg(long, value_name = "DIGEST", default_value = "", hide_default_value = true)]
    digest: String,
    /// Collection of the hypothetical capture
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    collection: String,
}

/// Runs `weft rights test`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let rules = file(context)?.rules()?.unwrap_or_default();
    let question = RightsTest {
        url: args.url.clone(),
        groups: context.groups.take().unwrap_or_default(),
        at: args.at.clone(),
        mime: args.mime.clone(),
        digest: args.digest.clone(),
        collection: args.collection.clone(),
    };
    let tested = ask::open(context)?.ask(question)?.body;
    let all_seen = tested.captures.iter().all(|capture| capture.seen);
    if context.json {
        context.out.json(&tested)?
    } else {
        print(&tested, &rules, context)?
    }
    Ok(if all_seen { Outcome::Done } else { Outcome::Losses })
}

fn print(tested: &RightsTestBody, rules: &AccessRules, context: &mut Context) -> anyhow::Result<()> {
    let (url_key, groups) = (clean(&tested.url_key), tested.groups.to_string());
    writeln!(context.out, "{url_key} as {}", clean(&groups))?;
    for capture in &tested.captures {
        let seen = if capture.seen { "seen" } else { "hidden" };
        let mime = clean(&capture.mime);
        writeln!(context.out, "  {}  {mime}  {seen}", capture.fetch_time)?;
        for &number in &capture.decided_by {
            let rule = number.checked_sub(1).and_then(|index| rules.rules.get(index));
            let by = rule.map(rule_text::rule_text).unwrap_or_default();
            writeln!(context.out, "      by rule {number}: {}", clean(&by))?;
        }
        if capture.decided_by.is_empty() {
            let default = match tested.default {
                Access::Allow => "public",
                Access::Deny => "closed",
            };
            writeln!(context.out, "      no rule decides: the archive is {default}")?;
        }
    }
    Ok(())
}
