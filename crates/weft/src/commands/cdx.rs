//! `weft cdx`: prints the captures of a URL as CDXJ, one per line: `url_key timestamp {json}`.

use std::io::Write;

use archive::question::{Answer, CdxBody, CdxQuestion, CdxRow, MatchType};
use cdx::{Collapse, Dialect, Filter, Order, cdxj_line, url_pattern};
use clap::ValueEnum;
use clap::builder::TypedValueParser;

use crate::ask;
use crate::context::Context;
use crate::flag_values::{choice, date, described, refuse_reversed, whole_from};
use crate::outcome::{NotFound, Outcome, WrongUse};
use crate::paging::TableFormat;

const EXAMPLES: &str = "\
Examples:
  weft cdx http://www.iana.org/
  weft cdx iana.org --match-type domain --from 2014 --to 201402
  weft cdx 'http://www.iana.org/domains/*' --limit 10
  weft cdx '*.iana.org' --filter '!status:200' --filter '~url:.*[.]pdf$'
  weft cdx http://www.iana.org/ --closest 20140126 --limit 1
  weft cdx '*.iana.org' --format csv > captures.csv

Filters are described in docs/cdx.md. Exit code 1: there is no such capture.";

/// Flags of `weft cdx`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URL; http://x/a* matches every URL with this prefix, *.x.org a domain
    url: String,
    /// How the URL is matched [default: exact]
    #[arg(long, value_name = "TYPE", value_parser = match_types())]
    match_type: Option<MatchType>,
    /// Captures from this time on, inclusive (2014, 20140126, 2014-01-26)
    #[arg(long, value_name = "TIME", value_parser = date())]
    from: Option<String>,
    /// Captures up to this time, inclusive; 2014 means to the end of 2014
    #[arg(long, value_name = "TIME", value_parser = date())]
    to: Option<String>,
    /// Only captures of this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Only captures that match [!][=~]FIELD:TEXT; repeat to require several
    #[arg(long = "filter", value_name = "FILTER", value_parser = |text: &str| Filter::read(text, Dialect::Pywb))]
    filters: Vec<Filter>,
    /// Skip captures equal to the previous one in FIELD, or in its first CHARS characters
    /// (FIELD:CHARS)
    #[arg(long, value_name = "FIELD", value_parser = Collapse::read)]
    collapse: Vec<Collapse>,
    /// Nearest to this time first (one URL)
    #[arg(long, value_name = "TIME", value_parser = date())]
    closest: Option<String>,
    /// Newest first
    #[arg(long, conflicts_with = "closest")]
    reverse: bool,
    /// How to name inputs
    #[arg(long, value_enum, value_name = "NAMES", default_value_t = InputNames::Base)]
    filenames: InputNames,
    /// At most this many captures [default: all]
    #[arg(long, value_name = "N", value_parser = whole_from(1_u64, 20))]
    limit: Option<u64>,
    #[command(flatten)]
    table: TableFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputNames {
    /// By the last part of the name, for look-up by replay servers
    Base,
    /// By the name under which they were loaded
    Path,
}

/// Number of rows per request.
const ROWS_A_QUESTION: u64 = 1000;

/// Runs `weft cdx`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    refuse_reversed(args.from.as_deref(), args.to.as_deref())?;
    let mut question = question(&args)?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let archive = ask::open(context)?;
    if args
        .table
        .write(&archive, question.clone(), args.limit, &mut context.out)?
    {
        return Ok(Outcome::Done);
    }
    let mut output = CdxOutput::default();
    loop {
        question.limit = left.min(ROWS_A_QUESTION) as usize;
        let Answer {
            epoch,
            body: CdxBody { rows, next, .. },
        } = archive.ask(question.clone())?;
        left = left.saturating_sub(rows.len() as u64);
        let last = next.is_none() || left == 0;
        output.rows(&rows, epoch, context)?;
        if last {
            return output.end(next.as_deref(), &args, context);
        }
        question.after = next;
    }
}

/// Counters of the output. Only one answer is in memory at a time, whatever their number.
#[derive(Default)]
struct CdxOutput {
    rows: u64,
    begun: bool,
}

impl CdxOutput {
    fn rows(&mut self, rows: &[CdxRow], epoch: u64, context: &mut Context) -> anyhow::Result<()> {
        if context.json && !self.begun {
            write!(context.out, "{{\"epoch\":{epoch},\"answer\":\"cdx\",\"rows\":[")?;
        }
        self.begun = true;
        for row in rows {
            if context.json {
                let comma = if self.rows > 0 { "," } else { "" };
                write!(context.out, "{comma}{}", serde_json::to_string(row)?)?;
            } else {
                context.out.write_all(cdxj_line(row).as_bytes())?;
            }
            self.rows += 1;
        }
        Ok(())
    }

    fn end(self, next: Option<&str>, args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
        if context.json {
            writeln!(context.out, "],\"next\":{}}}", serde_json::to_string(&next)?)?;
        }
        match self.rows {
            // For programs the answer itself is empty.
            0 if context.json => Ok(Outcome::Losses),
            0 => Err(NotFound(nothing_found(args)).into()),
            _ => {
                if next.is_some() && !context.json {
                    eprintln!("note: more captures follow; without --limit all are printed");
                }
                Ok(Outcome::Done)
            }
        }
    }
}

/// Returns the message for an empty result.
fn nothing_found(args: &Args) -> String {
    let conditions = [
        (args.from.is_some(), "--from"),
        (args.to.is_some(), "--to"),
        (args.collection.is_some(), "--collection"),
        (!args.filters.is_empty(), "--filter"),
    ];
    let conditions: Vec<&str> = conditions
        .iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, name)| *name)
        .collect();
    let key = urlkey::url_key(&args.url);
    let is_star_in_host = key.is_ok_and(|key| urlkey::host_of_key(&key).contains('*'));
    match conditions.as_slice() {
        [] if is_star_in_host => format!(
            "no capture of {}; a star in the host is an ordinary character there, *.example.org a domain",
            args.url
        ),
        [] => format!("no capture of {}", args.url),
        conditions => format!(
            "no capture of {} matches {}; without it there may be some",
            args.url,
            conditions.join(" and ")
        ),
    }
}

fn question(args: &Args) -> Result<CdxQuestion, WrongUse> {
    let pattern = url_pattern(&args.url, args.match_type);
    let (url, match_type) = pattern.map_err(|error| WrongUse(error.to_string()))?;
    Ok(CdxQuestion {
        url: url.to_owned(),
        match_type,
        from: args.from.clone(),
        to: args.to.clone(),
        collection: args.collection.clone(),
        filters: args.filters.clone(),
        collapse: args.collapse.clone(),
        order: match (&args.closest, args.reverse) {
            (Some(time), _) => Order::Closest(time.clone()),
            (None, true) => Order::Reverse,
            (None, false) => Order::Forward,
        },
        base_names: args.filenames == InputNames::Base,
        ..CdxQuestion::default()
    })
}

/// Returns the parser of match types; help lists them with their meanings.
fn match_types() -> impl TypedValueParser<Value = MatchType> {
    choice([
        (described("exact", "This URL"), MatchType::Exact),
        (described("prefix", "URLs with this prefix"), MatchType::Prefix),
        (described("host", "URLs of the same host"), MatchType::Host),
        (
            described("domain", "URLs of the domain and its subdomains"),
            MatchType::Domain,
        ),
    ])
}
