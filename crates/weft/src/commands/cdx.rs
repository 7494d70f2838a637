//! `weft cdx`: captures of a URL as CDXJ, one a line: `url_key timestamp {json}`.

use std::io::Write;

use archive::question::{Answer, Body, CdxQuestion, MatchType, Question};
use clap::ValueEnum;

use crate::ask;
use crate::context::Context;
use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  weft cdx http://www.iana.org/
  weft cdx iana.org --match-type domain --from 2014 --to 201402
  weft cdx 'http://www.iana.org/domains/*' --limit 10";

/// Flags of `weft cdx`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The URL; http://x/a* stands for all that begins so, *.x.org for a domain
    url: String,
    /// What the URL stands for [default: exact]
    #[arg(long, value_enum, value_name = "TYPE")]
    match_type: Option<Match>,
    /// Captures from this time on, inclusive (2014, 20140126, 2014-01-26)
    #[arg(long, value_name = "TIME", value_parser = ask::parse_time)]
    from: Option<String>,
    /// Captures up to this time; 2014 means to the end of 2014
    #[arg(long, value_name = "TIME", value_parser = ask::parse_time)]
    to: Option<String>,
    /// Only captures of this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// At most this many captures [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Match {
    /// This URL
    Exact,
    /// URLs that begin with it
    Prefix,
    /// URLs of its host
    Host,
    /// URLs of its domain and all hosts below
    Domain,
}

/// Rows asked for at once.
const ROWS_A_QUESTION: u64 = 1000;

/// Runs `weft cdx`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let mut question = question(&args);
    let mut left = args.limit.unwrap_or(u64::MAX);
    let archive = ask::open(context)?;
    let mut all = Vec::new();
    loop {
        question.limit = left.min(ROWS_A_QUESTION) as usize;
        let answer = archive.ask(&Question::Cdx(question.clone()))?;
        let Body::Cdx { rows, next } = answer.body else {
            return ask::unexpected(&answer.body);
        };
        left = left.saturating_sub(rows.len() as u64);
        let last = next.is_none() || left == 0;
        if context.json {
            all.extend(rows);
        } else {
            for row in &rows {
                context.out.write_all(server::cdxj_line(row).as_bytes())?;
            }
        }
        if last {
            if context.json {
                context.out.json(&Answer {
                    epoch: answer.epoch,
                    body: Body::Cdx { rows: all, next },
                })?;
            }
            return Ok(Outcome::Done);
        }
        question.after = next;
    }
}

fn question(args: &Args) -> CdxQuestion {
    let (url, match_type) = match args.match_type {
        Some(wanted) => (args.url.as_str(), wanted.into()),
        None => implied_match(&args.url),
    };
    CdxQuestion {
        url: url.to_owned(),
        match_type,
        from: args.from.clone(),
        to: args.to.clone(),
        collection: args.collection.clone(),
        ..CdxQuestion::default()
    }
}

/// `http://x/a*` is a prefix, `*.example.com` a domain, as other CDX servers have it.
fn implied_match(url: &str) -> (&str, MatchType) {
    if let Some(domain) = url.strip_prefix("*.") {
        return (domain, MatchType::Domain);
    }
    match url.strip_suffix('*') {
        Some(prefix) => (prefix, MatchType::Prefix),
        None => (url, MatchType::Exact),
    }
}

impl From<Match> for MatchType {
    fn from(wanted: Match) -> MatchType {
        match wanted {
            Match::Exact => MatchType::Exact,
            Match::Prefix => MatchType::Prefix,
            Match::Host => MatchType::Host,
            Match::Domain => MatchType::Domain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_implies_the_match() {
        assert_eq!(
            implied_match("http://x.org/a*"),
            ("http://x.org/a", MatchType::Prefix)
        );
        assert_eq!(implied_match("*.x.org"), ("x.org", MatchType::Domain));
        assert_eq!(
            implied_match("http://x.org/"),
            ("http://x.org/", MatchType::Exact)
        );
    }
}
