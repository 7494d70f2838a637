//! `weft rights add`: adds a rule.

use ::access::{Access, AccessRule, Condition};
use clap::builder::TypedValueParser;

use super::{change, print_rule};
use crate::ask;
use crate::context::Context;
use crate::flag_values::{value, whole_date};
use crate::outcome::{Outcome, WrongUse};

const EXAMPLES: &str = "\
Examples:
  weft rights add --deny --url http://example.com/letter.html
  weft rights add --deny --prefix http://example.com/private/ --except staff
  weft rights add --deny --collection interviews --younger-than 3650d --group public
  weft rights add --allow --host example.org            only that host, in a closed archive
  weft rights add --allow --domain example.org          including its subdomains
  weft rights add --deny --mime 'application/pdf' --until 2030-01-01 --note 'embargo'

A rule matches captures that meet all its conditions. If one rule allows and another denies, deny
wins. Without --group a rule applies to everybody; the group 'public' is everybody who is in no
group named by a rule.";

/// Flags of `weft rights add`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    access: AccessArgs,
    /// One URL, or its URL key
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Prefix of URL keys (com,example)/private), or of URLs
    #[arg(long, value_name = "KEY|URL")]
    prefix: Option<String>,
    /// Exception within --prefix; repeat for more
    #[arg(long, value_name = "KEY|URL", requires = "prefix")]
    but_not: Vec<String>,
    /// A single host, on every port, with and without www
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// A host and all hosts below it
    #[arg(long, value_name = "HOST")]
    domain: Option<String>,
    /// Collection of inputs
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Media type, or all subtypes of a type (image/*)
    #[arg(long, value_name = "TYPE")]
    mime: Option<String>,
    /// Payload digest, as in CDX
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Captured on or after this date
    #[arg(long, value_name = "DATE", value_parser = whole_date())]
    from: Option<String>,
    /// Captured on or before this date
    #[arg(long, value_name = "DATE", value_parser = whole_date())]
    to: Option<String>,
    /// Captured less than this many days ago (365d)
    #[arg(long, value_name = "DAYS", value_parser = days())]
    younger_than: Option<u32>,
    /// The rule is in force only before this date
    #[arg(long, value_name = "DATE", value_parser = whole_date())]
    until: Option<String>,
    /// Group that the rule applies to; repeat for more [default: everybody]
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Group exempt from the rule; repeat for more
    #[arg(long, value_name = "GROUP")]
    except: Vec<String>,
    /// Reason, for human readers
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct AccessArgs {
    /// Show matching captures, in an archive that is closed by default
    #[arg(long)]
    allow: bool,
    /// Hide matching captures
    #[arg(long)]
    deny: bool,
}

fn days() -> impl TypedValueParser<Value = u32> {
    value("a number of days", "365d", |text| {
        text.trim().trim_end_matches(['d', 'D']).parse().ok()
    })
}

/// Runs `weft rights add`.
pub(super) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    for typed in [&args.url, &args.prefix]
        .into_iter()
        .flatten()
        .chain(&args.but_not)
    {
        ask::note_www(typed);
    }
    let rule = AccessRule {
        access: if args.access.deny {
            Access::Deny
        } else {
            Access::Allow
        },
        groups: args.groups,
        except: args.except,
        condition: Condition {
            url: args
                .url
                .map(|url| key(&url, urlkey::MatchType::Exact))
                .transpose()?,
            prefix: args
                .prefix
                .map(|url| key(&url, urlkey::MatchType::Prefix))
                .transpose()?,
            but_not: args
                .but_not
                .iter()
                .map(|url| key(url, urlkey::MatchType::Prefix))
                .collect::<Result<_, _>>()?,
            host: args.host,
            domain: args.domain,
            collection: args.collection,
            mime: args.mime,
            digest: args.digest,
            from: args.from,
            to: args.to,
            younger_than_days: args.younger_than,
            until: args.until,
        },
        note: args.note,
    };
    rule.clause(0)
        .map_err(|error| WrongUse(format!("invalid rule: {error}")))?;
    let number = change(context, |rules| {
        rules.rules.push(rule.clone());
        Ok(rules.rules.len())
    })?;
    print_rule("added", number, &rule, context)
}

/// Returns the URL key of a URL, or the common key prefix of URLs that begin with it. A key is
/// returned unchanged.
fn key(typed: &str, match_type: urlkey::MatchType) -> Result<String, WrongUse> {
    if !typed.contains("://") {
        return Ok(typed.to_owned());
    }
    let ranges = urlkey::url_ranges(typed, match_type);
    let first = ranges.map(|ranges| ranges.into_iter().next());
    match first {
        Ok(Some(range)) => Ok(range.start),
        Ok(None) => Err(WrongUse(format!("{typed:?} has no URL key"))),
        Err(error) => Err(WrongUse(format!("{typed:?} has no URL key: {error}"))),
    }
}
