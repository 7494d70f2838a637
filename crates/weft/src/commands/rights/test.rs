//! `weft rights test`: who sees a URL, and which rules say so.

use std::io::Write;

use ::rights::{Access, Groups, Rule, Rules, Subject};
use archive::ErrorCode;
use archive::question::{CdxRow, Page};
use serde::Serialize;

use super::{file, said};
use crate::ask;
use crate::context::Context;
use crate::exit::Outcome;
use crate::style::clean;

const EXAMPLES: &str = "\
Examples:
  weft rights test http://example.com/private/a               for the public
  weft rights test http://example.com/private/a --as staff
  weft rights test http://example.com/new --mime application/pdf --collection news --at 2024-05-01

Each capture of the URL is tested; where the archive has none, one as the flags describe it. Exit code 1 if any is hidden.";

/// Flags of `weft rights test`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A URL, or its key
    url: String,
    /// Time of a capture that is not there yet
    #[arg(long, value_name = "TIME", value_parser = ask::parse_time)]
    at: Option<String>,
    /// Its media type
    #[arg(long, value_name = "TYPE", default_value = "text/html")]
    mime: String,
    /// Its digest
    #[arg(long, value_name = "DIGEST", default_value = "", hide_default_value = true)]
    digest: String,
    /// Its collection
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    collection: String,
}

/// A capture, and what rules say of it.
#[derive(Serialize)]
struct Tested {
    fetch_time: String,
    mime: String,
    collection: String,
    seen: bool,
    /// Numbers of the rules that match, and are for who asks.
    rules: Vec<usize>,
}

/// Runs `weft rights test`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let rules = file(context)?.rules()?.unwrap_or_default();
    let groups = context.groups.take().unwrap_or_default();
    let (url_key, captures) = captures(args, context)?;
    let now_ms = i64::try_from(ambient::wall_ms()).unwrap_or(i64::MAX);
    let sight = rules
        .sight(&groups, now_ms)
        .map_err(|(number, error)| anyhow::anyhow!("rule {number}: {error}"))?;
    let test = |row: &CdxRow| {
        let subject = Subject {
            url_key: &url_key,
            collection: &row.collection,
            mime: &row.mime,
            digest: &row.digest,
            fetch_time_ms: civil::ms_of_digits(&row.timestamp),
        };
        Tested {
            fetch_time: row.fetch_time.clone(),
            mime: row.mime.clone(),
            collection: row.collection.clone(),
            seen: sight.sees(&subject),
            rules: rules.matching(&groups, &subject, now_ms),
        }
    };
    let tested: Vec<Tested> = captures.iter().map(test).collect();
    let all_seen = tested.iter().all(|capture| capture.seen);
    print(&url_key, &groups, &rules, &tested, context)?;
    Ok(match all_seen {
        true => Outcome::Done,
        false => Outcome::Losses,
    })
}

/// The key, and its captures, or one as the flags describe it.
fn captures(args: &Args, context: &Context) -> anyhow::Result<(String, Vec<CdxRow>)> {
    let archive = ask::open(context)?;
    match archive.ask(Page {
        url: args.url.clone(),
    }) {
        Ok(answer) if !answer.body.captures.is_empty() => {
            return Ok((answer.body.url_key, answer.body.captures));
        }
        Ok(_) => {}
        Err(error) if error.code == ErrorCode::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let digits = args
        .at
        .clone()
        .unwrap_or_else(|| civil::digits(i64::try_from(ambient::wall_ms()).unwrap_or_default()));
    let url = match args.url.contains("://") || args.url.contains(')') {
        true => args.url.clone(),
        false => format!("http://{}", args.url),
    };
    let url_key = match url.contains("://") {
        true => urlkey::url_key(&url)?,
        false => url,
    };
    let row = CdxRow {
        fetch_time: civil::iso(civil::ms_of_digits(&digits)),
        timestamp: digits,
        mime: args.mime.clone(),
        digest: args.digest.clone(),
        collection: args.collection.clone(),
        ..CdxRow::default()
    };
    Ok((url_key, vec![row]))
}

fn print(
    url_key: &str,
    groups: &Groups,
    rules: &Rules,
    tested: &[Tested],
    context: &mut Context,
) -> anyhow::Result<()> {
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "url_key": url_key, "as": groups, "captures": tested }))?;
        return Ok(());
    }
    writeln!(
        context.out,
        "{} as {}",
        clean(url_key),
        clean(&groups.to_string())
    )?;
    for capture in tested {
        let seen = if capture.seen { "seen" } else { "hidden" };
        writeln!(
            context.out,
            "  {}  {}  {seen}",
            capture.fetch_time,
            clean(&capture.mime)
        )?;
        // Of rules that deny and others that allow, those decide that deny.
        let wanted = if capture.seen { Access::Allow } else { Access::Deny };
        let all = capture
            .rules
            .iter()
            .filter_map(|&number| Some((number, rules.rules.get(number - 1)?)));
        let deciding: Vec<(usize, &Rule)> = all.filter(|(_, rule)| rule.access == wanted).collect();
        for (number, rule) in &deciding {
            writeln!(
                context.out,
                "      by rule {number}: {}",
                clean(&said::rule(rule))
            )?;
        }
        if deciding.is_empty() {
            let default = match rules.default {
                Access::Allow => "public",
                Access::Deny => "closed",
            };
            writeln!(context.out, "      no rule decides: the archive is {default}")?;
        }
    }
    Ok(())
}
